// Draws the visible part of the matrix: tiles, numbers in large cells, marks on top.
import {diverging, numberColour} from '../drawing/colour';
import {hundredths} from '../drawing/format';
import type {Page, Span} from './panel';
import type {Place, Scale} from '../selection/selection';
import {nameOf} from '../selection/selection';
import type {Block, Side} from '../attention/side';
import type {Stage} from '../shell/stage';
import type {SessionApi, TilePlace} from '../transport/api';
import {differencePosition, position, rampOf} from './matrix_scale';
import type {Box, Cell, Sight} from './matrix_sight';
import type {Axis, Tiles} from './matrix_tiles';

export interface Marks {
  pinned: Cell | null;
  hovered: Cell | null;
  rows: Span | null;   // whose attention is shown
  isColumns: boolean;  // they are columns: shows the attention to them
  box: Box | null;
  inside: Block | null;  // the other blocks fade
}

const kNumbersFrom = 24;  // pixels per cell
const kFaded = 0.42;      // opacity of a cell outside the block
const kGap = 4;           // pixels between the texts of a pair

function isWithin({first, end}: Span, index: number): boolean { return index >= first && index < end; }

export class MatrixCanvas {
  readonly element = document.createElement('canvas');
  private width = 0;
  private seen = 0;  // visible pixels of its height
  private readonly exact = new Map<string, Float32Array>();
  private exactOf = '';

  private readonly api: SessionApi;
  private readonly side: Side;
  private readonly stage: Stage;

  tilesInSight = {there: 0, of: 0};

  constructor({api, side, stage}: Page, private readonly tiles: Tiles, private readonly again: () => void) {
    this.api = api;
    this.side = side;
    this.stage = stage;
  }

  resize(width: number): void {
    this.width = width;
    this.element.style.width = `${width}px`;
  }

