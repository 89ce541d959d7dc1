// A word predicted by the model, as displayed.
import {html} from '../drawing/dom';
import {shown} from '../text/tokens';
import type {Token} from '../transport/api';

/** A word of the model as a token, which shows bytes that are not text. */
export function asToken(text: string): Token {
  const bytes = /<0x[0-9A-F]{2}>/.test(text) ? text : undefined;
  return {index: 0, id: 0, text, begin: 0, end: 0, ...bytes !== undefined && {bytes}};
}

/** Whether the model's words begin with a space: then one without it continues the previous word. */
export function areSpaced(words: readonly {text: string}[], tokens: readonly Token[]): boolean {
  const isSpaced = ({text}: {text: string}) => text.startsWith(' ');
  return words.some(isSpaced) || tokens.some(isSpaced);
}

/** A word within a line: a byte that is a part of a character is a dot. */
export function wordText(text: string): string {
  return shown(asToken(text)).pieces.map((piece) => piece.hex ? '\u00b7' : piece.text).join('') || '\u00b7';
}

/** Whether the word continues the previous one. */
function goesOn(text: string, isSpaced: boolean): boolean { return isSpaced && /^[\p{L}\p{N}]/u.test(text); }

/** A predicted word within a line, like in a list of next words: `-d` continues the previous word. `tokens`: the text's. */
export function saidWord(text: string, tokens: readonly Token[]): string { return `${goesOn(text, areSpaced([], tokens)) ? '\u2011' : ''}${wordText(text)}`; }

/** `isSpaced`: words begin with a space. A byte that is a part of a character is a dot, with an explanation on hover. */
export function word(text: string, isSpaced = false): HTMLElement {
  const isRest = goesOn(text, isSpaced);
  const element = html('span', {class: 'word', title: isRest ? 'no blank before it: it goes on with the word' : null});
  if (isRest) element.append(html('span', {class: 'goes-on-mark', 'aria-hidden': true}, '\u2011'));
  for (const piece of shown(asToken(text)).pieces) {
    element.append(piece.hex ? html('span', {class: 'part', title: `byte ${piece.text}, a part of a character`}, '\u00b7') : piece.text);
  }
  return element;
}
