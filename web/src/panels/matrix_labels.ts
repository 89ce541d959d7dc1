// Labels of the matrix's rows and columns: tokens if cells are large enough, else positions.
import {roundStep} from '../drawing/axis';
import {html, svg} from '../drawing/dom';
import {isShaped, shortened} from '../text/graphemes';
import type {Extent} from '../text/images';
import {extentsOf} from '../text/images';
import {plain} from '../text/tokens';
import type {Side} from '../attention/side';
import type {Sight} from './matrix_sight';

const kFrom = 14;        // minimum pixels per cell for tokens
const kMostWidth = 72;   // of a row's token
const kMostLength = 54;  // of a column's token, along the slope
const kLead = 40;        // room for labels that slope to the left of the first column
const kAfter = 12;       // half of the last column's number; a longer one extends beyond
const kSlope = -60;
const kTicks = 5;          // approximate number of position labels
const kUpright = 16 / 11;  // upright names are larger by this factor

const kMeasure = document.createElement('canvas').getContext('2d')!;

export function widthOf(text: string): number {
  kMeasure.font = '600 11px Inter, system-ui, sans-serif';  // like the chosen ones
  return kMeasure.measureText(text.replace(/\d/g, '0')).width;  // digits are tabular on the page: all are as wide as 0
}

export function hasTokens(cell: number): boolean { return cell >= kFrom; }

/** The labels of one axis and their places. */
interface Label { at: number; index: number; text: string }

/** Where each image begins and ends in sight. */
function brackets(images: Extent[], offset: number, size: number, side: number): {name: string; from: number; to: number}[] {
  return images.map(({image: {name}, tokens}) => ({
    name, from: Math.max(0, offset + tokens[0]! * size), to: Math.min(side, offset + (tokens.at(-1)! + 1) * size),
  })).filter(({from, to}) => to > from);
}

export class MatrixLabels {
  readonly rows = html('div', {class: 'row-ticks', 'aria-hidden': true});
  readonly columns = svg('svg', {class: 'column-ticks', 'aria-hidden': true});
  private readonly keys: string[];
  private readonly imagesOfRows: Extent[];
  private readonly imagesOfColumns: Extent[];
  private drawn = '';

  private readonly keyWidth: number;  // of the widest, if they may be upright: joined scripts are unreadable on a slope

  /** `queries`: the label of each row. */
  constructor(side: Side, private queries: string[]) {
    this.keys = side.keys.map(plain);
    this.imagesOfRows = extentsOf(side.queries);
    this.imagesOfColumns = extentsOf(side.keys);
    this.keyWidth = side.isSquare && !this.keys.some(isShaped) ? Infinity : kUpright * Math.max(...this.keys.map(widthOf));
  }

  /** True if the rows now have other names. */
  rename(queries: string[]): boolean {
    if (queries.every((name, at) => name === this.queries[at])) return false;
    this.queries = queries;
    this.drawn = '';
    return true;
  }

  /** The width of the widest row label. */
  get width(): number {
    return Math.ceil(this.queries.reduce((most, name) => Math.max(most, Math.min(kMostWidth, widthOf(name))), 0));
  }

  /** The room under the matrix. */
  static height(cell: number): number { return hasTokens(cell) ? 52 : 16; }

  draw({left, top, size}: Sight, {width, height: seen}: {width: number; height: number}, query: number | null, key: number | null): void {
    const state = `${left} ${top} ${size} ${width} ${seen} ${query} ${key}`;
    if (state === this.drawn) return;
    this.drawn = state;
    const height = MatrixLabels.height(size);
    for (const [name, value] of [['width', width + kLead + kAfter], ['height', height]] as const) {
      this.columns.setAttribute(name, String(value));
    }
    this.rows.replaceChildren(...this.labels(this.queries, top, size, seen).map((label) => {
      const own = label.index === query ? 'row-token own' : 'row-token';
      const mark = html('span', {class: hasTokens(size) ? own : null}, label.text);
      mark.style.top = `${label.at}px`;
      return mark;
    }), ...brackets(this.imagesOfRows, top, size, seen).map(({name, from, to}) => {
      const mark = html('span', {class: 'image-rows', title: name});
      mark.style.cssText = `top: ${from}px; height: ${to - from}px`;
      return mark;
    }));
    this.columns.replaceChildren(...this.labels(this.keys, left, size, width).map(({at, index, text}) => {
      if (this.keyWidth < size) {
        return svg('text', {class: index === key ? 'column-upright accent' : 'column-upright', transform: `translate(${kLead + at} 18)`}, text);
      }
      const place = hasTokens(size) ? `translate(${kLead + at + 3} 9) rotate(${kSlope})` : `translate(${kLead + at} 12)`;
      const cut = widthOf(text) <= kMostLength ? text : shortened(text, (part) => widthOf(part) <= kMostLength);
      const own = index === key ? 'column-token accent' : 'column-token';
      return svg('text', {class: hasTokens(size) ? own : 'column-index', transform: place}, cut);
    }), ...brackets(this.imagesOfColumns, left, size, width).flatMap(({name, from, to}) => [
      svg('path', {class: 'image-columns', d: `M${kLead + from} 0v3H${kLead + to}v-3`}, svg('title', {}, name)),
      hasTokens(size) || widthOf(name) > to - from ? null : svg('text', {class: 'column-index image-name', x: kLead + (from + to) / 2, y: 26}, name),
    ].filter((mark) => mark !== null)));
  }

  private labels(names: string[], offset: number, size: number, side: number): Label[] {
    const last = names.length - 1;
    const inSight = ({at}: Label) => at >= 0 && at <= side;
    const label = (index: number, text: string) => ({index, text, at: offset + (index + 0.5) * size});
    if (hasTokens(size)) return names.map((name, index) => label(index, name)).filter(inSight);
    const step = Math.max(1, roundStep(side / size / kTicks));
    const first = Math.ceil(Math.max(0, -offset / size) / step);
    const count = Math.floor(Math.min(last, (side - offset) / size) / step) - first + 1;
    return Array.from({length: Math.max(0, count)}, (_, at) => (first + at) * step).map((tick) => label(tick, String(tick))).filter(inSight);
  }
}
