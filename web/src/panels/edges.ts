// Attention between tokens: the queries around the pinned one, its keys, and arcs between them.
import type {Edge} from '../attention/arcs';
import {otherEnd} from '../attention/arcs';
import {html, say, svg} from '../drawing/dom';
import {shortWeight, weight} from '../drawing/format';
import {Frame} from '../drawing/frame';
import type {MakePanel, Page, Panel, Span} from './panel';
import {colourOfEdge, focus, isTogether, primary, shortName} from './panel';
import {languageOf} from '../text/language';
import {Rows} from '../attention/rows';
import type {Place} from '../selection/selection';
import {nameOf} from '../selection/selection';
import {phrase} from '../text/tokens';
import type {Arc} from './edge_arcs';
import {drawArcs, inLane, kNumber} from './edge_arcs';
import type {Choice} from './edge_choice';
import {largestOfRows, restText} from './edge_choice';
import {EdgeData, ownEdges} from './edge_data';
import {headingOf} from './edge_heading';
import {foldRow, keyRow, queryRows, replaceUnlessSame, replaceWithFocus, restRow} from './edge_rows';
import {slotsOf} from './edge_slots';
import {RowWindow} from './edge_window';
import type {Entry} from './key_column';
import {dividedBeside, entriesOf, entryIndex, fitting, heaviest, heaviestFirst, kUnfold, rest} from './key_column';
import {Multiples} from './multiples';
import {Together} from './together';

const kRowHeight = 24;      // at least: a touch target's height
const kMostHeight = 40;
const kNarrowHeight = 30;
const kNodes = 17;          // keys and folds, as long as folds can be divided
const kRest = 24;           // the line below the keys
const kArcs: [number, number] = [104, 248];
const kNarrowArcs: [number, number] = [54, 150];

/** Queries, keys and their edges are rows: tokens, or words, or sentences (rows.ts). */
class EdgesPanel implements Panel {
  private readonly after = html('span', {class: 'quiet'});
  private readonly title = html('h2', {}, 'Who attends to whom');
  private readonly queries = html('div', {class: 'queries', role: 'group', 'aria-label': 'Queries'});
  private readonly keys = html('div', {class: 'keys', role: 'group', 'aria-label': 'Keys'});
  private readonly arcs = svg('svg', {class: 'arcs', 'aria-hidden': true});
  private readonly body = html('div', {class: 'edges-body'});
  private readonly multiples: Multiples;
  private readonly arranged: Together;
  private readonly resized: ResizeObserver;
  private readonly unfolded = new Map<number, number>();  // runs of tokens, by their beginning
  private readonly data: EdgeData;
  private rows: Rows;
  private window: RowWindow;
  private at: Span | null = null;        // the tokens whose line is shown
  private token: number | null = null;   // the pinned or hovered one among them
  private list: Entry[] = [];
  private slots: number[] = [];  // rows of the entries
  private height = 0;          // of the body: stored, because reading it during a change would force a layout
  private scrolled = 0;        // px, of the keys
  private readonly drawing = new Frame(() => this.draw());

  constructor(container: HTMLElement, private readonly page: Page) {
    const {store} = page;
    this.arranged = new Together(page);
    this.multiples = new Multiples(page, {pin: (other) => this.pin(other), preview: (other) => this.preview(other)});
    this.data = new EdgeData(page, () => this.update());
    this.rows = new Rows(page);
    this.window = new RowWindow(this.rows.count);
    this.queries.lang = this.keys.lang = languageOf(page.api.info.text);
    this.body.append(this.arcs, this.queries, this.keys);
    container.append(html('div', {class: 'heading'}, this.title, this.after, this.arranged.element), this.arranged.names, this.body, this.multiples.element);
    this.resized = new ResizeObserver(() => {
      this.height = this.body.clientHeight || this.height;  // it has no height while hidden
      this.update();
    });
    this.resized.observe(container);
    this.resized.observe(this.body);
    this.height = this.body.clientHeight;
    this.queries.addEventListener('wheel', (event) => this.wheel(event), {passive: false});
    this.keys.addEventListener('scroll', () => {
      this.scrolled = this.keys.scrollTop;
      this.drawArcs();
    });
    this.queries.addEventListener('keydown', (event) => this.walk(event));
    for (const column of [this.queries, this.keys]) {
      column.addEventListener('pointerleave', () => store.preview({}));
      column.addEventListener('focusout', () => store.preview({}));
    }
  }

  destroy(): void {
    this.data.stop();
    this.resized.disconnect();
    this.drawing.stop();
  }

  /** Of queries and keys. */
  private get rowHeight(): number {
    if (this.isNarrow) return kNarrowHeight;
    return Math.min(kMostHeight, (this.height - kRest) / Math.max(1, this.window.rows));
  }

