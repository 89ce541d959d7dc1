// How tokens read: visible spaces, line ends, bytes; and the words and sentences they make.
import type {Token} from './answers';

export interface HasTokens { tokens: Token[] }

export interface Piece {
  text: string;
  hex: boolean;  // bytes that are no text, or a character that would change how others are shown
}

/** A token as the text shows it. */
export interface Shown {
  gap: boolean;     // a space before it that belongs to nobody
  pieces: Piece[];
  breaks: number;   // line ends in it
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

/** One leading space stands outside the token's mark; a token that is only a space is a dot. */
export function shown(token: Token): Shown {
  const text = token.text.replace(/\u2581/g, ' ');
  const gap = text.length > 1 && text.startsWith(' ') && !token.special;
  const pieces = piecesOf(token, gap ? text.slice(1) : text);
  return {gap, pieces, breaks: token.special ? 0 : text.split('\n').length - 1};
}

/** One line of plain text: in rows, labels and what is read aloud. */
export function plain(token: Token): string {
  const {pieces} = shown(token);
  return pieces.map((piece) => piece.text).join('') || '\u00b7';
}

/** The tokens [begin, end) as running text, without line ends. */
export function phrase(tokens: Token[], begin: number, end: number): string {
  return tokens.slice(Math.max(0, begin), end)
    .map((token) => (shown(token).gap ? ' ' : '') + plain(token)).join('').trim();
}

/** Whether more than half of the tokens are bytes that are no character on their own. */
export function areMostlyBytes({tokens}: HasTokens): boolean {
  return tokens.filter(({bytes}) => bytes !== undefined).length > tokens.length / 2;
}

/** Whether a token goes on with the word of the one before it. */
function continues(before: Token, token: Token): boolean {
  if (before.special || token.special) return false;
  if (before.bytes !== undefined || token.bytes !== undefined) return !/^[ \u2581]/.test(token.text);
  return /[\p{L}\p{N}\p{M}'\u2019]$/u.test(before.text) && /^[\p{L}\p{N}\p{M}'\u2019]/u.test(token.text);
}

/** For each unit its first token; `ends[i]` is the first token after the unit of i. */
export interface Units { begins: number[]; ends: number[] }

function fromStarts(length: number, starts: (index: number) => boolean): Units {
  const begins = new Array<number>(length);
  const ends = new Array<number>(length);
  for (let index = 0; index < length; ++index) {
    begins[index] = index === 0 || starts(index) ? index : begins[index - 1]!;
  }
  for (let index = length - 1; index >= 0; --index) {
    ends[index] = index === length - 1 || begins[index + 1] !== begins[index] ? index + 1 : ends[index + 1]!;
  }
  return {begins, ends};
}

/** A word is a run of pieces without a gap; punctuation stands alone. */
export function words(info: HasTokens): Units {
  const {tokens} = info;
  return fromStarts(tokens.length, (index) => !continues(tokens[index - 1]!, tokens[index]!));
}

/** A sentence ends with . ! ? (and what closes it), a line end or a special token. */
export function sentences(info: HasTokens): Units {
  const {tokens} = info;
  const closes = (index: number) => /[.!?\u3002\u0964\u061f]["')\]\u201d\u2019]*$/u.test(tokens[index]!.text);
  const isTail = (index: number) => /^["')\]\u201d\u2019.!?]+$/u.test(tokens[index]!.text);
  return fromStarts(tokens.length, (index) => {
    const before = tokens[index - 1]!;
    if (before.special || tokens[index]!.special || before.text.includes('\n')) return true;
    if (isTail(index) || tokens[index]!.text.startsWith('\n')) return false;
    let last = index - 1;
    while (last > 0 && isTail(last) && !closes(last)) --last;
    return closes(last);
  });
}
