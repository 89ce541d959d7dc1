// The view's large number, the weight that it shows, and the legend.
import type {Cell} from '../answers';
import type {Line} from '../attention/arcs';
import {Slot, valueOf} from '../data/slot';
import {css, diverging} from '../drawing/colour';
import {html, say} from '../drawing/dom';
import {largeWeight, weight} from '../drawing/format';
import type {Page, Span} from './panel';
import {spanName} from './panel';
import type {Side} from '../attention/side';
import {hasNan, kMasked, kNanOrMasked} from '../heads/nan';
import type {Place, Scale} from '../selection/selection';
import type {Rows} from '../attention/rows';
import {plain} from '../text/tokens';
import {kUnaligned} from '../transport/aligned';
import {differenceTicks, kPaleText, rampOf, ticks} from './matrix_scale';

/** An edge between the tokens `at` and the row `other`; `line`: these tokens' line, null while it loads. */
export interface Shown { place: Place; at: Span; other: number; to: boolean; line: Line | null; speak: boolean; rows: Rows; both?: [number | null, number | null] }

export function rankOf(weights: (number | null)[], key: number): {rank: number; of: number} {
  const own = weights[key]!;
  let rank = 1;
  let of = 0;
  for (const [index, weight] of weights.entries()) {
    if (weight === null) continue;
    ++of;
    if (weight > own || (weight === own && index < key)) ++rank;
  }
  return {rank, of};
}

/** `1st`, `2nd`, `11th` */
export function ordinal(value: number): string {
  const isTeen = Math.floor(value / 10) % 10 === 1;
  return `${value.toLocaleString('en')}${(isTeen ? undefined : ['th', 'st', 'nd', 'rd'][value % 10]) ?? 'th'}`;
}

export function rankText({rank, of}: {rank: number; of: number}, line: string): string {
  if (of === 1) return `the only one in its ${line}`;
  return `${rank === 1 ? '' : `${ordinal(rank)} `}largest of ${of.toLocaleString('en')}`;
}

/** Under a common cursor: the values of A and B. */
function bothText(both: [number | null, number | null]): string {
  if (both[1] === kUnaligned) return 'no token of B stands for it';
  return both.map((value, at) => `${'AB'[at]!} ${value === null ? 'masked' : weight(value)}`).join(', ');
}

export function backText(query: number, key: number): string {
  if (query === key) return 'itself';
  return query > key ? `${query - key} back` : `${key - query} ahead`;
}

/** All colours of a matrix, from the lowest to the highest. */
export function legendRamp(className: string, api: Page['api']): HTMLCanvasElement {
  const {isDifference, isB} = api;
  const ramp = rampOf(api);
  const canvas = html('canvas', {class: className, width: 256, height: 1, role: 'img', 'aria-label': isDifference ? 'orange: B has more, blue: A has more' : isB ? 'orange is high' : 'cividis: dark is low'});
  const context = canvas.getContext('2d')!;
  for (let x = 0; x < 256; ++x) {
    context.fillStyle = css(isDifference ? diverging(x / 127.5 - 1) : ramp(x / 255));
    context.fillRect(x, 0, 1, 1);
  }
  return canvas;
}

const kNan = 'its weight is NaN';
const kNear = 12;  // px around it that the pointer must not come to

export class ReadOut {
  readonly element = html('div', {class: 'read-out'});
  readonly spoken = html('div', {class: 'spoken', 'aria-live': 'polite'});
  private readonly value = html('div', {class: 'large'});
  private readonly from = html('div', {});
  private readonly rank = html('div', {class: 'quiet rank'});
  private readonly legend = html('div', {class: 'legend'});
  private readonly legendName = html('div', {class: 'quiet'});
  private readonly labels = html('div', {class: 'ticks'});
  private scale: Scale | null = null;
  private shown: Shown | null = null;
  private readonly cell = new Slot<Cell>('read-out-cell', () => this.show(this.shown));

  constructor(private readonly side: Side, private readonly api: Page['api']) {
    this.legend.append(this.legendName, legendRamp('ramp', api), this.labels);
    this.element.append(html('div', {class: 'figure'}, this.value, this.from), this.rank, this.legend);
  }

