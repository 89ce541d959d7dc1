// The matrix of one head: tiles like a map, margins, read-out; pointer, wheel and keys.
import {largestOf, type Line} from '../attention/arcs';
import {Slot, valueOf} from '../data/slot';
import {choice, html, say} from '../drawing/dom';
import {Frame} from '../drawing/frame';
import {focus, type Page, type Panel, primary, type Span} from './panel';
import {headText, kScales, nameOf, type Place, type Scale, type Zoom} from '../selection/selection';
import type {Marginals, SessionApi} from '../transport/api';
import {MatrixCanvas} from './matrix_canvas';
import {listenToMatrix} from './matrix_input';
import {hasTokens, MatrixLabels} from './matrix_labels';
import {blockOf} from '../attention/side';
import {isBetween} from '../attention/sides';
import {Rows} from '../attention/rows';
import {rowNames} from '../text/written';
import {MatrixLists} from './matrix_lists';
import {MatrixMargins} from './matrix_margin_pair';
import {hasFreeCorner, isSmall, widthBeside, widthWith} from './matrix_room';
import {type Box, MatrixSight} from './matrix_sight';
import {tableOf} from './matrix_table';
import {Tiles} from './matrix_tiles';
import {MatrixWait} from './matrix_wait';
import {quantityChoice} from './quantity_choice';
import {ReadOut} from './read_out';

const [kGutter, kMargin] = [30, 12];  // between the columns; and of the page beside a single column, which row labels may use
const [kLead, kLeadAlone] = [6, 26];  // and this much of the matrix's own column; the second if nothing is to its left
const kToMatrix = 6;         // from the row labels
const [kLists, kListsBelow] = [140, 290];  // from the top of the matrix at full size to the lists beside it; or to one list below it
const kScaleNames = {linear: 'linear', sqrt: 'square root', log: 'log', rank: 'rank'};

/** `isFull`: it has the width of the page, with the read-out beside it. */
export interface MatrixOptions { isFull?: boolean }

class MatrixPanel implements Panel {
  private readonly tiles: Tiles;
  private readonly canvas: MatrixCanvas;
  private readonly readOut: ReadOut;
  private readonly scales: ReturnType<typeof choice<Scale>>;
  private readonly quantities: ReturnType<typeof quantityChoice>;
  private readonly edges: MatrixMargins;
  private readonly labels: MatrixLabels;
  private readonly lists: MatrixLists | null;  // at full size
  private readonly wait = new MatrixWait();
  private readonly about = html('span', {class: 'quiet'});
  private readonly plot = html('div', {class: 'plot'});
  private readonly frame = html('div', {class: 'matrix-frame'});
  private readonly sight: MatrixSight;
  private readonly line = new Slot<Line>('read-out', () => this.update());
  private readonly sides = [new Slot<Line>('read-out-a', () => this.update()), new Slot<Line>('read-out-b', () => this.update())] as const;  // for a difference
  private readonly margins = new Slot<Marginals>('margins', () => this.update());
  private marginals: Marginals | null = null;
  private box: Box | null = null;
  private table: HTMLElement | null = null;
  private readonly drawing = new Frame(() => this.draw());
  private lastPlace = '';
  private speak = false;
  private isBetween = false;
  private reason = '';
  private shownZoom: Zoom | null = null;
  private readonly resized = new ResizeObserver(() => this.resize());
  private readonly redraw = () => this.drawing.ask();
  private readonly forget: () => void;

  constructor(private readonly container: HTMLElement, private readonly page: Page, private readonly options: MatrixOptions) {
    const {api, side, store, stage} = page;
    this.tiles = new Tiles(api, side, this.redraw);
    this.canvas = new MatrixCanvas(page, this.tiles, this.redraw);
    this.readOut = new ReadOut(side, api);
    this.edges = new MatrixMargins(stage);
    this.lists = options.isFull ? new MatrixLists(page) : null;
    this.labels = new MatrixLabels(side, rowNames(page, this.redraw));
    this.scales = choice('Scale', kScales.map((name) => ({name, label: kScaleNames[name]})), (name) => store.set({scale: name}));
    this.quantities = quantityChoice(page);
    const {element} = this.canvas;
    this.build(element);
    const {queries: rows, keys: columns, causal} = side.attention;
    this.sight = new MatrixSight(element, {rows, columns, causal}, this.redraw, (zoom) => {
      this.shownZoom = zoom;
      if (JSON.stringify(zoom) !== JSON.stringify(store.now.zoom)) store.set({zoom}, {replace: true});
    });
    listenToMatrix(element, this.sight, store, {rows, columns, causal}, {
      drawBox: (box) => {
        this.box = box;
        this.drawing.ask();
      },
      walk: (cell) => {
        this.speak = true;
        store.preview(cell);
      },
    });
    element.addEventListener('pointermove', (event) => {
      const isOver = this.frame.classList.contains('over');
      if (isOver && this.readOut.isUnder(event)) this.frame.classList.toggle('turned');
    });
    this.resized.observe(container);
    this.resized.observe(stage.root);  // messages above it move it
    this.forget = stage.listen(() => {
      this.edges.forget();
      this.resize();
      this.drawing.ask();
    });
    this.resize();
  }

