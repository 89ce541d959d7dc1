// Two sessions, or two heads of one, as a session that answers with A's excess over B.
import type {EdgeRow, Line} from '../attention/arcs';
import {signedArcs, withNulls} from '../attention/arcs';
import type {Question} from '../data/slot';
import type {LooksReader} from '../attention/looks';
import {differenceCode, weightOf} from '../panels/matrix_scale';
import type {Place} from '../selection/selection';
import type {Alignment} from './aligned';
import type {Atlas} from './atlas';
import {cutOf} from './atlas';
import type {Marginals, SessionApi, TilePlace} from './api';

const kTopP = 0.9;
const kMostArcs = 8;
const kMostKept = 500;

/** The compared sessions: A, and B with the head of B that corresponds to A's. */
export interface Sides {
  a: SessionApi;
  b: SessionApi;
  aligned: [SessionApi, SessionApi];  // the weights of both, by A's tokens
  toB: (place: Place) => Place;
  alignment: Alignment | null;  // null: each token of B corresponds to A's at the same index
}

/** The token of B that corresponds to one of A: the last one of its word. */
export function tokenOfB({alignment}: Pick<Sides, 'alignment'>, token: number): number {
  return alignment ? (alignment.ofB[token]?.end ?? 1) - 1 : token;
}

/** No number if no token of B corresponds to A's; if only one side is masked, it counts as 0. */
function less(a: number, b: number): number {
  return Number.isNaN(a) ? Number.isNaN(b) ? NaN : -b : Number.isNaN(b) ? a : a - b;
}

function lessAll(a: Float32Array, b: Float32Array): Float32Array { return a.map((value, at) => less(value, b[at]!)); }

const numbers = (weights: (number | null)[]) => Float32Array.from(weights, (weight) => weight ?? NaN);

/** Both answers as one question; their combination is computed once. */
class Both {
  private readonly made = new Map<string, {a: unknown; b: unknown; value: unknown}>();

  of<Answer, Value>(a: Question<Answer>, b: Question<Answer>, make: (a: Answer, b: Answer) => Value): Question<Value> {
    const name = `${a.name} less ${b.name}`;
    const value = (ofA: Answer, ofB: Answer): Value => {
      const known = this.made.get(name);
      if (known && known.a === ofA && known.b === ofB) return known.value as Value;
      if (this.made.size >= kMostKept) this.made.delete(this.made.keys().next().value!);
      const fresh = make(ofA, ofB);
      this.made.set(name, {a: ofA, b: ofB, value: fresh});
      return fresh;
    };
    return {
      name,
      now: () => {
        const [ofA, ofB] = [a.now(), b.now()];
        return ofA === undefined || ofB === undefined ? undefined : value(ofA, ofB);
      },
      get: async (lane) => {
        const [ofA, ofB] = await Promise.all([a.get(lane), b.get(`${lane}-b`)]);
        return value(ofA, ofB);
      },
    };
  }
}

function codesOf(a: Uint8Array, b: Uint8Array): Uint8Array {
  return a.map((code, at) => {
    const other = b[at]!;
    if (code === 0 && other === 0) return 0;
    // Bytes are exact to half a step, so neighbours cannot be ordered.
    return Math.abs(code - other) <= 1 && code > 0 && other > 0 ? differenceCode(0) : differenceCode(weightOf(code) - weightOf(other));
  });
}

/** Thumbnails from whole matrices of differences: each cell's largest of either sign. */
function thumbnailsOf(api: SessionApi, stack: string, heads: number[], most: number, matrix: (place: Place) => Question<Float32Array>): Question<Atlas> {
  const {heads: each, queries: {length}, attention: {zooms}} = api.side(stack);
  const cut = cutOf(length, length, 2 ** (zooms - 1), most);
  const questions = heads.map((head) => matrix({stack: stack as never, layer: Math.floor(head / each), head: head % each}));
  const drawn = (cells: Float32Array): Uint8Array => {
    const largest = new Float32Array(cut.rows * cut.columns).fill(NaN);
    cells.forEach((value, at) => {
      const to = Math.floor(Math.floor(at / length) / cut.block) * cut.columns + Math.floor(at % length / cut.block);
      if (!Number.isNaN(value) && !(Math.abs(largest[to]!) >= Math.abs(value))) largest[to] = value;
    });
    return Uint8Array.from(largest, differenceCode);
  };
  return {
    name: `${stack}/thumbnails/${heads.join()} ${questions[0]?.name ?? ''}`, now: () => undefined,
    get: async (lane) => {
      const codes: Uint8Array[] = [];
      for (const [at, question] of questions.entries()) codes.push(drawn(await question.get(`${lane}-${at}`)));
      return {...cut, codes};
    },
  };
}

