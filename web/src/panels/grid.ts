// All heads of an attention as thumbnails; only visible lines exist.
import {isSamePlace} from '../selection/address';
import {html} from '../drawing/dom';
import type {Term} from '../heads/head_filter';
import type {Page, Panel} from './panel';
import {primary} from './panel';
import {choose} from '../shell/chips';
import type {Place} from '../selection/selection';
import {kNothing, nameOf} from '../selection/selection';
import {bracketsOver, drawThumbnail, headCell, placeOf, saidOf} from './grid_cell';
import {GridHeading} from './grid_heading';
import type {GridLayout} from './grid_layout';
import {layoutOf, lineTop, linesWithin} from './grid_layout';
import {GridPointer} from './grid_pointer';
import {filterOf, meanOf, numberText, passes, sortedHeads} from './grid_scores';
import {Thumbs} from './grid_thumbs';
import {MoreBelow} from './more_below';

const kBelow = 76;       // the foot's three lines and the space above them
const kLeastHeight = 300;
const kMargin = 8;       // px around the heads for their frames
const kBeyond = 160;     // px above and below the visible part that also exist

export class GridPanel implements Panel {
  private readonly heading: GridHeading;
  private readonly thumbs: Thumbs;
  private readonly scroller = html('div', {class: 'grid-scroller', tabindex: 0, role: 'group', 'aria-label': 'Heads'});
  private readonly sheet = html('div', {class: 'grid-sheet'});
  private readonly more = new MoreBelow(true);
  private readonly pointer: GridPointer;
  private readonly lines = new Map<number, {element: HTMLElement; state: string}>();
  private readonly canvases = new Map<number, HTMLCanvasElement>();  // of the existing heads
  private readonly resized = new ResizeObserver(() => this.update());
  private layout!: GridLayout;
  private layoutState = '';
  private terms: Term[] = [];
  private judged = '';
  private revealed = '';
  private passed = {count: 0, of: 0};
  private readonly orders = new Map<number, Place[]>();  // of layers, in sorted order
  private hovered: Element | null = null;
  private frame = 0;

  constructor(container: HTMLElement, private readonly page: Page) {
    this.heading = new GridHeading(page, () => this.focus(this.cursor));
    this.thumbs = new Thumbs(page, (heads) => this.drawThumbs(heads));
    this.pointer = new GridPointer(this.scroller, this.sheet, page, (place) => this.cellOf(place));
    this.scroller.append(this.sheet);
    container.append(this.heading.element, this.more.above, this.scroller, this.more.element);
    this.scroller.addEventListener('scroll', () => {
      cancelAnimationFrame(this.frame);
      this.frame = requestAnimationFrame(() => {
        this.pointer.keepingFocus(() => this.drawLines());
        this.sayMore();
      });
    }, {passive: true});
    this.resized.observe(this.scroller);
  }

  destroy(): void {
    this.thumbs.stop();
    this.resized.disconnect();
    cancelAnimationFrame(this.frame);
    this.page.store.preview({});
  }

  focusFilter(): void { this.heading.focus(); }

  update(): void {
    this.judge();
    this.pointer.keepingFocus(() => {
      this.arrange();
      this.drawLines();
    });
    this.revealChosen();
    this.frameHovered();
    this.heading.show(this.passed, this.thumbs.cut);
    this.sayMore();
  }

  /** Scrolls a head into view that was chosen elsewhere. */
  private revealChosen(): void {
    const state = `${nameOf(primary(this.page.store.now))} ${this.layoutState}`;
    if (state === this.revealed || this.scroller.clientHeight === 0) return;
    this.revealed = state;
    this.reveal(primary(this.page.store.now));
  }

  /** Number of layers beyond the upper and the lower edge. */
  private sayMore(): void {
    const {scrollTop, clientHeight} = this.scroller;
    const {lineHeight, lines} = this.layout;
    const {first, end} = linesWithin(this.layout, this.page.side.numbers.length, scrollTop + lineHeight / 2, scrollTop + clientHeight - lineHeight / 2);
    this.more.say(this.page.side.numbers.length - Math.ceil(end / lines), 'layer', Math.floor(first / lines));
  }

  /** The foot line: everything known about the head under the pointer, or the pinned one. */
  get said(): Node[] { return saidOf(this.page, this.cursor); }

