// Attention between two texts: the querying tokens, the tokens read, and all arcs between them.
import type {Edge} from '../attention/arcs';
import type {Between} from '../attention/between';
import {BetweenData, blockInSight} from '../attention/between';
import {html, say, svg} from '../drawing/dom';
import {weight} from '../drawing/format';
import {Frame} from '../drawing/frame';
import type {MakePanel, Page, Panel} from './panel';
import {languageOf} from '../text/language';
import {colourOfEdge, headName, isTogether, primary, shortName} from './panel';
import {nameOf} from '../selection/selection';
import type {Block, Span} from '../attention/side';
import {blockOf} from '../attention/side';
import type {BetweenNames} from './between_rows';
import {askerRow, namesOf, readRow} from './between_rows';
import {BetweenSmall} from './between_small';
import type {Arc} from './edge_arcs';
import {drawArcs, inLane} from './edge_arcs';
import {replaceWithFocus} from './edge_rows';
import {Together} from './together';

const kLeastHeight = 24;  // per row: a touch target
const kMostHeight = 60;
const kColumns = [0.43, 0.74] as const;        // share of the width where the queries end and the keys begin
const kNarrowColumns = [0.36, 0.64] as const;
const kApart = 6;         // px between an arc and its token

class BetweenPanel implements Panel {
  private readonly title = html('h2', {}, 'Who attends to whom');
  private readonly after = html('span', {class: 'quiet'});
  private readonly head = html('div', {class: 'between-head'});
  private readonly askers = html('div', {class: 'askers', role: 'group', 'aria-label': 'Queries'});
  private readonly read = html('div', {class: 'read', role: 'group', 'aria-label': 'Keys'});
  private readonly arcs = svg('svg', {class: 'arcs', 'aria-hidden': true});
  private readonly sheet = html('div', {class: 'between-sheet'}, this.arcs, this.askers, this.read);
  private readonly body = html('div', {class: 'between-body'}, this.sheet);
  private readonly small: BetweenSmall;
  private readonly arranged: Together;
  private readonly data: BetweenData;
  private readonly resized = new ResizeObserver(() => this.update());
  private readonly drawing = new Frame(() => this.draw());
  private revealed = '';
  private pinned = '';
  private walked: number | null = null;  // the query outside the window reached by the arrow keys, until another is pinned
  private block: Block;
  private found = new Map<string, Between>();

  constructor(container: HTMLElement, private readonly page: Page) {
    this.small = new BetweenSmall(page);
    this.arranged = new Together(page);
    this.data = new BetweenData(page, 'between', () => this.update());
    this.block = blockInSight(page);
    for (const [column, tokens] of [[this.askers, page.side.queries], [this.read, page.side.keys]] as const) {
      column.lang = languageOf(tokens.map(({text}) => text).join(''));
    }
    container.append(html('div', {class: 'heading'}, this.title, this.after, this.arranged.element), this.arranged.names, this.head, this.body, this.small.element);
    this.resized.observe(this.body);
    for (const column of [this.askers, this.read]) {
      column.addEventListener('pointerleave', () => page.store.preview({}));
      column.addEventListener('focusout', () => page.store.preview({}));
    }
    this.askers.addEventListener('keydown', (event) => this.walk(event));
  }

  destroy(): void {
    this.data.stop();
    this.resized.disconnect();
    this.drawing.stop();
  }

  update(): void {
    const {store} = this.page;
    const {isMany} = this;
    this.arranged.update();
    if (this.nameOfPinned !== this.pinned) this.walked = null;
    this.pinned = this.nameOfPinned;
    this.block = blockInSight(this.page, this.walked);
    this.found = this.data.show(store.now.places, this.block);
    this.body.hidden = this.head.hidden = isMany;
    this.small.element.hidden = !isMany;
    this.name();
    this.drawing.ask();
  }

  private get isMany(): boolean { return this.page.store.now.places.length > 1 && !isTogether(this.page); }

  private name(): void {
    const {side, store: {now}} = this.page;
    const {queries, keys} = blockOf(side, now.pair);
    const of = (drawn: Span, all: Span, what: string) =>
      lengthOf(drawn) < lengthOf(all) ? `, ${lengthOf(drawn)} of ${lengthOf(all)} ${what}` : '';
    const part = of(this.block.queries, queries, 'rows') + of(this.block.keys, keys, 'keys');
    const edges = side.isSquare ? ` alone${part}` : `${part}, every edge from .01`;
    const several = `${now.places.length} heads${isTogether(this.page) ? `, bars and means of ${shortName(now, primary(now))}` : ''}`;
    say(this.after, now.places.length > 1 ? several : `head ${headName(now)}${edges}`);
  }

  private draw(): void {
    if (this.isMany) {
      this.small.draw(this.block, this.page.store.now.places, this.found, (place) => shortName(this.page.store.now, place));
      return;
    }
    const rows = Math.max(lengthOf(this.block.queries), lengthOf(this.block.keys));
    const height = Math.max(kLeastHeight, Math.min(kMostHeight, Math.floor(this.body.clientHeight / rows)));
    const names = namesOf(this.page, lengthOf(this.block.queries));
    this.sheet.style.height = `${rows * height}px`;
    const above = (span: Span) => (rows - lengthOf(span)) / 2 * height;
    this.head.replaceChildren(...[names.share, names.asks, names.read, names.mean].map((name) => html('span', {class: 'quiet'}, name)));
    this.drawAskers(height, above(this.block.queries), names);
    this.drawRead(height, above(this.block.keys));
    this.drawArcs(height, above(this.block.queries), above(this.block.keys));
    this.reveal(above, height);
  }