  draw(place: Place, sight: Sight, height: number, scale: Scale, marks: Marks): void {
    const context = this.element.getContext('2d')!;
    this.seen = height;
    const ratio = this.stage.pixelRatio;
    const [width, rows] = [this.width, height].map((size) => Math.round(size * ratio)) as [number, number];
    if (this.element.width !== width) this.element.width = width;
    if (this.element.height !== rows) this.element.height = rows;
    this.element.style.height = `${height}px`;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, height);
    context.imageSmoothingEnabled = false;
    this.drawTiles(context, place, sight);
    if (marks.inside) this.fade(context, sight, marks.inside);
    if (sight.size >= kNumbersFrom) this.drawNumbers(context, place, sight, scale, marks.inside);
    this.drawMarks(context, sight, marks);
  }

  /** Other parts are paler, and an empty line separates the texts. */
  private fade(context: CanvasRenderingContext2D, {left, top, size}: Sight, {queries, keys}: Block): void {
    const {split, attention} = this.side;
    const [width, height] = [attention.keys * size, attention.queries * size];
    const x = [0, keys.first * size, keys.end * size, width] as const;
    const y = [0, queries.first * size, queries.end * size, height] as const;
    context.fillStyle = this.stage.colour('--bg');
    context.globalAlpha = 1 - kFaded;
    context.fillRect(left, top, width, y[1]);
    context.fillRect(left, top + y[2], width, height - y[2]);
    context.fillRect(left, top + y[1], x[1], y[2] - y[1]);
    context.fillRect(left + x[2], top + y[1], width - x[2], y[2] - y[1]);
    context.globalAlpha = 1;
    if (split === null || size < kGap) return;
    context.fillRect(left + split * size - kGap / 2, top, kGap, height);
    context.fillRect(left, top + split * size - kGap / 2, width, kGap);
  }

  /** Requests the data for drawing this part. */
  fetch(place: Place, sight: Sight, height: number): void {
    this.seen = height;
    this.visitTiles(place, sight, (at) => this.tiles.picture(at));
  }

  private drawTiles(context: CanvasRenderingContext2D, place: Place, sight: Sight): void {
    this.tilesInSight = {there: 0, of: 0};
    this.visitTiles(place, sight, (at, block) => {
      const picture = this.tiles.picture(at);
      ++this.tilesInSight.of;
      if (!picture) return;
      ++this.tilesInSight.there;
      const span = block * this.side.attention.tile * sight.size;
      const cell = block * sight.size;
      context.drawImage(picture, sight.left + at.x * span, sight.top + at.y * span,
        picture.width * cell, picture.height * cell);
    });
  }

  private visitTiles(
    place: Place, sight: Sight, visit: (at: TilePlace, block: number) => void
  ): void {
    const wanted = this.tiles.levelFor(sight.size * this.stage.pixelRatio);
    for (let z = 0; z <= wanted.z; ++z) {  // coarser tiles replace fine ones until these arrive
      const {block, rows, columns} = this.tiles.level(z);
      const span = block * this.side.attention.tile * sight.size;
      const first = (offset: number) => Math.max(0, Math.floor(-offset / span));
      const last = (offset: number, {tiles}: Axis, seen: number) => Math.min(tiles - 1, Math.floor((seen - offset) / span));
      if (z !== 0 && z !== wanted.z) continue;
      for (let y = first(sight.top); y <= last(sight.top, rows, this.seen); ++y) {
        for (let x = first(sight.left); x <= last(sight.left, columns, this.width); ++x) {
          if (this.side.attention.causal && x > y) continue;  // fully masked
          visit({...place, z, y, x}, block);
        }
      }
    }
  }

  /** Exact weights, because a tile's bytes are too coarse to print. */
  private drawNumbers(
    context: CanvasRenderingContext2D, place: Place, sight: Sight, scale: Scale, inside: Block | null
  ): void {
    const {queries, keys} = this.side.attention;
    const begin = (offset: number) => Math.max(0, Math.floor(-offset / sight.size));
    const end = (offset: number, length: number, seen: number) => Math.min(length, Math.ceil((seen - offset) / sight.size));
    context.font = '11px Inter, system-ui, sans-serif';
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    for (let row = begin(sight.top); row < end(sight.top, queries, this.seen); ++row) {
      for (let column = begin(sight.left); column < end(sight.left, keys, this.width); ++column) {
        const weight = this.weight(place, row, column);
        const text = weight === null ? '' : hundredths(weight);
        if (!text) continue;
        const cell = this.api.isDifference ? diverging(differencePosition(weight!, scale)) : rampOf(this.api)(position(weight!, scale === 'rank' ? 'log' : scale));
        const isFaded = inside !== null && !(isWithin(inside.queries, row) && isWithin(inside.keys, column));
        context.fillStyle = isFaded ? this.stage.colour('--ink') : numberColour(cell);
        context.fillText(text, sight.left + (column + 0.5) * sight.size, sight.top + (row + 0.5) * sight.size);
      }
    }
  }

  private weight(place: Place, row: number, column: number): number | null {
    const {tile, zooms, keys} = this.side.attention;
    const head = nameOf(place);
    if (head !== this.exactOf || this.exact.size > 64) {
      this.exact.clear();
      this.exactOf = head;
    }
    const y = Math.floor(row / tile);
    const x = Math.floor(column / tile);
    const name = `${y}/${x}`;
    const values = this.exact.get(name);
    if (!values) {
      this.exact.set(name, new Float32Array(0));  // requested
      this.api.tile({...place, z: zooms - 1, y, x}, 'f32').get(`tile-f32-${name}`).then((buffer) => {
        if (this.exactOf !== head) return;
        this.exact.set(name, new Float32Array(buffer));
        this.again();
      }, () => this.exact.delete(name));
      return null;
    }
    const width = Math.min(tile, keys - tile * x);
    const value = values[(row - y * tile) * width + column - x * tile];
    return value === undefined || Number.isNaN(value) ? null : value;
  }

  /** The cross-hair runs only over data: from the cell to where the mask begins. */
  private drawMarks(context: CanvasRenderingContext2D, sight: Sight, {pinned, hovered, rows, isColumns, box}: Marks): void {
    context.strokeStyle = context.fillStyle = this.stage.colour('--accent-line');
    const shown = hovered ?? pinned;
    const isOne = rows !== null && rows.end - rows.first === 1;
    if (shown) this.drawCrossHair(context, sight, shown);
    else if (isOne && isColumns) this.drawColumn(context, sight, rows.first);
    else if (isOne) this.drawRow(context, sight, rows.first);
    if (rows && !isOne && !isColumns) this.drawSpan(context, sight, rows);
    if (pinned) this.outline(context, sight, pinned, 2);
    if (hovered) this.outline(context, sight, hovered, 1);
    if (box) {
      context.lineWidth = 1;
      context.strokeRect(Math.min(box.x0, box.x1), Math.min(box.y0, box.y1),
        Math.abs(box.x1 - box.x0), Math.abs(box.y1 - box.y0));
    }
  }

  private drawCrossHair(context: CanvasRenderingContext2D, sight: Sight, {query, key}: Cell): void {
    const {causal, keys: length} = this.side.attention;
    if (causal && key > query) return;
    const x = sight.left + (key + 0.5) * sight.size;
    const y = sight.top + (query + 0.5) * sight.size;
    const top = causal ? sight.top + key * sight.size : sight.top;
    const right = causal ? sight.left + (query + 1) * sight.size : sight.left + length * sight.size;
    if (sight.size >= kNumbersFrom) {  // beside the numbers, not through them
      context.lineWidth = 1;
      context.strokeRect(x - sight.size / 2, top, sight.size, y + sight.size / 2 - top);
      context.strokeRect(x - sight.size / 2, y - sight.size / 2, right - x + sight.size / 2, sight.size);
      return;
    }
    context.fillRect(Math.floor(x), top, 1, y - top);
    context.fillRect(x, Math.floor(y), right - x, 1);
  }

  private drawRow(context: CanvasRenderingContext2D, sight: Sight, row: number): void {
    const right = (this.side.attention.causal ? row + 1 : this.side.attention.keys) * sight.size;
    const y = sight.top + (row + 0.5) * sight.size;
    if (sight.size >= kNumbersFrom) {
      context.lineWidth = 1;
      context.strokeRect(sight.left, y - sight.size / 2, right, sight.size);
      return;
    }
    context.fillRect(sight.left, Math.floor(y), right, 1);
  }

  private drawColumn(context: CanvasRenderingContext2D, {left, top, size}: Sight, column: number): void {
    const {causal, queries: length} = this.side.attention;
    const begin = top + (causal ? column : 0) * size;
    const height = top + length * size - begin;
    if (size >= kNumbersFrom) {
      context.lineWidth = 1;
      context.strokeRect(left + column * size, begin, size, height);
      return;
    }
    context.fillRect(Math.floor(left + (column + 0.5) * size), begin, 1, height);
  }

  /** Lines over the first and under the last row of a span, along the data. */
  private drawSpan(context: CanvasRenderingContext2D, {left, top, size}: Sight, {first, end}: Span): void {
    const length = (row: number) => (this.side.attention.causal ? row + 1 : this.side.attention.keys) * size;
    context.fillRect(left, Math.round(top + first * size) - 1, length(first), 1);
    context.fillRect(left, Math.round(top + end * size), length(end - 1), 1);
    context.fillRect(Math.max(0, left), Math.round(top + first * size) - 1, 2, (end - first) * size + 2);
  }

  private outline(context: CanvasRenderingContext2D, sight: Sight, {query, key}: Cell, width: number): void {
    const size = Math.max(sight.size, 9);  // a visible mark, however small the cell
    const x = sight.left + (key + 0.5) * sight.size;
    const y = sight.top + (query + 0.5) * sight.size;
    context.lineWidth = width;
    context.strokeRect(x - size / 2, y - size / 2, size, size);
  }
}
