// Who attends to whom: the queries around the pinned one, its keys, and arcs between them.
import type {Edge} from '../arcs';
import {otherEnd} from '../arcs';
import {isSamePlace} from '../address';
import {html, say, svg} from '../dom';
import type {MakePanel, Page, Panel, Span} from '../panel';
import {colourOf, colourOfEdge, focus, isIn, primary, shortName} from '../panel';
import type {Place} from '../selection';
import {kColours, nameOf} from '../selection';
import {phrase} from '../tokens';
import type {Arc} from './edge_arcs';
import {drawArcs, labelOf} from './edge_arcs';
import type {Choice} from './edge_choice';
import {largestOfRows, restText} from './edge_choice';
import {EdgeData} from './edge_data';
import {headingOf} from './edge_heading';
import type {KeyValue} from './edge_rows';
import {foldRow, keyRow, queryRow, replaceUnlessSame, replaceWithFocus, restRow} from './edge_rows';
import {RowWindow} from './edge_window';
import type {Entry} from './key_column';
import {entriesOf, entryIndex, fitting, heaviest, heaviestFirst, rest} from './key_column';
import {Multiples} from './multiples';

const kRowHeight = 24;      // the least: a target's height
const kMostHeight = 30;
const kArcs: [number, number] = [104, 248];
const kNarrowArcs: [number, number] = [54, 150];

class EdgesPanel implements Panel {
  private readonly after = html('span', {class: 'quiet'});
  private readonly title = html('h2', {}, 'Who attends to whom');
  private readonly queries = html('div', {class: 'queries', role: 'group', 'aria-label': 'Queries'});
  private readonly keys = html('div', {class: 'keys', role: 'group', 'aria-label': 'Keys'});
  private readonly arcs = svg('svg', {class: 'arcs', 'aria-hidden': true});
  private readonly body = html('div', {class: 'edges-body'});
  private readonly multiples: Multiples;
  private readonly resized: ResizeObserver;
  private readonly unfolded = new Set<number>();
  private readonly data: EdgeData;
  private readonly rows: RowWindow;
  private at: Span | null = null;        // the tokens whose line is shown
  private token: number | null = null;   // the one of them that is pinned or hovered
  private list: Entry[] = [];
  private height = 0;          // of the body: asked for while something changes, it would lay the page out
  private frameAsked = 0;

  constructor(container: HTMLElement, private readonly page: Page) {
    const {store, side} = page;
    this.multiples = new Multiples(page, {pin: (other) => this.pin(other), preview: (other) => this.preview(other)});
    this.data = new EdgeData(page, () => this.update());
    this.rows = new RowWindow(side.queries.length);
    this.body.append(this.arcs, this.queries, this.keys);
    container.append(html('div', {class: 'heading'}, this.title, this.after), this.body, this.multiples.element);
    this.resized = new ResizeObserver(() => {
      this.height = this.body.clientHeight || this.height;  // hidden, it has none
      this.update();
    });
    this.resized.observe(container);
    this.resized.observe(this.body);
    this.height = this.body.clientHeight;
    this.queries.addEventListener('wheel', (event) => this.wheel(event), {passive: false});
    this.keys.addEventListener('scroll', () => this.drawArcs());
    this.queries.addEventListener('keydown', (event) => this.walk(event));
    for (const column of [this.queries, this.keys]) {
      column.addEventListener('pointerleave', () => store.preview({}));
      column.addEventListener('focusout', () => store.preview({}));
    }
  }

  destroy(): void {
    this.data.stop();
    this.resized.disconnect();
    cancelAnimationFrame(this.frameAsked);
  }

  private get rowHeight(): number { return this.height / Math.max(1, this.rows.rows); }

  private get isNarrow(): boolean { return this.page.stage.isNarrow; }

  update(): void {
    const {store, api, side} = this.page;
    const isMany = store.now.places.length > kColours;
    this.body.hidden = isMany;
    this.multiples.element.hidden = !isMany;
    const hovered = this.isNarrow ? null : store.hoveredToken;  // a touch on the matrix must not move it
    this.at = focus(this.page, hovered);
    this.token = hovered ?? store.pinnedToken;
    if (isMany && this.at === null) this.at = {first: side.queries.length - 1, end: side.queries.length};
    if (!isMany) this.placeRows();
    this.data.show(this.at, isMany || this.isNarrow ? null : this.rows);
    this.name();
    if (api.hasWeights) this.schedule();
  }

