// Replaces a word of the text: where it occurs, and the text if the new word is more than one token.
import {phrase} from '../text/tokens';
import type {SessionInfo} from './api';

type Text = Pick<SessionInfo, 'text' | 'tokens' | 'units' | 'pair' | 'key_tokens'>;

/** The number of the word that a token is part of. */
function wordOf({units}: Text, token: number): number { return units.words.filter((begin) => begin <= token).length - 1; }

/** The word of a token as written, without closing punctuation. */
function writtenWord(info: Text, token: number): string {
  const at = wordOf(info, token);
  return phrase(info.tokens, info.units.words[at]!, info.units.words[at + 1] ?? info.tokens.length).replace(/[^\p{L}\p{N}]*$/u, '');
}

/** All tokens that correspond to the same token within the same word, including itself. */
export function sameWords(info: Text, token: number): number[] {
  const own = info.tokens[token]!.text.trim();
  const word = writtenWord(info, token);
  return info.tokens.flatMap(({text}, at) => text.trim() === own && writtenWord(info, at) === word ? [at] : []);
}

/** The whole text with `word` replacing the tokens' words; null if the text is one of several, or was not typed. */
export function swapped(info: Text, tokens: number[], word: string): string | null {
  const {text, units, pair, key_tokens: source, tokens: all} = info;
  if (pair !== undefined || source || text === '') return null;
  const bytes = new TextEncoder().encode(text);
  const part = (first: number, last: number) => new TextDecoder().decode(bytes.slice(first, last));
  let made = '';
  let done = 0;
  for (const at of new Set(tokens.map((token) => wordOf(info, token)))) {
    const from = all[units.words[at]!]!.begin;
    const to = all[(units.words[at + 1] ?? all.length) - 1]!.end;
    if (to <= from) return null;  // a special token
    const old = part(from, to);
    made += part(done, from) + /^\s*/.exec(old)![0] + word.trim() + /[^\p{L}\p{N}]*$/u.exec(old)![0];
    done = to;
  }
  return made + part(done, bytes.length);
}
