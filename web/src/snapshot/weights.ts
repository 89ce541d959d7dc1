// Weights from what a head keeps: e^(score - lse), as the server computes them.
import type {HeldHead} from './file';

/** NaN where the mask hides the key. */
export function weightOf(head: HeldHead, query: number, key: number): number {
  if (key < head.begins[query]! || key >= head.ends[query]!) return NaN;
  const {q, k, dim} = head;
  let sum = 0;
  for (let at = 0, i = query * dim, j = key * dim; at < dim; ++at) sum += q[i + at]! * k[j + at]!;
  return Math.exp(head.scale * sum - head.lse[query]!);
}

/** The mean of rows (of the queries [begin, end)), or the sum of columns; null where all are hidden. */
export function line(head: HeldHead, begin: number, end: number, to: boolean): (number | null)[] {
  const {length} = head;
  const sums = new Float64Array(length);
  const seen = new Uint8Array(length);
  for (let own = begin; own < end; ++own) {
    for (let other = 0; other < length; ++other) {
      const weight = to ? weightOf(head, other, own) : weightOf(head, own, other);
      if (Number.isNaN(weight)) continue;
      sums[other]! += weight;
      seen[other] = 1;
    }
  }
  const count = to ? 1 : end - begin;
  return Array.from(sums, (sum, at) => seen[at] ? Math.fround(sum / count) : null);
}

export interface Arcs {
  edges: {at: number; weight: number}[];  // by position
  rest: {count: number; weight: number};
  sum: number;
  largest: number;
  entropy: number;
}

/** The largest weights that make up `topP` of the line, at most `most`; ties to the lower position. */
export function arcs(weights: (number | null)[], topP: number, most: number): Arcs {
  const all: {at: number; weight: number}[] = [];
  let sum = 0;
  let entropy = 0;
  for (const [at, weight] of weights.entries()) {
    if (weight === null) continue;
    all.push({at, weight});
    sum += weight;
    if (weight > 0) entropy -= weight * Math.log(weight);
  }
  all.sort((a, b) => b.weight - a.weight || a.at - b.at);
  let mass = 0;
  let kept = 0;
  while (kept < Math.min(most, all.length) && mass < topP * sum) mass += all[kept++]!.weight;
  return {
    edges: all.slice(0, kept).sort((a, b) => a.at - b.at),
    rest: {count: all.length - kept, weight: Math.max(0, sum - mass)},
    sum, entropy, largest: all[0]?.weight ?? 0,
  };
}

/** A weight in one byte: 0 masked, 1 below 2^-24, else by its logarithm. */
export function byteOf(weight: number): number {
  if (Number.isNaN(weight)) return 0;
  if (weight < 2 ** -24) return 1;
  return 2 + Math.round(Math.min(253, Math.max(0, 253 * (1 + Math.log2(weight) / 24))));
}
