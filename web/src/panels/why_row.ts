// The whole row by dimension: the query above its keys, and the contribution of each dimension to each score.
import type {Dimensions, DimensionsKey} from '../answers';
import {html, svg} from '../drawing/dom';
import {count, scored, signed, weight} from '../drawing/format';
import type {Page} from './panel';
import {isolated, plain} from '../text/tokens';
import {others} from './key_column';
import {heading, note, quiet, row} from './why_parts';
import {keyName, scaleName} from './why_sum';

const kHeight = 24;
const kMostCell = 48;  // pixels per dimension's column
const kRest = 52;      // of the column for all other dimensions
const kNumber = 60;    // of a number at the end, with its gap
const [kName, kNarrowName] = [172, 104];  // before the bars, with gaps: same as in why.css
const kSaid = 3;       // dimensions announced for a focused key
const kUsual = 'In each column left k (in the first row q), right q \u00d7 k. First the dimensions that most set the attended keys apart from the mean key.';

/** The dimensions with a column, the most informative first; the `rest` share the last one. */
interface Columns { shown: number[]; rest: number[]; cell: number; width: number }

function columnsOf({spread}: Dimensions, room: number): Columns {
  const order = spread.map((_, at) => at).sort((a, b) => spread[b]! - spread[a]!);
  const least = order.length > 100 ? 22 : 16;  // room for two or three digits above a column
  const end = order.length * least <= room ? 0 : kRest;
  const fitting = end === 0 ? order.length : Math.max(1, Math.floor((room - end) / least));
  const cell = Math.min(kMostCell, Math.floor((room - end) / fitting));
  return {shown: order.slice(0, fitting), rest: order.slice(fitting), cell, width: fitting * cell + end};
}

const most = (values: number[]) => Math.max(1e-9, ...values.map(Math.abs));

/** Vertical bars from the middle, downward if negative; null: no bar. */
function bars(values: (number | null)[], largest: number, kind: string, x: (at: number) => number, width: number): SVGElement {
  const middle = kHeight / 2;
  const d = values.map((value, at) => value === null ? '' : `M${x(at)} ${middle}v${(-(middle - 1) * value / largest).toFixed(1)}`).join('');
  return svg('path', {d: d || 'M0 0', class: kind, 'stroke-width': width});
}

