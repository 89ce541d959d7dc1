// The matrix as a table: the visible cells around the chosen one, as numbers.
import {html} from '../drawing/dom';
import {weight} from '../drawing/format';
import {hasNan} from '../heads/nan';
import type {Place} from '../selection/selection';
import {plain} from '../text/tokens';
import type {Side} from '../attention/side';
import type {SessionApi} from '../transport/api';

const kRows = 16;
const kColumns = 12;  // that fit beside their queries

function window(centre: number, most: number, length: number): {begin: number; end: number} {
  const begin = Math.max(0, Math.min(length - most, centre - most / 2));
  return {begin, end: Math.min(length, begin + most)};
}

/** Rows are queries, columns keys: some around the chosen cell. */
export async function tableOf(
  api: SessionApi, side: Side, place: Place, query: number, key: number
): Promise<HTMLElement> {
  const rows = window(query, kRows, side.queries.length);
  const columns = window(key, kColumns, side.keys.length);
  const lines = await Promise.all(Array.from({length: rows.end - rows.begin}, (_, row) =>
    api.line(place, rows.begin + row, rows.begin + row + 1, false).get(`table-${row}`)));
  const keys = side.keys.slice(columns.begin, columns.end);
  const head = html('tr', {}, html('td', {}), ...keys.map((token) =>
    html('th', {scope: 'col', title: plain(token)},
      html('div', {class: 'table-token'}, plain(token)), ' ', html('div', {}, String(token.index)))));
  const body = lines.map((line, row) => {
    const token = side.queries[rows.begin + row]!;
    return html('tr', {}, html('th', {scope: 'row', title: plain(token)},
      html('div', {class: 'table-token'}, plain(token)), ` ${token.index}`),
      ...keys.map(({index}) => {
        const value = line.weights[index];
        return html('td', {}, value === null || value === undefined ? '' : weight(value));
      }));
  });
  const caption = `Weights of queries ${rows.begin} to ${rows.end - 1} (rows) on keys ${columns.begin} to `
    + `${columns.end - 1} (columns) of ${side.keys.length} tokens; empty: may not be seen${hasNan(api, place) ? ', or NaN' : ''}`;
  return html('div', {class: 'table', tabindex: 0, role: 'region', 'aria-label': 'Matrix as a table'},
    html('table', {}, html('caption', {}, caption), html('thead', {}, head), html('tbody', {}, ...body)));
}
