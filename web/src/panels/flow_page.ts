// What the parts of Flow share.
import type {Flow, FlowTest} from '../answers';
import type {Page} from '../panel';
import {isolated, plain} from '../tokens';

export interface FlowPage extends Page { choose: (node: number) => void }

/** The token whose flow is shown. */
export function flowPosition({store, side}: Page): number {
  const {query, to, key} = store.now;
  return query !== null && (side.isSquare || !to || key !== null) && query < side.queries.length ? query : side.queries.length - 1;
}

/** The node of the pinned key: of a cross-attention a source token, which stand behind the others. */
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

export function flowName(page: Page, width: number): string {
  const {store, side} = page;
  const node = keyNode(page);
  const named = Math.max(4, Math.min(60, Math.floor((width - 130) / 38) - 3));
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

export interface FlowData { flow: Flow; test: FlowTest | null }
