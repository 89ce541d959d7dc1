// The matrix as a real table: the cells in sight around the chosen one, in numbers.
import type {SessionApi} from '../api';
import {html} from '../dom';
import {weight} from '../format';
import {plain} from '../tokens';

const kMost = 16;

function window(centre: number, length: number): {begin: number; end: number} {
  const begin = Math.max(0, Math.min(length - kMost, centre - kMost / 2));
  return {begin, end: Math.min(length, begin + kMost)};
}

/** Rows are queries, columns keys; at most 16 of each. */
export async function tableOf(
  api: SessionApi, place: {layer: number; head: number}, query: number, key: number
): Promise<HTMLElement> {
  const rows = window(query, api.length);
  const columns = window(key, api.length);
  const {tokens} = api.info;
  const lines = await Promise.all(Array.from({length: rows.end - rows.begin}, (_, row) =>
    api.line(`table-${row}`, place, rows.begin + row, rows.begin + row + 1, false)));
  const keys = tokens.slice(columns.begin, columns.end);
  const head = html('tr', {}, html('td', {}), ...keys.map((token) =>
    html('th', {scope: 'col'}, `${plain(token)} ${token.index}`)));
  const body = lines.map((line, row) => {
    const token = tokens[rows.begin + row]!;
    return html('tr', {}, html('th', {scope: 'row'}, `${plain(token)} ${token.index}`),
      ...keys.map(({index}) => {
        const value = line.weights[index];
        return html('td', {}, value === null || value === undefined ? '' : weight(value));
      }));
  });
  const caption = `Weights of queries ${rows.begin} to ${rows.end - 1} (rows) on keys ${columns.begin} to `
    + `${columns.end - 1} (columns) of ${api.length} tokens; empty: may not be seen`;
  return html('div', {class: 'table', tabindex: 0, role: 'region', 'aria-label': 'Matrix as a table'},
    html('table', {}, html('caption', {}, caption), html('thead', {}, head), html('tbody', {}, ...body)));
}