  private get isNarrow(): boolean { return this.page.stage.isNarrow; }

  private get isMany(): boolean { return this.page.store.now.places.length > 1 && !isTogether(this.page); }

  update(): void {
    const {store, api, side} = this.page;
    const {isMany} = this;
    const isSeveral = store.now.places.length > 1;
    const rows = new Rows(this.page);
    if (rows.noun !== this.rows.noun) {
      this.window = new RowWindow(rows.count);
      this.unfolded.clear();
    }
    this.rows = rows;
    this.body.hidden = isMany;
    this.multiples.element.hidden = !isMany;
    const hovered = this.isNarrow ? null : store.hoveredToken;  // a touch on the matrix must not move it
    this.at = focus(this.page, hovered);
    this.token = hovered ?? store.pinnedToken;
    if (isSeveral && this.at === null) this.at = {first: side.queries.length - 1, end: side.queries.length};
    if (!isMany) this.placeRows();
    const {begin, end} = this.window;
    const window = {begin: rows.first(begin), end: end > begin ? rows.span(end - 1).end : 0};
    this.data.show(this.at, isSeveral || this.isNarrow ? null : window);
    this.arranged.update((place) => this.leftOf(place));
    this.name();
    if (api.hasWeights) this.drawing.ask();
  }

  private name(): void {
    const {title, after} = headingOf(this.page, this.at, this.isNarrow ? null : this.choice);
    say(this.title, title);
    say(this.after, this.page.api.hasWeights ? after : '');
  }

  /** The arcs shown while nothing is pinned. */
  private get choice(): Choice { return largestOfRows(this.rows.edges(this.data.others)); }

  private get most(): number { return Math.max(1, Math.floor((this.height - kRest) / kRowHeight)); }

  private placeRows(): void {
    const {store} = this.page;
    const pinned = store.pinnedToken ?? store.now.range?.[1] ?? (store.now.places.length > 1 ? this.at!.first : 0);
    const fits = this.isNarrow ? 1 : this.most;
    const hovered = store.hoveredToken === null ? null : this.rows.of(store.hoveredToken);
    if (this.window.place(this.rows.of(pinned), hovered, fits)) this.unfolded.clear();
  }

  private entries(): Entry[] {
    const {at, data: {lines}, rows, page: {store, side: {attention: {causal}}}} = this;
    if (at === null) {
      return entriesOf(heaviest(this.choice.rows.flatMap((row) => row.edges), 8), {first: 0, end: this.window.end}, this.unfolded);
    }
    const own = rows.within(at);
    const seen = !causal ? {first: 0, end: rows.count} : store.to ? {first: own.first, end: rows.count} : {first: 0, end: own.end};
    const most = this.isNarrow || this.unfolded.size > 0 ? Infinity : this.most;
    const pinned = store.pinnedOther === null ? null : rows.of(store.pinnedOther);
    const drawn = [...lines.values()].map((line) => rows.line(line, store.to));
    const entries = fitting(heaviestFirst(drawn, store.to, pinned), seen, most, this.unfolded);
    if (this.isNarrow || entries.length < 2) return entries;
    return dividedBeside(entries, Math.min(kNodes, this.most), own.end - 1, this.window);
  }

  private draw(): void {
    if (this.isMany) {
      this.multiples.draw(this.rows, this.at!, this.data.lines);
      return;
    }
    this.list = this.entries();
    if (this.isNarrow) this.list = this.list.filter((entry) => entry.kind === 'key');
    const {begin, end, rows} = this.window;
    const own = this.token === null ? null : this.rows.of(this.token);
    this.slots = this.isNarrow || this.unfolded.size > 0 ? this.list.map((_, at) => at)
      : slotsOf(this.list, {first: begin, end}, Math.max(rows, this.list.length), own);
    this.drawKeys();
    if (this.isNarrow) this.drawNarrowQuery();
    else replaceWithFocus(this.queries, queryRows(this.page, this.rows, this.window, this.rowHeight));
    this.drawArcs();
  }

  private drawNarrowQuery(): void {
    const {at} = this;
    const name = at ? phrase(this.page.side.queries, at.first, at.end) : '';
    const box = html('div', {class: 'query pinned', 'data-index': at?.first ?? ''}, name);
    box.style.top = `${this.list.length * kNarrowHeight / 2 - 14}px`;
    this.queries.replaceChildren(...(at ? [box] : []));
  }

