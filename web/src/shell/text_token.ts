// One token of the text as an element: what it spells, and how it is marked.
import {html} from '../drawing/dom';
import {cellName, patchOf} from '../text/images';
import type {Shown} from '../text/tokens';
import {plain} from '../text/tokens';
import type {Token} from '../transport/api';
import type {Mark} from './text_numbers';

export const kUnmarked: Mark = {shade: 0, number: '', classes: '', nudge: 0};

function classOf(token: Token): string {
  return patchOf(token) ? 'token patch' : token.special ? 'token special' : 'token';
}

function labelOf(token: Token, {pieces}: Shown): string | null {
  const patch = patchOf(token);
  if (patch) return cellName(patch);
  return !plain(token).trim() ? 'space' : pieces.length > 0 ? null : plain(token);
}

/** `isStop`: the one token that Tab reaches. */
export function tokenElement(token: Token, shown: Shown, index: number, isStop: boolean): HTMLElement {
  const element = html('span', {
    class: classOf(token), role: 'button', tabindex: isStop ? 0 : -1,
    'data-index': index, 'aria-pressed': 'false', 'aria-label': labelOf(token, shown),
  });
  for (const {text, hex} of shown.pieces) element.append(hex ? html('span', {class: 'hex'}, text) : text);
  return element;
}

/** Touches only what differs from the mark `before`. */
export function markToken(element: HTMLElement, token: Token, mark: Mark, before: Mark, isRightToLeft: boolean): void {
  const shade = mark.shade.toFixed(3);
  if (shade !== before.shade.toFixed(3)) element.style.setProperty('--weight', shade);
  if (mark.classes !== before.classes) {
    element.className = classOf(token) + mark.classes;
    element.setAttribute('aria-pressed', String(mark.classes.includes('pinned')));
  }
  if (mark.said !== before.said) {
    if (mark.said) element.setAttribute('aria-description', mark.said);
    else element.removeAttribute('aria-description');
  }
  if (mark.number === before.number && mark.nudge === before.nudge && mark.title === before.title) return;
  element.querySelector('.under')?.remove();
  const title = mark.title ?? (mark.nudge === null ? mark.number : '');
  if (title) element.title = title;
  else element.removeAttribute('title');
  if (!mark.number || mark.nudge === null) return;
  const under = html('span', {class: 'under'}, mark.number);
  if (mark.nudge) under.style.setProperty('--nudge', `${isRightToLeft ? -mark.nudge : mark.nudge}px`);
  element.append(under);
}
