// A word of the text in place of another, where it is more than one token.
import type {SessionInfo} from './api';

/** The whole text with `word` in place of the word at the token; null where the text is one of several, or was not typed. */
export function swapped({text, tokens, units, pair, key_tokens: source}: SessionInfo, token: number, word: string): string | null {
  if (pair !== undefined || source || text === '') return null;
  const at = units.words.filter((begin) => begin <= token).length - 1;
  const end = units.words[at + 1] ?? tokens.length;
  const bytes = new TextEncoder().encode(text);
  const from = tokens[units.words[at]!]!.begin;
  const to = tokens[end - 1]!.end;
  if (to <= from) return null;  // a special token
  const part = (first: number, last: number) => new TextDecoder().decode(bytes.slice(first, last));
  const blank = /^\s*/.exec(part(from, to))![0];
  const closing = /[^\p{L}\p{N}]*$/u.exec(part(from, to))![0];
  return part(0, from) + blank + word.trim() + closing + part(to, bytes.length);
}
