// The visible part of the matrix: zoom and pan by d3-zoom, kept inside the matrix.
import {select} from 'd3-selection';
import type {D3ZoomEvent, ZoomTransform} from 'd3-zoom';
import {zoom, zoomIdentity} from 'd3-zoom';
import type {Zoom} from '../selection/selection';

const kLargestCell = 48;
const kSliver = 0.02;  // of a cell, too little to count as visible

/** Entry (column, row) = (x, y) is drawn at left + x * size, in CSS pixels. */
export interface Sight { left: number; top: number; size: number }

export interface Cell { query: number; key: number }

/** The size of a matrix, and whether its upper corner is masked. */
export interface Extent { rows: number; columns: number; causal: boolean }

export interface Box { x0: number; y0: number; x1: number; y1: number }

export class MatrixSight {
  private readonly behaviour = zoom<HTMLCanvasElement, unknown>();
  private transform: ZoomTransform = zoomIdentity;
  width = 0;           // px of the whole matrix while it is fitted
  height = 0;          // px of its height
  private begun = zoomIdentity;
  private isShown = false;  // moved by the address, not by the reader

  /** `settled`: the reader has moved it, and has stopped. */
  constructor(
    private readonly element: HTMLCanvasElement, private readonly extent: Extent, changed: () => void, settled: (zoom: Zoom | null) => void
  ) {
    this.behaviour
      .filter((event: MouseEvent) => !event.shiftKey && !event.button
        && !(event.type === 'touchstart' && this.isFitted))
      .on('zoom', (event: D3ZoomEvent<HTMLCanvasElement, unknown>) => {
        this.transform = event.transform;
        if (this.isFitted && (this.transform.x !== 0 || this.transform.y !== 0)) this.fit();
        changed();
      })
      .on('start', () => { this.begun = this.transform; })
      .on('end', () => {
        if (!this.isShown && this.transform !== this.begun) settled(this.zoom);
      });
    select(element).call(this.behaviour).on('dblclick.zoom', null);
    // A wheel notch that cannot zoom further must not scroll the page away under the pointer.
    element.addEventListener('wheel', (event) => { if (!this.isFitted || event.deltaY < 0) event.preventDefault(); }, {passive: false});
  }

  resize(width: number, height: number): void {
    this.width = width;
    this.height = height;
    const most = Math.max(1, kLargestCell / this.fitted);
    const whole: [[number, number], [number, number]] = [[0, 0], [width, height]];
    this.behaviour.scaleExtent([1, most]).extent(whole).translateExtent(whole);
  }

  /** The visible part, in whole cells; null: all. */
  get zoom(): Zoom | null {
    if (this.isFitted) return null;
    const {left, top, size} = this.now;
    const range = (offset: number, seen: number, length: number): [number, number] => {
      const first = Math.floor(-offset / size + kSliver);
      const last = Math.ceil((seen - offset) / size - kSliver) - 1;
      return [Math.max(0, Math.min(length - 1, first)), Math.max(0, Math.min(length - 1, Math.max(first, last)))];
    };
    return {queries: range(top, this.height, this.extent.rows), keys: range(left, this.width, this.extent.columns)};
  }

  /** Brings these cells in sight, as large as they fit. */
  show(zoom: Zoom | null): void {
    this.isShown = true;
    select(this.element).call(this.behaviour.transform, zoom ? this.around(zoom) : zoomIdentity);
    this.isShown = false;
  }

  private around({queries, keys}: Zoom): ZoomTransform {
    const [across, down] = [keys[1] - keys[0] + 1, queries[1] - queries[0] + 1];
    const size = Math.min(this.width / across, this.height / down);
    const k = Math.max(1, Math.min(this.behaviour.scaleExtent()[1], size / this.fitted));
    const cell = this.fitted * k;
    const place = (first: number, count: number, room: number, whole: number) =>
      Math.min(0, Math.max(room - whole * k, (room - count * cell) / 2 - first * cell));
    return zoomIdentity.translate(place(keys[0], across, this.width, this.width), place(queries[0], down, this.height, this.height)).scale(k);
  }

  /** Pixels per cell when the whole matrix is visible. */
  private get fitted(): number { return this.width / this.extent.columns; }

  get isFitted(): boolean { return this.transform.k === 1; }

  get now(): Sight {
    return {left: this.transform.x, top: this.transform.y, size: this.fitted * this.transform.k};
  }

  fit(): void { select(this.element).call(this.behaviour.transform, zoomIdentity); }

  zoomBy(factor: number): void { select(this.element).call(this.behaviour.scaleBy, factor); }

  zoomTo({x0, y0, x1, y1}: Box): void {
    const size = Math.max(Math.abs(x1 - x0), Math.abs(y1 - y0) * this.width / this.height);
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
