// Which rows the keys occupy: next to the same token among the queries where possible, so that attention to itself is a
// horizontal line.
import type {Span} from '../attention/side';
import type {Entry} from './key_column';

/** The window's row preferred by an entry; null: any. */
function wish(entry: Entry, {first, end}: Span): number | null {
  return entry.kind === 'key' && entry.key >= first && entry.key < end ? entry.key - first : null;
}

/** Assigns a row below `count` to each entry, in order; `window`: the queries in the rows; `pinned`: the entries with priority. */
export function slotsOf(entries: Entry[], window: Span, count: number, pinned: number | null): number[] {
  const last = entries.length - 1;
  const slots = new Array<number | null>(entries.length).fill(null);
  if (entries.length > count) return entries.map((_, at) => at);
  const take = (at: number, from: number, below: number) => {
    const wanted = wish(entries[at]!, window);
    if (wanted === null || wanted < from || wanted >= below) return false;
    slots[at] = wanted;
    return true;
  };
  // Every earlier entry needs a row above, and every later one a row below.
  const own = entries.findIndex((entry) => entry.kind === 'key' && entry.key === pinned);
  if (own >= 0) take(own, own, count - (last - own));
  const start = own >= 0 && slots[own] !== null ? own : null;
  let below = start === null ? count : slots[start]!;
  for (let at = (start ?? entries.length) - 1, free = 0; at >= 0; --at, ++free) {
    if (take(at, at, below - free)) [below, free] = [slots[at]!, -1];
  }
  if (start !== null) {
    let from = slots[start]! + 1;
    for (let at = start + 1, used = 0; at < entries.length; ++at, ++used) {
      if (take(at, from + used, count - (last - at))) [from, used] = [slots[at]! + 1, -1];
    }
  }
  return spread(slots, count);
}

/** Entries without a row are spread evenly between those with one. */
function spread(slots: (number | null)[], count: number): number[] {
  const found = [...slots];
  for (let begin = 0; begin < slots.length;) {
    if (found[begin] !== null) {
      ++begin;
      continue;
    }
    let end = begin;
    while (end < slots.length && slots[end] === null) ++end;
    const from = begin === 0 ? 0 : found[begin - 1]! + 1;
    const room = (end < slots.length ? slots[end]! : count) - from;
    for (let at = begin; at < end; ++at) found[at] = from + Math.floor((at - begin + 0.5) * room / (end - begin));
    begin = end;
  }
  return found as number[];
}
