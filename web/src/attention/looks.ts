// From one text of a pair to the other: the largest weights between words, and the rows' mean attention.
import type {Edge} from './arcs';
import type {Pair} from '../selection/selection';
import type {Block, Side} from './side';
import {blockOf} from './side';
import {plain} from '../text/tokens';

const kMostEdges = 10;

/** Keys of one kind: words or special tokens of either text, or the first token. */
export interface Part { name: string; isInside: boolean; share: number }

/** Largest first, for a difference of either sign; shares are of the rows' whole attention. */
export interface Looks { edges: Edge[]; parts: Part[] }

/** Receives a few rows at a time, in any order, because a long text has too many to keep. */
export class LooksReader {
  readonly looks: Looks = {edges: [], parts: []};
  private readonly partOf: (Part | null)[];
  private readonly block: Block;

  constructor(private readonly side: Side, pair: Pair | null) {
    this.block = blockOf(side, pair);
    const [lead] = side.keys;
    const closing = side.keys.find(({special, index}) => special && index > 0);
    const part = (name: string, isInside: boolean) => {
      this.looks.parts.push({name, isInside, share: 0});
      return this.looks.parts.at(-1)!;
    };
    const to = pair?.split('-')[1];
    const first = lead?.special ? part(plain(lead), to === 'A') : null;
    const [a, b] = ['A', 'B'].map((text) => ({
      words: part(`words of ${text}`, text === to), special: closing ? part(`${plain(closing)} of ${text}`, text === to) : null,
    }));
    this.partOf = side.keys.map(({special, index}) => {
      if (index === 0 && first) return first;
      const text = index < side.split! ? a! : b!;
      return special ? text.special : text.words;
    });
  }

  /** `cells`: whole rows from `first` on, concatenated; masked ones are NaN. */
  add(cells: Float32Array, first: number): void {
    const width = this.side.keys.length;
    const {queries: {first: begin, end}} = this.block;
    for (let at = 0; at < cells.length; ++at) {
      const weight = cells[at]!;
      if (!weight) continue;  // none, or masked
      const key = at % width;
      const part = this.partOf[key];
      if (part) part.share += weight / (end - begin);
      this.take(first + Math.floor(at / width), key, weight);
    }
  }

  private take(query: number, key: number, weight: number): void {
    const {edges} = this.looks;
    const {keys} = this.block;
    const size = Math.abs(weight);
    if (edges.length === kMostEdges && size <= Math.abs(edges[kMostEdges - 1]!.weight)) return;
    if (key < keys.first || key >= keys.end || this.side.queries[query]!.special || this.side.keys[key]!.special) return;
    const place = edges.findIndex((each) => Math.abs(each.weight) < size);
    edges.splice(place < 0 ? edges.length : place, 0, {query, key, weight});
    edges.length = Math.min(edges.length, kMostEdges);
  }
}