function marginalsOf(a: Marginals, b: Marginals): Marginals {
  const minus = (of: number[], other: number[]) => of.map((value, at) => value - other[at]!);
  return {
    ...a, received: minus(a.received, b.received), keys_in_use: minus(a.keys_in_use, b.keys_in_use),
    row_sum_error: a.row_sum_error === null || b.row_sum_error === null ? null : Math.max(a.row_sum_error, b.row_sum_error),
  };
}

/** A's session, except that its weights are A's minus B's. */
export function differenceOf({aligned: [a, b], toB, alignment}: Sides): SessionApi {
  const both = new Both();
  const of = <Value>(ask: (api: SessionApi, place: Place) => Question<Value>, place: Place, make: (a: Value, b: Value) => Value) =>
    both.of(ask(a, place), ask(b, toB(place)), make);
  const edgesOf = (place: Place, begin: number, end: number): Question<EdgeRow[]> => {
    const rows = both.of(a.matrix(place, begin, end), b.matrix(toB(place), begin, end), lessAll);
    const width = a.side(place.stack).keys.length;
    return both.of(rows, rows, (cells) => Array.from({length: end - begin}, (_, at) => {
      const {edges, rest} = signedArcs(cells.subarray(at * width, (at + 1) * width), kTopP, kMostArcs);
      return {query: begin + at, rest, edges: edges.map(({at: key, weight}) => ({query: begin + at, key, weight}))};
    }));
  };
  const tile = (place: TilePlace, as: 'u8' | 'f32'): Question<ArrayBuffer> => {
    const exact = both.of(a.tile(place, 'f32'), b.tile({...place, ...toB(place)}, 'f32'),
      (ofA, ofB) => lessAll(new Float32Array(ofA), new Float32Array(ofB)).buffer as ArrayBuffer);
    return as === 'f32' ? exact : both.of(exact, exact, (cells) => Uint8Array.from(new Float32Array(cells), differenceCode).buffer as ArrayBuffer);
  };
  return Object.create(a, describe({
    isDifference: true,
    line: (place: Place, first: number, end: number, to: boolean) => of((api, at) => api.line(at, first, end, to), place, (ofA, ofB): Line => {
      const difference = lessAll(numbers(ofA.weights), numbers(ofB.weights));
      const {edges, rest, largest} = signedArcs(difference, kTopP, kMostArcs);
      return {...ofA, weights: withNulls(difference), rest, largest,
        edges: edges.map(({at, weight}) => to ? {query: at, key: first, weight} : {query: first, key: at, weight})};
    }),
    edges: edgesOf,
    fetchRows: () => undefined,
    matrix: (place: Place, begin: number, end: number) => of((api, at) => api.matrix(at, begin, end), place, lessAll),
    looks: (place: Place, begin: number, end: number, what: string, make: () => LooksReader) => {
      const rows = of((api, at) => api.matrix(at, begin, end), place, lessAll);
      const named = {...rows, name: `${what} of ${rows.name}`};
      return both.of(named, named, (cells) => {
        const reader = make();
        reader.add(cells, begin);
        return reader.looks;
      });
    },
    marginals: (place: Place) => of((api, at) => api.marginals(at), place, marginalsOf),
    tile,
    atlas: (stack: string, heads: number[], cells: number) => {
      if (alignment) return thumbnailsOf(a, stack, heads, cells, (place) => of((api, at) => api.matrix(at, 0, alignment.ofA.length), place, lessAll));
      const {heads: each} = a.side(stack);
      const others = heads.map((head) => {
        const place = toB({stack: stack as never, layer: Math.floor(head / each), head: head % each});
        return place.layer * each + place.head;
      });
      return both.of(a.atlas(stack, heads, cells), b.atlas(stack, others, cells), (ofA, ofB): Atlas =>
        ({...ofA, codes: ofA.codes.map((codes, at) => codesOf(codes, ofB.codes[at]!))}));
    },
  })) as SessionApi;
}

/** B alone, with its heads named like A's that they are compared with. */
export function mapped({b, toB}: Sides): SessionApi {
  return Object.create(b, describe({
    isB: true,
    line: (place: Place, ...rest: [number, number, boolean]) => b.line(toB(place), ...rest),
    edges: (place: Place, begin: number, end: number) => b.edges(toB(place), begin, end),
    fetchRows: (place: Place, begin: number, end: number) => b.fetchRows(toB(place), begin, end),
    matrix: (place: Place, begin: number, end: number) => b.matrix(toB(place), begin, end),
    looks: (place: Place, ...rest: never[]) => (b.looks as (...all: unknown[]) => unknown)(toB(place), ...rest),
    marginals: (place: Place) => b.marginals(toB(place)),
    ofHead: (place: Place, what: string) => b.ofHead(toB(place), what),
    tile: (place: TilePlace, as: 'u8' | 'f32') => b.tile({...place, ...toB(place)}, as),
  })) as SessionApi;
}

function describe(values: object): PropertyDescriptorMap {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, {value, writable: true}]));
}
