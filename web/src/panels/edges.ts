// Who attends to whom: the queries around the pinned one, its keys, and arcs between them.
import {linkHorizontal} from 'd3-shape';
import type {Edge, EdgeRow, Line, SessionApi} from '../api';
import {button, html, svg} from '../dom';
import {weight} from '../format';
import type {MakePanel, Panel} from '../panel';
import {focus, headName, isNarrow, primary} from '../panel';
import type {SelectionStore} from '../selection';
import {phrase, plain} from '../tokens';
import type {Entry} from './key_column';
import {entriesOf, entryIndex, heaviest, rest} from './key_column';

const kRowHeight = 24;      // the least: a target's height
const kMostHeight = 30;
const kArcLeft = 104;
const kArcRight = 248;
const kNarrowLeft = 54;
const kNarrowRight = 150;

interface Arc { edge: Edge; head: number; own: boolean }

function arcStyle({edge, own}: Arc): {width: number; opacity: number} {
  const root = Math.sqrt(edge.weight);
  return own
    ? {width: Math.max(1.25, 16 * edge.weight), opacity: Math.min(1, 0.45 + 0.8 * root)}
    : {width: Math.max(0.6, 12 * edge.weight), opacity: 0.10 + 0.22 * root};
}

const link = linkHorizontal<unknown, [number, number]>();

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
  private readonly resized: ResizeObserver;
  private readonly unfolded = new Set<number>();
  private readonly drawing: Drawing = {begin: 0, end: 0, at: null, lines: new Map(), others: []};
  private shift = 0;           // rows that the wheel moved the window
  private centre: number | null = null;
  private fetching: AbortController | null = null;
  private fetched = '';

  constructor(
    container: HTMLElement, private readonly store: SelectionStore, private readonly api: SessionApi
  ) {
    this.body.append(this.arcs, this.queries, this.keys);
    container.append(html('div', {class: 'heading'}, this.title, this.after), this.body);
    this.resized = new ResizeObserver(() => this.update());
    this.resized.observe(container);
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
    this.fetching?.abort();
  }

  private get rowHeight(): number {
    return this.body.clientHeight / Math.max(1, this.drawing.end - this.drawing.begin);
  }

  update(): void {
    const {now, hover} = this.store;
    const narrow = isNarrow();
    this.title.textContent = narrow && now.query !== null
      ? `${plain(this.api.info.tokens[now.query]!)} attends to` : 'Who attends to whom';
    this.after.textContent = `head ${headName(now)}, edges to 0.9${narrow ? '' : ' of a row'}, at most 8`;
    this.window(narrow);
    const at = focus(this.store, this.api);
    const query = hover.query ?? now.query;
    this.drawing.at = now.unit !== 'token' && query !== null && !(hover.query === null && now.range)
      ? {first: query, end: query + 1} : at;  // arcs are of tokens, whatever the text shows
    if (!this.api.hasWeights) return;
    this.fetchLines();
    this.fetchOthers();
    this.draw();
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
    const fits = narrow ? 1 : Math.max(1, Math.floor(this.body.clientHeight / kRowHeight));
    const rows = Math.min(this.api.length, fits);
    const clamp = (begin: number) => Math.max(0, Math.min(this.api.length - rows, begin));
    let begin = clamp(pinned - Math.floor(rows / 2) + this.shift);
    if (hover.query !== null && (hover.query < begin || hover.query >= begin + rows)) {
      begin = clamp(hover.query - Math.floor(rows / 2));
    }
    this.drawing.begin = begin;
    this.drawing.end = begin + rows;
  }

  private fetchLines(): void {
    const {at, lines} = this.drawing;
    lines.clear();
    if (at === null) return;
    for (const head of this.store.now.heads) {
      const place = {layer: this.store.now.layer, head};
      const known = this.api.lineNow(place, at.first, at.end, false);
      if (known) lines.set(head, known);
      else this.api.line(place, at.first, at.end, false).then(() => {
        if (this.drawing.at?.first === at.first) this.update();
      }, () => undefined);
    }
  }

  private fetchOthers(): void {
    const {begin, end} = this.drawing;
    const place = primary(this.store.now);
    const name = `${place.layer}.${place.head} ${begin}-${end}`;
    if (isNarrow() || name === this.fetched) return;
    this.fetched = name;
    this.drawing.others = [];
    this.fetching?.abort();
    this.fetching = new AbortController();
    this.api.edges(place.layer, [place.head], begin, end, this.fetching.signal).then((found) => {
      this.drawing.others = found.get(place.head) ?? [];
      this.draw();
    }, () => { if (this.fetched === name) this.fetched = ''; });
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

  private list: Entry[] = [];

  private draw(): void {
    this.list = this.entries();
    this.drawKeys();
    if (isNarrow()) this.drawNarrowQuery();
    else this.drawQueries();
    this.drawArcs();
  }

  private keyHeight(): number {
    if (isNarrow()) return kMostHeight;
    const slots = this.list.length + 1;
    return Math.max(kRowHeight, Math.min(kMostHeight, this.body.clientHeight / slots));
  }

  private drawQueries(): void {
    const {begin, end} = this.drawing;
    const {now, hover} = this.store;
    const focused = this.queries.contains(document.activeElement)
      ? (document.activeElement as HTMLElement).dataset.index : undefined;
    const rows = Array.from({length: end - begin}, (_, place) => {
      const index = begin + place;
      const state = index === now.query ? ' pinned' : index === hover.query ? ' hovered' : '';
      const row = button({
        class: `query${state}`, 'data-index': index, tabindex: index === (now.query ?? begin) ? 0 : -1,
        'aria-pressed': String(index === now.query),
      }, () => this.store.set({query: index, key: null, range: null}),
      html('span', {class: 'index'}, String(index)),
      html('span', {class: 'query-token'}, plain(this.api.info.tokens[index]!)));
      row.style.height = `${this.rowHeight}px`;
      row.addEventListener('pointerenter', () => this.store.preview({query: index}));
      return row;
    });
    this.replaceUnlessSame(this.queries, rows);
    if (focused !== undefined) {
      this.queries.querySelector<HTMLElement>(`[data-index="${focused}"]`)?.focus({preventScroll: true});
    }
  }

  /** New rows under a resting pointer would enter again and never end. */
  private replaceUnlessSame(column: HTMLElement, rows: HTMLElement[]): void {
    const old = [...column.children] as HTMLElement[];
    if (old.length === rows.length && old.every((each, place) => each.dataset.index === rows[place]!.dataset.index
        && each.textContent === rows[place]!.textContent && each.classList[0] === rows[place]!.classList[0])) {
      for (const [place, row] of rows.entries()) {
        const each = old[place]!;
        each.className = row.className;
        each.tabIndex = row.tabIndex;
        each.style.cssText = row.style.cssText;
        const pressed = row.getAttribute('aria-pressed');
        if (pressed !== null) each.setAttribute('aria-pressed', pressed);
      }
    } else {
      column.replaceChildren(...rows);
    }
  }

  private drawNarrowQuery(): void {
    const {at} = this.drawing;
    const name = at ? phrase(this.api.info.tokens, at.first, at.end) : '';
    const height = this.list.filter((entry) => entry.kind === 'key').length * kMostHeight;
    const box = html('div', {class: 'query pinned', 'data-index': at?.first ?? ''}, name);
    box.style.top = `${height / 2 - 14}px`;
    this.queries.replaceChildren(...(at ? [box] : []));
  }

  private keyRow(entry: Entry): HTMLElement {
    const {tokens} = this.api.info;
    if (entry.kind === 'fold') {
      const {begin, end} = entry;
      return button({class: 'fold', 'data-index': `fold-${begin}`}, () => {
        this.unfolded.add(begin);
        this.draw();
      }, end - begin === 1 ? '1 token' : `${end - begin} tokens`);
    }
    const {key} = entry;
    const query = this.drawing.at?.first ?? null;
    const isPinned = key === this.store.now.key && query === this.store.now.query;
    const state = isPinned ? ' pinned' : key === this.store.key ? ' hovered' : '';
    const value = this.weightOf(key);
    const row = button({class: `key${state}`, 'data-index': key, 'aria-pressed': String(isPinned)},
      () => query !== null && this.store.set({query, key, range: null}),
      html('span', {class: 'context'},
        html('span', {class: 'before'}, key > 0 ? `${phrase(tokens, key - 1, key)}${gap(tokens[key]!.text)}` : ''),
        html('b', {}, plain(tokens[key]!)),
        html('span', {class: 'after'}, key + 1 < tokens.length
          ? `${gap(tokens[key + 1]!.text)}${plain(tokens[key + 1]!)}` : '')),
      html('span', {class: 'index'}, String(key)),
      html('span', {class: 'value'}, value === null ? '' : weight(value)));
    const preview = () => query !== null && this.store.preview({query, key});
    row.addEventListener('pointerenter', preview);
    row.addEventListener('focus', () => row.matches(':focus-visible') && preview());
    return row;
  }

  private weightOf(key: number): number | null {
    return this.drawing.lines.get(this.store.now.heads[0]!)?.weights[key] ?? null;
  }

  private drawKeys(): void {
    if (isNarrow()) this.list = this.list.filter((entry) => entry.kind === 'key');
    const height = this.keyHeight();
    const rows = this.list.map((entry) => {
      const row = this.keyRow(entry);
      row.style.height = `${height}px`;
      return row;
    });
    const line = this.drawing.lines.get(this.store.now.heads[0]!);
    if (line) {
      const row = html('div', {class: 'rest quiet', 'data-index': 'rest'}, rest(line.weights, this.list));
      row.style.height = `${height}px`;
      rows.push(row);
    }
    this.replaceUnlessSame(this.keys, rows);
  }

  private arcsNow(): Arc[] {
    const {at, lines, others} = this.drawing;
    const primaryHead = this.store.now.heads[0]!;
    const grey = others.filter((row) => at === null || row.query < at.first || row.query >= at.end)
      .flatMap((row) => row.edges.map((edge) => ({edge, head: primaryHead, own: at === null})));
    const own = [...lines].flatMap(([head, line]) => line.edges.map((edge) => ({edge, head, own: true})));
    return [...grey, ...own];
  }

  private drawArcs(): void {
    const narrow = isNarrow();
    const {begin, end, at} = this.drawing;
    const height = this.keyHeight();
    const rowHeight = this.rowHeight;
    const [left, right] = narrow ? [kNarrowLeft, kNarrowRight] : [kArcLeft, kArcRight];
    const keyY = (key: number) => {
      const index = entryIndex(this.list, key);
      return index < 0 ? null : (index + 0.5) * height - this.keys.scrollTop;
    };
    const queryY = (query: number) => narrow ? this.list.length * height / 2
      : (Math.max(begin, Math.min(end - 1, query)) - begin + 0.5) * rowHeight;
    const middle = at ? (at.first + at.end - 1) / 2 : 0;
    const marks: SVGElement[] = [];
    const labels: SVGElement[] = [];
    const {heads} = this.store.now;
    const selectedKey = this.store.key;
    for (const arc of this.arcsNow()) {
      const isOfRow = arc.own && at !== null;
      const target = keyY(arc.edge.key);
      if (target === null) continue;
      const source = queryY(isOfRow ? middle : arc.edge.query);
      const path = link({source: [left, source], target: [right, target]});
      const {width, opacity} = arcStyle(arc);
      const chosen = isOfRow && arc.edge.key === selectedKey && arc.head === heads[0];
      const colour = chosen ? 'accent' : arc.own ? `head-${heads.indexOf(arc.head) + 1}` : 'other';
      marks.push(svg('path', {
        class: `arc ${colour}`, d: path, 'stroke-width': width.toFixed(2), opacity: chosen ? 1 : opacity.toFixed(3),
      }));
      if (!arc.own) continue;
      marks.push(this.target(path!, arc.edge));
      if (chosen || (isOfRow && heads.indexOf(arc.head) === 3)) {  // the fourth colour needs its number
        labels.push(svg('text', {
          class: 'arc-number', x: (left + right) / 2, y: (source + target) / 2 - 6,
        }, weight(arc.edge.weight)));
      }
    }
    this.arcs.replaceChildren(...marks, ...labels);
  }

  /** A wider, invisible stroke that the pointer can meet. */
  private target(path: string, edge: Edge): SVGElement {
    const target = svg('path', {class: 'arc-target', d: path, 'data-key': edge.key, 'data-query': edge.query});
    const query = this.drawing.at?.first ?? edge.query;
    const event = {query, key: edge.key};
    target.addEventListener('pointerenter', () => this.store.preview(event));
    target.addEventListener('pointerleave', () => this.store.preview({}));
    target.addEventListener('click', () => this.store.set({...event, range: null}));
    return target;
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    this.shift += Math.sign(event.deltaY) * 3;
    const limit = this.api.length;
    this.shift = Math.max(-limit, Math.min(limit, this.shift));
    this.update();
  }

  private walk(event: KeyboardEvent): void {
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (step === undefined) return;
    const from = Number((event.target as HTMLElement).dataset.index);
    const next = Math.max(0, Math.min(this.api.length - 1, from + step));
    this.store.preview({query: next});
    this.queries.querySelector<HTMLElement>(`[data-index="${next}"]`)?.focus();
    this.store.preview({query: next});
    event.preventDefault();
    event.stopPropagation();
  }
}

function gap(text: string): string {
  return /^[ \u2581]/.test(text) ? ' ' : '';
}

export const edgesPanel: MakePanel = (container, store, api) => new EdgesPanel(container, store, api);
