// The table of heads: one row per head with its bars, the threshold among them, and a line about heads that reach it. Only
// visible rows exist.
import {isSamePlace} from '../selection/address';
import {button, html, menu, svg} from '../drawing/dom';
import {shortWeight, weight} from '../drawing/format';
import {kvHeads} from '../attention/side';
import {wantBeside} from '../heads/late';
import type {Page, Panel} from './panel';
import {fullName} from '../heads/score_names';
import {choose} from '../shell/chips';
import type {Place} from '../selection/selection';
import {headText, kNothing, nameOf} from '../selection/selection';
import type {Alike, Column, Ranked} from './heads_scores';
import {MoreBelow} from './more_below';
import {columnName, columnsOf, isKnown, isNumber, isOfSide, ranked, reachedText, sortName, unitText, valueOf, valueText} from './heads_scores';

const [kRow, kTouched] = [17, 24];  // px per row; for touch
const kFew = 3;        // scores side by side on a narrow page
const kBar = 60;       // px of a column's bars, if there is room
const kLeastSpan = 0.1;  // for differences between shares: smaller ones do not fill the bar
const kName = 66;      // px for a head's name
const kColumn = 92;    // px of a column, at least: for its name and source
const kDigit = 7;      // px per digit, at most
const kToBar = 6;      // px from a number to the bar right of it
const kBeyond = 40;    // rows above and below the visible ones that also exist
const kBelow = 58;     // the line about heads that reach it, and the foot

type Line = Ranked | 'threshold';

/** The range of a column's bars: both signs share one scale, and no bar is cut. */
interface Extent { low: number; high: number }

function extentOf({unit, of}: Column, values: number[]): Extent {
  const least = unit !== 'share' ? 1e-9 : of === 'A-B' ? kLeastSpan : 1;
  return {low: Math.min(0, ...values), high: Math.max(least, ...values)};
}

export class HeadsTable implements Panel {
  readonly element = html('section', {class: 'heads-table', 'aria-label': 'Table of heads'});
  private readonly names = html('div', {class: 'heads-names', role: 'row'});
  private readonly scroller = html('div', {class: 'heads-scroller', role: 'rowgroup'});
  private readonly sheet = html('div', {class: 'heads-sheet'});
  private readonly reached = html('div', {class: 'heads-row heads-reached'});
  private readonly more = new MoreBelow();
  private lines: Line[] = [];
  private columns: Column[] = [];
  private extents: Extent[] = [];
  private numbers: number[] = [];  // px of the widest number in each column
  private bar = kBar;
  private frame = 0;

  constructor(private readonly page: Page, private readonly alike: () => Alike | null) {
    this.element.setAttribute('role', 'table');
    this.scroller.append(this.sheet);
    this.element.append(this.names, this.scroller, this.more.element, this.reached);
    this.scroller.addEventListener('scroll', () => {
      cancelAnimationFrame(this.frame);
      this.frame = requestAnimationFrame(() => this.drawRows());
    }, {passive: true});
    this.scroller.addEventListener('pointerleave', () => page.store.preview({}));
  }

  destroy(): void {
    cancelAnimationFrame(this.frame);
    wantBeside(this.page, null);
    this.page.store.preview({});
  }

  update(): void {
    const {page} = this;
    const alike = this.alike();
    const sort = sortName(page, alike);
    const columns = columnsOf(page, alike);
    const sorted = columns.find(({name}) => name === sort || name === `probe_${sort}`)!;
    const fit = page.stage.isNarrow ? kFew : Math.max(kFew, Math.floor(((this.scroller.clientWidth || Infinity) - kName) / kColumn));
    this.columns = fit < columns.length ? [sorted, ...columns.filter((column) => column !== sorted)].slice(0, fit) : columns;
    if (columns.some(({of}) => of === 'B')) wantBeside(page, sorted.name);
    this.element.style.setProperty('--row', `${this.rowHeight}px`);
    const heads = ranked(page, sorted, alike);
    this.lines = heads;
    if (sorted.threshold !== undefined) {
      const first = heads.findIndex(({value}) => !isNumber(value) || value < sorted.threshold!);
      const at = first < 0 ? heads.length : first;
      this.lines = [...heads.slice(0, at), 'threshold', ...heads.slice(at)];
    }
    this.measure(heads, alike);
    this.element.style.setProperty('--columns', String(this.columns.length));
    this.drawNames(sorted);
    this.sheet.style.height = `${this.lines.length * this.rowHeight}px`;
    this.limitHeight();
    this.drawRows();
    this.reached.replaceChildren(html('span', {class: 'heads-name quiet'}, 'reached'), ...this.columns.map((column) => {
      const reached = reachedText(page, column, alike);
      return html('span', {class: column.threshold === undefined ? 'quiet' : '', title: reached}, reached);
    }));
  }

