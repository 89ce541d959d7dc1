// A comparison side by side: A, B and A \u2212 B of one head, with a common cursor.
import {diverging} from '../drawing/colour';
import type {Rgb} from '../drawing/colour';
import {Slot, valueOf} from '../data/slot';
import {button, choice, html} from '../drawing/dom';
import {fixed, weight} from '../drawing/format';
import type {Page, Panel} from './panel';
import {primary} from './panel';
import type {Place} from '../selection/selection';
import {headText} from '../selection/selection';
import {plain} from '../text/tokens';
import {kUnaligned} from '../transport/aligned';
import type {SessionApi} from '../transport/api';
import {noDifference, ownName} from '../selection/comparison';
import type {Versus} from '../selection/versus';
import {readVersus, versusHead, versusText} from '../selection/versus';
import {differencePosition, position, rampOf} from './matrix_scale';

type With = 'nothing' | Versus['kind'];

/** A matrix in at most 256 x 256 cells; NaN where masked. */
interface Cells { width: number; height: number; block: number; values: Float32Array }

interface Half { name: string; api: SessionApi; place: Place }

function cellsOf({api, place}: Half, values: ArrayBuffer): Cells {
  const {queries, keys, zooms} = api.side(place.stack).attention;
  const block = 2 ** (zooms - 1);
  return {width: Math.ceil(keys / block), height: Math.ceil(queries / block), block, values: new Float32Array(values)};
}

function nameOfCell({api, place}: Half, {x, y}: {x: number; y: number}, block: number): string {
  const {queries, keys} = api.side(place.stack);
  return block > 1 ? `${y * block}\u2026 \u2192 ${x * block}\u2026` : `${plain(queries[y]!)} ${y} \u2192 ${plain(keys[x]!)} ${x}`;
}

export class HeadsCompare implements Panel {
  readonly element = html('section', {class: 'heads-compare', 'aria-label': 'Comparison', hidden: true});
  readonly switches: HTMLElement;
  private readonly canvases = ['A', 'B', 'A \u2212 B'].map(() => html('canvas', {}));
  private readonly titles = this.canvases.map(() => html('h2', {}));
  private readonly said = html('p', {class: 'said', 'aria-live': 'polite'});
  private readonly field = html('textarea', {rows: 2, placeholder: 'the second text', 'aria-label': 'The second text', 'data-unsaved': true});
  private readonly form: HTMLElement;
  private readonly slots = [new Slot<ArrayBuffer>('compare-a', () => this.update()), new Slot<ArrayBuffer>('compare-b', () => this.update())];
  private readonly show: (name: With) => void;
  private isAsking = false;  // for the second text
  private cells: Cells[] = [];
  private halves: Half[] = [];
  private at: {x: number; y: number} | null = null;  // the cell under the cursor

  constructor(private readonly page: Page) {
    const {kind} = readVersus(page.store.now.versus) ?? {};
    const names: With[] = ['nothing', 'head', 'text', ...kind === 'edits' || kind === 'model' || kind === 'run' ? [kind] : []];
    const made = choice<With>('compare with', names.map((name) => ({name, label: name})), (name) => this.turn(name));
    this.switches = made.element;
    this.show = made.show;
    const read = () => {
      this.isAsking = false;
      if (this.field.value !== '') page.store.set({versus: versusText(this.field.value), show: 'A-B'});
    };
    this.form = html('div', {class: 'said compare-text', hidden: true}, this.field, button({class: 'link'}, read, 'compare'));
    this.element.append(this.form, ...this.canvases.map((canvas, at) => html('div', {}, this.titles[at], canvas)), this.said);
    this.field.addEventListener('keydown', (event) => { if (event.key === 'Enter' && event.ctrlKey) read(); });
    for (const canvas of this.canvases) {
      canvas.addEventListener('pointermove', (event) => this.point(event, canvas));
      canvas.addEventListener('pointerleave', () => {
        this.at = null;
        this.tell();
      });
    }
  }

  destroy(): void { this.slots.forEach((slot) => slot.stop()); }

  private turn(mode: With): void {
    const {store, side} = this.page;
    const [first, second] = store.now.places as [Place, Place?];
    this.isAsking = mode === 'text';
    store.preview({});
    if (mode === 'nothing') store.set({versus: '', show: 'A-B'});
    else if (mode === 'head') store.set({versus: versusHead(second ?? {...first, head: (first.head + 1) % side.heads}), show: 'A-B'});
    else store.set({}, {replace: true, fresh: store.isFresh});  // the table makes room
    if (this.isAsking) this.field.focus();
  }

