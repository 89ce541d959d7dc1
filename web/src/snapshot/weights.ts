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

/** The mean of rows (of the queries [begin, end)), or the sum of columns; NaN where all are hidden. */
export function line(head: HeldHead, begin: number, end: number, to: boolean): Float32Array {
  const length = to ? head.queries : head.keys;
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
  return Float32Array.from(sums, (sum, at) => seen[at] ? sum / count : NaN);
}

/** Of a row, in nats. */
export function entropy(weights: Float32Array): number {
  let sum = 0;
  for (const weight of weights) if (weight > 0) sum -= weight * Math.log(weight);
  return sum;
}

/** A weight in one byte: 0 masked, 1 below 2^-24, else by its logarithm. */
export function byteOf(weight: number): number {
  if (Number.isNaN(weight)) return 0;
  if (weight < 2 ** -24) return 1;
  return 2 + Math.round(Math.min(253, Math.max(0, 253 * (1 + Math.log2(weight) / 24))));
}
