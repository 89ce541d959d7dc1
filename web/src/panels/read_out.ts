// The one large number of the view, what it is a weight of, and the legend.
import type {SessionApi} from '../api';
import type {Line} from '../arcs';
import {cividis, css} from '../colour';
import {html} from '../dom';
import {largeWeight} from '../format';
import type {Scale} from '../selection';
import {plain} from '../tokens';
import {ticks} from './matrix_scale';

export interface Cell { query: number; key: number }

function rankOf(weights: (number | null)[], key: number): {rank: number; of: number} {
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

function rankText({rank, of}: {rank: number; of: number}): string {
  if (of === 1) return 'the only one in its row';
  return rank === 1 ? `largest of the ${of} in its row` : `${rank} of ${of} in its row, by size`;
}

function backText({query, key}: Cell): string {
  if (query === key) return 'itself';
  return query > key ? `${query - key} back` : `${key - query} ahead`;
}

export class ReadOut {
  readonly element = html('div', {class: 'read-out'});
  readonly spoken = html('div', {class: 'spoken', 'aria-live': 'polite'});
  private readonly value = html('div', {class: 'large'});
  private readonly from = html('div', {});
  private readonly rank = html('div', {class: 'quiet rank'});
  private readonly legend = html('div', {class: 'legend'});
  private readonly ramp = html('canvas', {class: 'ramp', width: 256, height: 1, role: 'img', 'aria-label': 'cividis: dark is low'});
  private readonly labels = html('div', {class: 'ticks'});
  private scale: Scale | null = null;

  constructor(private readonly api: SessionApi) {
    this.legend.append(html('div', {class: 'quiet'}, 'weight'), this.ramp, this.labels);
    this.element.append(html('div', {class: 'figure'}, this.value, this.from), this.rank, this.legend);
    const context = this.ramp.getContext('2d')!;
    for (let x = 0; x < 256; ++x) {
      context.fillStyle = css(cividis(x / 255));
      context.fillRect(x, 0, 1, 1);
    }
  }

  showScale(scale: Scale): void {
    if (scale === this.scale) return;
    this.scale = scale;
    this.labels.replaceChildren(...ticks(scale).map(({at, label}) => {
      const tick = html('span', {}, label);
      tick.style.left = `${at * 100}%`;
      return tick;
    }));
  }

  /** `line`: the row of the cell, null while it is on its way. */
  show(cell: Cell | null, line: Line | null, speak: boolean): void {
    const {tokens} = this.api.info;
    this.rank.toggleAttribute('data-unsaved', !cell);
    if (!cell) {
      this.value.textContent = '';
      this.from.replaceChildren();
      this.rank.textContent = 'point at a cell, an edge or a token';
      return;
    }
    const token = (index: number) => html('b', {}, plain(tokens[index]!));
    const key = token(cell.key);
    key.className = 'accent';
    this.from.replaceChildren(
      html('div', {}, html('span', {class: 'quiet'}, 'from '), token(cell.query),
        html('span', {class: 'quiet'}, ` ${cell.query}`)),
      html('div', {}, html('span', {class: 'quiet'}, 'to '), key,
        html('span', {class: 'quiet'}, ` ${cell.key}, ${backText(cell)}`)));
    if (!line) {
      this.value.textContent = '\u2013';
      this.rank.textContent = '';
      return;
    }
    const value = line.weights[cell.key] ?? null;
    this.value.textContent = value === null ? '\u2013' : largeWeight(value);
    this.rank.textContent = value === null ? 'may not be seen' : rankText(rankOf(line.weights, cell.key));
    if (speak) {
      this.spoken.textContent = `${plain(tokens[cell.query]!)} ${cell.query} to ${plain(tokens[cell.key]!)} `
        + `${cell.key}: ${value === null ? 'may not be seen' : largeWeight(value)}`;
    }
  }
}
