// Who attends to whom: the queries around the pinned one, its keys, and arcs between them.
import type {Edge, EdgeRow, Line, SessionApi} from '../api';
import {html, say, svg} from '../dom';
import type {MakePanel, Panel} from '../panel';
import {colourOf, headName, isNarrow, primary} from '../panel';
import type {SelectionStore} from '../selection';
import {kColours} from '../selection';
import {phrase, plain} from '../tokens';
import type {Arc} from './edge_arcs';
import {drawArcs} from './edge_arcs';
import {foldRow, keyRow, queryRow, replaceUnlessSame, restRow} from './edge_rows';
import type {Entry} from './key_column';
import {entriesOf, entryIndex, heaviest, rest} from './key_column';
import {Multiples} from './multiples';

const kRowHeight = 24;      // the least: a target's height
const kMostHeight = 30;
const kArcs: [number, number] = [104, 248];
const kNarrowArcs: [number, number] = [54, 150];

/** Everything that one drawing needs; rows come as they are fetched. */
interface Drawing {
  begin: number;               // first query of the window
  end: number;
  at: {first: number; end: number} | null;
  lines: Map<number, Line>;    // by head, of the shown row
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
  private readonly drawing: Drawing = {begin: 0, end: 0, at: null, lines: new Map(), others: []};
  private list: Entry[] = [];
  private shift = 0;           // rows that the wheel moved the window
  private centre: number | null = null;
  private height = 0;          // of the body: asked for while something changes, it would lay the page out
  private frameAsked = 0;

