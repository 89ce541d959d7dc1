// The rows of both columns: queries, keys with what stands beside them, folds, the rest.
import {button, html} from '../dom';
import {weight} from '../format';
import {phrase, plain} from '../tokens';
import type {Token} from '../transport/api';

/** Whether a token begins with a space, which belongs to nobody. */
function gap(text: string): string {
  return /^[ \u2581]/.test(text) ? ' ' : '';
}

const kShort = 6;  // characters that surely fit: what is longer is told whole by a title

export interface RowState { pinned: boolean; hovered: boolean }

function stateClass({pinned, hovered}: RowState): string {
  return pinned ? ' pinned' : hovered ? ' hovered' : '';
}

export function queryRow(
  tokens: Token[], index: number, state: RowState, isStop: boolean, pin: () => void, preview: () => void
): HTMLElement {
  const name = plain(tokens[index]!);
  const row = button({
    class: `query${stateClass(state)}`, 'data-index': index, tabindex: isStop ? 0 : -1,
    'aria-pressed': String(state.pinned),
  }, pin,
  html('span', {class: 'index'}, String(index)),
  html('span', {class: 'query-token', title: name.length > kShort ? name : null}, name));
  row.addEventListener('pointerenter', preview);
  return row;
}

/** The weight beside a key, and with several heads whose it is. */
export interface KeyValue { weight: number; colour: string; head: string | null }

/** A key with the token before and after it in grey. */
export function keyRow(
  tokens: Token[], key: number, value: KeyValue | null, state: RowState, pin: () => void, preview: () => void
): HTMLElement {
  const row = button({class: `key${stateClass(state)}`, 'data-index': key, 'aria-pressed': String(state.pinned)}, pin,
    html('span', {class: 'context'},
      html('span', {class: 'before'}, key > 0 ? `${phrase(tokens, key - 1, key)}${gap(tokens[key]!.text)}` : ''),
      html('b', {}, plain(tokens[key]!)),
      html('span', {class: 'after'}, key + 1 < tokens.length
        ? `${gap(tokens[key + 1]!.text)}${plain(tokens[key + 1]!)}` : '')),
    html('span', {class: 'index'}, String(key)),
    html('span', {class: `value ${value?.colour ?? ''}`.trim(), title: value?.head ?? null},
      value === null ? '' : weight(value.weight)));
  row.addEventListener('pointerenter', preview);
  row.addEventListener('focus', () => row.matches(':focus-visible') && preview());
  return row;
}

export function foldRow(begin: number, end: number, unfold: () => void): HTMLElement {
  return button({class: 'fold', 'data-index': `fold-${begin}`}, unfold, html('span', {class: 'fold-mark'}),
    end - begin === 1 ? '1 token' : `${(end - begin).toLocaleString('en')} tokens`);
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

/** New rows under a resting pointer would enter again and never end: equal ones stay. */
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
