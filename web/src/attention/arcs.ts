// Which weights of a row get an arc, like the server chooses them; the others are the rest.

export interface Edge { query: number; key: number; weight: number }
export interface Rest { count: number; weight: number }

/** The end of an edge other than the shown token: its key, or in a column its query. */
export function otherEnd({query, key}: Edge, to: boolean): number { return to ? query : key; }

/** The keys of a token (or a span); in a column, its queries. */
export interface Line {
  weights: (number | null)[];
  largest: number;
  edges: Edge[];
  rest: Rest;
}
export interface EdgeRow { query: number; edges: Edge[]; rest: Rest }

export interface Arcs {
  edges: {at: number; weight: number}[];  // by position
  rest: Rest;
  sum: number;
  largest: number;
}

/** The largest weights that make up `topP` of the line, at most `most`; ties to the lower position; NaN is masked. */
export function arcs(weights: Float32Array, topP: number, most: number): Arcs {
  const best: {at: number; weight: number}[] = [];  // largest first
  let sum = 0;
  let count = 0;
  for (let at = 0; at < weights.length; ++at) {
    const weight = weights[at]!;
    if (Number.isNaN(weight)) continue;
    ++count;
    sum += weight;
    if (best.length === most && weight <= best[most - 1]!.weight) continue;
    let place = Math.min(best.length, most - 1);
    for (; place > 0 && best[place - 1]!.weight < weight; --place) best[place] = best[place - 1]!;
    best[place] = {at, weight};
  }
  let mass = 0;
  let kept = 0;
  while (kept < best.length && mass < topP * sum) mass += best[kept++]!.weight;
  return {
    edges: best.slice(0, kept).sort((a, b) => a.at - b.at),
    rest: {count: count - kept, weight: Math.max(0, sum - mass)},
    sum, largest: best[0]?.weight ?? 0,
  };
}

/** The same for differences: the largest of either sign. */
export function signedArcs(weights: Float32Array, topP: number, most: number): Arcs {
  const {edges, ...of} = arcs(weights.map(Math.abs), topP, most);
  return {...of, edges: edges.filter(({weight}) => weight > 0).map(({at}) => ({at, weight: weights[at]!}))};
}

/** Values in JSON answers: null where masked. */
export function withNulls(weights: Float32Array): (number | null)[] {
  return Array.from(weights, (weight) => Number.isNaN(weight) ? null : weight);
}

/** For a hovered token, reads out what it attends to most. */
export function largestOf(line: Line | null): number | null {
  const best = (line?.weights ?? []).reduce<{at: number; weight: number}>((most, weight, at) =>
    weight !== null && Math.abs(weight) > Math.abs(most.weight) ? {at, weight} : most, {at: -1, weight: 0});
  return best.at < 0 ? null : best.at;
}