  constructor(
    container: HTMLElement, private readonly store: SelectionStore, private readonly api: SessionApi
  ) {
    this.multiples = new Multiples(store, api);
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

  private get rowHeight(): number {
    return this.height / Math.max(1, this.drawing.end - this.drawing.begin);
  }

  update(): void {
    const {now, hover} = this.store;
    const narrow = isNarrow();
    const isMany = now.heads.length > kColours;
    say(this.title, (narrow || isMany) && now.query !== null
      ? `${plain(this.api.info.tokens[now.query]!)} attends to` : 'Who attends to whom');
    say(this.after, `${isMany ? 'heads' : 'head'} ${headName(now)}, `
      + `edges to 0.9${narrow ? '' : ' of a row'}, at most 8`);
    this.body.hidden = isMany;
    this.multiples.element.hidden = !isMany;
    const hovered = narrow ? null : hover.query;  // a touch on the matrix must not move it
    const query = hovered ?? now.query;
    this.drawing.at = hovered === null && now.range ? {first: now.range[0], end: now.range[1] + 1}
      : query === null ? null : {first: query, end: query + 1};  // of tokens, whatever the text shows
    if (isMany && this.drawing.at === null) this.drawing.at = {first: this.api.length - 1, end: this.api.length};
    if (!isMany) this.window(narrow);
    if (!this.api.hasWeights) return;
    this.fetchLines();
    if (!isMany) this.fetchOthers();
    this.schedule();
  }

  /** One drawing a frame, however many answers come. */
  private schedule(): void {
    cancelAnimationFrame(this.frameAsked);
    this.frameAsked = requestAnimationFrame(() => this.draw());
  }

  /** The rows in sight: around the pinned one; a hovered one outside moves them. */
  private window(narrow: boolean): void {
    const {now, hover} = this.store;
    const pinned = now.query ?? now.range?.[1] ?? 0;
    if (pinned !== this.centre) {
      this.centre = pinned;
      this.shift = 0;
      this.unfolded.clear();
    }
    const fits = narrow ? 1 : Math.max(1, Math.floor(this.height / kRowHeight));
    const rows = Math.min(this.api.length, fits);
    const clamp = (begin: number) => Math.max(0, Math.min(this.api.length - rows, begin));
    const middle = Math.floor(rows / 2);
    this.shift = clamp(pinned - middle + this.shift) - clamp(pinned - middle);
    let begin = clamp(pinned - middle) + this.shift;
    const isOutside = hover.query !== null && (hover.query < begin || hover.query >= begin + rows);
    if (isOutside) begin = clamp(hover.query! - middle);
    this.drawing.begin = begin;
    this.drawing.end = begin + rows;
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
    const {begin, end} = this.drawing;
    const {layer, head} = primary(this.store.now);
    if (isNarrow()) return;
    const known = this.api.edgesNow({layer, head}, begin, end);
    this.drawing.others = known ?? [];
    if (known) return;
    this.api.edges({layer, head}, begin, end).then((found) => {
      const now = primary(this.store.now);
      if (now.layer !== layer || now.head !== head || this.drawing.begin !== begin) return;
      this.drawing.others = found;
      this.schedule();
    }, () => undefined);
  }

  private entries(): Entry[] {
    const {at, lines, others} = this.drawing;
    if (at === null) {
      const edges = others.flatMap((row) => row.edges);
      return entriesOf(heaviest(edges, 8), this.drawing.end, this.unfolded);
    }
    const keys = new Map<number, number | null>();
    const first = lines.get(this.store.now.heads[0]!);
    for (const line of lines.values()) {
      for (const {key} of line.edges) keys.set(key, first?.weights[key] ?? null);
    }
    if (this.store.now.key !== null && this.store.now.query === at.first) {
      keys.set(this.store.now.key, first?.weights[this.store.now.key] ?? null);
    }
    const causal = this.api.model.causal ? at.end : this.api.length;
    return entriesOf(keys, causal, this.unfolded);
  }

  private draw(): void {
    if (this.store.now.heads.length > kColours) {
      this.multiples.draw(this.drawing.at!, this.drawing.lines);
      return;
    }
    this.list = this.entries();
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
    const {begin, end} = this.drawing;
    const {now, hover} = this.store;
    const focused = this.queries.contains(document.activeElement)
      ? (document.activeElement as HTMLElement).dataset.index : undefined;
    const stop = now.query !== null && now.query >= begin && now.query < end ? now.query : begin;
    const rows = Array.from({length: end - begin}, (_, place) => {
      const index = begin + place;
      const state = {pinned: index === now.query, hovered: index === hover.query};
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
    const query = this.drawing.at?.first ?? null;
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
    if (line) rows.push(restRow(rest(line.weights, this.list)));
    else if (isNarrow() && query === null) rows.push(restRow('touch a token'));
    for (const row of rows) row.style.height = `${this.keyHeight()}px`;
    replaceUnlessSame(this.keys, rows);
  }

  private pin(key: number): void {
    if (this.drawing.at) this.store.set({query: this.drawing.at.first, key, range: null});
  }

  private preview(key: number): void {
    if (this.drawing.at) this.store.preview({query: this.drawing.at.first, key});
  }

  private edgesNow(): {edge: Edge; head: number; own: boolean}[] {
    const {at, lines, others} = this.drawing;
    const first = this.store.now.heads[0]!;
    const grey = others.filter((row) => at === null || row.query < at.first || row.query >= at.end)
      .flatMap((row) => row.edges.map((edge) => ({edge, head: first, own: at === null})));
    const own = [...lines].flatMap(([head, line]) => line.edges.map((edge) => ({edge, head, own: true})));
    return [...grey, ...own];
  }

  private drawArcs(): void {
    const narrow = isNarrow();
    const {begin, end, at} = this.drawing;
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
        edge, kind: own ? 'own' : 'other', colour: colourOf(now, head),
        source: queryY(isOfRow ? middle : edge.query), target: (index + 0.5) * height - this.keys.scrollTop,
        chosen: isOfRow && edge.key === selected && head === now.heads[0],
        labelled: isOfRow && now.heads.indexOf(head) === kColours - 1,  // orange needs its number
      });
    }
    const of = (edge: Edge) => ({query: this.drawing.at?.first ?? edge.query, key: edge.key});
    drawArcs(this.arcs, arcs, narrow ? kNarrowArcs : kArcs, {
      enter: (edge) => this.store.preview(of(edge)), leave: () => this.store.preview({}),
      click: (edge) => this.store.set({...of(edge), range: null}),
    });
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    this.shift += Math.sign(event.deltaY) * 3;
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