  private build(element: HTMLCanvasElement): void {
    element.className = 'matrix';
    element.tabIndex = 0;
    element.setAttribute('role', 'application');
    element.setAttribute('aria-label',
      'Matrix of weights. Arrows move a cell, Enter pins it, 0 fits, plus and minus zoom, t gives a table.');
    this.plot.append(element, this.labels.columns, this.readOut.element, ...this.lists ? [this.lists.element] : []);
    this.frame.append(this.edges.received, this.edges.useName, this.labels.rows, this.plot, this.edges.use);
    this.container.append(
      html('div', {class: 'heading'}, html('h2', {}, 'Matrix'), this.about, this.wait.element, this.quantities.element, this.scales.element),
      this.frame, this.readOut.spoken);
  }

  destroy(): void {
    [this.line, this.margins, this.readOut, ...this.sides].forEach((slot) => slot.stop());
    this.resized.disconnect();
    this.forget();
    this.lists?.destroy();
    this.wait.stop();
    this.drawing.stop();
  }

  private resize(): void {
    if (this.frame.hidden) return;
    const {stage: {isStacked}, side: {attention: {queries, keys}}} = this.page;
    const isAlone = isStacked || this.isFull;
    const own = this.isFull ? this.labels.width + kToMatrix : isAlone ? kLeadAlone : kLead;  // at full size it is zoomed to tokens
    const gutter = isAlone ? 0 : kGutter;
    let lead = own;
    let width = this.widthWith(lead);
    if (hasTokens(width / keys)) {  // every row has a token
      lead = Math.max(own, this.labels.width + kToMatrix - gutter);
      width = this.widthWith(lead);
    }
    this.frame.style.setProperty('--band', `${this.page.stage.isNarrow ? MatrixLabels.height(width / keys) : this.band}px`);
    this.frame.style.setProperty('--lead', `${lead}px`);
    this.frame.style.setProperty('--labels', `${lead + (hasTokens(width / keys) ? gutter : Math.max(gutter, kMargin)) - kToMatrix}px`);
    if (width <= 0) return;
    const tall = queries === keys ? width : Math.round(width / keys * queries);
    this.lists?.resize(this.isFull ? widthBeside(this.container, lead, width) : width, this.isFull ? tall - kLists : kListsBelow, this.isFull);
    if (width === this.sight.width) return;
    this.canvas.resize(width);
    this.frame.style.setProperty('--side', `${width}px`);
    this.frame.style.setProperty('--tall', `${tall}px`);
    this.sight.resize(width, tall);
    this.showZoom();
    this.drawing.ask();
  }

  /** The part of the matrix named in the address. */
  private showZoom(): void {
    this.shownZoom = this.page.store.now.zoom;
    this.sight.show(this.shownZoom);
  }

  private get isFull(): boolean { return this.options.isFull === true && !this.page.stage.isStacked; }

  /** The room for column labels: enough for tokens, so that nothing moves when the matrix is zoomed to them. */
  private get band(): number { return MatrixLabels.height(this.page.stage.isNarrow ? 0 : Infinity); }

  private widthWith(lead: number): number {
    const top = this.plot.getBoundingClientRect().top - this.page.stage.root.getBoundingClientRect().top;
    return widthWith(this.page, this.container, top, lead, this.band, this.isFull);
  }

  fit(): void { this.sight.fit(); }

  zoomBy(factor: number): void { this.sight.zoomBy(factor); }

  /** The entries per side of one drawn cell. */
  get block(): number { return this.tiles.levelFor(this.sight.now.size * this.page.stage.pixelRatio).block; }

  /** Replaces the matrix by a table, and back. */
  async toggleTable(): Promise<void> {
    if (this.table) {
      this.closeTable();
      this.canvas.element.focus();
      return;
    }
    const {api, side, store} = this.page;
    const query = (side.isSquare ? store.query : store.markedQuery) ?? side.queries.length - 1;
    const place = primary(store.now);
    const table = await tableOf(api, side, place, query, store.markedKey ?? Math.min(query, side.keys.length - 1));
    if (this.table || nameOf(place) !== nameOf(primary(store.now))) return;  // another head was chosen meanwhile
    this.table = table;
    this.frame.hidden = true;
    this.frame.after(table);
    table.focus();
  }

  private closeTable(): void {
    this.table?.remove();
    this.table = null;
    this.frame.hidden = false;
    this.resize();
  }

