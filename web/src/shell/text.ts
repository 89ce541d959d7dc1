// The text, shaded by what the shown token attends to (or, the other way, by what attends to it).
import type {SessionImage} from '../answers';
import type {Line} from '../attention/arcs';
import {otherEnd} from '../attention/arcs';
import {latest, Slot} from '../data/slot';
import {button, choice, html, say} from '../drawing/dom';
import {shortWeight, weight as written} from '../drawing/format';
import {Frame} from '../drawing/frame';
import {lackOfWeight} from '../heads/nan';
import {cellName, patchOf, placeName} from '../text/images';
import type {MakePanel, Page, Panel, Span} from '../panels/panel';
import {focus, isIn, primary, spanName} from '../panels/panel';
import {differencePosition} from '../panels/matrix_scale';
import {Rows} from '../attention/rows';
import type {Selection, Unit} from '../selection/selection';
import {kUnits} from '../selection/selection';
import type {Hover} from '../selection/store';
import {areMostlyBytes, plain} from '../text/tokens';
import {listenToText} from './text_input';
import type {Mark} from './text_numbers';
import {TextView} from './text_view';

const [kLeastLines, kMostLines] = [2, 6];
const kWithoutText = 650;  // px of a window's height that the rest of a view takes before the text has more lines
const kLineShare = 45;     // and what each line more takes, with some for the rest
const [kLine, kUnderLines] = [35, 5];  // px of a line; room for numbers under the last
const kWhat = 112;       // px of the longest thing that a shade may stand for
const kGaps = 56;        // px between what stands in the line of switches
const kLeastNames = 134;  // px for both directions, by name

/** Weights by row, numbers by token; `darkest`: the largest weight on a cell of an image. */
interface Shading { weights: (number | null)[]; largest: number; darkest: number; numbers: Map<number, number> }

const kNone = 1e-30;  // in place of 0, by which nothing can be divided

function largestOf(weights: (number | null)[]): number { return weights.reduce<number>((most, weight) => Math.max(most, weight ?? 0), kNone); }

function shadingOf(line: Line, rows: Rows, to: boolean): Shading {
  const {weights, edges} = rows.line(line, to);
  const numbers = new Map(edges.map((edge) => {
    const row = otherEnd(edge, to);
    return [rows.first(row), weights[row] ?? 0];
  }));
  return {weights, largest: largestOf(weights), darkest: largestOf(rows.tokens.map((token, at) => patchOf(token) ? rows.weight(weights, at) : null)), numbers};
}

function bytesRemark(model: string): string {
  return `Most tokens here are single bytes: the vocabulary of ${model} lacks most of these characters, `
    + 'each of which takes several tokens.';
}

class TextPanel implements Panel {
  private readonly view: TextView;
  private readonly direction: ReturnType<typeof choice<'from' | 'to'>>;
  private readonly unit: ReturnType<typeof choice<Unit>>;
  private readonly what = html('span', {class: 'quiet shaded-by'});
  private readonly part = html('span', {class: 'quiet in-sight', 'data-unsaved': true});
  private readonly switches: HTMLElement;
  private readonly isBytes: boolean;
  private readonly line = new Slot<Line>('text', () => this.update());
  private rows: Rows;
  private shading: Shading | null = null;
  private focused: Span | null = null;  // whose attention is shown
  private revealed = '';
  private placedIn = 0;  // px of the window's height
  private readonly borders = ([['above', -1, '\u2191'], ['below-text', 1, '\u2193']] as const).map(([name, at, arrow]) =>
    ({element: html('div', {class: `beyond-place ${name}`, 'data-unsaved': true}), at, arrow}));
  private readonly resized = new ResizeObserver(() => this.place());
  private readonly marking = new Frame(() => this.view.mark());

  /** Of a square attention the queries; else the keys, where some are cells of images. */
  constructor(private readonly container: HTMLElement, private readonly page: Page) {
    const {api, side, store} = page;
    this.rows = new Rows(page);
    this.direction = choice('Direction', [{name: 'from', label: 'from'}, {name: 'to', label: 'to'}],
      (name) => store.set({to: name === 'to'}));
    this.unit = choice('Unit', kUnits.filter((name) => name !== 'character' || side.units.characters).map((name) => ({name, label: name})), (name) => store.set({unit: name}));
    this.switches = html('div', {class: 'switches'}, this.part, this.what, this.direction.element, this.unit.element);
    this.isBytes = areMostlyBytes(side.queries);
    this.direction.element.hidden = this.unit.element.hidden = !side.isSquare;
    this.view = new TextView(page, (index) => this.markOf(index), (image) => this.saidOf(image));
    if (this.isBytes) this.switches.prepend(html('p', {class: 'quiet bytes'}, bytesRemark(api.model.name)));
    container.append(this.view.scroller, this.switches, ...this.borders.map(({element}) => element));
    this.view.scroller.addEventListener('scroll', () => {
      this.pointBeyond();
      this.sayInSight();
    }, {passive: true});
    listenToText(this.view, this.rows.tokens.length, store, {hasSpans: side.isSquare, over: (index) => this.over(index), at: (index) => this.at(index)});
    this.view.makeStop(this.own ?? 0);
    this.resized.observe(container);
    this.place();
  }

