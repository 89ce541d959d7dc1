// How the steps of a head are drawn: numbers in cells, and dots with areas proportional to numbers.
import {html, svg} from '../drawing/dom';
import {scored} from '../drawing/format';
import {graphemes, shortened} from '../text/graphemes';

export interface Marks { row: number; key: number; choose: (row: number, key: number) => void }

const kNumbered = 8;    // cells show numbers up to this many columns
const kFull = 0.98;     // share of the numbers drawn by size; larger ones all look the same
const kColumns = 64;    // at most: wider rows show the largest number of each block

/** Blocks of a wide row, each by its number furthest from zero. */
export function pooled(row: number[]): number[] {
  const block = Math.ceil(row.length / kColumns);
  if (block <= 1) return row;
  return Array.from({length: Math.ceil(row.length / block)}, (_, at) =>
    row.slice(at * block, (at + 1) * block).reduce((most, value) => Math.abs(value) > Math.abs(most) ? value : most, 0));
}

/** The value drawn at full strength, so that a few outliers do not make the other numbers pale. */
function fullOf(rows: number[][]): number {
  const sizes = rows.flat().map(Math.abs).sort((a, b) => a - b);
  return Math.max(1e-9, sizes[Math.floor(kFull * (sizes.length - 1))] ?? 0);
}

/** One row of numbers under a table, whose columns are numbered above. */
export function lastRow(row: number[], name: string): HTMLElement {
  const table = cells([row], [name], [], 2);
  table.querySelector('.head')!.remove();
  return table;
}

/** Rows of numbers; `framed` rows are outlined. */
export function cells(rows: number[][], names: string[], framed: number[], digits = 1, zeros = false): HTMLElement {
  const shown = rows.map(pooled);
  const largest = fullOf(shown);
  const width = shown[0]?.length ?? 0;
  const numbered = width <= kNumbered;
  const head = html('div', {class: 'anatomy-row head'}, html('span', {class: 'anatomy-name'}),
    html('span', {class: 'anatomy-cells'}, ...Array.from({length: numbered ? width : 0}, (_, d) => html('i', {}, String(d)))));
  return html('div', {class: 'anatomy-table'}, head, ...shown.map((row, at) => {
    const line = html('span', {class: framed.includes(at) ? 'anatomy-cells framed' : 'anatomy-cells'}, ...row.map((value, d) => {
      const text = numbered ? zeros && Math.abs(value) < 0.005 ? '\u00b7' : scored(value, digits).replace(/^(\u2212?)0\./, digits > 1 ? '$1.' : '$10.') : '';
      const cell = html('i', {class: value < 0 ? 'negative' : '', title: numbered ? null : `${d}: ${scored(value)}`}, text);
      cell.style.setProperty('--share', String(Math.min(100, Math.round(100 * Math.abs(value) / largest))));
      return cell;
    }));
    return html('div', {class: 'anatomy-row'}, html('span', {class: framed.includes(at) ? 'anatomy-name accent' : 'anatomy-name'}, names[at] ?? ''), line);
  }));
}

const kLetter = 6.4;    // px per digit
const kLetters = 8;     // of a name at most: a slanted one ends below the line above
const [kCell, kHeight] = [23, 256];  // px of a cell at most, and of all cells one above the other
const [kNames, kAside] = [58, 24];  // px to the left of the cells, and between two drawings

function inBrief(name: string): string {
  return graphemes(name).length <= kLetters ? name : shortened(name, (text) => graphemes(text).length <= kLetters);
}

