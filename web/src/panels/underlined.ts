// A text whose tokens are underlined by surprise, with the probability below the unlikely ones.
import {html} from '../drawing/dom';
import {shortWeight} from '../drawing/format';
import type {NumberPlace} from '../shell/text_numbers';
import {placeNumbers} from '../shell/text_numbers';
import {shown} from '../text/tokens';
import {asToken} from './word';

export const kMostBits = 6;  // maximum length of a line below a token, 2 px per bit; the number shows more
const kLine = 16;  // minimum px between numbers of two lines

/** A click on a token continues from there; the first `dim` are grey. */
export function underlined(tokens: {text: string; probability: number}[], go: ((at: number) => void) | null, dim = 0): HTMLElement[] {
  return tokens.map(({text, probability}, at) => {
    const {gap, pieces} = shown(asToken(text));
    const element = html('span', {class: `token${at === 0 ? ' first' : ''}${at < dim ? ' unseen' : ''}`}, ...pieces.map((piece) =>
      piece.hex ? html('span', {class: 'hex'}, piece.text) : piece.text));
    const bits = -Math.log2(probability);
    element.style.setProperty('--weight', bits < 0.25 ? '0' : Math.min(kMostBits, bits).toFixed(2));
    if (probability < 0.25) element.append(html('span', {class: 'under'}, shortWeight(probability)));
    if (go) element.addEventListener('click', () => go(at));
    return html('span', {}, gap ? ' ' : '', element);
  });
}

/** The numbers of one line, those of the most surprising tokens first. */
function placed(numbers: HTMLElement[], left: number, room: number): void {
  const wanted = numbers.map((number): NumberPlace => {
    const token = number.parentElement!;
    const [{width}, own] = [number.getBoundingClientRect(), token.getBoundingClientRect()];
    const shade = Number(token.style.getPropertyValue('--weight'));
    return {mark: {shade, number: '', classes: '', nudge: 0}, middle: own.left + own.width / 2 - left, width};
  });
  placeNumbers(wanted, room);
  wanted.forEach(({mark: {nudge}}, at) => {
    const number = numbers[at]!;
    if (nudge !== null) number.style.setProperty('--nudge', `${nudge}px`);
    else {
      number.parentElement!.title = number.textContent;
      number.remove();
    }
  });
}

/** Separates overlapping numbers; a number without room is shown in the token's title. */
export function separated(list: HTMLElement): void {
  for (const text of list.querySelectorAll<HTMLElement>('.branch-text')) {
    const {left, width} = text.getBoundingClientRect();
    const lines: HTMLElement[][] = [];
    let before = -Infinity;
    for (const number of text.querySelectorAll<HTMLElement>('.under')) {
      const {top} = number.getBoundingClientRect();
      if (top - before > kLine) lines.push([]);
      lines.at(-1)!.push(number);
      before = top;
    }
    for (const numbers of lines) placed(numbers, left, width);
  }
}
