// Lines of weights, from the saved data of a head.
import type {HeldHead} from './file';

/** The mean of rows (of the queries [begin, end)), or the sum of columns; NaN where all are hidden. */
export function line(head: HeldHead, begin: number, end: number, to: boolean): Float32Array {
  const length = to ? head.queries : head.keys;
  const sums = new Float64Array(length);
  const seen = new Uint8Array(length);
  const add = (at: number, weight: number) => {
    sums[at]! += weight;
    seen[at] = 1;
  };
  if (to) for (let query = 0; query < length; ++query) head.weights(query, begin, end, (_, weight) => add(query, weight));
  else for (let query = begin; query < end; ++query) head.weights(query, 0, length, add);
  const count = to ? 1 : end - begin;
  return Float32Array.from(sums, (sum, at) => seen[at] ? sum / count : NaN);
}

/** The entropy of a row, in nats. */
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