  /** Scrolls the pinned token into view once; afterwards the reader scrolls. */
  private reveal(above: (span: Span) => number, height: number): void {
    if (this.pinned === this.revealed) return;
    this.revealed = this.pinned;
    const {pinnedQuery, pinnedKey} = this.page.store;
    const isKey = pinnedQuery === null && pinnedKey !== null;
    const span = isKey ? this.block.keys : this.block.queries;
    const y = above(span) + ((isKey ? pinnedKey : pinnedQuery ?? span.first) - span.first + 0.5) * height;
    const {scrollTop, clientHeight} = this.body;
    if (y < scrollTop || y > scrollTop + clientHeight) this.body.scrollTop = y - clientHeight / 2;
  }

  private get nameOfPinned(): string {
    const {pinnedQuery, pinnedKey, now: {pair}} = this.page.store;
    return `${pinnedQuery ?? `key ${pinnedKey}`} ${pair}`;
  }

  private get first(): Between | undefined { return this.found.get(nameOf(primary(this.page.store.now))); }

  private drawAskers(height: number, above: number, names: BetweenNames): void {
    const {store, side} = this.page;
    const {queries: {first, end}} = this.block;
    const {pinnedQuery: pinned} = store;
    const stop = pinned !== null && pinned >= first && pinned < end ? pinned : first;
    const rows = this.first?.rows;
    const made = Array.from({length: end - first}, (_, at) => {
      const query = first + at;
      const row = askerRow(this.page, query, rows?.[at]?.share ?? null, query === stop, names, () => this.update());
      row.addEventListener('click', () => store.set({query, key: null, range: null, to: false}));
      row.addEventListener('pointerenter', () => store.preview({query}));
      place(row, height, above + at * height);
      return row;
    });
    this.askers.classList.toggle('written', side.isWritten && !side.isSquare);
    replaceWithFocus(this.askers, made);
  }

  private drawRead(height: number, above: number): void {
    const {store, side} = this.page;
    const {keys: {first, end}} = this.block;
    const means = this.first?.means;
    replaceWithFocus(this.read, Array.from({length: end - first}, (_, at) => {
      const key = first + at;
      const row = readRow(side, key, means?.[at] ?? null, {pinned: key === store.pinnedKey, hovered: key === store.key});
      row.addEventListener('click', () => this.pin(key));
      row.addEventListener('pointerenter', () => store.preview({query: store.pinnedQuery, key}));
      place(row, height, above + at * height);
      return row;
    }));
  }

  private pin(key: number): void {
    const {store} = this.page;
    if (store.pinnedQuery === null && store.pinnedKey !== null) store.set({query: key, range: null});  // the other column
    else store.set({query: store.pinnedQuery ?? this.block.queries.first, key, range: null});
  }

  private drawArcs(height: number, left: number, right: number): void {
    const {store} = this.page;
    const {queries, keys} = this.block;
    const width = this.body.clientWidth;
    const [askers, read] = this.page.stage.isNarrow ? kNarrowColumns : kColumns;
    const shown = (edge: Edge) => edge.query === store.query && edge.key === store.key;
    const {places} = store.now;
    const isOne = places.length === 1;
    const arcs = places.flatMap((place, index): Arc[] => (this.found.get(nameOf(place))?.rows ?? [])
      .flatMap(({edges}) => edges.filter(({key}) => key >= keys.first && key < keys.end).map((edge): Arc => {
        const arc: Arc = {
          edge, kind: this.isAside(edge) ? 'other' : 'free', colour: colourOfEdge(this.page, place, edge.weight),
          source: left + (edge.query - queries.first + 0.5) * height, target: right + (edge.key - keys.first + 0.5) * height,
          chosen: shown(edge), label: shown(edge) ? `${isOne ? '' : `${shortName(store.now, place)} `}${weight(edge.weight)}` : '',
        };
        return isOne ? arc : inLane(arc, index, places.length);
      })));
    arcs.sort((a, b) => Number(a.chosen) - Number(b.chosen));
    drawArcs(this.arcs, arcs, [width * askers + kApart, width * read - kApart], {
      enter: (edge) => store.preview({query: edge.query, key: edge.key}), leave: () => store.preview({}),
      click: (edge) => store.set({query: edge.query, key: edge.key, range: null}),
    });
  }

  /** While only a token is hovered, other parts are faded. */
  private isAside({query}: Edge): boolean {
    const {hover} = this.page.store;
    return hover.query !== null && hover.key === null && query !== hover.query;
  }

  private walk(event: KeyboardEvent): void {
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (step === undefined) return;
    const {side, store} = this.page;
    const {first, end} = blockOf(side, store.now.pair).queries;
    const next = Math.max(first, Math.min(end - 1, Number((event.target as HTMLElement).dataset.index) + step));
    if (next < this.block.queries.first || next >= this.block.queries.end) {
      this.walked = next;
      this.update();
      this.draw();
    }
    this.askers.querySelector<HTMLElement>(`[data-index="${next}"]`)?.focus();
    store.preview({query: next});
    event.preventDefault();
    event.stopPropagation();
  }
}

function place(row: HTMLElement, height: number, top: number): void {
  row.style.height = `${height}px`;
  row.style.top = `${top}px`;
}

function lengthOf({first, end}: Span): number { return end - first; }

export const betweenPanel: MakePanel = (container, page) => new BetweenPanel(container, page);