  private name(): void {
    const {title, after} = headingOf(this.page, this.at, this.isNarrow ? null : this.choice);
    say(this.title, title);
    say(this.after, after);
  }

  /** The arcs that stand with nothing pinned. */
  private get choice(): Choice { return largestOfRows(this.data.others); }

  /** One drawing a frame, however many answers come. */
  private schedule(): void {
    cancelAnimationFrame(this.frameAsked);
    this.frameAsked = requestAnimationFrame(() => this.draw());
  }

  private placeRows(): void {
    const {store} = this.page;
    const pinned = store.pinnedToken ?? store.now.range?.[1] ?? 0;
    const fits = this.isNarrow ? 1 : Math.max(1, Math.floor(this.height / kRowHeight));
    if (this.rows.place(pinned, store.hoveredToken, fits)) this.unfolded.clear();
  }

  private entries(): Entry[] {
    const {at, data: {lines}, page: {store, side: {attention: {causal, keys: length}}}} = this;
    if (at === null) {
      const end = this.rows.end;
      return entriesOf(heaviest(this.choice.rows.flatMap((row) => row.edges), 8), {first: 0, end}, this.unfolded);
    }
    const seen = !causal ? {first: 0, end: length} : store.to ? {first: at.first, end: length} : {first: 0, end: at.end};
    const most = this.isNarrow || this.unfolded.size > 0 ? Infinity : Math.floor(this.height / kRowHeight) - 1;
    return fitting(heaviestFirst(lines.values(), store.to, store.pinnedOther), seen, most, this.unfolded);
  }

  private draw(): void {
    if (this.page.store.now.places.length > kColours) {
      this.multiples.draw(this.at!, this.data.lines);
      return;
    }
    this.list = this.entries();
    this.drawKeys();
    if (this.isNarrow) this.drawNarrowQuery();
    else this.drawQueries();
    this.drawArcs();
  }

  private keyHeight(): number {
    if (this.isNarrow) return kMostHeight;
    const slots = this.list.length + 1;
    return Math.max(kRowHeight, Math.min(kMostHeight, this.height / slots));
  }

  private drawQueries(): void {
    const {begin, end} = this.rows;
    const {store, side} = this.page;
    const {pinnedToken: pinned, hoveredToken: hovered, now: {range}} = store;
    const stop = pinned !== null && pinned >= begin && pinned < end ? pinned : begin;
    const rows = Array.from({length: end - begin}, (_, place) => {
      const index = begin + place;
      const isOfRange = range !== null && index >= range[0] && index <= range[1];
      const state = {pinned: index === pinned || isOfRange, hovered: index === hovered};
      const row = queryRow(side.queries, index, state, index === stop,
        () => store.set({query: index, key: null, range: null}), () => store.preview({query: index}));
      row.style.height = `${this.rowHeight}px`;
      return row;
    });
    replaceWithFocus(this.queries, rows);
  }

  private drawNarrowQuery(): void {
    const {at} = this;
    const name = at ? phrase(this.page.side.queries, at.first, at.end) : '';
    const box = html('div', {class: 'query pinned', 'data-index': at?.first ?? ''}, name);
    box.style.top = `${this.list.length * kMostHeight / 2 - 14}px`;
    this.queries.replaceChildren(...(at ? [box] : []));
  }

  private drawKeys(): void {
    const {store, side} = this.page;
    if (this.isNarrow) this.list = this.list.filter((entry) => entry.kind === 'key');
    const first = primary(store.now);
    const line = this.data.lines.get(nameOf(first));
    const rows = this.list.map((entry) => {
      if (entry.kind === 'fold') {
        return foldRow(entry.begin, entry.end, () => {
          this.unfolded.add(entry.begin);
          this.draw();
        });
      }
      const {key: other} = entry;
      const state = {pinned: other === store.pinnedOther, hovered: other === store.other};
      return keyRow(side.keys, other, this.valueOf(other), state, () => this.pin(other), () => this.preview(other));
    });
    const whose = store.now.places.length > 1 ? shortName(store.now, first) : '';
    if (line) rows.push(restRow(restOf(whose, rest(line.weights, this.list))));
    else if (this.at === null) rows.push(restRow(this.isNarrow ? 'touch a token' : restText(this.choice)));
    for (const row of rows) row.style.height = `${this.keyHeight()}px`;
    replaceUnlessSame(this.keys, rows);
  }