  destroy(): void {
    this.line.stop();
    this.marking.stop();
    this.resized.disconnect();
    this.view.destroy();
  }

  /** The pinned one of these tokens. */
  private get own(): number | null {
    const {side, store} = this.page;
    return side.isSquare ? store.pinnedToken : store.pinnedKey;
  }

  /** The other end of the shown edge, of these tokens. */
  private get other(): number | null {
    const {side, store} = this.page;
    return side.isSquare ? store.other : store.markedKey;
  }

  /** What pointing at a token shows: its row; the edge of the pinned token to a cell of an image, or to a key. */
  private over(index: number): Partial<Hover> {
    const {side, store} = this.page;
    if (!side.isSquare) return {query: store.pinnedQuery, key: index};
    const {pinnedToken: pinned} = store;
    if (pinned === null || !patchOf(side.queries[index])) return {query: index};
    return store.to ? {query: index, key: pinned} : {query: pinned, key: index};
  }

  /** What a click on a token pins. */
  private at(index: number): Partial<Selection> {
    const {side, store} = this.page;
    return side.isSquare ? {query: index, key: null, range: null} : {query: store.pinnedQuery ?? side.queries.length - 1, key: index, range: null};
  }

  /** What is said of an image: the cell that is looked at, and how much the darkest one has. */
  private saidOf(image: SessionImage): string {
    const {shading, rows, page: {api}} = this;
    const patch = this.other === null ? undefined : patchOf(rows.tokens[this.other]);
    const weight = shading && patch && rows.weight(shading.weights, this.other!);
    const cell = patch?.image !== image || !shading ? [] : [`${placeName(patch)}: ${weight === null ? this.lack : written(weight!)}`];
    const darkest = shading && shading.darkest > kNone ? `${cell.length > 0 ? '' : 'cells: '}darkest ${written(shading.darkest)}` : 'no cell has weight';
    const scale = !shading || api.isDifference ? [] : [darkest];
    return [...cell, ...scale].join(', ');
  }

  /** The tokens that can be seen. */
  inSight(): {first: number; end: number} { return this.view.inSight; }

  /** The switches stand beside the last line where there is room, and under it what is said of the text. */
  private place(): void {
    const {stage} = this.page;
    this.placedIn = stage.viewHeight;
    const lines = Math.max(kLeastLines, Math.min(kMostLines, Math.floor((stage.viewHeight - kWithoutText) / kLineShare)));
    const limit = (count: number) => { this.view.scroller.style.maxHeight = stage.isNarrow ? '' : `${count * kLine + kUnderLines + this.view.beyondLine}px`; };
    limit(lines);
    if (this.view.layOut()) {
      limit(lines);
      this.bringIntoSight();
    }
    const free = this.view.paragraph.clientWidth - this.view.lastWidth;
    // Whatever is named: a name that finds no room is cut, as nothing may move when another is.
    const names = Math.floor(free - kWhat - kGaps - this.unit.element.getBoundingClientRect().width);
    const hasRoom = !this.isBytes && !stage.isNarrow && names >= kLeastNames;
    if (hasRoom && this.view.lineCount === lines + 1) limit(lines + 1);  // the switches beside the last line leave the room of one
    const isBeside = hasRoom && !this.view.overflows;
    this.container.classList.toggle('beside', isBeside);
    this.container.classList.toggle('scrolls', this.view.overflows);
    this.direction.element.style.maxWidth = isBeside ? `${names}px` : '';
    this.sayInSight();
  }

  /** A text that is cut says so. */
  private sayInSight(): void {
    const {first, end} = this.view.inSight;
    say(this.part, this.view.overflows ? `tokens ${first} to ${end - 1} of ${this.page.side.queries.length.toLocaleString('en')}, scroll for the rest` : '');
  }

  /** What is said of a token without a number. */
  private get lack(): string {
    const {api, store} = this.page;
    return lackOfWeight(api, primary(store.now), this.shading?.weights ?? [], store.to);
  }