  private both(): Half[] {
    const {compared, store, side} = this.page;
    if (!compared) return [];
    const place = {...primary(store.now), stack: side.stack} as Place;
    const other = compared.toB(place);
    const isHead = compared.a === compared.b;
    const {numbers, heads} = compared.b.side(other.stack);
    return [
      {name: `A: head ${headText(place)}${isHead ? '' : `, ${ownName(compared)}`}`, api: compared.aligned[0], place},
      ...numbers.includes(other.layer) && other.head < heads
        ? [{name: isHead ? `B: head ${headText(other)}` : `B: ${compared.name}`, api: compared.aligned[1], place: other}] : [],
    ];
  }

  update(): void {
    const {versus} = this.page.store.now;
    this.show(this.isAsking ? 'text' : readVersus(versus)?.kind ?? 'nothing');
    this.form.hidden = !this.isAsking;
    this.element.hidden = versus === '' && !this.isAsking;
    if (this.element.hidden) return;
    this.halves = this.both();
    const tiles = this.halves.map(({api, place}, at) => valueOf(this.slots[at]!.show(api.hasWeights ? api.tile({...place, z: 0, y: 0, x: 0}, 'f32') : null)));
    this.cells = tiles.every((tile) => tile !== null) ? tiles.map((tile, at) => cellsOf(this.halves[this.page.compared?.alignment ? 0 : at]!, tile)) : [];
    this.draw();
    this.tell();
  }

  private get isAlike(): boolean {
    const [a, b] = this.cells;
    return this.page.compared?.unlike === '' && a !== undefined && b !== undefined && a.width === b.width && a.height === b.height;
  }

  private draw(): void {
    const [a, b] = this.cells;
    this.titles.forEach((title, at) => {
      title.title = title.textContent = this.halves[at]?.name ?? (this.isAlike ? 'A \u2212 B: blue, A has more; orange, B' : '');
    });
    for (const [at, canvas] of this.canvases.entries()) canvas.hidden = at < 2 ? !this.cells[at] : !this.isAlike;
    this.cells.forEach((cells, at) => this.paint(this.canvases[at]!, cells, (index) => {
      const value = cells.values[index]!;
      return Number.isFinite(value) ? rampOf({isB: at === 1})(position(value, 'log')) : null;
    }));
    if (!this.isAlike) return;
    this.paint(this.canvases[2]!, a!, (index) => {
      const difference = a!.values[index]! - b!.values[index]!;
      return !Number.isFinite(difference) ? null : diverging(differencePosition(difference));
    });
  }

  private paint(canvas: HTMLCanvasElement, {width, height}: Cells, colour: (index: number) => Rgb | null): void {
    canvas.width = width;
    canvas.height = height;
    const image = new ImageData(width, height);
    for (let index = 0; index < width * height; ++index) {
      const rgb = colour(index);
      if (rgb) image.data.set([...rgb, 255], 4 * index);
    }
    canvas.getContext('2d')!.putImageData(image, 0, 0);
  }

  private point(event: PointerEvent, canvas: HTMLCanvasElement): void {
    const box = canvas.getBoundingClientRect();
    const x = Math.floor((event.clientX - box.left) / box.width * canvas.width);
    const y = Math.floor((event.clientY - box.top) / box.height * canvas.height);
    this.at = {x, y};
    this.tell();
    if (this.cells[0]?.block === 1) this.page.store.preview({query: y, key: x});
  }

  /** The cell under the cursor, in all three. */
  private tell(): void {
    const {at} = this;
    if (!this.cells[0]) {
      this.said.textContent = this.isAsking ? 'Ctrl+Enter reads the second text and compares this head on both.' : '';
      return;
    }
    const block = this.cells[0].block;
    const size = block > 1 ? ` A cell is the largest of ${block} \u00d7 ${block} weights.` : '';
    const unlike = this.isAlike ? '' : ` ${noDifference(this.page.compared)}`;
    if (!at) {
      this.said.textContent = `Point at a cell.${size}${unlike}`;
      return;
    }
    const values = this.cells.map(({width, height, values}) => at.x < width && at.y < height ? values[at.y * width + at.x]! : NaN);
    const text = (value: number) => Number.isNaN(value) ? 'masked' : value === kUnaligned ? 'no token for it' : weight(value);
    if (!this.isAlike) {  // the same place has other tokens
      const both = this.halves.map((half, side) => at.x < this.cells[side]!.width && at.y < this.cells[side]!.height
        ? `${'AB'[side]} ${nameOfCell(half, at, this.cells[side]!.block)} ${text(values[side]!)}` : '');
      this.said.textContent = `${both.filter(Boolean).join('; ')}.${size}`;
      return;
    }
    const difference = values[0]! - values[1]!;
    const less = Number.isFinite(difference) ? `, A \u2212 B ${difference > 0 ? '+' : ''}${fixed(difference, 3).replace(/^(\u2212?)0/, '$1')}` : '';
    this.said.textContent = `${nameOfCell(this.halves[0]!, at, block)}: A ${text(values[0]!)}, B ${text(values[1]!)}${less}.${size}`;
  }
}

