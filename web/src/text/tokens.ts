// How tokens are displayed: visible spaces, line ends, bytes; and the words and sentences they form.
import type {Token} from '../answers';
import {patchOf} from './images';

export interface HasTokens { tokens: Token[] }

export interface Piece {
  text: string;
  hex: boolean;  // bytes that are not text, or a character that would change how others are displayed
}

/** A token as the text shows it. */
export interface Shown {
  gap: boolean;     // a space before it that belongs to no token
  pieces: Piece[];
  breaks: number;   // number of line ends in it
}

// Controls, bidirectional marks, zero-width characters, and private or unassigned ones.
const kHidden = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/u;
const kJoiners = new Set(['\u200c', '\u200d', '\ufe0f']);  // they shape their neighbours

function hexOf(character: string): string {
  return `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;
}

function append(pieces: Piece[], text: string, hex: boolean): void {
  const last = pieces.at(-1);
  if (last && !hex && !last.hex) last.text += text;
  else pieces.push({text, hex});
}

function piecesOf(token: Token, text: string): Piece[] {
  const pieces: Piece[] = [];
  for (const part of token.bytes ? text.split(/(<0x[0-9A-F]{2}>)/) : [text]) {
    const byte = token.bytes ? /^<0x(..)>$/.exec(part) : null;
    if (byte) {
      append(pieces, byte[1]!, true);
      continue;
    }
    for (const character of part) {
      if (character === '\n') append(pieces, '\u23ce', false);
      else if (character === '\t') append(pieces, '\u21e5', false);
      else if (character === ' ') append(pieces, pieces.length === 0 ? '\u00b7' : ' ', false);
      else if (kHidden.test(character) && !kJoiners.has(character)) append(pieces, hexOf(character), true);
      else append(pieces, character, false);
    }
  }
  return pieces;
}

/** One leading space stands outside the token's mark; a token that is only a space is a dot. The bytes of a character
    stand behind it. */
export function shown(token: Token): Shown {
  const text = token.text.replace(/\u2581/g, ' ');
  const gap = text.length > 1 && text.startsWith(' ') && !token.special;
  const pieces = piecesOf(token, gap ? text.slice(1) : text);
  const character = kCharacters.get(token);
  if (character?.begin === token.index) pieces.unshift({text: character.text, hex: false});
  return {gap, pieces, breaks: token.special ? 0 : text.split('\n').length - 1};
}

/** One line of plain text: in rows, labels and what is read aloud. */
export function plain(token: Token): string {
  const character = kCharacters.get(token);
  const text = shown(token).pieces.map((piece) => piece.text).join('');
  if (!character) return text || '\u00b7';
  return `${character.text} ${character.begin === token.index ? text.slice(character.text.length) : text}`;
}

/** The space before a token: its own, or one that separates a special token. */
export function gapBefore(tokens: Token[], at: number, gap = ' '): string {
  const token = tokens[at];
  const isApart = token && (shown(token).gap || (at > 0 && (token.special || tokens[at - 1]!.special)));
  return isApart ? gap : '';
}

/** For text written from right to left: isolates it, so that its surroundings keep their order. */
export function isolated(text: string): string {
  return /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/.test(text) ? `\u2068${text}\u2069` : text;
}

/** The tokens [begin, end) as running text, without line ends. */
export function phrase(tokens: Token[], begin: number, end: number): string {
  const isWhole = (token: Token) => {
    const character = kCharacters.get(token);
    return character !== undefined && character.begin >= begin && character.end <= Math.min(end, tokens.length);
  };
  let last: unknown;  // the image before
  return tokens.slice(Math.max(0, begin), end).map((token) => {
    const image = end - begin > 1 ? patchOf(token)?.image : undefined;
    if (image && image === last) return '';
    last = image;
    if (image) return ` ${image.name} `;
    const {gap, pieces} = isWhole(token) ? whole(token) : shown(token);
    if (token.special) return ` ${plain(token)} `;
    return (gap ? ' ' : '') + (isWhole(token) ? pieces.map(({text}) => text).join('') : plain(token));
  }).join('').replace(/ {2,}/g, ' ').trim();
}

/** Whether more than half of the tokens are bytes that are not whole characters. */
export function areMostlyBytes(tokens: Token[]): boolean {
  return tokens.filter(({bytes}) => bytes !== undefined).length > tokens.length / 2;
}

/** For each token, the first token of its unit, the first one after it, and the unit's number. */
export interface Units { starts: number[]; begins: number[]; ends: number[]; order: number[] }

export function unitsFrom(starts: number[], length: number): Units {
  const units: Units = {starts, begins: [], ends: [], order: []};
  for (const [at, begin] of starts.entries()) {
    const end = starts[at + 1] ?? length;
    for (let index = begin; index < end; ++index) {
      units.begins.push(begin);
      units.ends.push(end);
      units.order.push(at);
    }
  }
  return units;
}

/** A character whose bytes are several tokens; `end`: the first token after them. */
interface Character { text: string; begin: number; end: number }

const kCharacters = new WeakMap<Token, Character>();

/** Records which tokens are bytes of one character, or of a few characters divided across tokens. */
export function joinBytes(tokens: Token[], starts: number[] | undefined): void {
  for (const [at, begin] of (starts ?? []).entries()) {
    const end = starts![at + 1] ?? tokens.length;
    if (end - begin < 2) continue;
    const hex = tokens.slice(begin, end).map(({bytes, text}) => bytes ?? hexBytes(text)).join('');
    const text = new TextDecoder().decode(Uint8Array.from(hex.match(/../g) ?? [], (byte) => parseInt(byte, 16)));
    for (let index = begin; index < end; ++index) kCharacters.set(tokens[index]!, {text: text.trimStart(), begin, end});
  }
}

function hexBytes(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** For a token of bytes, the whole character at its first token; empty at its other tokens. */
export function whole(token: Token): Shown {
  const character = kCharacters.get(token);
  if (!character) return shown(token);
  const pieces = token.index === character.begin ? [{text: character.text, hex: false}] : [];
  return {gap: token.index === character.begin && shown(token).gap, pieces, breaks: 0};
}