  /** The widths of numbers and bars in each column. */
  private measure(heads: Ranked[], alike: Alike | null): void {
    const valuesOf = (column: Column) => heads.map(({place}) => valueOf(this.page, place, column, alike));
    const sides = this.columns.filter(({of}) => of === 'A' || of === 'B');  // on one scale
    this.extents = this.columns.map((column) => extentOf(column, (sides.includes(column) ? sides : [column]).flatMap(valuesOf).filter(isNumber)));
    this.numbers = this.columns.map((column) => kDigit * Math.max(4, ...valuesOf(column).map((value) => valueText(column, value).length)));
    const room = (this.scroller.clientWidth - kName) / this.columns.length - Math.max(...this.numbers) - 2 * kToBar;
    this.bar = Math.max(8, Math.min(kBar, Math.floor(room)));
  }

  /** The table ends with the window, and with a whole row. */
  private limitHeight(): void {
    const {stage} = this.page;
    const top = this.scroller.getBoundingClientRect().top - stage.root.getBoundingClientRect().top;
    const room = stage.sight.bottom === Infinity ? Infinity : Math.max(stage.isNarrow ? stage.viewHeight * 0.7 : 300, stage.viewHeight - top - kBelow);
    const tall = this.more.fit(this.lines.length * this.rowHeight, room);
    this.scroller.style.maxHeight = this.more.isNeeded ? `${Math.floor(tall / this.rowHeight) * this.rowHeight}px` : 'none';
  }

  private get rowHeight(): number { return this.page.stage.isNarrow ? kTouched : kRow; }

  private drawNames(sorted: Column): void {
    const {store} = this.page;
    const all = columnsOf(this.page, this.alike());
    const isCut = this.columns.length < all.length;
    const others = isCut ? all.filter(({name, of}) => !of && name !== sorted.name) : [];
    const first = isCut ? menu('Sort by another score', others.map(({name}) => ({name: name.replace(/^probe_/, ''), label: fullName(name)})), '', (name) => store.set({sort: name}), 'sort by') : 'head';
    this.names.replaceChildren(html('span', {class: 'heads-name quiet', role: 'columnheader'}, first), ...this.columns.map((column) => {
      const name = columnName(column).replace('normalised ', '');
      const isSorted = column.name === sorted.name && column.of === sorted.of;
      return html('span', {role: 'columnheader', 'aria-sort': isSorted ? 'descending' : 'none', title: column.about},
        button({class: 'option', 'aria-pressed': String(isSorted)}, () => store.set({sort: isKnown(this.page, column) ? column.name.replace(/^probe_/, '') : kNothing.sort}), name),
        html('span', {class: 'quiet'}, unitText(column)));
    }));
  }

