// Which earlier blocks wrote the query and the key: the same sum by block.
import type {Origins} from '../answers';
import {button, html} from '../drawing/dom';
import {scored} from '../drawing/format';
import {heading, note, residual} from './why_parts';

const kAttention = /^(attn|cross) \d+$/;
const kMostRows = 7;    // parts of the query, so that two blocks fit one above the other; the smallest are summed into one
const [kFewColumns, kMostColumns] = [4, 7];  // parts of the key, so that they fit their column
const [kNames, kColumn] = [120, 44];  // px for the names and the totals, and of a part

/** The rows and columns with the largest terms; the others are summed into one. */
function folded({query_parts: queries, key_parts: keys, cells}: Origins, mostColumns: number): {queries: string[]; keys: string[]; cells: number[][]} {
  const sizes = (count: number, of: (at: number) => number[]) =>
    Array.from({length: count}, (_, at) => ({at, size: of(at).reduce((sum, cell) => sum + Math.abs(cell), 0)}));
  const keep = (all: {at: number; size: number}[], most: number) => {
    if (all.length <= most) return all.map(({at}) => [at]);
    const first = new Set([...all].sort((a, b) => b.size - a.size).slice(0, most - 1).map(({at}) => at));
    return [...[...first].sort((a, b) => a - b).map((at) => [at]), all.map(({at}) => at).filter((at) => !first.has(at))];
  };
  const rows = keep(sizes(queries.length, (at) => cells[at]!), kMostRows);
  const columns = keep(sizes(keys.length, (at) => cells.map((row) => row[at]!)), mostColumns);
  const name = (names: string[], group: number[]) => group.length === 1 ? names[group[0]!]! : `${group.length} others`;
  return {
    queries: rows.map((group) => name(queries, group)), keys: columns.map((group) => name(keys, group)),
    cells: rows.map((group) => columns.map((column) => group.reduce((sum, row) => sum + column.reduce((all, key) => all + cells[row]![key]!, 0), 0))),
  };
}

export function originsBlock(origins: Origins, at: {query: number; key: number; width: number}, split: string | null, choose: (part: string | null) => void): Node[] {
  if (origins.query_parts.length === 1 && origins.key_parts.length === 1) {
    return [heading('Where q and k came from', ''), note(`Nothing stands before this layer but the ${origins.query_parts[0]!}: all of the score is theirs. ${residual(origins.residual)}`)];
  }
  const {queries, keys, cells} = folded(origins, Math.max(kFewColumns, Math.min(kMostColumns, Math.floor((at.width - kNames) / kColumn))));
  const largest = Math.max(1e-9, ...cells.flat().map(Math.abs));
  const name = (part: string) => kAttention.test(part) ? button({class: 'why-part'}, () => choose(part), part)
    : part.includes('\u00b7') ? button({class: 'why-part', title: 'as one'}, () => choose(null), part) : html('span', {}, part);
  const total = (values: number[]) => scored(values.reduce((sum, value) => sum + value, 0));
  const head = html('tr', {}, html('th', {class: 'corner'}, `q at ${at.query} \u2193`), ...keys.map((part) => html('th', {scope: 'col'}, name(part))), html('th', {scope: 'col'}, 'q total'));
  const rows = queries.map((part, query) => html('tr', {}, html('th', {scope: 'row'}, name(part)), ...cells[query]!.map((value) => {
    const cell = html('td', {class: value < 0 ? 'negative' : ''}, scored(value));
    cell.style.setProperty('--share', String(Math.round(100 * Math.abs(value) / largest)));
    return cell;
  }), html('td', {class: 'total'}, total(cells[query]!))));
  const foot = html('tr', {class: 'totals'}, html('th', {scope: 'row'}, 'k total'), ...keys.map((_, key) => html('td', {class: 'total'}, total(cells.map((row) => row[key]!)))),
    html('td', {class: 'total'}, html('b', {}, scored(origins.sum))));
  return [
    heading('Where q and k came from', 'same sum, by who wrote them'),
    html('div', {class: 'why-scroll'}, html('table', {class: 'why-origins'}, html('thead', {}, head), html('tbody', {}, ...rows), html('tfoot', {}, foot))),
    note(`columns: k at ${at.key}. norms frozen; ${residual(origins.residual)}. ${split ? `${split} by head` : queries.concat(keys).some((part) => kAttention.test(part)) ? 'Click attn to split by head' : ''}`),
  ];
}

/** The four terms of learned positions, if only they precede the head. */
export function learnedTerms({query_parts: queries, key_parts: keys, cells}: Origins): Node[] | null {
  const [q, k] = [queries.indexOf('positions'), keys.indexOf('positions')];
  if (q < 0 || k < 0 || queries.some((part) => part.startsWith('MLP'))) return null;
  const kinds = ['tokens', 'positions'];
  return kinds.flatMap((from) => kinds.map((to) => {
    const value = cells[queries.indexOf(from)]?.[keys.indexOf(to)] ?? 0;
    return html('div', {class: 'why-row sum'}, html('span', {}, `${from} \u00d7 ${to}`), html('span', {class: 'quiet'}, 'query \u00d7 key'), html('span', {}, scored(value)));
  }));
}
