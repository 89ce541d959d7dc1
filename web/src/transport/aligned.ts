// A text whose words stand for those of another text: its weights by the other text's tokens.
import type {Line} from '../arcs';
import {withNulls} from '../arcs';
import type {Question} from '../data/slot';
import type {Place} from '../selection';
import type {Span} from '../side';
import {phrase, unitsFrom} from '../tokens';
import type {Marginals, SessionApi, SessionInfo, TilePlace} from './api';

const kMostTokens = 512;  // of either text: whole matrices are compared

/** In place of a weight: no token of B stands for this one of A. */
export const kUnaligned = Infinity;

export interface Alignment {
  spans: (Span | null)[];  // the tokens of B that stand for each token of A
  said: string;            // what does not line up; empty: all does
}

interface Word extends Span { text: string }

function wordsOf({tokens, units}: SessionInfo): Word[] {
  const {starts, ends} = unitsFrom(units.words, tokens.length);
  return starts.map((first) => ({first, end: ends[first]!, text: phrase(tokens, first, ends[first]!)}));
}

const size = ({first, end}: Span) => end - first;
const quoted = (words: Word[]) => `\u201c${words.map(({text}) => text).join(' ')}\u201d`;

/** Pairs of words that stand for each other: those both texts begin and end with, and between them as many in either. */
function pairsOf(a: Word[], b: Word[]): {pairs: [Word, Word][]; alone: [Word[], Word[]]} {
  const least = Math.min(a.length, b.length);
  let before = 0;
  while (before < least && a[before]!.text === b[before]!.text) ++before;
  let after = 0;
  while (after < least - before && a[a.length - 1 - after]!.text === b[b.length - 1 - after]!.text) ++after;
  const [middleA, middleB] = [a.slice(before, a.length - after), b.slice(before, b.length - after)];
  const isEven = middleA.length === middleB.length;
  const pairs = a.slice(0, before).map((word, at): [Word, Word] => [word, b[at]!]);
  if (isEven) pairs.push(...middleA.map((word, at): [Word, Word] => [word, middleB[at]!]));
  for (let back = after; back > 0; --back) pairs.push([a[a.length - back]!, b[b.length - back]!]);
  return {pairs, alone: isEven ? [[], []] : [middleA, middleB]};
}

/** Null where the texts are too long, have two sides, or share too few words. */
export function align(a: SessionInfo, b: SessionInfo): Alignment | null {
  const isPlain = ({tokens, key_tokens: source, pair}: SessionInfo) => !source && pair === undefined && tokens.length <= kMostTokens;
  if (!isPlain(a) || !isPlain(b)) return null;
  const [ofA, ofB] = [wordsOf(a), wordsOf(b)];
  const {pairs, alone: [onlyA, onlyB]} = pairsOf(ofA, ofB);
  if (2 * pairs.length < Math.max(ofA.length, ofB.length)) return null;
  const spans = new Array<Span | null>(a.tokens.length).fill(null);
  const said: string[] = [];
  for (const [own, other] of pairs) {
    if (size(own) === size(other)) {
      for (let at = 0; at < size(own); ++at) spans[own.first + at] = {first: other.first + at, end: other.first + at + 1};
      continue;
    }
    spans[own.end - 1] = other;  // the last token has read the whole word
    said.push(`\u201c${own.text}\u201d is ${size(own)} and \u201c${other.text}\u201d ${size(other)} tokens: they are compared as words`);
  }
  if (onlyA.length > 0) said.push(`${quoted(onlyA)} of A has no counterpart`);
  if (onlyB.length > 0) said.push(`${quoted(onlyB)} of B has no counterpart`);
  return {spans, said: said.join('; ')};
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

/** B's answers about weights by A's tokens: a row is that of the last token that stands for it, a key the sum of those. */
export function alignedTo(a: SessionApi, b: SessionApi, {spans}: Alignment): SessionApi {
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
    return {weights: withNulls(weights), largest: 0, edges: [], rest: {count: 0, weight: 0}};  // of a difference these are its own
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
        if (!(made[at]! >= cells[query * length + key]!)) made[at] = cells[query * length + key]!;  // NaN is less than all
      }
    }
    return made.buffer as ArrayBuffer;
  });
  const values = {matrix: part, line, marginals, tile};
  return Object.create(b, Object.fromEntries(Object.entries(values).map(([name, value]) => [name, {value}]))) as SessionApi;
}
