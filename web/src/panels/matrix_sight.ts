// Which part of the matrix is in sight: zoom and pan, by d3-zoom, kept inside the matrix.
import {select} from 'd3-selection';
import type {D3ZoomEvent, ZoomTransform} from 'd3-zoom';
import {zoom, zoomIdentity} from 'd3-zoom';

const kLargestCell = 48;

/** Entry (column, row) = (x, y) is drawn at left + x * size, in CSS pixels. */
export interface Sight { left: number; top: number; size: number }

export interface Cell { query: number; key: number }

/** What a matrix has: whether its upper corner is masked, too. */
export interface Extent { rows: number; columns: number; causal: boolean }

export interface Box { x0: number; y0: number; x1: number; y1: number }

export class MatrixSight {
  private readonly behaviour = zoom<HTMLCanvasElement, unknown>();
  private transform: ZoomTransform = zoomIdentity;
  width = 0;           // px of the whole matrix while it is fitted
  private tall = 0;
  private below = 0;

  constructor(private readonly element: HTMLCanvasElement, private readonly extent: Extent, changed: () => void) {
    this.behaviour
      .filter((event: MouseEvent) => !event.shiftKey && !event.button
        && !(event.type === 'touchstart' && this.isFitted))
      .on('zoom', (event: D3ZoomEvent<HTMLCanvasElement, unknown>) => {
        this.transform = event.transform;
        if (this.isFitted && (this.transform.x !== 0 || this.transform.y !== 0)) this.fit();
        changed();
      });
    select(element).call(this.behaviour).on('dblclick.zoom', null);
  }

  resize(width: number, tall: number): void {
    this.width = width;
    this.tall = tall;
    const most = Math.max(1, kLargestCell / this.fitted);
    const seen = (): [[number, number], [number, number]] => [[0, 0], [width, this.height]];
    this.behaviour.scaleExtent([1, most]).extent(seen).translateExtent([[0, 0], [width, tall]]);
    this.fit();
  }

  /** What can be seen: while it is zoomed, `below` of it makes room for what stands under it. */
  get height(): number { return this.isFitted ? this.tall : this.tall - this.below; }

  makeRoom(below: number): void { this.below = below; }

  /** Pixels a cell when the whole matrix is in sight. */
  private get fitted(): number { return this.width / this.extent.columns; }

  get isFitted(): boolean { return this.transform.k === 1; }

  get now(): Sight {
    return {left: this.transform.x, top: this.transform.y, size: this.fitted * this.transform.k};
  }

  fit(): void { select(this.element).call(this.behaviour.transform, zoomIdentity); }

  zoomBy(factor: number): void { select(this.element).call(this.behaviour.scaleBy, factor); }

  zoomTo({x0, y0, x1, y1}: Box): void {
    const size = Math.max(Math.abs(x1 - x0), Math.abs(y1 - y0) * this.width / this.tall);
    const [x, y] = this.transform.invert([Math.min(x0, x1), Math.min(y0, y1)]);
    const k = Math.min(this.behaviour.scaleExtent()[1], this.transform.k * this.width / size);
    select(this.element).call(this.behaviour.transform, zoomIdentity.scale(k).translate(-x, -y));
  }

  /** Keeps the cell in sight. */
  follow({query, key}: Cell): void {
    const {left, top, size} = this.now;
    const x = left + (key + 0.5) * size;
    const y = top + (query + 0.5) * size;
    if (x >= 0 && y >= 0 && x <= this.width && y <= this.height) return;
    select(this.element).call(this.behaviour.translateTo, (key + 0.5) * this.fitted, (query + 0.5) * this.fitted);
  }

  /** The cell under the pointer; null outside and where the mask is. */
  cellAt({clientX, clientY}: {clientX: number; clientY: number}): Cell | null {
    const bounds = this.element.getBoundingClientRect();
    const {left, top, size} = this.now;
    const key = Math.floor((clientX - bounds.left - left) / size);
    const query = Math.floor((clientY - bounds.top - top) / size);
    const {rows, columns, causal} = this.extent;
    const inside = query >= 0 && key >= 0 && query < rows && key < columns;
    return inside && !(causal && key > query) ? {query, key} : null;
  }
}
