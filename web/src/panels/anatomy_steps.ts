// The steps of a head from Q, K and V on, with settings that may differ from the model's.
import type {Anatomy} from '../answers';

export const kSimilarities = ['dot', 'cosine', 'distance', 'gaussian'] as const;
export const kNormalisers = ['softmax', 'linear', 'sigmoid'] as const;

export interface Settings {
  scaled: boolean;
  factor: number;     // factor of the scores: 100 saturates the softmax
  masked: boolean;
  similarity: (typeof kSimilarities)[number];
  normaliser: (typeof kNormalisers)[number];
}

export const kModelsOwn: Settings = {scaled: true, factor: 1, masked: true, similarity: 'dot', normaliser: 'softmax'};

export interface Steps {
  scores: number[][];
  scaled: (number | null)[][];  // null: masked
  weights: number[][];
  values: number[][];           // of the row: each key's weighted value, times the row's gate if there is one
  output: number[];
  lse: number;                  // of the row
  isWhole: boolean;             // the weights are over all keys of the text
}

const dot = (a: number[], b: number[]) => a.reduce((sum, value, at) => sum + value * b[at]!, 0);
const phi = (x: number[]) => x.map((value) => value > 0 ? value + 1 : Math.exp(value));  // elu + 1 (Katharopoulos et al. 2020)

function similarity(kind: Settings['similarity'], q: number[], k: number[]): number {
  if (kind === 'dot') return dot(q, k);
  if (kind === 'cosine') return dot(q, k) / Math.max(1e-12, Math.sqrt(dot(q, q) * dot(k, k)));
  const apart = q.map((value, at) => value - k[at]!);
  return kind === 'gaussian' ? -dot(apart, apart) : -apart.reduce((sum, value) => sum + Math.abs(value), 0);
}

function isModelsOwn(settings: Settings): boolean {
  return Object.entries(kModelsOwn).every(([name, value]) => settings[name as keyof Settings] === value);
}

/** Weights of one row; `lse` is the row's over all keys, where the settings are the model's own. */
function weightsOf(row: (number | null)[], q: number[], k: number[][], settings: Settings, lse: number | null): {weights: number[]; lse: number} {
  if (settings.normaliser === 'sigmoid') return {weights: row.map((score) => score === null ? 0 : 1 / (1 + Math.exp(-score))), lse: 0};
  if (settings.normaliser === 'linear') {
    const features = row.map((score, at) => score === null ? 0 : dot(phi(q), phi(k[at]!)));
    const sum = features.reduce((all, each) => all + each, 0);
    return {weights: features.map((each) => sum > 0 ? each / sum : 0), lse: Math.log(sum)};
  }
  const seen = row.filter((score) => score !== null);
  const largest = Math.max(...seen);
  const over = lse ?? (seen.length === 0 ? -Infinity : largest + Math.log(seen.reduce((sum, score) => sum + Math.exp(score - largest), 0)));
  return {weights: row.map((score) => score === null ? 0 : Math.exp(score - over)), lse: over};
}

/** `query` is a row of the window. */
export function steps(anatomy: Anatomy, settings: Settings, query: number, keys: number): Steps {
  const {q, k, v, visible, bias, softcap, gates} = anatomy;
  const own = isModelsOwn(settings);
  const factor = (settings.scaled ? anatomy.scale : 1) * settings.factor;
  const scores = q.map((row) => k.map((key) => similarity(settings.similarity, row, key)));
  const scaled = scores.map((row, i) => row.map((score, j) => {
    if (settings.masked && visible[i]![j] === 0) return null;
    const raw = score * factor;
    return (softcap > 0 ? softcap * Math.tanh(raw / softcap) : raw) + (bias[i]?.[j] ?? 0);
  }));
  const rows = scaled.map((row, i) => weightsOf(row, q[i]!, k, settings, own ? anatomy.lse[i] ?? null : null));
  const weights = rows.map((row) => row.weights);
  const values = v.map((row, j) => row.map((value, d) => value * weights[query]![j]! * (gates[query]?.[d] ?? 1)));
  const output = (v[0] ?? []).map((_, d) => values.reduce((sum, row) => sum + row[d]!, 0));
  const isWhole = anatomy.key_begin === 0 && k.length === keys;
  return {scores, scaled, weights, values, output, lse: rows[query]!.lse, isWhole: own || isWhole};
}
