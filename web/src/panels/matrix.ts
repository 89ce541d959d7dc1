// The matrix of one head: tiles like a map, margins, read-out; pointer, wheel and keys.
import {select} from 'd3-selection';
import {scaleLinear} from 'd3-scale';
import type {D3ZoomEvent, ZoomTransform} from 'd3-zoom';
import {zoom, zoomIdentity} from 'd3-zoom';
import type {Marginals, SessionApi} from '../api';
import {choice, html} from '../dom';
import type {MakePanel, Panel} from '../panel';
import {isNarrow, primary} from '../panel';
import type {SelectionStore} from '../selection';
import {kScales} from '../selection';
import type {Cell, Marks, Sight} from './matrix_canvas';
import {MatrixCanvas} from './matrix_canvas';
import {drawReceived, drawUse, kUseWidth} from './matrix_margins';
import {tableOf} from './matrix_table';
import {Tiles} from './matrix_tiles';
import {ReadOut} from './read_out';

const kLeastSide = 503;
const kGutterLeft = 6;       // of the ticks, beside the gutter of the columns
const kLargestCell = 48;
const kBelow = 40;            // the foot line and the space over it
const kScaleNames = {linear: 'linear', sqrt: 'square root', log: 'log', rank: 'rank'};

class MatrixPanel implements Panel {
  private readonly tiles: Tiles;
  private readonly canvas: MatrixCanvas;
  private readonly readOut: ReadOut;
  private readonly scales = choice('Scale', kScales.map((name) => ({name, label: kScaleNames[name]})),
    (name) => this.store.set({scale: name}));
  private readonly received = html('canvas', {class: 'received', role: 'img', 'aria-label': 'weight received by each key'});
  private readonly use = html('canvas', {class: 'use', role: 'img', 'aria-label': 'keys in use by each query, e to the entropy'});
  private readonly rows = html('div', {class: 'row-ticks', 'aria-hidden': true});
  private readonly plot = html('div', {class: 'plot'});
  private readonly frame = html('div', {class: 'matrix-frame'});
  private readonly behaviour = zoom<HTMLCanvasElement, unknown>();
  private transform: ZoomTransform = zoomIdentity;
  private side = 0;
  private marginals: Marginals | null = null;
  private box: Marks['box'] = null;
  private table: HTMLElement | null = null;
  private frameAsked = 0;
  private lastPlace = '';
  private speak = false;
  private readonly resized: ResizeObserver;
  private readonly theme = matchMedia('(prefers-color-scheme: dark)');
  private readonly redraw = () => this.schedule();

  constructor(
    private readonly container: HTMLElement, private readonly store: SelectionStore,
    private readonly api: SessionApi
  ) {
    this.tiles = new Tiles(api, this.redraw);
    this.canvas = new MatrixCanvas(api, this.tiles, this.redraw);
    this.readOut = new ReadOut(api);
    const {element} = this.canvas;
    element.className = 'matrix';
    element.tabIndex = 0;
    element.setAttribute('role', 'application');
    element.setAttribute('aria-label',
      'Matrix of weights. Arrows move a cell, Enter pins it, 0 fits, plus and minus zoom, t gives a table.');
    this.plot.append(element, this.readOut.element);
    this.frame.append(
      html('div', {class: 'received-line'}, this.received, html('span', {class: 'quiet'}, 'weight received')),
      html('div', {class: 'use-name quiet'}, 'keys in use'), this.rows, this.plot, this.use);
    container.append(
      html('div', {class: 'heading'}, html('h2', {}, 'Matrix'),
        html('span', {class: 'quiet'}, 'row attends to column'), this.scales.element),
      this.frame, this.readOut.spoken);
    this.listen(element);
    this.resized = new ResizeObserver(() => this.resize());
    this.resized.observe(container);
    window.addEventListener('resize', this.resize);
    this.theme.addEventListener('change', this.redraw);
    this.resize();
  }

  destroy(): void {
    this.resized.disconnect();
    window.removeEventListener('resize', this.resize);
    this.theme.removeEventListener('change', this.redraw);
    cancelAnimationFrame(this.frameAsked);
  }

