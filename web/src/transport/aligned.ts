// A text whose words correspond to those of another text: its weights by the other text's tokens.
import type {Alignment as Aligned} from '../answers';
import type {Line} from '../attention/arcs';
import {withNulls} from '../attention/arcs';
import type {Question} from '../data/slot';
import type {Place} from '../selection/selection';
import type {Span} from '../attention/side';
import type {Marginals, SessionApi, TilePlace} from './api';
import {json, kApi} from './ask';

/** Replaces a weight if no token of B corresponds to A's. */
export const kUnaligned = Infinity;

/** The tokens compared at each token of A: a word with other tokens in B is compared as a whole, at its last token. */
type Spans = (Span | null)[];

export interface Alignment {
  ofA: Spans;
  ofB: Spans;
  said: string;  // the parts that do not align; empty: everything does
}

/** Null where the texts cannot be aligned. */
export async function align(a: SessionApi, b: SessionApi): Promise<Alignment | null> {
  const {pairs, said} = await json<Aligned>(a.requests, `${kApi}/sessions/${b.info.session}/alignment?from=${a.info.session}`);
  const [ofA, ofB] = [0, 2].map((side) => {
    const spans: Spans = a.info.tokens.map(() => null);
    for (const pair of pairs) spans[pair[1]! - 1] = {first: pair[side]!, end: pair[side + 1]!};
    return spans;
  });
  return pairs.length > 0 ? {ofA: ofA!, ofB: ofB!, said} : null;
}

function mappedQuestion<From, To>(question: Question<From>, make: (from: From) => To): Question<To> {
  let known: {from: From; to: To} | null = null;
  const value = (from: From) => (known = known?.from === from ? known : {from, to: make(from)}).to;
  return {
    name: `${question.name} aligned`,
    now: () => {
      const from = question.now();
      return from === undefined ? undefined : value(from);
    },
    get: async (lane) => value(await question.get(lane)),
  };
}

/** One side's answers about weights, by A's tokens: a row is that of the last corresponding token, a key the sum over them. */
export function alignedTo(a: SessionApi, b: SessionApi, spans: Spans): SessionApi {
  const length = spans.length;
  const whole = new Map<string, Question<Float32Array>>();
  const row = (cells: Float32Array, of: Span | null): Float32Array => {
    const width = b.info.tokens.length;
    return Float32Array.from(spans, (keys) => {
      if (!of || !keys) return kUnaligned;
      const seen = Array.from(cells.subarray((of.end - 1) * width + keys.first, (of.end - 1) * width + keys.end)).filter((weight) => !Number.isNaN(weight));
      return seen.length === 0 ? NaN : seen.reduce((sum, weight) => sum + weight, 0);
    });
  };
  const all = (place: Place): Question<Float32Array> => {
    const asked = b.matrix(place, 0, b.info.tokens.length);
    const known = whole.get(asked.name) ?? mappedQuestion(asked, (cells) => {
      const made = new Float32Array(length * length);
      spans.forEach((of, at) => made.set(row(cells, of), at * length));
      return made;
    });
    whole.set(asked.name, known);
    return known;
  };
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  const part = (place: Place, begin: number, end: number) => mappedQuestion(all(place), (cells) => cells.slice(begin * length, end * length));
  const line = (place: Place, first: number, end: number, to: boolean) => mappedQuestion(all(place), (cells): Line => {
    const own = Array.from({length: end - first}, (_, at) => first + at);
    const weights = Float32Array.from({length}, (_, other) => {
      const seen = own.map((each) => to ? cells[other * length + each]! : cells[each * length + other]!).filter((weight) => !Number.isNaN(weight));
      return seen.length === 0 ? NaN : to ? seen.reduce((sum, weight) => sum + weight, 0) : mean(seen);
    });
    return {weights: withNulls(weights), largest: 0, edges: [], rest: {count: 0, weight: 0}};  // a difference has its own
  });
  const marginals = (place: Place) => mappedQuestion(b.marginals(place), (of): Marginals => ({
    ...of, received: spans.map((keys) => keys ? of.received.slice(keys.first, keys.end).reduce((sum, value) => sum + value, 0) : NaN),
    keys_in_use: spans.map((rows) => rows ? of.keys_in_use[rows.end - 1]! : NaN),
  }));
  const tile = ({z, y, x, ...place}: TilePlace) => mappedQuestion(all(place), (cells): ArrayBuffer => {
    const {zooms, tile: side} = a.side(place.stack).attention;
    const block = 2 ** (zooms - 1 - z);
    const extent = (at: number) => ({begin: at * side * block, end: Math.min(length, (at + 1) * side * block)});
    const [rows, keys] = [extent(y), extent(x)];
    const width = Math.ceil((keys.end - keys.begin) / block);
    const made = new Float32Array(Math.ceil((rows.end - rows.begin) / block) * width).fill(NaN);
    for (let query = rows.begin; query < rows.end; ++query) {
      for (let key = keys.begin; key < keys.end; ++key) {
        const at = Math.floor((query - rows.begin) / block) * width + Math.floor((key - keys.begin) / block);
        if (!(made[at]! >= cells[query * length + key]!)) made[at] = cells[query * length + key]!;  // true also if the entry is NaN
      }
    }
    return made.buffer as ArrayBuffer;
  });
  const values = {matrix: part, line, marginals, tile};
  return Object.create(b, Object.fromEntries(Object.entries(values).map(([name, value]) => [name, {value}]))) as SessionApi;
}
