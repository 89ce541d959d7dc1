// The units of rows: a token, or all tokens of its character, word or sentence. Rows are numbered like tokens.
import type {Edge, EdgeRow, Line} from './arcs';
import {signedArcs} from './arcs';
import type {Page, Span} from '../panels/panel';
import {chosenUnits, spanName} from '../panels/panel';
import type {Unit} from '../selection/selection';
import {phrase, plain} from '../text/tokens';
import type {Units} from '../text/tokens';
import type {Token} from '../transport/api';

const kTopP = 0.9;
const kMost = 8;

/** Weights by unit: the sum over keys or the mean over queries; null if all are masked. */
function folded(weights: (number | null)[], {starts, ends}: Units, to: boolean): (number | null)[] {
  return starts.map((first) => {
    const seen = weights.slice(first, ends[first]).filter((weight) => weight !== null);
    const sum = seen.reduce((total, weight) => total + weight, 0);
    return seen.length === 0 ? null : to ? sum / seen.length : sum;
  });
}

const kFolded = new WeakMap<Line, {units: Units; line: Line}>();

/** The line of the shown tokens, in units. */
function foldedLine(line: Line, units: Units, to: boolean): Line {
  const known = kFolded.get(line);
  if (known?.units === units) return known.line;
  const weights = folded(line.weights, units, to);
  const chosen = signedArcs(Float32Array.from(weights, (weight) => weight ?? NaN), to ? 1 : kTopP, kMost);
  const own = line.edges[0];
  const at = own ? units.order[to ? own.key : own.query]! : 0;
  const edges = chosen.edges.map(({at: other, weight}): Edge => to ? {query: other, key: at, weight} : {query: at, key: other, weight});
  const made = {weights, largest: chosen.largest, edges, rest: chosen.rest};
  kFolded.set(line, {units, line: made});
  return made;
}

export class Rows {
  private readonly units: Units | null;
  private readonly unit: Unit;
  readonly tokens: Token[];

  /** Units of the queries, if they are also the keys; otherwise each token is a row. */
  constructor({side, store}: Page) {
    this.units = chosenUnits(store.now, side);
    this.unit = this.units ? store.now.unit : 'token';
    this.tokens = side.keys;
  }

  get noun(): string { return this.unit; }
  get isTokens(): boolean { return this.units === null; }
  get count(): number { return this.units?.starts.length ?? this.tokens.length; }

  of(token: number): number { return this.units?.order[token] ?? token; }

  span(row: number): Span {
    const first = this.first(row);
    return {first, end: this.units?.ends[first] ?? first + 1};
  }

  first(row: number): number { return this.units?.starts[row] ?? row; }

  /** The rows that contain the tokens. */
  within({first, end}: Span): Span { return {first: this.of(first), end: this.of(end - 1) + 1}; }

  text(row: number): string {
    if (!this.units) return plain(this.tokens[row]!);
    const span = this.span(row);
    return this.unit === 'sentence' ? spanName(this, span) : phrase(this.tokens, span.first, span.end);
  }

  line(line: Line, to: boolean): Line { return this.units ? foldedLine(line, this.units, to) : line; }

  /** The weight of a token's row. */
  weight(weights: (number | null)[], token: number): number | null { return weights[this.of(token)] ?? null; }

  /** Rows of tokens as rows of units: their mean. */
  edges(rows: EdgeRow[]): EdgeRow[] {
    const {units} = this;
    if (!units) return rows;
    const found = new Map<number, {row: EdgeRow; of: Map<number, number>}>();
    for (const {query, edges, rest} of rows) {
      const at = units.order[query]!;
      const many = units.ends[query]! - units.begins[query]!;
      const made = found.get(at) ?? {row: {query: at, edges: [], rest: {count: 0, weight: 0}}, of: new Map<number, number>()};
      found.set(at, made);
      made.row.rest = {count: Math.max(made.row.rest.count, rest.count), weight: made.row.rest.weight + rest.weight / many};
      for (const {key, weight} of edges) made.of.set(units.order[key]!, (made.of.get(units.order[key]!) ?? 0) + weight / many);
    }
    return [...found.values()].map(({row, of}) => ({...row, edges: [...of].map(([key, weight]) => ({query: row.query, key, weight}))}));
  }
}
