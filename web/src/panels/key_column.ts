// Which keys the right column lists, in text order, and what folds between them.
import type {Edge, Rest} from '../api';
import {weight as written} from '../format';

export interface KeyEntry { kind: 'key'; key: number; weight: number | null }
export interface FoldEntry { kind: 'fold'; begin: number; end: number }
export type Entry = KeyEntry | FoldEntry;

export const kUnfold = 100;  // tokens that one click unfolds

/** Keys with an edge, in text order; the others up to `end` fold; a fold whose begin is in `unfolded` opens. */
export function entriesOf(
  keys: Map<number, number | null>, end: number, unfolded: ReadonlySet<number>
): Entry[] {
  const entries: Entry[] = [];
  const sorted = [...keys.keys()].sort((a, b) => a - b);
  let begin = 0;
  const between = (stop: number) => {
    let at = begin;
    while (at < stop && unfolded.has(at)) {
      const last = Math.min(stop, at + kUnfold);
      for (; at < last; ++at) entries.push({kind: 'key', key: at, weight: null});
    }
    if (at < stop) entries.push({kind: 'fold', begin: at, end: stop});
  };
  for (const key of sorted) {
    between(key);
    entries.push({kind: 'key', key, weight: keys.get(key)!});
    begin = key + 1;
  }
  between(end);
  return entries;
}

/** The `most` keys to which the rows give most, for when nothing is pinned. */
export function heaviest(edges: Edge[], most: number): Map<number, null> {
  const sums = new Map<number, number>();
  for (const {key, weight} of edges) sums.set(key, (sums.get(key) ?? 0) + weight);
  const best = [...sums].sort((a, b) => b[1] - a[1]).slice(0, most);
  return new Map(best.map(([key]) => [key, null]));
}

/** Where a key stands: its own entry, or the fold that holds it. */
export function entryIndex(entries: Entry[], key: number): number {
  return entries.findIndex((entry) =>
    entry.kind === 'key' ? entry.key === key : key >= entry.begin && key < entry.end);
}

/** What is left over: `+ .31 in 192 others`. */
export function left({count, weight}: Rest): string {
  return count === 0 ? 'and no others' : `+ ${written(weight)} in ${count.toLocaleString('en')} others`;
}

/** What is left of a row beside the keys that are listed. */
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
