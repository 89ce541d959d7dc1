// The rows of both columns: queries, keys with their labels, folds, the rest.
import {button, html} from '../drawing/dom';
import {count, weight} from '../drawing/format';
import {cellName, patchOf} from '../text/images';
import {isIn, type Page} from './panel';
import type {Rows} from '../attention/rows';
import {gapBefore} from '../text/tokens';
import type {RowWindow} from './edge_window';
import type {FoldEntry} from './key_column';

const kShort = 6;  // characters that always fit: a title shows longer text in full

const kGap = '\u00a0';  // a space kept at the end of a box

export interface RowState { pinned: boolean; hovered: boolean }

function stateClass({pinned, hovered}: RowState): string {
  return pinned ? ' pinned' : hovered ? ' hovered' : '';
}

function queryRow(
  {name, index}: {name: string; index: number}, state: RowState, isStop: boolean, pin: () => void, preview: () => void
): HTMLElement {
  const row = button({
    class: `query${stateClass(state)}`, 'data-index': index, tabindex: isStop ? 0 : -1,
    'aria-pressed': String(state.pinned),
  }, pin,
  html('span', {class: 'index'}, String(index)),
  html('span', {class: 'query-token', title: name.length > kShort ? name : null}, name));
  row.addEventListener('pointerenter', preview);
  return row;
}

/** The queries of the window, with those that are pinned, hovered or in the span. */
export function queryRows({store}: Page, rows: Rows, {begin, end}: RowWindow, height: number): HTMLElement[] {
  const {pinnedToken, hoveredToken, now: {range}} = store;
  const of = (token: number | null) => token === null ? null : rows.of(token);
  const [pinned, hovered] = [of(pinnedToken), of(hoveredToken)];
  const chosen = range && rows.within({first: range[0], end: range[1] + 1});
  const stop = pinned !== null && pinned >= begin && pinned < end ? pinned : begin;
  return Array.from({length: end - begin}, (_, place) => {
    const row = begin + place;
    const state = {pinned: row === pinned || isIn(chosen, row), hovered: row === hovered};
    const first = rows.first(row);
    const query = row === pinned ? pinnedToken! : first;
    const element = queryRow({name: rows.text(row), index: first}, state, row === stop,
      () => store.set({query, key: null, range: null}), () => store.preview({query}));
    element.style.height = `${height}px`;
    return element;
  });
}

/** The row between its neighbours, which are grey, or the cell of an image; both neighbours begin or end with the space that divides them. */
function inContext(rows: Rows, row: number): HTMLElement[] {
  const {first, end} = rows.span(row);
  const patch = patchOf(rows.tokens[first]);
  if (patch) return [html('b', {title: cellName(patch)}, rows.text(row))];
  const before = row > 0 ? `${rows.text(row - 1)}${gapBefore(rows.tokens, first, kGap)}` : '';
  const after = row + 1 < rows.count ? `${gapBefore(rows.tokens, end, kGap)}${rows.text(row + 1)}` : '';
  return [html('span', {class: 'before'}, html('i', {}), html('bdi', {}, before)), html('b', {}, rows.text(row)), html('span', {class: 'after'}, after)];
}

/** A key, with its neighbours in grey. */
export function keyRow(
  rows: Rows, at: number, value: number | null, state: RowState, pin: () => void, preview: () => void
): HTMLElement {
  const first = rows.first(at);
  const row = button({class: `key${stateClass(state)}`, 'data-index': first, 'aria-pressed': String(state.pinned)}, pin,
    html('span', {class: 'context'}, ...inContext(rows, at)),
    html('span', {class: 'index'}, String(first)),
    html('span', {class: 'value'}, value === null ? '' : weight(value)));
  row.addEventListener('pointerenter', preview);
  row.addEventListener('focus', () => row.matches(':focus-visible') && preview());
  return row;
}

export function foldRow(rows: Rows, {begin, end}: FoldEntry, unfold: () => void): HTMLElement {
  const [first, last] = [rows.first(begin), rows.span(end - 1).end - 1];
  const title = `no edge is drawn to ${first === last ? `token ${first}` : `tokens ${first} to ${last}`}: a click unfolds the ${rows.noun}${end - begin === 1 ? '' : 's'}`;
  return button({class: 'fold', 'data-index': `fold-${begin}`, title}, unfold, html('span', {class: 'fold-mark'}), count(end - begin, rows.noun));
}

export function restRow(text: string): HTMLElement {
  return html('div', {class: 'rest quiet', 'data-index': 'rest'}, text);
}

/** The same, and the focus stays with the row that had it. */
export function replaceWithFocus(column: HTMLElement, rows: HTMLElement[]): void {
  const focused = column.contains(document.activeElement) ? (document.activeElement as HTMLElement).dataset.index : undefined;
  replaceUnlessSame(column, rows);
  if (focused === undefined) return;
  const row = column.querySelector<HTMLElement>(`[data-index="${focused}"]`);
  if (row !== document.activeElement) row?.focus({preventScroll: true});
}

/** Replacing rows under a resting pointer would fire enter events endlessly, so equal rows are kept. */
export function replaceUnlessSame(column: HTMLElement, rows: HTMLElement[]): void {
  const old = [...column.children] as HTMLElement[];
  const isSame = old.length === rows.length && old.every((each, place) => {
    const row = rows[place]!;
    return each.dataset.index === row.dataset.index && each.textContent === row.textContent
      && each.classList[0] === row.classList[0];
  });
  if (!isSame) {
    column.replaceChildren(...rows);
    return;
  }
  for (const [place, row] of rows.entries()) {
    const each = old[place]!;
    each.className = row.className;
    each.tabIndex = row.tabIndex;
    each.style.cssText = row.style.cssText;
    const pressed = row.getAttribute('aria-pressed');
    if (pressed !== null) each.setAttribute('aria-pressed', pressed);
  }
}
