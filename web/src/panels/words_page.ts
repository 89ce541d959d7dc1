// Shared by the parts of Words: the token in question, the words after it, the open branches.
import type {Words} from '../answers';
import type {Page} from './panel';
import type {Token} from '../transport/api';

export interface WordsPage extends Page {
  writes: boolean;     // words follow a position; false: they are at it, and can be masked
  tokens: Token[];     // of the output, or of the text whose masks are filled
  state: WordsState;
}

export interface WordsState {
  covered: boolean;          // the token is masked, if the model fills masks
  branches: number[];        // words that were clicked, by id, at `of`
  of: number;
  beams: boolean;            // instead of branches
  changed: () => void;
}

/** The position in question: words follow it, or fill it. */
export function positionOf({store, side, tokens}: WordsPage): number {
  const {query} = store.now;
  return query !== null && side.queries === tokens && query < tokens.length ? query : tokens.length - 1;
}

/** The token marked as chosen: the actual one after the position. */
export function chosenOf(page: WordsPage): number {
  return positionOf(page) + (page.writes ? 1 : 0);
}

export function choose(page: WordsPage, token: number): void {
  page.store.set({query: Math.max(0, Math.min(page.tokens.length - 1, token - (page.writes ? 1 : 0))), key: null, range: null});
}

/** The attention whose queries are the words. */
export function wordsStack({api}: Pick<Page, 'api'>): string {
  return api.info.attentions.find(({query_tokens: list}) => list === 'tokens')!.stack;
}

/** The text up to and including a position, followed by these words, as another text to open. */
export function goOn({api, open, tokens}: WordsPage, position: number, words: string[]): void {
  const {text, pair} = api.info;
  if (api.info.key_tokens) {
    const written = tokens.slice(0, position + 1).filter(({special}) => !special).map((token) => token.text);
    open({text, target: [...written, ...words].join('').trimStart()});
    return;
  }
  const bytes = new TextEncoder().encode(text);
  const begun = new TextDecoder().decode(bytes.slice(0, tokens[position]!.end));
  open({text: (begun + words.join('')).replace(/^ /, begun === '' ? '' : ' '), ...pair !== undefined && {pair}});
}

export type Facts = Words['tokens'][number];