  private drawRows(): void {
    const {scrollTop, clientHeight} = this.scroller;
    this.more.say(this.lines.slice(Math.round((scrollTop + clientHeight) / this.rowHeight)).filter((line) => line !== 'threshold').length, 'head');
    const isWhole = this.page.stage.sight.bottom === Infinity;
    const first = isWhole ? 0 : Math.max(0, Math.floor(scrollTop / this.rowHeight) - kBeyond);
    const end = isWhole ? this.lines.length : Math.ceil((scrollTop + (clientHeight || 800)) / this.rowHeight) + kBeyond;
    const focused = (document.activeElement as HTMLElement | null)?.dataset.head;
    const rows = this.lines.slice(first, end).map((line, at) => {
      const row = line === 'threshold' ? this.threshold(first + at) : this.row(line);
      row.style.top = `${(first + at) * this.rowHeight}px`;
      return row;
    });
    this.sheet.replaceChildren(...rows);
    if (focused) this.sheet.querySelector<HTMLElement>(`[data-head="${focused}"]`)?.focus({preventScroll: true});
  }

  private row({place}: Ranked): HTMLElement {
    const {store, side} = this.page;
    const groups = kvHeads(side.attention, place.layer);
    const kv = Math.floor(place.head * groups / side.heads);
    const isShared = groups < side.heads;
    const isPinned = !store.isFresh && store.now.places.some((each) => isSamePlace({...each, stack: place.stack!}, place));
    const own: Place = store.now.places[0]!.stack === undefined ? {layer: place.layer, head: place.head} : place;
    const name = button({class: 'heads-name', 'data-head': nameOf(place), 'aria-pressed': String(isPinned)},
      (event) => choose(store, own, event), html('b', {}, headText(place)), isShared ? html('span', {class: 'quiet'}, ` kv ${kv}`) : null);
    const row = html('div', {class: isPinned ? 'heads-row pinned' : 'heads-row', role: 'row'}, html('span', {class: 'contents', role: 'rowheader'}, name), ...this.columns.map((column, at) =>
      this.cell(column, valueOf(this.page, place, column, this.alike()), at)));
    row.addEventListener('pointerenter', () => store.preview({place: own}));
    row.addEventListener('click', (event) => event.target instanceof HTMLButtonElement || name.contains(event.target as Node) || choose(store, own, event));
    return row;
  }

  private cell(column: Column, value: number | undefined, at: number): HTMLElement {
    const {low, high} = this.extents[at]!;
    const scale = this.bar / (high - low);
    const zero = 1 - low * scale;
    const length = isNumber(value) ? value : 0;
    const width = Math.max(1, Math.abs(length) * scale);
    const isNegative = length < 0;
    const sign = column.of === 'A-B' ? isNegative ? 'less' : 'more' : isNegative ? 'open' : '';
    const bar = svg('rect', {x: isNegative ? zero - width : zero + 0.5, y: this.rowHeight / 2 - 4, width, height: 7, class: sign});
    const number = html('span', {class: 'value'}, valueText(column, value));
    number.style.width = `${this.numbers[at]!}px`;
    return html('span', {class: 'heads-cell', role: 'cell'}, number, svg('svg', {width: this.bar + 3, height: this.rowHeight, 'aria-hidden': 'true'},
      svg('path', {d: `M${zero} 0V${this.rowHeight}`, class: 'zero'}), isNumber(value) ? bar : null));
  }

  private threshold(at: number): HTMLElement {
    const column = this.columns.find(({name}) => name.replace(/^probe_/, '') === sortName(this.page, this.alike()))!;
    const next = this.lines[at + 1] as Ranked | undefined;
    const said = next ? valueText(column, next.value) : '';  // with another digit if rounding would seem to reach it
    const after = !next || !isNumber(next.value) ? '' : `; the next is ${headText(next.place)} ${said === shortWeight(column.threshold!) ? weight(next.value) : said}`;
    const count = at === 0 ? 'none' : String(at);
    return html('div', {class: 'heads-row heads-threshold'}, html('span', {class: 'heads-name quiet'}, 'threshold'),
      html('span', {}, `${shortWeight(column.threshold!)}, reached by ${count}${after}`));
  }
}

/** The order of scores that `s`, `x` and `y` walk through. */
export function nextName(page: Page, name: string): string {
  const names = page.api.about.scores.map((score) => score.name).filter((each) => !each.startsWith('probe_') && isOfSide(page, each));
  return names[(names.indexOf(name === kNothing.sort ? 'previous' : name) + 1) % names.length]!;
}