  showScale(scale: Scale, quantity: string): void {
    say(this.legendName, this.api.isDifference ? `A \u2212 B${quantity === 'weight' ? '' : ` ${quantity}`}, ${kPaleText}` : quantity);
    if (scale === this.scale) return;
    this.scale = scale;
    this.labels.replaceChildren(...(this.api.isDifference ? differenceTicks : ticks)(scale).map(({at, label}) => {
      const tick = html('span', {}, label);
      tick.style.left = `${at * 100}%`;
      return tick;
    }));
  }

  stop(): void { this.cell.stop(); }

  show(shown: Shown | null): void {
    this.shown = shown;
    this.rank.toggleAttribute('data-unsaved', !shown);
    if (!shown) {
      this.value.textContent = '';
      this.from.replaceChildren();
      this.rank.textContent = 'point at a cell, edge or token';
      return;
    }
    this.name(shown);
    const {line, other, at, to} = shown;
    const value = line?.weights[other] ?? null;
    const lack = line && value === null ? this.lackOf(shown) : '';
    this.value.textContent = value !== null ? largeWeight(value) : lack === kNan ? 'NaN' : '\u2013';
    if (line) {
      const many = at.end - at.first;
      const of = to ? 'column' : 'row';
      const rank = shown.both && (value !== null || shown.both[1] === kUnaligned) ? bothText(shown.both) : value === null ? lack : rankText(rankOf(line.weights, other), of);
      this.rank.textContent = many === 1 ? rank : `${to ? 'sum' : 'mean'} of ${many} ${of}s, ${rank}`;
    } else {
      this.rank.textContent = '';
    }
    if (line && shown.speak) this.say(shown, value === null ? lack : largeWeight(value));
  }

  /** Why there is no number: the mask, or a weight that is NaN. */
  private lackOf({place, at, other, to, rows}: Shown): string {
    if (this.api.isDifference || !hasNan(this.api, place)) return kMasked;
    if (at.end - at.first > 1 || !rows.isTokens) return kNanOrMasked;
    const [query, key] = to ? [other, at.first] : [at.first, other];
    const cell = valueOf(this.cell.show(this.api.ofHead<Cell>(place, `cell/${query}/${key}`)));
    return cell === null ? '' : cell.visible ? kNan : kMasked;
  }

  /** Whether the pointer is at it, over a zoomed matrix. */
  isUnder({clientX: x, clientY: y}: PointerEvent): boolean {
    const {left, right, top, bottom} = this.element.getBoundingClientRect();
    return x > left - kNear && x < right + kNear && y > top - kNear && y < bottom + kNear;
  }

  private name({at, other: row, to, rows}: Shown): void {
    const {queries, keys, isSquare} = this.side;
    const other = rows.first(row);
    const [own, others] = to ? [keys, queries] : [queries, keys];
    const isOne = at.end - at.first === 1;
    const line = (word: string, name: string, after: string) => html('div', {},
      html('span', {class: 'quiet'}, `${word} `), html('b', {class: word === 'to' ? 'accent' : null}, name),
      html('span', {class: 'quiet'}, after));
    const span = isOne ? plain(own[at.first]!) : spanName({tokens: own}, at);
    const index = isOne ? ` ${at.first}` : '';
    const end = rows.isTokens ? plain(others[other]!) : rows.text(row);
    const back = isOne && isSquare ? `, ${to ? backText(other, at.first) : backText(at.first, other)}` : '';
    this.from.replaceChildren(...to
      ? [line('from', end, ` ${other}`), line('to', span, `${index}${back}`)]
      : [line('from', span, index), line('to', end, ` ${other}${back}`)]);
  }

  private say({at, other, to, rows}: Shown, value: string): void {
    const {queries, keys} = this.side;
    const first = rows.first(other);
    const [query, key] = to ? [first, at.first] : [at.first, first];
    this.spoken.textContent = `${plain(queries[query]!)} ${query} to ${plain(keys[key]!)} `
      + `${key}: ${value}`;
  }
}