  private markOf(index: number): Mark {
    const {store} = this.page;
    const {now} = store;
    const weight = this.shading ? this.rows.weight(this.shading.weights, index) : 0;
    const number = this.shading?.numbers.get(index);
    const patch = patchOf(this.rows.tokens[index]);
    const isPinned = index === this.own
      || (now.range !== null && index >= now.range[0] && index <= now.range[1]);
    let classes = weight === null ? ' unseen' : '';
    if (!this.rows.isTokens && isIn(this.focused, index)) classes += ' together';
    if (isPinned) classes += ' pinned';
    else if (this.isAt(index, this.other) || (this.page.side.isSquare && index === store.hoveredToken)) classes += ' hovered';
    if (weight !== null && weight < 0) classes += ' less';
    const shade = weight === null || !this.shading ? 0
      : this.page.api.isDifference ? Math.abs(differencePosition(weight)) : Math.sqrt(weight / (patch ? this.shading.darkest : this.shading.largest));
    // While the pointer moves nobody reads it out.
    const said = !this.shading || store.hoveredToken !== null ? '' : weight === null ? this.lack : `${this.page.api.requests.quantity} ${written(weight)}`;
    const title = patch && this.shading ? `${cellName(patch)}: ${weight === null ? this.lack : written(weight)}` : undefined;
    return {shade, number: number === undefined ? '' : shortWeight(number), classes, nudge: 0, said, ...title !== undefined && {title}};
  }

  /** Whether the token is of the same row. */
  private isAt(index: number, other: number | null): boolean { return other !== null && this.rows.of(index) === this.rows.of(other); }

  /** What the shading is of: whose weights, and what one shade stands for. */
  private nameShading(): void {
    const at = this.focused;
    const [from, towards] = this.direction.element.querySelectorAll('button');
    const name = at === null ? 'a token' : spanName({tokens: this.page.side.queries}, at);
    from!.title = towards!.title = name;
    say(from!, `from ${name}`);
    say(towards!, at && at.end - at.first > 4 ? 'to it' : `to ${name}`);
    say(this.what, `shaded by ${this.rows.isTokens ? this.page.api.requests.quantity : this.rows.noun}`);
  }

  /** What was pinned elsewhere comes into sight. */
  private reveal(): void {
    const {query, key, range, unit} = this.page.store.now;
    const name = `${query} ${key} ${range} ${unit}`;
    if (name === this.revealed) return;
    this.revealed = name;
    this.place();
    this.bringIntoSight();
  }

  private bringIntoSight(): void {
    const {store} = this.page;
    const index = this.own ?? store.now.range?.[1];
    if (this.page.side.isSquare && store.pinnedOther !== null) this.view.reveal(store.pinnedOther);  // first: the token itself must be in sight
    if (index !== undefined) this.view.reveal(index);
    this.pointBeyond();
  }

  /** The ends of the pinned edge that are scrolled out of sight stand at the border, where they are. */
  private pointBeyond(): void {
    const {side, store} = this.page;
    const ends = [this.own, side.isSquare ? store.pinnedOther : null].flatMap((index) => index === null ? [] : [{index, at: this.view.beyond(index)}]);
    for (const {element, at: border, arrow} of this.borders) {
      const outside = ends.filter(({at}) => at === border);
      element.replaceChildren(...outside.map(({index}) => button({class: 'beyond', 'data-index': index}, () => {
        this.view.reveal(index);
        this.pointBeyond();
      }, `${arrow} ${plain(this.rows.tokens[index]!)} ${index}`)));
    }
  }

  update(): void {
    const {store, api} = this.page;
    this.rows = new Rows(this.page);
    if (this.view.showBytes(this.rows.isTokens) || this.placedIn !== this.page.stage.viewHeight) this.place();
    this.focused = focus(this.page);
    this.nameShading();
    this.reveal();
    this.unit.show(this.rows.noun as Unit);
    this.direction.show(store.to ? 'to' : 'from');
    const at = this.focused;
    const asked = at === null || !api.hasWeights || (store.to && !this.page.side.isSquare) ? null
      : api.line(primary(store.now), at.first, at.end, store.to);
    const found = this.line.show(asked);
    const line = latest(found);
    this.shading = line && shadingOf(line, this.rows, store.to);
    if (this.shading && found?.state === 'stale') this.shading.numbers.clear();  // no number of what was asked before
    this.marking.ask();
  }
}

export interface Text extends Panel { inSight(): {first: number; end: number} }

export const textPanel = ((container, page): Text => new TextPanel(container, page)) satisfies MakePanel;