  /** Updates the order of heads and the number that pass the filter, if their inputs have changed. */
  private judge(): void {
    const {api, side, store: {now: {sort, filter}}} = this.page;
    const state = `${sort} ${api.scored.done} ${filter}`;
    if (state === this.judged) return;
    this.judged = state;
    const read = filterOf(this.page, filter);
    this.terms = 'terms' in read ? read.terms : [];
    this.orders.clear();
    let passed = 0;
    for (const layer of side.numbers) {
      for (const place of this.order(layer)) if (passes(this.page, this.terms, place)) ++passed;
    }
    this.passed = {count: passed, of: side.numbers.length * side.heads};
  }

  /** The layer in a line: lines hold the layers that have attention. */
  private layerOf(line: number): number { return this.page.side.numbers[Math.floor(line / this.layout.lines)]!; }

  private firstLine(layer: number): number { return this.page.side.numbers.indexOf(layer) * this.layout.lines; }

  private order(layer: number): Place[] {
    const known = this.orders.get(layer) ?? sortedHeads(this.page, layer);
    this.orders.set(layer, known);
    return known;
  }

  private get hasBrackets(): boolean {
    const {side: {attention}, store} = this.page;
    return store.now.sort === kNothing.sort && attention.kv_heads < attention.heads;
  }

  private get isOnSheet(): boolean { return this.page.stage.sight.bottom === Infinity; }

  private arrange(): void {
    const {side: {attention, numbers, heads}, stage} = this.page;
    const width = this.scroller.clientWidth - 2 * kMargin;
    const shape = {
      width, heads, layers: numbers.length, queries: attention.queries, keys: attention.keys, isCausal: attention.causal, isNarrow: stage.isNarrow,
      hasBrackets: this.hasBrackets,
    };
    const top = (this.more.above.hidden ? this.scroller : this.more.above).getBoundingClientRect().top - stage.root.getBoundingClientRect().top;
    const state = `${Object.values(shape).join(' ')} ${Math.round(top)} ${stage.viewHeight} ${this.isOnSheet}`;
    if (state === this.layoutState) return;
    this.layoutState = state;
    this.layout = layoutOf(shape);
    this.thumbs.resize(this.layout.cells);
    const {height, lineHeight, pitch, cellWidth, pictureWidth, pictureHeight, above, columns} = this.layout;
    const tall = this.more.fit(height, this.isOnSheet ? Infinity : Math.max(kLeastHeight, stage.viewHeight - top - kBelow));
    this.scroller.style.maxHeight = this.isOnSheet ? 'none' : `${tall}px`;
    this.sheet.style.height = `${this.more.isNeeded ? tall + Math.ceil((height - tall) / lineHeight) * lineHeight : height}px`;  // its end, too, begins with a whole line
    const sizes = {pitch, cell: cellWidth, picture: pictureWidth, tall: pictureHeight, above};
    for (const [name, size] of Object.entries(sizes)) this.sheet.style.setProperty(`--${name}`, `${size}px`);
    this.sheet.classList.toggle('beside', !attention.causal);
    this.sheet.style.setProperty('--columns', String(columns));
    this.pointer.replace(() => this.sheet.replaceChildren());
    this.lines.clear();
    this.canvases.clear();
  }

  private drawLines(): void {
    const {layers, heads, numbers: {length: shown}} = this.page.side;
    const {scrollTop, clientHeight} = this.scroller;
    const whole = {first: 0, end: shown * this.layout.lines};
    const {first, end} = this.isOnSheet ? whole : linesWithin(this.layout, shown, scrollTop - kBeyond, scrollTop + clientHeight + kBeyond);
    for (const [line, {element}] of this.lines) {
      if (line >= first && line < end) continue;
      this.lines.delete(line);
      for (const cell of element.querySelectorAll<HTMLElement>('.grid-head')) this.canvases.delete(this.thumbs.indexOf(placeOf(this.page, cell)!));
      this.pointer.replace(() => element.remove());
    }
    const inSight: number[] = [];
    for (let line = first; line < end; ++line) inSight.push(...this.drawLine(line));
    this.thumbs.want(inSight, layers * heads);
  }

  /** Redraws the line if any part of it has changed; its heads by number. */
  private drawLine(line: number): number[] {
    const {api, store: {now, isFresh}} = this.page;
    const {lines, columns} = this.layout;
    const layer = this.layerOf(line);
    const places = this.order(layer).slice(line % lines * columns, (line % lines + 1) * columns);
    const isScored = api.scoresOf(places[0]!) !== undefined;
    const pins = now.places.filter((place) => place.layer === layer).map(nameOf);
    const state = [now.sort, now.filter, isScored, isFresh, ...pins, ...places.map(({head}) => head)].join(' ');
    const known = this.lines.get(line);
    if (known?.state !== state) {
      const element = this.lineOf(line, layer, places);
      this.lines.set(line, {element, state});
      this.pointer.replace(() => {
        if (known) known.element.replaceWith(element);
        else this.sheet.append(element);
      });
    }
    return places.map((place) => this.thumbs.indexOf(place));
  }

