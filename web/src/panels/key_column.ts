// Which keys the right column lists, in text order, and the folds between them.
import type {Edge, Line, Rest} from '../attention/arcs';
import {otherEnd} from '../attention/arcs';
import {weight as written} from '../drawing/format';
import type {Span} from './panel';
import type {RowWindow} from './edge_window';

export interface KeyEntry { kind: 'key'; key: number }
export interface FoldEntry { kind: 'fold'; begin: number; end: number }
export type Entry = KeyEntry | FoldEntry;

export const kUnfold = 100;  // maximum tokens per unfolding click
const kLeastPart = 2;        // tokens in a part of a fold

/** Keys with an edge, in text order; other keys of the span are folded, except runs of `unfolded` tokens, given by their beginning. */
export function entriesOf(keys: number[], {first, end}: Span, unfolded: ReadonlyMap<number, number>): Entry[] {
  const entries: Entry[] = [];
  const sorted = [...keys].sort((a, b) => a - b);
  const opened = [...unfolded].sort((a, b) => a[0] - b[0]);
  let begin = first;
  const between = (stop: number) => {
    let at = begin;
    for (const [from, to] of opened) {
      if (to <= at || from >= stop) continue;
      if (from > at) entries.push({kind: 'fold', begin: at, end: from});
      for (at = Math.max(at, from); at < Math.min(stop, to); ++at) entries.push({kind: 'key', key: at});
    }
    if (at < stop) entries.push({kind: 'fold', begin: at, end: stop});
  };
  for (const key of sorted) {
    between(key);
    entries.push({kind: 'key', key});
    begin = key + 1;
  }
  between(end);
  return entries;
}

const sizeOf = (entry: Entry) => entry.kind === 'fold' ? entry.end - entry.begin : 0;

/** Divides large folds while there are at most this many entries, so that an edge to a fold ends near its key. */
export function divided(entries: Entry[], most: number): Entry[] {
  const made = [...entries];
  while (made.length < most) {
    const at = made.reduce((best, entry, index) => sizeOf(entry) > sizeOf(made[best]!) ? index : best, 0);
    const fold = made[at];
    if (fold?.kind !== 'fold' || sizeOf(fold) < 2 * kLeastPart) break;
    const middle = Math.round((fold.begin + fold.end) / 2);
    made.splice(at, 1, {...fold, end: middle}, {...fold, begin: middle});
  }
  return made;
}

/** At most `most` entries, as many as leave the key `own` beside the same token among the queries of the window. */
export function dividedBeside(entries: Entry[], most: number, own: number, window: RowWindow): Entry[] {
  const {begin, rows} = window;
  const isBeside = (list: Entry[]) => {
    const at = list.findIndex((entry) => entry.kind === 'key' && entry.key === own);
    return at < 0 || (at <= own - begin && list.length - at <= rows - (own - begin));
  };
  for (let count = most; count > entries.length; --count) {
    const list = divided(entries, count);
    if (isBeside(list)) return list;
  }
  return entries;
}

/** The keys with an edge of any head, the pinned one first, then by the most that a head gives them. */
export function heaviestFirst(lines: Iterable<Line>, to: boolean, pinned: number | null): number[] {
  const most = new Map<number, number>(pinned === null ? [] : [[pinned, Infinity]]);
  for (const {edges} of lines) {
    for (const edge of edges) {
      const end = otherEnd(edge, to);
      most.set(end, Math.max(Math.abs(edge.weight), most.get(end) ?? 0));
    }
  }
  return [...most].sort((a, b) => b[1] - a[1]).map(([key]) => key);
}

/** At most this many entries: with several heads, the lightest keys are folded too. */
export function fitting(order: number[], span: Span, most: number, unfolded: ReadonlyMap<number, number>): Entry[] {
  for (let count = order.length; ; --count) {
    const entries = entriesOf(order.slice(0, count), span, unfolded);
    if (entries.length <= most || count <= 1) return entries;
  }
}

/** The `most` keys with the largest weights from the rows, while nothing is pinned. */
export function heaviest(edges: Edge[], most: number): number[] {
  const sums = new Map<number, number>();
  for (const {key, weight} of edges) sums.set(key, (sums.get(key) ?? 0) + Math.abs(weight));
  return [...sums].sort((a, b) => b[1] - a[1]).slice(0, most).map(([key]) => key);
}

/** The entry of a key: its own, or the fold that contains it. */
export function entryIndex(entries: Entry[], key: number): number {
  return entries.findIndex((entry) =>
    entry.kind === 'key' ? entry.key === key : key >= entry.begin && key < entry.end);
}

/** `192 others` */
export function others(count: number): string {
  return `${count.toLocaleString('en')} other${count === 1 ? '' : 's'}`;
}

/** The rest: `+ .31 in 192 others`, or `every key shown`. */
export function left({count, weight}: Rest): string {
  return count === 0 ? 'every key shown' : `${weight < 0 ? '' : '+ '}${written(weight)} in ${others(count)}`;
}

/** The rest of a row without the listed keys. */
export function rest(weights: (number | null)[], entries: Entry[]): string {
  const listed = new Set(entries.flatMap((entry) => entry.kind === 'key' ? [entry.key] : []));
  let count = 0;
  let sum = 0;
  for (const [key, weight] of weights.entries()) {
    if (weight === null || listed.has(key)) continue;
    ++count;
    sum += weight;
  }
  return left({count, weight: sum});
}
