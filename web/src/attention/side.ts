// The shown attention. Its rows and columns are tokens of the session, which may differ.
import type {Attention, Model, Session, Token, TokenUnits} from '../answers';
import type {Pair} from '../selection/selection';

export interface Side {
  stack: string;
  attention: Attention;
  queries: Token[];
  keys: Token[];
  units: TokenUnits;         // of the queries
  isSquare: boolean;         // both are the same tokens
  isWritten: boolean;        // the queries are the model's output: words follow them
  split: number | null;      // where the second text of a pair begins
  layers: number;
  numbers: number[];         // the layers that have attention; all but in hybrids
  heads: number;
  held: number[][] | null;   // by layer, the heads that a saved page or the session holds; null: all
}

/** The layers of a stack that have attention, ascending. */
export function numbersOf({layers, attending}: Pick<Attention, 'layers' | 'attending'>): number[] {
  return attending ?? Array.from({length: layers}, (_, layer) => layer);
}

/** The heads of keys and values in a layer. */
export function kvHeads({kv_heads: most, kv_heads_of_layers: each}: Pick<Attention, 'kv_heads' | 'kv_heads_of_layers'>, layer: number): number {
  return each?.[layer] ?? most;
}

/** By layer, the heads that can be looked at: in a saved page those of the file, else those of the layers that the session keeps. */
function heldHeads({held}: Model, {stack, layers, heads, kept, attending}: Attention): number[][] | null {
  if (held) return held.find((each) => each.stack === stack)?.layers ?? [];
  if (!kept && !attending) return null;
  const all = Array.from({length: heads}, (_, head) => head);
  const has = (layer: number) => (kept?.includes(layer) ?? true) && (attending?.includes(layer) ?? true);
  return Array.from({length: layers}, (_, layer) => has(layer) ? all : []);
}

/** Tokens [first, end). */
export interface Span { first: number; end: number }

/** The visible cells of a matrix. */
export interface Block { queries: Span; keys: Span }

/** The side of a stack; of the session's first one if no stack has the name. */
export function sideOf(info: Session, model: Model, stack: string | undefined): Side {
  const attention = info.attentions.find((each) => each.stack === stack) ?? info.attentions[0]!;
  const listOf = (name: string) => name === 'key_tokens' ? info.key_tokens ?? info.tokens : info.tokens;
  return {
    stack: attention.stack, attention, queries: listOf(attention.query_tokens), keys: listOf(attention.key_tokens),
    units: (attention.query_tokens === 'key_tokens' ? info.key_units : undefined) ?? info.units,
    isSquare: !attention.rectangular,
    isWritten: model.has_words && attention.query_tokens === 'tokens',
    split: info.split ?? null, layers: attention.layers, numbers: numbersOf(attention), heads: attention.heads,
    held: heldHeads(model, attention),
  };
}

/** The last token with a letter or a number, where a text is looked at first; a line end or a full stop says little. */
export function lastWord({queries}: Side): number {
  const says = (token: Token) => !token.special && (token.bytes !== undefined || /[\p{L}\p{N}]/u.test(token.text));
  let at = queries.length - 1;
  while (at >= 0 && !says(queries[at]!)) --at;
  return at < 0 ? queries.length - 1 : at;
}

/** The tokens of a text of the pair. */
function textOf({split, queries}: Side, name: string): Span {
  const middle = split ?? queries.length;
  return name === 'A' ? {first: 0, end: middle} : {first: middle, end: queries.length};
}

/** The cells from one text of a pair to the other, or all. */
export function blockOf(side: Side, pair: Pair | null): Block {
  if (pair === null || side.split === null) {
    return {queries: {first: 0, end: side.queries.length}, keys: {first: 0, end: side.keys.length}};
  }
  const [from, to] = pair.split('-') as [string, string];
  return {queries: textOf(side, from), keys: textOf(side, to)};
}