  private lineOf(line: number, layer: number, places: Place[]): HTMLElement {
    const {store} = this.page;
    const {left, pitch, lines, above} = this.layout;
    const mean = meanOf(this.page, layer);
    const name = line % lines > 0 ? null : html('div', {class: 'grid-layer'}, html('b', {}, `Layer ${layer}`),
      mean ? html('span', {class: 'quiet'}, ` mean ${numberText(mean)}`) : null);
    const cells = places.map((place, column) => {
      const head = this.thumbs.indexOf(place);
      const cell = headCell(this.page, {place, isFiltered: passes(this.page, this.terms, place) === false, canvas: this.canvasOf(head)},
        (event) => choose(store, place, event));
      cell.style.left = `${left + column * pitch}px`;
      return cell;
    });
    const brackets = above > 0 ? bracketsOver(this.page, this.layout, places) : [];
    const element = html('div', {class: 'grid-line'}, name, ...brackets, ...cells);
    element.style.top = `${kMargin + lineTop(this.layout, line)}px`;
    return element;
  }

  private canvasOf(head: number): HTMLCanvasElement {
    const known = this.canvases.get(head);
    if (known) return known;
    const canvas = html('canvas', {class: 'grid-picture', 'aria-hidden': 'true', width: 0, height: 0});
    this.canvases.set(head, canvas);
    const thumb = this.thumbs.codes(head);
    if (thumb) drawThumbnail(canvas, thumb.cut, thumb.codes, this.layout, this.page.api);
    return canvas;
  }

  private drawThumbs(heads: number[]): void {
    for (const head of heads) {
      const canvas = this.canvases.get(head);
      const thumb = this.thumbs.codes(head);
      if (canvas && thumb) drawThumbnail(canvas, thumb.cut, thumb.codes, this.layout, this.page.api);
      else canvas?.classList.toggle('missing', this.thumbs.isMissing(head));
    }
    this.heading.show(null, this.thumbs.cut);
  }

  private frameHovered(): void {
    const {place} = this.page.store.hover;
    const cell = place && this.cellOf(place);
    if (cell !== this.hovered) this.hovered?.classList.remove('hovered');
    cell?.classList.add('hovered');
    this.hovered = cell;
  }

  private cellOf({layer, head}: Place): HTMLElement | null {
    return this.sheet.querySelector(`[data-layer="${layer}"][data-head="${head}"]`);
  }

  private get cursor(): Place { return this.page.store.hover.place ?? primary(this.page.store.now); }

  /** From the head under the cursor to the one beside, over or under it. */
  move(x: number, y: number): void {
    const {lines, columns} = this.layout;
    const {cursor} = this;
    const order = this.order(cursor.layer);
    const at = order.findIndex((place) => isSamePlace(place, cursor));
    if (at < 0) return;
    const line = this.firstLine(cursor.layer) + Math.floor(at / columns) + y;
    if (line < 0 || line >= this.page.side.numbers.length * lines) return;
    const target = this.order(this.layerOf(line));
    const first = line % lines * columns;
    const column = Math.max(0, Math.min(columns - 1, target.length - first - 1, at % columns + x));
    this.focus(target[first + column]!);
  }

  /** Scrolls the grid, and nothing else, until the head is in sight. */
  private reveal(place: Place): void {
    const {columns, lineHeight} = this.layout;
    const line = this.firstLine(place.layer) + Math.floor(this.order(place.layer).findIndex((each) => isSamePlace(each, place)) / columns);
    const top = lineTop(this.layout, line);
    const {scrollTop, clientHeight} = this.scroller;
    if (top < scrollTop) this.scroller.scrollTop = top;
    else if (top + lineHeight > scrollTop + clientHeight) this.scroller.scrollTop = Math.ceil((top + lineHeight - clientHeight) / lineHeight) * lineHeight;  // no line is cut at the top
    this.drawLines();
  }

  private focus(place: Place): void {
    this.reveal(place);
    this.cellOf(place)?.focus({preventScroll: true});
  }
}