  update(): void {
    const {store: {now}, api} = this.page;
    const place = primary(now);
    const {reason} = this.page.store;
    if (isBetween(this.page) !== this.isBetween || reason !== this.reason) {
      this.isBetween = isBetween(this.page);
      this.reason = reason;
      this.resize();
    }
    const name = nameOf(place) + now.quantity;
    this.scales.show(now.scale);
    this.quantities.show(now.quantity);
    this.tiles.show(name, now.scale);
    this.readOut.showScale(now.scale, api.requests.quantity);
    this.edges.showQuantity(api.requests.quantity);
    const whose = now.places.length > 1 ? `${headText(place)}, ` : '';
    say(this.about, `${whose}${now.unit === 'token' ? 'row attends to column' : 'row attends to column, token by token'}`);
    if (name !== this.lastPlace && api.hasWeights) {
      if (this.sight.width > 0) this.canvas.fetch(place, this.sight.now, this.sight.height);  // now, instead of in the next frame
      if (this.table) this.closeTable();
      this.lastPlace = name;
    }
    if (this.sight.width > 0 && now.zoom !== this.shownZoom) this.showZoom();
    this.marginals = valueOf(this.margins.show(api.hasWeights ? api.marginals(place) : null));
    this.showCell();
    this.lists?.update();
    this.drawing.ask();
  }

  /** The shown edge, by the line that shades the text and lists the keys. */
  private showCell(): void {
    const {store, api} = this.page;
    const at = focus(this.page);
    const {other, to} = store;
    const speak = this.speak;
    this.speak = false;
    const isHovered = other === null && store.hoveredToken !== null;
    if (at === null || (other === null && !isHovered)) {
      this.line.show(null);
      this.readOut.show(null);
      return;
    }
    const rows = new Rows(this.page);
    const asked = api.hasWeights ? api.line(primary(store.now), at.first, at.end, to) : null;
    const found = valueOf(this.line.show(asked));
    const line = found && rows.line(found, to);
    const row = other === null ? largestOf(line) : rows.of(other);
    const both = this.bothOf(at, row, rows);
    this.readOut.show(row === null ? null : {place: primary(store.now), at, other: row, to, line, speak, rows, ...both && {both}});
  }

  /** For a difference: the values of both sides. */
  private bothOf({first, end}: Span, row: number | null, rows: Rows): [number | null, number | null] | null {
    const {store: {now, to}, api, compared} = this.page;
    if (!compared || !api.isDifference) return null;
    const ofSide = (slot: Slot<Line>, of: SessionApi, place: Place) => {
      const found = valueOf(slot.show(api.hasWeights ? of.line(place, first, end, to) : null));
      return found && row !== null ? rows.line(found, to).weights[row] ?? null : null;
    };
    const [a, b] = this.sides;
    const [ofA, ofB] = compared.aligned;
    return [ofSide(a, ofA, primary(now)), ofSide(b, ofB, compared.toB(primary(now)))];
  }

  private draw(): void {
    const {store, store: {now, hover}, api, side, stage} = this.page;
    const {now: sight, width} = this.sight;
    if (!api.hasWeights || width <= 0) return;
    const cell = (query: number | null, key: number | null) => query !== null && key !== null ? {query, key} : null;
    this.canvas.draw(primary(now), sight, this.sight.height, now.scale, {
      pinned: cell(now.query, now.key), hovered: cell(hover.query, hover.key),
      rows: focus(this.page), isColumns: store.to, box: this.box,
      inside: now.pair && blockOf(side, now.pair),
    });
    this.wait.show(this.canvas.tilesInSight);
    if (!stage.isNarrow) this.edges.draw(this.marginals, {sight, width, height: this.sight.height, query: store.markedQuery, key: store.markedKey});
    if (!side.isSquare && this.labels.rename(rowNames(this.page, this.redraw))) this.resize();
    this.labels.draw(sight, this.sight, store.markedQuery, store.markedKey);
    this.placeReadOut(width);
  }

  /** Beside the matrix at full size; otherwise in the corner that the mask leaves free, above a zoomed matrix, or below it. */
  private placeReadOut(width: number): void {
    const {side: {attention}, stage} = this.page;
    const isInside = hasFreeCorner(attention, width, stage.isNarrow);
    this.frame.classList.toggle('full', this.isFull);
    this.frame.classList.toggle('covered', !isInside && !this.isFull);
    this.frame.classList.toggle('small', isSmall(width));
    this.frame.classList.toggle('over', isInside && !this.isFull && !this.sight.isFitted);
  }
}

export interface Matrix extends Panel { fit(): void; zoomBy(factor: number): void; toggleTable(): Promise<void>; readonly block: number }

export function matrixPanel(container: HTMLElement, page: Page, options: MatrixOptions = {}): Matrix {
  return new MatrixPanel(container, page, options);
}
