// Both margins of a matrix, redrawn only when they change: a margin costs as much as the matrix.
import {html, say} from '../drawing/dom';
import type {Quantity} from '../selection/selection';
import type {Stage} from '../shell/stage';
import type {Marginals} from '../transport/api';
import {drawReceived, drawUse} from './matrix_margins';
import type {Sight} from './matrix_sight';

/** The visible part of the matrix, and the marked row and column. */
export interface MarginSight { sight: Sight; width: number; height: number; query: number | null; key: number | null }

export class MatrixMargins {
  readonly use = html('canvas', {class: 'use', role: 'img', 'aria-label': 'effective keys of each query, e to the entropy'});
  readonly useName = html('div', {class: 'use-name quiet'}, html('div', {}, 'effective keys,'), html('div', {}, 'e^entropy'));
  private readonly canvas = html('canvas', {class: 'received', role: 'img'});
  private readonly name = html('span', {class: 'quiet'});
  readonly received = html('div', {class: 'received-line'}, this.name, this.canvas);
  private drawn: Marginals | null = null;
  private drawnReceived = '';
  private drawnUse = '';

  constructor(private readonly stage: Stage) {}

  /** The amount that a key receives: weight, or the share that it carries. */
  showQuantity(quantity: Quantity): void {
    const received = `${quantity === 'carried' ? 'share' : quantity} received`;
    say(this.name, received);
    this.canvas.ariaLabel = `${received} by each key`;
  }

  /** The colours have changed. */
  forget(): void { this.drawnReceived = this.drawnUse = ''; }

  draw(marginals: Marginals | null, {sight, width, height, query, key}: MarginSight): void {
    const {stage} = this;
    const {left, top, size} = sight;
    const look = `${width} ${height} ${size} ${stage.pixelRatio}`;
    const isNew = this.drawn !== marginals;
    this.drawn = marginals;
    const received = `${look} ${left} ${key}`;
    const use = `${look} ${top} ${query}`;
    if (isNew || received !== this.drawnReceived) drawReceived(stage, this.canvas, marginals, sight, width, key);
    if (isNew || use !== this.drawnUse) drawUse(stage, this.use, marginals, sight, height, query);
    this.drawnReceived = received;
    this.drawnUse = use;
  }
}
