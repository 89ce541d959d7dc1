// Shared by the parts of Flow.
import type {Flow, FlowTest} from '../answers';
import type {Page} from './panel';
import {isolated, plain} from '../text/tokens';

export interface FlowPage extends Page { choose: (node: number) => void }

/** The token whose flow is shown. */
export function flowPosition({store, side}: Page): number {
  const {query, to, key} = store.now;
  return query !== null && (side.isSquare || !to || key !== null) && query < side.queries.length ? query : side.queries.length - 1;
}

/** The node of the pinned key: for a cross-attention a source token, whose nodes follow the others. */
export function keyNode({store, side}: Page): number | null {
  const {key} = store.now;
  if (key === null || key === store.now.query && side.isSquare) return null;
  return side.isSquare ? key : side.queries.length + key;
}

export function nodeName({side}: Page, node: number): string {
  const token = node < side.queries.length ? side.queries[node] : side.keys[node - side.queries.length];
  return token ? isolated(plain(token)) : '';
}

/** Its number in its own text. */
export function nodeIndex({side}: Page, node: number): number {
  return node < side.queries.length ? node : node - side.queries.length;
}

/** How many columns of single tokens fit. */
export function namedIn(width: number): number { return Math.max(4, Math.min(60, Math.floor((width - 130) / 38) - 3)); }

export function flowName(page: Page, width: number): string {
  const {store, side} = page;
  const node = keyNode(page);
  const named = namedIn(width);
  return `${side.stack}/flow?position=${flowPosition(page)}&named=${named}${node === null ? '' : `&key=${node}`}${store.now.by === 'effect' ? '&by=effect' : ''}`;
}

export function effectsName(page: Page): string { return `${page.side.stack}/effects?position=${flowPosition(page)}`; }

const kMinus = '\u2212';

/** `+.06`, `\u2212.23`, `0`. */
export function signed(value: number, digits = 2): string {
  const text = Math.abs(value).toFixed(digits);
  if (Number(text) === 0) return '0';
  return `${value < 0 ? kMinus : '+'}${text.replace(/^0/, '')}`;
}

/** `isComing`: the flow is a frame with only its tokens and layers. */
export interface FlowData { flow: Flow; test: FlowTest | null; isComing: boolean }

/** The parts of a flow known before its answer: the layers, and the last possible source tokens. */
export function frameOf(page: Page, width: number): Flow {
  const {side, api} = page;
  const position = flowPosition(page);
  const [tokens, source] = [side.queries.length, side.isSquare ? 0 : side.keys.length];
  const steps = (stack: string) => [...api.side(stack).numbers].reverse().map((layer) => ({stack, layer, edges: [], rest: {count: 0, share: 0}, shares: []}));
  const run = (begin: number, end: number, most: number) => {
    const first = end - begin <= most ? begin : end - most + 1;
    const alone = Array.from({length: end - first}, (_, at) => ({begin: first + at, end: first + at + 1, share: 0}));
    return [...first > begin ? [{begin, end: first, share: 0}] : [], ...alone];
  };
  const end = side.attention.causal || source > 0 ? position + 1 : tokens;
  const most = Math.floor(namedIn(width) / (source > 0 ? 2 : 1));
  return {
    stack: side.stack, position, by: '', tokens, source, shares: [], columns: [...run(0, end, most), ...run(tokens, tokens + source, most)],
    layers: side.isSquare ? steps(side.stack) : [...steps('decoder'), ...steps('encoder')], paths: [], others: 0, way: [], way_share: 0, sum_error: 0,
  };
}
