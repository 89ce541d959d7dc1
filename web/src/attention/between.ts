// The attention from one text to another: each row's share and arcs in a block, and the mean that each key gets.
import type {Shares} from '../answers';
import type {Edge} from './arcs';
import {signedArcs} from './arcs';
import {Slot, valueOf} from '../data/slot';
import type {Page} from '../panels/panel';
import type {Place} from '../selection/selection';
import {nameOf} from '../selection/selection';
import type {Block, Span} from './side';
import {blockOf} from './side';

const kTopP = 0.9;      // of a row's weight on the text
const kLeast = 0.01;    // lighter arcs are not drawn
const kMostRows = 64;   // per drawing

export const kUsualPair = 'A-B';  // whose share is shown while everything is shown

export interface BetweenRow { query: number; share: number; edges: Edge[] }
export interface Between { rows: BetweenRow[]; means: number[] }  // means: by key of the block

/** `cells`: the rows of the block's queries, `width` keys each; masked ones are NaN. Shares are of `all` keys of the
    text, of which the block's are drawn. */
export function between(cells: Float32Array, width: number, {queries, keys}: Block, all: Span, topP: number): Between {
  const count = queries.end - queries.first;
  const means = new Array<number>(keys.end - keys.first).fill(0);
  const rows = Array.from({length: count}, (_, at): BetweenRow => {
    const row = cells.subarray(at * width, (at + 1) * width);
    for (const key of means.keys()) means[key]! += (row[keys.first + key]! || 0) / count;
    const inside = row.subarray(all.first, all.end);
    const {edges} = signedArcs(inside, topP, Infinity);
    const query = queries.first + at;
    const drawn = edges.map(({at: key, weight}) => ({query, key: all.first + key, weight}))
      .filter(({key, weight}) => Math.abs(weight) >= kLeast && key >= keys.first && key < keys.end);
    return {query, share: inside.reduce((sum, weight) => sum + (weight || 0), 0), edges: drawn};
  });
  return {rows, means};
}

/** How much of a text's attention a head sends to a text, for its chip; undefined until the scores arrive. */
export function pairShare({api, store}: Page, place: Place): number | undefined {
  const of = (store.now.pair ?? kUsualPair).toLowerCase().replace('-', '_to_') as keyof Shares;
  return api.scoresOf(place)?.find(({head}) => head === place.head)?.shares?.[of];
}

/** The part of a long span that is drawn: around a token. */
function windowOf({first, end}: Span, centre: number | null): Span {
  const count = Math.min(kMostRows, end - first);
  const begin = Math.max(first, Math.min(end - count, (centre ?? first) - Math.floor(count / 2)));
  return {first: begin, end: begin + count};
}

/** The drawn part of the current block: around the pinned edge, or around a query. */
export function blockInSight({side, store}: Page, query: number | null = null): Block {
  const {queries, keys} = blockOf(side, store.now.pair);
  return {queries: windowOf(queries, query ?? store.pinnedQuery), keys: windowOf(keys, store.pinnedKey)};
}

/** Rows of several heads, with a slot for each. */
export class BetweenData {
  private readonly slots: Slot<Float32Array>[] = [];
  private readonly known = new WeakMap<Float32Array, {keys: string; value: Between}>();

  constructor(private readonly page: Page, private readonly lane: string, private readonly changed: () => void) {}

  stop(): void { for (const slot of this.slots) slot.stop(); }

  /** By head; without those still loading. */
  show(places: Place[], block: Block): Map<string, Between> {
    const {api} = this.page;
    const {first, end} = block.queries;
    const found = new Map<string, Between>();
    while (this.slots.length < places.length) {
      this.slots.push(new Slot<Float32Array>(`${this.lane}-${this.slots.length}`, this.changed));
    }
    for (const [index, slot] of this.slots.entries()) {
      const place = places[index];
      const cells = valueOf(slot.show(place && api.hasWeights ? api.matrix(place, first, end) : null));
      if (cells && place) found.set(nameOf(place), this.of(cells, block));
    }
    return found;
  }

  private of(cells: Float32Array, block: Block): Between {
    const {side, store} = this.page;
    const all = blockOf(side, store.now.pair).keys;
    const keys = [block.keys.first, block.keys.end, all.first, all.end].join(' ');
    const known = this.known.get(cells);
    if (known?.keys === keys) return known.value;
    const value = between(cells, side.keys.length, block, all, side.isSquare ? kTopP : 1);
    this.known.set(cells, {keys, value});
    return value;
  }
}
