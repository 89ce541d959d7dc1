// A word that the model may say, as it is shown.
import {html} from '../dom';
import {shown} from '../tokens';
import type {Token} from '../transport/api';

/** A word of the model as a token: one with bytes that are no text shows them. */
export function asToken(text: string): Token {
  const bytes = /<0x[0-9A-F]{2}>/.test(text) ? text : undefined;
  return {index: 0, id: 0, text, begin: 0, end: 0, ...bytes !== undefined && {bytes}};
}

export function word(text: string): HTMLElement {
  const element = html('span', {class: 'word'});
  for (const piece of shown(asToken(text)).pieces) {
    element.append(piece.hex ? html('span', {class: 'hex'}, piece.text) : piece.text);
  }
  return element;
}