/** Dots by area, open where negative, a dash where masked; under them the row's numbers; all of it in `room` px with the gap after it. */
export function dots(values: (number | null)[][], names: {rows: string[]; keys: string[]}, largest: number, marks: Marks, room: number, write: (value: number, isOwn: boolean) => string): Element {
  const [columns, rows] = [names.keys.length, names.rows.length];
  const [left, top] = [kNames, 54];
  const size = Math.min(kCell, Math.floor((room - kNames - kAside) / Math.max(columns, 1)), Math.floor(kHeight / Math.max(rows, 1)));
  const middle = (at: number) => size * (at + 0.5);
  const marksOf = values.flatMap((row, i) => row.map((value, j) => {
    const [x, y] = [left + middle(j), top + middle(i)];
    if (value === null) return svg('text', {x, y: y + 4, class: 'anatomy-dash', 'text-anchor': 'middle'}, '\u2013');
    const own = i === marks.row && j === marks.key;
    return svg('circle', {cx: x, cy: y, r: Math.max(0.6, Math.min(1, Math.sqrt(Math.abs(value) / largest)) * (size / 2 - 0.5)), class: `anatomy-dot${value < 0 ? ' open' : ''}${own ? ' own' : ''}`});
  }));
  const label = (x: number, y: number, text: string, kind: string, turned = false) =>
    svg('text', {x, y, class: `anatomy-label ${kind}`, 'text-anchor': turned ? 'start' : 'end', transform: turned ? `rotate(-52 ${x} ${y})` : null}, text);
  const isUpright = names.keys.every((name) => kLetter * graphemes(name).length <= size - 6);
  // The row's numbers that have room: the chosen one, then the larger before the smaller.
  const own = (values[marks.row] ?? []).flatMap((value, j) => value === null ? [] : [{j, text: write(value, j === marks.key), size: j === marks.key ? Infinity : Math.abs(value)}]);
  const half = (text: string) => kLetter * (text.length - (text.startsWith('.') ? 0.5 : 0)) / 2;  // a leading point is narrow, and divides
  const numbered: typeof own = [];
  for (const each of own.sort((one, other) => other.size - one.size)) {
    if (numbered.every(({j, text}) => Math.abs(j - each.j) * size >= half(text) + half(each.text) + 3)) numbered.push(each);
  }
  const element = svg('svg', {class: 'anatomy-dots', width: left + columns * size + kAside, height: top + rows * size + 24, role: 'img', 'aria-label': 'dots, by area'},
    ...names.keys.map((name, j) => label(left + middle(j), top - 6, inBrief(name), `${isUpright ? 'upright' : ''}${j === marks.key ? ' accent' : ''}`, !isUpright)),
    ...names.rows.map((name, i) => label(left - 6, top + middle(i) + 4, inBrief(name), i === marks.row ? 'accent' : '')),
    svg('rect', {x: left + marks.key * size, y: top + marks.row * size, width: size, height: size, class: 'anatomy-own'}), ...marksOf,
    svg('rect', {x: left - 1, y: top + marks.row * size, width: columns * size + 2, height: size, class: 'anatomy-frame'}),
    ...numbered.map(({j, text}) => svg('text', {
      x: left + middle(j), y: top + rows * size + 16, class: j === marks.key ? 'anatomy-label accent' : 'anatomy-label', 'text-anchor': 'middle',
    }, text)));
  element.addEventListener('click', (event) => {
    const box = element.getBoundingClientRect();
    const key = Math.floor((event.clientX - box.left - left) / size), row = Math.floor((event.clientY - box.top - top) / size);
    if (row >= 0 && row < rows && key >= 0 && key < columns) marks.choose(row, key);
  });
  return element;
}

/** A square of numbers in few pixels. */
export function picture(rows: number[][]): HTMLCanvasElement {
  const size = rows.length;
  const canvas = html('canvas', {width: size, height: size, class: 'anatomy-picture'});
  const context = canvas.getContext('2d')!;
  const image = context.createImageData(size, size);
  const largest = Math.max(1e-9, ...rows.map((row) => Math.max(...row.map(Math.abs))));
  rows.forEach((row, i) => row.forEach((value, j) => {
    image.data.set([...(value < 0 ? [230, 159, 0] : [0, 114, 178]), Math.round(255 * Math.abs(value) / largest)], 4 * (i * size + j));
  }));
  context.putImageData(image, 0, 0);
  return canvas;
}