  private drawKeys(): void {
    const {store} = this.page;
    const {rows: all} = this;
    const found = this.data.lines.get(nameOf(primary(store.now)));
    const line = isTogether(this.page) ? undefined : found && all.line(found, store.to);
    let below = 0;
    const made = this.list.map((entry, at) => {
      const row = entry.kind === 'fold' ? foldRow(all, entry, () => {
        this.unfolded.set(entry.begin, Math.min(entry.end, entry.begin + kUnfold));
        this.draw();
      }) : this.key(entry.key, line?.weights[entry.key] ?? null);
      row.style.height = `${this.rowHeight}px`;
      if (this.slots[at]! > below) row.style.marginTop = `${(this.slots[at]! - below) * this.rowHeight}px`;
      below = this.slots[at]! + 1;
      return row;
    });
    if (line) made.push(restRow(rest(line.weights, this.list)));
    else if (this.at === null) made.push(restRow(this.isNarrow ? 'touch a token' : restText(this.choice, this.page.api.isDifference)));
    replaceUnlessSame(this.keys, made);
  }

  /** A head's weight on other keys, in a common drawing. */
  private leftOf(place: Place): string {
    const line = this.data.lines.get(nameOf(place));
    return line ? `+ ${weight(this.rows.line(line, this.page.store.to).rest.weight)}` : '';
  }

  private key(row: number, value: number | null): HTMLElement {
    const {store} = this.page;
    const first = this.rows.first(row);
    const isOf = (token: number | null) => token !== null && this.rows.of(token) === row;
    const state = {pinned: isOf(store.pinnedOther), hovered: isOf(store.other)};
    return keyRow(this.rows, row, value, state, () => this.pin(first), () => this.preview(first));
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
    else if (!store.to) store.preview({key: other});  // the span is kept
  }

  private drawArcs(): void {
    const {store} = this.page;
    const {at, isNarrow, rowHeight: height, rows} = this;
    const {begin, end} = this.window;
    const shown = at && rows.within(at);
    const middle = shown ? (shown.first + shown.end - 1) / 2 : 0;
    const queryY = (row: number) => isNarrow ? this.list.length * height / 2
      : (Math.max(begin, Math.min(end - 1, row)) - begin + 0.5) * height;
    const arcs: Arc[] = [];
    const {choice} = this;
    const first = primary(store.now);
    const places = isTogether(this.page) ? store.now.places : [first];
    for (const {edge, own, place} of at === null ? ownEdges(choice.rows, first) : this.data.edges(at, rows, places)) {
      const other = otherEnd(edge, at !== null && store.to);
      const index = entryIndex(this.list, other);
      if (index < 0) continue;
      const isOfLine = own && at !== null;
      const chosen = isOfLine && store.other !== null && other === rows.of(store.other);
      const isSink = at === null && edge.key === choice.sink;
      const arc: Arc = {
        edge, kind: isSink ? 'sink' : at === null ? 'free' : own ? 'own' : 'other', colour: colourOfEdge(this.page, place, edge.weight), chosen,
        source: queryY(isOfLine ? middle : edge.query), target: (this.slots[index]! + 0.5) * height - this.scrolled,
        indent: at === null && choice.sink !== null ? kNumber : 0,
        label: chosen ? `${places.length > 1 ? `${shortName(store.now, place)} ` : ''}${weight(edge.weight)}` : isSink ? shortWeight(edge.weight) : '',
      };
      arcs.push(places.length > 1 ? inLane(arc, places.indexOf(place), places.length) : arc);
    }
    const span: [number, number] | null = !isNarrow && shown !== null && shown.end - shown.first > 1
      ? [queryY(shown.first) - height / 2, queryY(shown.end - 1) + height / 2] : null;
    const cell = ({query, key}: Edge) => ({query: rows.first(query), key: rows.first(key)});
    const other = (edge: Edge) => rows.first(otherEnd(edge, store.to));
    drawArcs(this.arcs, arcs, isNarrow ? kNarrowArcs : kArcs, {
      enter: (edge) => at === null ? store.preview(cell(edge)) : this.preview(other(edge)),
      leave: () => store.preview({}),
      click: (edge) => at === null ? store.set(cell(edge)) : this.pin(other(edge)),
    }, span);
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    this.window.move(Math.sign(event.deltaY) * 3);
    this.update();
  }

  private walk(event: KeyboardEvent): void {
    const {store} = this.page;
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (step === undefined) return;
    const from = this.rows.of(Number((event.target as HTMLElement).dataset.index));
    const query = this.rows.first(Math.max(0, Math.min(this.rows.count - 1, from + step)));
    store.preview({query});
    this.draw();
    this.queries.querySelector<HTMLElement>(`[data-index="${query}"]`)?.focus();
    store.preview({query});
    event.preventDefault();
    event.stopPropagation();
  }
}

export const edgesPanel: MakePanel = (container, page) => new EdgesPanel(container, page);
