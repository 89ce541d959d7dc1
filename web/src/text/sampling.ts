// From logits to the words that may be drawn, like in src/generate/rules.cpp: temperature, top-k, top-p.

export interface Sampling { temperature: number; topK: number; topP: number }

/** Ids by logit, largest first, ties to the lower id. */
export function ranked(logits: Float32Array): Int32Array {
  const ids = Int32Array.from(logits, (_, id) => id);
  return ids.sort((a, b) => logits[b]! - logits[a]! || a - b);
}

/** softmax(logits / temperature), by id. */
export function softmax(logits: Float32Array, temperature = 1): Float64Array {
  let largest = -Infinity;
  for (const logit of logits) largest = Math.max(largest, logit);
  let sum = 0;
  const all = Float64Array.from(logits, (logit) => {
    const weight = Math.exp((logit - largest) / temperature);
    sum += weight;
    return weight;
  });
  return all.map((weight) => weight / sum);
}

/** Each word's sampling probability, by id: 0 for a filtered word; and the number of remaining words. */
export function drawn(logits: Float32Array, order: Int32Array, {temperature, topK, topP}: Sampling): {shares: Float64Array; left: number} {
  const shares = softmax(logits, temperature);
  const most = topK > 0 ? Math.min(topK, order.length) : order.length;
  let kept = 0;
  for (let at = 0; at < most; ++at) kept += shares[order[at]!]!;
  let left = 0;
  let reached = 0;
  while (left < most && (topP >= 1 || reached < topP * kept)) reached += shares[order[left++]!]!;
  for (let at = 0; at < order.length; ++at) {
    const id = order[at]!;
    shares[id] = at < left ? shares[id]! / reached : 0;
  }
  return {shares, left};
}