export function allKeysBlock(found: Dimensions, page: Page, key: number, room: number): Node[] {
  const {side, store, stage: {isNarrow}} = page;
  const {q, keys, query} = found;
  const hasBias = keys.some(({product, score}) => Math.abs(product - score) > 0.005);
  const numbers = isNarrow ? 1 : hasBias ? 3 : 2;
  const {shown, rest, cell, width} = columnsOf(found, room - (isNarrow ? kNarrowName : kName) - numbers * kNumber);
  const last = shown.length;  // the column of the rest
  const termsOf = ({terms}: DimensionsKey) => [...shown.map((at) => terms[at]!), ...rest.length > 0 ? [rest.reduce((sum, at) => sum + terms[at]!, 0)] : []];
  const [mostQ, mostK, mostTerm] = [most(q), most(keys.flatMap(({k}) => k)), most(keys.flatMap(termsOf))];
  const thick = Math.max(3, Math.min(10, Math.floor(cell / 2) - 3));
  const middle = (at: number) => at < last ? (at + 0.5) * cell : last * cell + kRest / 2;
  const left = (values: number[], largest: number) => bars(shown.map((at) => values[at]!), largest, 'why-raw', (at) => middle(at) - thick / 2 - 1, thick);
  const right = (values: number[], kind: string, sign: number) => bars(values.map((value) => sign * value > 0 ? value : null), mostTerm, kind, (at) => middle(at) + (at < last ? thick / 2 + 1 : 0), thick);

  const said = note(kUsual);
  said.classList.add('why-said');
  const mark = html('i', {class: 'why-column', hidden: true, 'data-unsaved': true});
  const body = html('div', {class: 'why-all-keys'}, mark);
  const name = ({key: at}: DimensionsKey) => `${isolated(plain(side.keys[at]!))} ${at}`;
  const tell = (column: number, of: DimensionsKey | null) => {
    const whose = of ? ` of ${name(of)}` : '';
    const at = shown[column];
    said.textContent = at === undefined ? `${count(rest.length, 'more dimension')}${whose}${of ? `: together ${signed(termsOf(of)[last]!)}` : ''}`
      : `dimension ${at}${whose}: q ${scored(q[at]!)}${of ? `, k ${scored(of.k[at]!)}, adds ${signed(of.terms[at]!)}` : ''}`;
  };
  const leave = () => {
    said.textContent = kUsual;
    mark.hidden = true;
  };
  const line = (of: DimensionsKey | null, ...inside: SVGElement[]) => {
    const drawn = svg('svg', {width, height: kHeight, class: 'why-bars', 'aria-hidden': true}, svg('path', {d: `M0 ${kHeight / 2}H${width}`, class: 'why-grid'}), ...inside);
    const point = ({clientX}: PointerEvent) => {
      const box = drawn.getBoundingClientRect();
      const column = Math.max(0, Math.min(rest.length > 0 ? last : last - 1, Math.floor((clientX - box.left) / cell)));
      tell(column, of);
      mark.hidden = false;
      mark.style.left = `${box.left - body.getBoundingClientRect().left + column * cell}px`;
      mark.style.width = `${column < last ? cell : kRest}px`;
    };
    drawn.addEventListener('pointermove', point);
    drawn.addEventListener('pointerdown', point);
    drawn.addEventListener('pointerleave', leave);
    if (of) drawn.addEventListener('click', () => store.set({query, key: of.key}));
    return drawn;
  };
  const ends = (product: string, score: string, value: string | Node) => isNarrow ? [value] : [...hasBias ? [product] : [], score, value];
  const rowOf = (of: DimensionsKey) => {
    const own = of.key === key;
    const button = keyName(page, query, of.key, own);
    button.addEventListener('focus', () => {
      const first = of.terms.map((term, at) => ({term, at})).sort((a, b) => Math.abs(b.term) - Math.abs(a.term)).slice(0, kSaid);
      said.textContent = `most of ${name(of)}: ${first.map(({term, at}) => `dimension ${at} ${signed(term)}`).join(', ')}`;
    });
    button.addEventListener('blur', leave);
    const terms = termsOf(of);
    const value = of.visible ? weight(of.weight) : 'masked';
    return row('all', html('span', {class: 'index'}, String(of.key)), button, line(of, left(of.k, mostK), right(terms, 'why-positive', 1), right(terms, 'why-negative', -1)),
      ...ends(scored(of.product), scored(of.score), own ? html('b', {}, value) : value));
  };
  const names = [...shown.map(String), ...rest.length > 0 ? [`${rest.length} more`] : []];
  const head = svg('svg', {width, height: 20, class: 'why-bars', 'aria-hidden': true}, ...names.map((words, at) => svg('text', {x: middle(at), y: 14, class: 'why-tick', 'text-anchor': 'middle'}, words)));
  body.style.setProperty('--bars', `${width}px`);
  body.append(
    row('all head', '', '', head, ...ends('q\u00b7k', 'score', 'weight').map((words) => quiet(String(words)))),
    row('all', '', html('b', {}, 'q'), line(null, left(q, mostQ)), ...ends('', '', '')), ...keys.map(rowOf),
    ...found.rest.count > 0 ? [row('all', '', quiet(others(found.rest.count)), '', ...ends('', '', weight(found.rest.weight)))] : []);
  const about = `q, k and q \u00d7 k ${scaleName(found)} of ${found.rest.count > 0 ? `${keys.length} of ` : ''}${count(found.of, 'key')}; the terms of a row sum to its ${hasBias ? 'q\u00b7k' : 'score'}`;
  return [heading('All keys by dimension', about), body, said];
}