  /** The largest weight among the chosen heads, in the colour of its arc. */
  private valueOf(other: number): KeyValue | null {
    const {now} = this.page.store;
    const values = now.places.flatMap((place): KeyValue[] => {
      const weight = this.data.lines.get(nameOf(place))?.weights[other];
      if (weight === undefined || weight === null) return [];
      return [now.places.length === 1 ? {weight, colour: '', head: null}
        : {weight, colour: colourOf(now, place), head: `head ${shortName(now, place)}`}];
    });
    return values.reduce<KeyValue | null>((best, each) => best && best.weight >= each.weight ? best : each, null);
  }

  /** Both ends of an edge of the shown token. */
  private edgeTo(other: number): {query: number | null; key: number | null} {
    const own = this.token ?? this.at?.first ?? null;
    return this.page.store.to ? {query: other, key: own} : {query: own, key: other};
  }

  private pin(other: number): void {
    if (this.at) this.page.store.set({...this.edgeTo(other), range: null});
  }

  private preview(other: number): void {
    const {store} = this.page;
    if (!this.at) return;
    if (this.token !== null || !store.now.range) store.preview(this.edgeTo(other));
    else if (!store.to) store.preview({key: other});  // the span stays
  }

  private edgesNow(): {edge: Edge; place: Place; own: boolean}[] {
    const {at, data: {lines, others}, page: {store}} = this;
    const first = primary(store.now);
    const rows = at === null ? this.choice.rows : store.to ? [] : others;
    const grey = rows.filter((row) => !isIn(at, row.query))
      .flatMap((row) => row.edges.map((edge) => ({edge, place: first, own: at === null})));
    const own = store.now.places.flatMap((place) =>
      (lines.get(nameOf(place))?.edges ?? []).map((edge) => ({edge, place, own: true})));
    return [...grey, ...own];
  }

  private drawArcs(): void {
    const {store} = this.page;
    const {at, isNarrow} = this;
    const {begin, end} = this.rows;
    const height = this.keyHeight();
    const middle = at ? (at.first + at.end - 1) / 2 : 0;
    const queryY = (query: number) => isNarrow ? this.list.length * height / 2
      : (Math.max(begin, Math.min(end - 1, query)) - begin + 0.5) * this.rowHeight;
    const arcs: Arc[] = [];
    for (const {edge, place, own} of this.edgesNow()) {
      const other = otherEnd(edge, at !== null && store.to);
      const index = entryIndex(this.list, other);
      if (index < 0) continue;
      const isOfLine = own && at !== null;
      const isSelected = other === store.other;
      const order = store.now.places.findIndex((each) => isSamePlace(each, place));
      arcs.push({
        edge, kind: at === null ? 'free' : own ? 'own' : 'other', colour: colourOfEdge(this.page, place, edge.weight),
        source: queryY(isOfLine ? middle : edge.query), target: (index + 0.5) * height - this.keys.scrollTop,
        chosen: isOfLine && isSelected && order === 0,
        label: isOfLine ? labelOf(edge, shortName(store.now, place), order, isSelected) : null,
      });
    }
    const span: [number, number] | null = !isNarrow && at !== null && at.end - at.first > 1
      ? [queryY(at.first) - this.rowHeight / 2, queryY(at.end - 1) + this.rowHeight / 2] : null;
    drawArcs(this.arcs, arcs, isNarrow ? kNarrowArcs : kArcs, {
      enter: (edge) => at === null ? store.preview(edge) : this.preview(otherEnd(edge, store.to)),
      leave: () => store.preview({}),
      click: (edge) => at === null ? store.set({query: edge.query, key: edge.key}) : this.pin(otherEnd(edge, store.to)),
    }, span);
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    this.rows.move(Math.sign(event.deltaY) * 3);
    this.update();
  }

  private walk(event: KeyboardEvent): void {
    const {store, side} = this.page;
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (step === undefined) return;
    const from = Number((event.target as HTMLElement).dataset.index);
    const next = Math.max(0, Math.min(side.queries.length - 1, from + step));
    store.preview({query: next});
    this.draw();
    this.queries.querySelector<HTMLElement>(`[data-index="${next}"]`)?.focus();
    store.preview({query: next});
    event.preventDefault();
    event.stopPropagation();
  }
}

/** `H1 + .31 in 192 others`, `H1: every key shown`. */
function restOf(whose: string, rest: string): string {
  return whose === '' ? rest : rest.startsWith('+') ? `${whose} ${rest}` : `${whose}: ${rest}`;
}

export const edgesPanel: MakePanel = (container, page) => new EdgesPanel(container, page);