  private readonly resize = () => {
    const narrow = isNarrow();
    const width = this.container.clientWidth - (narrow ? 26 : kUseWidth + 15 + kGutterLeft);
    const top = this.plot.getBoundingClientRect().top + scrollY;
    const room = innerHeight - top - kBelow;
    const side = Math.floor(narrow ? width : Math.min(width, Math.max(kLeastSide, room)));
    if (side <= 0 || side === this.side) return;
    this.side = side;
    this.canvas.resize(side);
    this.frame.style.setProperty('--side', `${side}px`);
    const most = Math.max(1, kLargestCell / this.fitted);
    this.behaviour.scaleExtent([1, most]).extent([[0, 0], [side, side]]).translateExtent([[0, 0], [side, side]]);
    this.fit();
    this.schedule();
  };

  /** Pixels a cell when the whole matrix is in sight. */
  private get fitted(): number { return this.side / this.api.length; }

  private get sight(): Sight {
    return {left: this.transform.x, top: this.transform.y, size: this.fitted * this.transform.k};
  }

  fit(): void { select(this.canvas.element).call(this.behaviour.transform, zoomIdentity); }

  zoomBy(factor: number): void { select(this.canvas.element).call(this.behaviour.scaleBy, factor); }

  private cellAt(event: MouseEvent): Cell | null {
    const bounds = this.canvas.element.getBoundingClientRect();
    const {left, top, size} = this.sight;
    const key = Math.floor((event.clientX - bounds.left - left) / size);
    const query = Math.floor((event.clientY - bounds.top - top) / size);
    const inside = query >= 0 && key >= 0 && query < this.api.length && key < this.api.length;
    return inside && !(this.api.model.causal && key > query) ? {query, key} : null;
  }

  private listen(element: HTMLCanvasElement): void {
    this.behaviour
      .filter((event: MouseEvent) => !event.shiftKey && !event.button && !(event.type === 'touchstart' && this.transform.k === 1))
      .on('zoom', (event: D3ZoomEvent<HTMLCanvasElement, unknown>) => {
        this.transform = event.transform;
        this.schedule();
      });
    select(element).call(this.behaviour).on('dblclick.zoom', null);
    element.addEventListener('pointermove', (event) => {
      if (this.box) return;
      this.store.preview(this.cellAt(event) ?? {});
    });
    element.addEventListener('pointerleave', () => this.store.preview({}));
    element.addEventListener('click', (event) => {
      const cell = this.cellAt(event);
      if (cell && !event.shiftKey) this.store.set({...cell, range: null});
    });
    element.addEventListener('touchend', (event) => {  // lifting pins
      const touch = event.changedTouches[0];
      const cell = touch && this.transform.k === 1 ? this.cellAt(touch as unknown as MouseEvent) : null;
      if (!cell) return;
      event.preventDefault();
      this.store.preview({});
      this.store.set({...cell, range: null});
    });
    element.addEventListener('touchmove', (event) => {
      const touch = event.touches[0];
      if (!touch || this.transform.k !== 1 || event.touches.length > 1) return;
      event.preventDefault();
      this.store.preview(this.cellAt(touch as unknown as MouseEvent) ?? {});
    }, {passive: false});
    element.addEventListener('pointerdown', (event) => event.shiftKey && this.startBox(event));
    element.addEventListener('keydown', (event) => this.key(event));
  }

  /** Shift and a drag: a box, which then fills the plot. */
  private startBox(start: PointerEvent): void {
    const {element} = this.canvas;
    const bounds = element.getBoundingClientRect();
    const at = (event: PointerEvent) => ({x: event.clientX - bounds.left, y: event.clientY - bounds.top});
    const origin = at(start);
    element.setPointerCapture(start.pointerId);
    const move = (event: PointerEvent) => {
      const now = at(event);
      this.box = {x0: origin.x, y0: origin.y, x1: now.x, y1: now.y};
      this.schedule();
    };
    const end = () => {
      element.removeEventListener('pointermove', move);
      const box = this.box;
      this.box = null;
      if (box && Math.abs(box.x1 - box.x0) > 4) this.zoomTo(box);
      this.schedule();
    };
    element.addEventListener('pointermove', move);
    element.addEventListener('pointerup', end, {once: true});
  }

  private zoomTo({x0, y0, x1, y1}: NonNullable<Marks['box']>): void {
    const size = Math.max(Math.abs(x1 - x0), Math.abs(y1 - y0));
    const [x, y] = this.transform.invert([Math.min(x0, x1), Math.min(y0, y1)]);
    const k = Math.min(this.behaviour.scaleExtent()[1], this.transform.k * this.side / size);
    select(this.canvas.element).call(this.behaviour.transform, zoomIdentity.scale(k).translate(-x, -y));
  }

