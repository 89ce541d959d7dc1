// Exact rows, many at a time, so that the pointer's next row is usually there.
import {arcs, withNulls} from '../attention/arcs';
import type {EdgeRow, Line} from '../attention/arcs';
import {nameOf} from '../selection/selection';
import type {Place} from '../selection/selection';
import type {Recent} from './recent';

const kMostRows = 64;           // as many as the server computes at once
const kBlockBytes = 1 << 20;
export const kMostBlocks = 16;
const kMostLines = 256;
const kTopP = 0.9;
const kMostArcs = 8;

export type AskRows = (
  place: Place, begin: number, end: number, signal: AbortSignal) => Promise<ArrayBuffer>;

export class RowBlocks {
  private readonly lines = new Map<string, Line>();

  constructor(
    private readonly sizeOf: (place: Place) => {queries: number; keys: number},
    private readonly blocks: Recent<Float32Array>, private readonly ask: AskRows
  ) {}

  /** How many rows a block of the head has. */
  private rowsOf(place: Place): number {
    const {keys} = this.sizeOf(place);
    let rows = kMostRows;
    while (rows > 1 && 4 * rows * keys > kBlockBytes) rows /= 2;
    return rows;
  }

  stop(): void { this.blocks.stop(); }

  /** Fetches the missing rows of [begin, end); for a long text only the first few blocks. */
  fetch(place: Place, begin: number, end: number): void {
    const rows = this.rowsOf(place);
    const first = Math.floor(begin / rows);
    const last = Math.min(Math.ceil(end / rows), first + kMostBlocks / 2);
    for (let block = first; block < last; ++block) {
      const from = block * rows;
      this.blocks.get(this.name(place, block), `rows-${block - first}`, async (signal) => {
        const to = Math.min(this.sizeOf(place).queries, from + rows);
        return new Float32Array(await this.ask(place, from, to, signal));
      }).catch(() => undefined);  // only a prefetch: a row that is needed is requested again
    }
  }

  /** One row, if its block has loaded. */
  line(place: Place, query: number): Line | undefined {
    const name = `${nameOf(place)} ${query}`;
    const known = this.lines.get(name);
    if (known) return known;
    const weights = this.row(place, query);
    if (!weights) return undefined;
    const {edges, rest, largest} = arcs(weights, kTopP, kMostArcs);
    const line = {
      weights: withNulls(weights), largest, rest,
      edges: edges.map(({at, weight}) => ({query, key: at, weight})),
    };
    if (this.lines.size >= kMostLines) this.lines.delete(this.lines.keys().next().value!);
    this.lines.set(name, line);
    return line;
  }

  /** The arcs of the rows [begin, end), if all have loaded. */
  edges(place: Place, begin: number, end: number): EdgeRow[] | undefined {
    const rows: EdgeRow[] = [];
    for (let query = begin; query < end; ++query) {
      const weights = this.row(place, query);
      if (!weights) return undefined;
      const {edges, rest} = arcs(weights, kTopP, kMostArcs);
      rows.push({query, rest, edges: edges.map(({at, weight}) => ({query, key: at, weight}))});
    }
    return rows;
  }

  private row(place: Place, query: number): Float32Array | undefined {
    const rows = this.rowsOf(place);
    const {keys} = this.sizeOf(place);
    const block = Math.floor(query / rows);
    const from = (query - block * rows) * keys;
    return this.blocks.now(this.name(place, block))?.subarray(from, from + keys);
  }

  private name(place: Place, block: number): string { return `${nameOf(place)} ${block}`; }
}
