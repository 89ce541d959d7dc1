// The matrix of one head: tiles like a map, margins, read-out; pointer, wheel and keys.
import type {Marginals, SessionApi} from '../api';
import {choice, html, say} from '../dom';
import type {MakePanel, Panel} from '../panel';
import {focus, isNarrow, primary} from '../panel';
import {listenSheet, pixelRatio, viewHeight} from '../sheet';
import type {SelectionStore} from '../selection';
import {kScales} from '../selection';
import {MatrixCanvas} from './matrix_canvas';
import {listenToMatrix} from './matrix_input';
import {hasTokens, MatrixLabels} from './matrix_labels';
import {drawReceived, drawUse, kUseWidth} from './matrix_margins';
import type {Box, Sight} from './matrix_sight';
import {MatrixSight} from './matrix_sight';
import {tableOf} from './matrix_table';
import {Tiles} from './matrix_tiles';
import {ReadOut} from './read_out';

const kLeastSide = 503;
const kGutter = 34;          // between the columns: what stands at the rows may take it
const kLead = 6;             // and this of the matrix's own column
const kLeadAlone = 26;       // where nothing stands left of it
const kToMatrix = 6;         // from what stands at the rows
const kToUse = 5;            // from the matrix to its margin
const kUseName = 58;         // the margin's name
const kLeastCorner = 440;    // px a side, for the read-out to stand in the masked corner
const kBelow = 32;            // the foot line and the space over it
const kScaleNames = {linear: 'linear', sqrt: 'square root', log: 'log', rank: 'rank'};

/** Whether the rows beside the read-out end before it begins. */
function hasFreeCorner(length: number, side: number): boolean {
  const [height, left] = isNarrow() ? [140, 0.48] : [150, 0.5];
  const bottom = 0.04 * side + height;
  return (Math.floor(bottom / side * length) + 1) / length <= left && (isNarrow() || side >= kLeastCorner);
}

class MatrixPanel implements Panel {
  private readonly tiles: Tiles;
  private readonly canvas: MatrixCanvas;
  private readonly readOut: ReadOut;
  private readonly scales = choice('Scale', kScales.map((name) => ({name, label: kScaleNames[name]})),
    (name) => this.store.set({scale: name}));
  private readonly received = html('canvas', {class: 'received', role: 'img', 'aria-label': 'weight received by each key'});
  private readonly use = html('canvas', {class: 'use', role: 'img', 'aria-label': 'keys in use by each query, e to the entropy'});
  private readonly labels: MatrixLabels;
  private readonly about = html('span', {class: 'quiet'});
  private readonly plot = html('div', {class: 'plot'});
  private readonly frame = html('div', {class: 'matrix-frame'});
  private readonly sight: MatrixSight;
  private marginals: Marginals | null = null;
  private box: Box | null = null;
  private table: HTMLElement | null = null;
  private frameAsked = 0;
  private lastPlace = '';
  private drawnMargins: Marginals | null = null;
  private drawnReceived = '';
  private drawnUse = '';
  private speak = false;
  private readonly resized: ResizeObserver;
  private readonly theme = matchMedia('(prefers-color-scheme: dark)');
  private readonly redraw = () => this.schedule();
  private readonly forget: () => void;

  constructor(
    private readonly container: HTMLElement, private readonly store: SelectionStore,
    private readonly api: SessionApi
  ) {
    this.tiles = new Tiles(api, this.redraw);
    this.canvas = new MatrixCanvas(api, this.tiles, this.redraw);
    this.readOut = new ReadOut(api);
    this.labels = new MatrixLabels(api);
    const {element} = this.canvas;
    element.className = 'matrix';
    element.tabIndex = 0;
    element.setAttribute('role', 'application');
    element.setAttribute('aria-label',
      'Matrix of weights. Arrows move a cell, Enter pins it, 0 fits, plus and minus zoom, t gives a table.');
    this.plot.append(element, this.labels.columns, this.readOut.element);
    this.frame.append(
      html('div', {class: 'received-line'}, this.received, html('span', {class: 'quiet'}, 'weight received')),
      html('div', {class: 'use-name quiet'}, 'keys in use'), this.labels.rows, this.plot, this.use);
    container.append(
      html('div', {class: 'heading'}, html('h2', {}, 'Matrix'),
        this.about, this.scales.element),
      this.frame, this.readOut.spoken);
    const {length, model: {causal}} = api;
    this.sight = new MatrixSight(element, length, causal, this.redraw);
    listenToMatrix(element, this.sight, store, {length, causal}, {
      drawBox: (box) => {
        this.box = box;
        this.schedule();
      },
      walk: (cell) => {
        this.speak = true;
        this.store.preview(cell);
      },
    });
    this.resized = new ResizeObserver(() => this.resize());
    this.resized.observe(container);
    this.resized.observe(document.body);  // what is said above it moves it
    window.addEventListener('resize', this.resize);
    this.theme.addEventListener('change', this.redraw);
    this.forget = listenSheet(() => {
      this.resize();
      this.schedule();
    });
    this.resize();
  }