  private key(event: KeyboardEvent): void {
    const step = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
    const {hover} = this.store;
    const now: Cell = {query: this.store.query ?? 0, key: this.store.key ?? this.store.query ?? 0};
    if (step) {
      const most = this.api.length - 1;
      const query = Math.max(0, Math.min(most, now.query + step[0]!));
      const key = Math.max(0, Math.min(this.api.model.causal ? query : most, now.key + step[1]!));
      this.speak = true;
      this.store.preview({query, key});
      this.follow({query, key});
    } else if (event.key === 'Enter' && hover.query !== null) {
      this.store.set({...now, range: null});
    } else if (event.key === '+' || event.key === '-') {
      this.zoomBy(event.key === '+' ? 2 : 0.5);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /** Keeps the cell in sight. */
  private follow({query, key}: Cell): void {
    const {left, top, size} = this.sight;
    const x = left + (key + 0.5) * size;
    const y = top + (query + 0.5) * size;
    if (x >= 0 && y >= 0 && x <= this.side && y <= this.side) return;
    select(this.canvas.element).call(this.behaviour.translateTo,
      (key + 0.5) * this.fitted, (query + 0.5) * this.fitted);
  }

  /** A real table in the matrix's place, and back. */
  async toggleTable(): Promise<void> {
    if (this.table) {
      this.table.remove();
      this.table = null;
      this.frame.hidden = false;
      this.canvas.element.focus();
      return;
    }
    const query = this.store.query ?? this.api.length - 1;
    this.table = await tableOf(this.api, primary(this.store.now), query, this.store.key ?? query);
    this.frame.hidden = true;
    this.frame.after(this.table);
    this.table.focus();
  }

  update(): void {
    const {now} = this.store;
    const place = primary(now);
    const name = `${place.layer}.${place.head}`;
    this.scales.show(now.scale);
    this.tiles.show(name, now.scale);
    this.readOut.showScale(now.scale);
    if (name !== this.lastPlace && this.api.hasWeights) {
      this.lastPlace = name;
      this.marginals = null;
      if (this.table) void this.toggleTable();
      this.api.marginals(place).then((marginals) => {
        if (this.lastPlace === name) this.marginals = marginals;
        this.schedule();
      }, () => undefined);
    }
    this.showCell();
    this.schedule();
  }

  private showCell(): void {
    const {query, key} = this.store;
    const cell = query !== null && key !== null ? {query, key} : null;
    const speak = this.speak;
    this.speak = false;
    if (!cell) {
      this.readOut.show(null, null, false);
      return;
    }
    const place = primary(this.store.now);
    const known = this.api.lineNow(place, cell.query, cell.query + 1, false) ?? null;
    this.readOut.show(cell, known, speak);
    if (known || !this.api.hasWeights) return;
    this.api.line(place, cell.query, cell.query + 1, false).then((line) => {
      if (this.store.query === cell.query && this.store.key === cell.key) this.readOut.show(cell, line, speak);
    }, () => undefined);
  }

  private schedule(): void {
    cancelAnimationFrame(this.frameAsked);
    this.frameAsked = requestAnimationFrame(() => this.draw());
  }

  private draw(): void {
    if (!this.api.hasWeights || this.side <= 0) return;
    const {now, hover, query, key} = this.store;
    const cell = (query: number | null, key: number | null) => query !== null && key !== null ? {query, key} : null;
    const {sight} = this;
    this.canvas.draw(primary(now), sight, now.scale, {
      pinned: cell(now.query, now.key), hovered: cell(hover.query, hover.key), row: query, box: this.box,
    });
    if (!isNarrow()) {
      drawReceived(this.received, this.marginals, sight, this.side, key);
      drawUse(this.use, this.marginals, sight, this.side, query);
    }
    this.drawTicks(sight);
    const corner = this.api.model.causal && this.transform.k === 1;
    this.frame.classList.toggle('covered', !corner);
  }

  private drawTicks({top, size}: Sight): void {
    const scale = scaleLinear().domain([-top / size, (this.side - top) / size]).range([0, this.side]);
    const last = this.api.length - 1;
    const ticks = scale.ticks(5).filter((tick) => Number.isInteger(tick) && tick <= last);
    this.rows.replaceChildren(...ticks.map((tick) => {
      const mark = html('span', {}, String(tick));
      mark.style.top = `${scale(tick) + size / 2}px`;
      return mark;
    }));
  }
}

export interface Matrix extends Panel { fit(): void; toggleTable(): Promise<void> }

export const matrixPanel = ((container, store, api): Matrix =>
  new MatrixPanel(container, store, api)) satisfies MakePanel;
