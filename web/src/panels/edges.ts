// Who attends to whom: the queries around the pinned one, its keys, and arcs between them.
import type {SessionApi} from '../api';
import type {Edge, EdgeRow, Line} from '../arcs';
import {html, say, svg} from '../dom';
import type {MakePanel, Panel, Span} from '../panel';
import {colourOf, focus, isIn, isNarrow, primary} from '../panel';
import type {SelectionStore} from '../selection';
import {kColours} from '../selection';
import {phrase} from '../tokens';
import type {Arc} from './edge_arcs';
import {drawArcs, labelOf} from './edge_arcs';
import type {Choice} from './edge_choice';
import {largestOfRows, restText} from './edge_choice';
import {headingOf} from './edge_heading';
import {foldRow, keyRow, queryRow, replaceUnlessSame, restRow} from './edge_rows';
import {RowWindow} from './edge_window';
import type {Entry} from './key_column';
import {entriesOf, entryIndex, fitting, heaviest, heaviestFirst, rest} from './key_column';
import {Multiples} from './multiples';

const kRowHeight = 24;      // the least: a target's height
const kMostHeight = 30;
const kArcs: [number, number] = [104, 248];
const kNarrowArcs: [number, number] = [54, 150];

/** Everything that one drawing needs; rows come as they are fetched. */
interface Drawing {
  at: Span | null;             // the rows that are shown, as their mean
  query: number | null;        // the one of them that is pinned or hovered
  lines: Map<number, Line>;    // by head, of the shown rows
  others: EdgeRow[];           // the window's rows, of the first head
}

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
  private readonly drawing: Drawing = {at: null, query: null, lines: new Map(), others: []};
  private readonly rows: RowWindow;
  private list: Entry[] = [];
  private height = 0;          // of the body: asked for while something changes, it would lay the page out
  private frameAsked = 0;

  constructor(
    container: HTMLElement, private readonly store: SelectionStore, private readonly api: SessionApi
  ) {
    this.multiples = new Multiples(store, api);
    this.rows = new RowWindow(api.length);
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
    this.resized.disconnect();
    cancelAnimationFrame(this.frameAsked);
  }

  private get rowHeight(): number { return this.height / Math.max(1, this.rows.rows); }

  update(): void {
    const {now, hover} = this.store;
    const narrow = isNarrow();
    const isMany = now.heads.length > kColours;
    this.body.hidden = isMany;
    this.multiples.element.hidden = !isMany;
    const hovered = narrow ? null : hover.query;  // a touch on the matrix must not move it
    this.drawing.at = focus(this.store, this.api, hovered);
    this.drawing.query = hovered ?? now.query;
    if (isMany && this.drawing.at === null) this.drawing.at = {first: this.api.length - 1, end: this.api.length};
    if (!isMany) this.placeRows(narrow);
    this.name();
    if (!this.api.hasWeights) return;
    this.fetchLines();
    if (!isMany) this.fetchOthers();
    this.schedule();
  }

  private name(): void {
    const {title, after} = headingOf(this.api, this.store.now, this.drawing.at, isNarrow() ? null : this.choice);
    say(this.title, title);
    say(this.after, after);
  }

  /** The arcs that stand with nothing pinned. */
  private get choice(): Choice { return largestOfRows(this.drawing.others); }

  /** One drawing a frame, however many answers come. */
  private schedule(): void {
    cancelAnimationFrame(this.frameAsked);
    this.frameAsked = requestAnimationFrame(() => this.draw());
  }

  private placeRows(narrow: boolean): void {
    const {now, hover} = this.store;
    const pinned = now.query ?? now.range?.[1] ?? 0;
    const fits = narrow ? 1 : Math.max(1, Math.floor(this.height / kRowHeight));
    if (this.rows.place(pinned, hover.query, fits)) this.unfolded.clear();
  }

  private fetchLines(): void {
    const {at, lines} = this.drawing;
    lines.clear();
    if (at === null) return;
    for (const [place, head] of this.store.now.heads.entries()) {
      const where = {layer: this.store.now.layer, head};
      const known = this.api.lineNow(where, at.first, at.end, false);
      if (known) lines.set(head, known);
      else this.api.line(`edges-${place}`, where, at.first, at.end, false).then(() => {
        if (this.drawing.at?.first === at.first) this.update();
      }, () => undefined);
    }
  }

  private fetchOthers(): void {
    const {begin, end} = this.rows;
    const {layer, head} = primary(this.store.now);
    if (isNarrow()) return;
    const known = this.api.edgesNow({layer, head}, begin, end);
    this.drawing.others = known ?? [];
    if (known) return;
    this.api.edges({layer, head}, begin, end).then((found) => {
      const now = primary(this.store.now);
      if (now.layer !== layer || now.head !== head || this.rows.begin !== begin) return;
      this.drawing.others = found;
      this.schedule();
    }, () => undefined);
  }

  private entries(): Entry[] {
    const {at, lines, query} = this.drawing;
    if (at === null) {
      return entriesOf(heaviest(this.choice.rows.flatMap((row) => row.edges), 8), this.rows.end, this.unfolded);
    }
    const pinned = this.store.now.query === query ? this.store.now.key : null;
    const end = this.api.model.causal ? at.end : this.api.length;
    const most = isNarrow() || this.unfolded.size > 0 ? Infinity : Math.floor(this.height / kRowHeight) - 1;
    return fitting(heaviestFirst(lines, pinned), end, most, this.unfolded);
  }

  private draw(): void {
    if (this.store.now.heads.length > kColours) {
      this.multiples.draw(this.drawing.at!, this.drawing.query, this.drawing.lines);
      return;
    }
    this.list = this.entries();
    if (this.drawing.at === null) this.name();  // its rows may have come
    this.drawKeys();
    if (isNarrow()) this.drawNarrowQuery();
    else this.drawQueries();
    this.drawArcs();
  }

  private keyHeight(): number {
    if (isNarrow()) return kMostHeight;
    const slots = this.list.length + 1;
    return Math.max(kRowHeight, Math.min(kMostHeight, this.height / slots));
  }

  private drawQueries(): void {
    const {begin, end} = this.rows;
    const {now, hover} = this.store;
    const focused = this.queries.contains(document.activeElement)
      ? (document.activeElement as HTMLElement).dataset.index : undefined;
    const stop = now.query !== null && now.query >= begin && now.query < end ? now.query : begin;
    const rows = Array.from({length: end - begin}, (_, place) => {
      const index = begin + place;
      const isOfRange = now.range !== null && index >= now.range[0] && index <= now.range[1];
      const state = {pinned: index === now.query || isOfRange, hovered: index === hover.query};
      const row = queryRow(this.api, index, state, index === stop,
        () => this.store.set({query: index, key: null, range: null}), () => this.store.preview({query: index}));
      row.style.height = `${this.rowHeight}px`;
      return row;
    });
    replaceUnlessSame(this.queries, rows);
    if (focused !== undefined) {
      this.queries.querySelector<HTMLElement>(`[data-index="${focused}"]`)?.focus({preventScroll: true});
    }
  }

  private drawNarrowQuery(): void {
    const {at} = this.drawing;
    const name = at ? phrase(this.api.info.tokens, at.first, at.end) : '';
    const box = html('div', {class: 'query pinned', 'data-index': at?.first ?? ''}, name);
    box.style.top = `${this.list.length * kMostHeight / 2 - 14}px`;
    this.queries.replaceChildren(...(at ? [box] : []));
  }

  private drawKeys(): void {
    if (isNarrow()) this.list = this.list.filter((entry) => entry.kind === 'key');
    const line = this.drawing.lines.get(this.store.now.heads[0]!);
    const {query} = this.drawing;
    const rows = this.list.map((entry) => {
      if (entry.kind === 'fold') {
        return foldRow(entry.begin, entry.end, () => {
          this.unfolded.add(entry.begin);
          this.draw();
        });
      }
      const {key} = entry;
      const pinned = key === this.store.now.key && query === this.store.now.query;
      return keyRow(this.api, key, line?.weights[key] ?? null, {pinned, hovered: key === this.store.key},
        () => this.pin(key), () => this.preview(key));
    });
    const whose = this.store.now.heads.length > 1 ? `H${this.store.now.heads[0]} ` : '';
    if (line) rows.push(restRow(whose + rest(line.weights, this.list)));
    else if (this.drawing.at === null) rows.push(restRow(isNarrow() ? 'touch a token' : restText(this.choice)));
    for (const row of rows) row.style.height = `${this.keyHeight()}px`;
    replaceUnlessSame(this.keys, rows);
  }

  private pin(key: number): void {
    const {at, query} = this.drawing;
    if (at) this.store.set({query: query ?? at.first, key, range: null});
  }

  private preview(key: number): void {
    if (this.drawing.at) this.store.preview({query: this.drawing.query, key});
  }

  private edgesNow(): {edge: Edge; head: number; own: boolean}[] {
    const {at, lines, others} = this.drawing;
    const first = this.store.now.heads[0]!;
    const rows = at === null ? this.choice.rows : others;
    const grey = rows.filter((row) => !isIn(at, row.query)).flatMap((row) => row.edges.map((edge) => ({edge, head: first, own: at === null})));
    const own = [...lines].flatMap(([head, line]) => line.edges.map((edge) => ({edge, head, own: true})));
    return [...grey, ...own];
  }

  private drawArcs(): void {
    const narrow = isNarrow();
    const {begin, end} = this.rows;
    const {at} = this.drawing;
    const {now, key: selected} = this.store;
    const height = this.keyHeight();
    const rowHeight = this.rowHeight;
    const middle = at ? (at.first + at.end - 1) / 2 : 0;
    const queryY = (query: number) => narrow ? this.list.length * height / 2
      : (Math.max(begin, Math.min(end - 1, query)) - begin + 0.5) * rowHeight;
    const arcs: Arc[] = [];
    for (const {edge, head, own} of this.edgesNow()) {
      const index = entryIndex(this.list, edge.key);
      if (index < 0) continue;
      const isOfRow = own && at !== null;
      arcs.push({
        edge, kind: at === null ? 'free' : own ? 'own' : 'other', colour: colourOf(now, head),
        source: queryY(isOfRow ? middle : edge.query), target: (index + 0.5) * height - this.keys.scrollTop,
        chosen: isOfRow && edge.key === selected && head === now.heads[0],
        label: isOfRow ? labelOf(edge, head, now.heads.indexOf(head), edge.key === selected) : null,
      });
    }
    const of = (edge: Edge) => ({query: at === null ? edge.query : this.drawing.query, key: edge.key});
    const span: [number, number] | null = !narrow && at !== null && at.end - at.first > 1
      ? [queryY(at.first) - rowHeight / 2, queryY(at.end - 1) + rowHeight / 2] : null;
    drawArcs(this.arcs, arcs, narrow ? kNarrowArcs : kArcs, {
      enter: (edge) => this.store.preview(of(edge)), leave: () => this.store.preview({}),
      click: (edge) => at === null ? this.store.set(of(edge)) : this.pin(edge.key),
    }, span);
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    this.rows.move(Math.sign(event.deltaY) * 3);
    this.update();
  }

  private walk(event: KeyboardEvent): void {
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (step === undefined) return;
    const from = Number((event.target as HTMLElement).dataset.index);
    const next = Math.max(0, Math.min(this.api.length - 1, from + step));
    this.store.preview({query: next});
    this.draw();
    this.queries.querySelector<HTMLElement>(`[data-index="${next}"]`)?.focus();
    this.store.preview({query: next});
    event.preventDefault();
    event.stopPropagation();
  }
}

export const edgesPanel: MakePanel = (container, store, api) => new EdgesPanel(container, store, api);