  destroy(): void {
    this.resized.disconnect();
    window.removeEventListener('resize', this.resize);
    this.theme.removeEventListener('change', this.redraw);
    this.forget();
    cancelAnimationFrame(this.frameAsked);
  }

  private readonly resize = () => {
    if (this.frame.hidden) return;
    const alone = matchMedia('(max-width: 899px)').matches;
    const own = alone ? kLeadAlone : kLead;
    const gutter = alone ? 0 : kGutter;
    let [lead, band] = [own, MatrixLabels.height(0)];
    let side = this.sideWith(lead, band);
    if (hasTokens(side / this.api.length)) {  // tokens stand at all rows
      lead = Math.max(own, this.labels.width + kToMatrix - gutter);
      side = this.sideWith(lead, band = MatrixLabels.height(side / this.api.length));
    }
    this.frame.style.setProperty('--lead', `${lead}px`);
    this.frame.style.setProperty('--labels', `${lead + gutter - kToMatrix}px`);
    if (side <= 0 || side === this.sight.side) return;
    this.canvas.resize(side);
    this.frame.style.setProperty('--side', `${side}px`);
    this.sight.resize(side);
    this.schedule();
  };

  /** The side of the matrix beside `lead` and over `band` pixels. */
  private sideWith(lead: number, band: number): number {
    const use = matchMedia('(max-width: 1433px)').matches ? kUseName : kUseWidth + 10;  // else it stands over the gutter
    const width = this.container.clientWidth - lead - (isNarrow() ? 0 : kToUse + use);
    const top = this.plot.getBoundingClientRect().top + scrollY;
    const room = viewHeight() - top - kBelow - band;
    return Math.floor(isNarrow() ? width : Math.min(width, Math.max(kLeastSide, room)));
  }

  fit(): void { this.sight.fit(); }

  /** A real table in the matrix's place, and back. */
  async toggleTable(): Promise<void> {
    if (this.table) {
      this.table.remove();
      this.table = null;
      this.frame.hidden = false;
      this.resize();
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
    say(this.about, now.unit === 'token' ? 'row attends to column' : 'row attends to column, token by token');
    if (name !== this.lastPlace && this.api.hasWeights && this.sight.side > 0) {
      this.canvas.fetch(place, this.sight.now);  // now, and not in the next frame
    }
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
    this.api.line('read-out', place, cell.query, cell.query + 1, false).then((line) => {
      if (this.store.query === cell.query && this.store.key === cell.key) this.readOut.show(cell, line, speak);
    }, () => undefined);
  }

  private schedule(): void {
    cancelAnimationFrame(this.frameAsked);
    this.frameAsked = requestAnimationFrame(() => this.draw());
  }

  private draw(): void {
    const sight = this.sight.now;
    const {side} = this.sight;
    if (!this.api.hasWeights || side <= 0) return;
    const {now, hover, query, key} = this.store;
    const cell = (query: number | null, key: number | null) => query !== null && key !== null ? {query, key} : null;
    this.canvas.draw(primary(now), sight, now.scale, {
      pinned: cell(now.query, now.key), hovered: cell(hover.query, hover.key),
      rows: focus(this.store, this.api), box: this.box,
    });
    if (!isNarrow()) this.drawMargins(sight, side);
    this.labels.draw(sight, side, query, key);
    this.frame.style.setProperty('--band', `${MatrixLabels.height(sight.size)}px`);
    const corner = this.api.model.causal && this.sight.isFitted && hasFreeCorner(this.api.length, side);
    this.frame.classList.toggle('covered', !corner);
  }

  /** Each where it has changed: a margin costs as much as the matrix. */
  private drawMargins(sight: Sight, side: number): void {
    const {query, key} = this.store;
    const {left, top, size} = sight;
    const {marginals} = this;
    const look = `${side} ${size} ${pixelRatio()} ${this.theme.matches}`;
    const isNew = this.drawnMargins !== marginals;
    this.drawnMargins = marginals;
    const received = `${look} ${left} ${key}`;
    const use = `${look} ${top} ${query}`;
    if (isNew || received !== this.drawnReceived) drawReceived(this.received, marginals, sight, side, key);
    if (isNew || use !== this.drawnUse) drawUse(this.use, marginals, sight, side, query);
    this.drawnReceived = received;
    this.drawnUse = use;
  }
}

export interface Matrix extends Panel { fit(): void; toggleTable(): Promise<void> }

export const matrixPanel = ((container, store, api): Matrix =>
  new MatrixPanel(container, store, api)) satisfies MakePanel;
