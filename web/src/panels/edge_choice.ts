// Which arcs are shown while nothing is pinned: the largest of each row, few enough for the eye to follow.
import type {EdgeRow} from '../attention/arcs';
import {weight as written} from '../drawing/format';

const kArcs = 48;     // over all visible rows
const kMostOfRow = 8;
const [kSinkWeight, kSinkRows, kLeastSinkRows] = [0.3, 0.4, 4];  // of a row; and the number of rows that give this much to it, at least

export interface Choice {
  rows: EdgeRow[];
  each: number;       // most arcs of a row
  drawn: number;
  all: number;        // weights of these rows
  rest: number;       // mean weight of a row that is not drawn
  sink: number | null;  // the key to which most rows give most of their weight
}

/** Arcs to it would overlap. */
function sinkOf(rows: EdgeRow[]): number | null {
  const given = new Map<number, number>();
  for (const {edges} of rows) {
    const most = edges[0];
    if (most && most.weight >= kSinkWeight) given.set(most.key, (given.get(most.key) ?? 0) + 1);
  }
  const [key, count] = [...given].sort((a, b) => b[1] - a[1])[0] ?? [null, 0];
  return count >= Math.max(kLeastSinkRows, kSinkRows * rows.length) ? key : null;
}

export function largestOfRows(rows: EdgeRow[]): Choice {
  const each = Math.max(1, Math.min(kMostOfRow, Math.floor(kArcs / Math.max(1, rows.length))));
  const chosen = rows.map((row) => ({
    ...row, edges: [...row.edges].sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight)).slice(0, each),
  }));
  const edges = chosen.flatMap((row) => row.edges);
  const all = rows.reduce((sum, row) => sum + row.edges.length + row.rest.count, 0);
  const weight = edges.reduce((sum, edge) => sum + edge.weight, 0);
  return {rows: chosen, each, sink: sinkOf(chosen), drawn: edges.length, all, rest: Math.max(0, 1 - weight / Math.max(1, rows.length))};
}

/** `2 largest per row, 44 of 253 weights`, or `2 per row` where there is little room; nothing where the rows are not there yet. */
export function choiceText({each, drawn, all}: Choice, isShort = false): string {
  if (all === 0) return '';
  if (isShort) return `${each} per row`;
  return `${each === 1 ? 'the' : each} largest per row, ${drawn} of ${all.toLocaleString('en')} weights`;
}

/** `not drawn: .57 on average`, of a row; the weights of a difference sum to nothing, so there they are counted. */
export function restText({drawn, all, rest}: Choice, isDifference: boolean): string {
  if (isDifference && drawn < all) return `not drawn: ${(all - drawn).toLocaleString('en')} smaller ones`;
  return drawn === all ? 'every weight drawn' : `not drawn: ${written(rest)} on average`;
}
