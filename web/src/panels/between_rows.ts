// The rows of both columns between two texts: a share and the query; the key and its mean weight.
import {button, html} from '../drawing/dom';
import {shortWeight, weight} from '../drawing/format';
import type {Page} from './panel';
import type {Side} from '../attention/side';
import {blockOf} from '../attention/side';
import {plain} from '../text/tokens';
import type {Token} from '../transport/api';
import {writtenAt} from '../text/written';
import type {RowState} from './edge_rows';

/** The headings above the columns. */
export interface BetweenNames { share: string; asks: string; read: string; mean: string }

/** `rows`: how many are drawn. */
export function namesOf({side, store}: Page, rows: number): BetweenNames {
  const {queries} = blockOf(side, store.now.pair);
  const mean = `mean of ${rows}`;
  if (!side.isSquare) return {share: side.isWritten ? 'writes' : '', asks: 'target', read: 'source', mean};
  const [from, to] = (store.now.pair ?? 'A-A').split('-');
  const isWhole = rows === queries.end - queries.first;
  return {share: `to ${to}`, asks: `${from}, asks`, read: `${to}, is read`, mean: isWhole ? `mean of ${from}` : mean};
}

/** Two digits, or more for a mean that two would hide. */
function meanText(mean: number): string { return mean < 0.005 ? weight(mean) : shortWeight(mean); }

function bar(): HTMLElement { return html('span', {class: 'share-room'}, html('span', {class: 'share-bar'})); }

function stateClass({pinned, hovered}: RowState): string { return pinned ? ' pinned' : hovered ? ' hovered' : ''; }

function tokenClass({special}: Token): string { return special ? 'asker-token special' : 'asker-token'; }

/** Between the texts of a pair, the row's share; for output tokens, the token and its probability. */
export function askerRow(
  page: Page, query: number, share: number | null, isStop: boolean, names: BetweenNames, arrived: () => void
): HTMLElement {
  const {side, store} = page;
  const token = side.queries[query]!;
  const state = {pinned: query === store.pinnedQuery, hovered: query === store.hover.query};
  const isWritten = !side.isSquare && names.share !== '';
  const written = isWritten ? writtenAt(page, query, arrived) : null;
  const value = isWritten ? written!.probability : side.isSquare ? share : null;
  const number = value === null ? '\u2013' : isWritten ? weight(value) : shortWeight(value);
  const shown = isWritten && query === store.markedQuery ? ' shown' : '';
  const row = button({
    class: `asker${stateClass(state)}${shown}`, 'data-index': query, tabindex: isStop ? 0 : -1, 'aria-pressed': String(state.pinned),
  }, () => undefined, bar(),
  written && html('span', {class: 'written-token'}, written.name),
  html('span', {class: 'share-value'}, names.share === '' ? '' : number),
  html('span', {class: tokenClass(token)}, plain(token)));
  row.style.setProperty('--share', String(Math.min(1, Math.abs(value ?? 0))));  // the row's own share, because a row of the same text is kept
  return row;
}

export function readRow(side: Side, key: number, mean: number | null, state: RowState): HTMLElement {
  const token = side.keys[key]!;
  return button({class: `read-row${stateClass(state)}`, 'data-index': key, 'aria-pressed': String(state.pinned)}, () => undefined,
    html('span', {class: token.special ? 'read-token special' : 'read-token'}, plain(token)),
    html('span', {class: 'index'}, side.isSquare ? '' : String(key)),
    html('span', {class: 'share-value'}, mean === null ? '\u2013' : meanText(mean)));
}
