// The labels of a cross-attention's rows: a token, and the token generated there.
import type {Page} from '../panels/panel';
import {plain} from './tokens';
import type {Next} from '../transport/api';

/** The words after a query if known; otherwise requests them. */
function nextOf({api}: Page, query: number, arrived: () => void): Next | undefined {
  if (!api.hasWeights) return undefined;
  const question = api.next(query);
  const known = question.now();
  if (!known) question.get(`written-${query}`).then(arrived, () => undefined);
  return known?.position === query ? known : undefined;  // for a long text only the last position's words are kept
}

/** The token written at a query, and its probability; null if the server does not have it. */
export interface Written { name: string; probability: number | null }

/** The next token; after the last one the likeliest word. */
export function writtenAt(page: Page, query: number, arrived: () => void): Written {
  const {queries} = page.side;
  const words = nextOf(page, query, arrived)?.words ?? [];
  const next = queries[query + 1];
  if (next) {
    const found = words.find(({id}) => id === next.id);
    return {name: plain(next), probability: found?.probability ?? null};
  }
  const [likeliest] = words;
  if (!likeliest) return {name: '\u2026', probability: null};
  return {name: plain({...likeliest, index: 0, begin: 0, end: 0}), probability: likeliest.probability};
}

/** `z \u2192 m` at the rows of a cross-attention, else the tokens. */
export function rowNames(page: Page, arrived: () => void): string[] {
  const {queries, isSquare} = page.side;
  if (isSquare) return queries.map(plain);
  const last = queries.length - 1;
  return queries.map((token, at) =>
    `${plain(token)} \u2192 ${at < last ? plain(queries[at + 1]!) : writtenAt(page, at, arrived).name}`);
}
