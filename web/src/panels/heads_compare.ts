// Two heads, or one head on two texts: A, B and A − B under one cursor.
import {isSamePlace} from '../address';
import {cividis} from '../colour';
import type {Rgb} from '../colour';
import {Slot, valueOf} from '../data/slot';
import {button, choice, html} from '../dom';
import {fixed, weight} from '../format';
import type {Page, Panel} from '../panel';
import {primary} from '../panel';
import type {Place} from '../selection';
import {plain} from '../tokens';
import type {SessionApi} from '../transport/api';
import {headText} from './heads_scores';
import {position} from './matrix_scale';

type With = 'nothing' | 'head' | 'text';

const kZero: Rgb = [236, 236, 232];
const kMore: Rgb = [0, 114, 178];   // A has more: blue
const kLess: Rgb = [230, 159, 0];   // B has more: orange

/** A matrix in at most 256 x 256 cells; NaN where masked. */
interface Cells { width: number; height: number; block: number; values: Float32Array }

interface Half { name: string; api: SessionApi; place: Place }

function cellsOf({api, place}: Half, values: ArrayBuffer): Cells {
  const {queries, keys, zooms} = api.side(place.stack).attention;
  const block = 2 ** (zooms - 1);
  return {width: Math.ceil(keys / block), height: Math.ceil(queries / block), block, values: new Float32Array(values)};
}

function mixed(share: number): Rgb {
  const end = share > 0 ? kMore : kLess;
  const part = Math.sqrt(Math.min(1, Math.abs(share)));
  return kZero.map((from, at) => Math.round(from + (end[at]! - from) * part)) as unknown as Rgb;
}

export class HeadsCompare implements Panel {
  readonly element = html('section', {class: 'heads-compare', 'aria-label': 'Comparison', hidden: true});
  readonly switches: HTMLElement;
  private readonly canvases = ['A', 'B', 'A \u2212 B'].map(() => html('canvas', {}));
  private readonly titles = this.canvases.map(() => html('h2', {}));
  private readonly said = html('p', {class: 'said', 'aria-live': 'polite'});
  private readonly field = html('textarea', {rows: 2, placeholder: 'the second text', 'aria-label': 'The second text', 'data-unsaved': true});
  private readonly slots = [new Slot<ArrayBuffer>('compare-a', () => this.update()), new Slot<ArrayBuffer>('compare-b', () => this.update())];
  private readonly show: (name: With) => void;
  private other: SessionApi | null = null;
  private mode: With = 'nothing';
  private cells: Cells[] = [];
  private halves: Half[] = [];
  private error = '';
  private at: {x: number; y: number} | null = null;  // the cell under the cursor

  constructor(private readonly page: Page) {
    const options = (['nothing', 'head', 'text'] as const).map((name) => ({name, label: name}));
    const made = choice<With>('compare with', options, (name) => this.turn(name));
    this.switches = made.element;
    this.show = made.show;
    this.show('nothing');
    const go = button({class: 'link'}, () => void this.read(), 'compare');
    const form = html('div', {class: 'said compare-text', hidden: true}, this.field, go);
    this.element.append(form, ...this.canvases.map((canvas, at) => html('div', {}, this.titles[at], canvas)), this.said);
    this.field.addEventListener('keydown', (event) => { if (event.key === 'Enter' && event.ctrlKey) void this.read(); });
    for (const canvas of this.canvases) {
      canvas.addEventListener('pointermove', (event) => this.point(event, canvas));
      canvas.addEventListener('pointerleave', () => {
        this.at = null;
        this.tell();
      });
    }
  }

  destroy(): void {
    this.slots.forEach((slot) => slot.stop());
    this.other?.stop();
  }

  private turn(mode: With): void {
    this.mode = mode;
    this.element.hidden = mode === 'nothing';
    this.element.querySelector<HTMLElement>('.compare-text')!.hidden = mode !== 'text';
    this.show(mode);
    this.page.store.preview({});
    this.update();
    this.page.store.set({}, {replace: true, fresh: this.page.store.isFresh});  // the table makes room
    if (mode === 'text') this.field.focus();
  }

  /** Opens a session of the second text. */
  private async read(): Promise<void> {
    this.error = '';
    try {
      this.other = await this.page.api.beside({text: this.field.value}, primary(this.page.store.now), () => this.update());
    } catch (error) {
      this.error = (error as Error).message;
    }
    this.update();
  }

  private both(): Half[] | null {
    const {api, store, side} = this.page;
    const [first, second] = store.now.places as [Place, Place?];
    const named = (place: Place) => ({...place, stack: side.stack as Place['stack']}) as Place;
    const a = {name: `A: head ${headText(first)}`, api, place: named(first)};
    if (this.mode === 'head') {
      const other = second ?? {...first, head: (first.head + 1) % side.heads};
      return isSamePlace(first, other) ? null : [a, {name: `B: head ${headText(other)}`, api, place: named(other)}];
    }
    return this.other?.hasWeights ? [{...a, name: `${a.name}, this text`}, {name: 'B: the second text', api: this.other, place: named(first)}] : null;
  }

  update(): void {
    if (this.mode === 'nothing') return;
    const both = this.both();
    this.halves = both ?? [];
    const tiles = both?.map((half, at) => {
      const {attention} = half.api.side(half.place.stack);
      return valueOf(this.slots[at]!.show(half.api.hasWeights && attention ? half.api.tile({...half.place, z: 0, y: 0, x: 0}, 'f32') : null));
    });
    this.cells = tiles?.every((tile) => tile !== null) ? tiles.map((tile, at) => cellsOf(both![at]!, tile!)) : [];
    this.draw();
    this.tell();
  }

  private get isAlike(): boolean {
    const [a, b] = this.cells;
    return a !== undefined && b !== undefined && a.width === b.width && a.height === b.height;
  }

  private draw(): void {
    const [a, b] = this.cells;
    this.titles.forEach((title, at) => { title.textContent = this.halves[at]?.name ?? (this.isAlike ? 'A \u2212 B: blue, A has more; orange, B' : ''); });
    for (const [at, canvas] of this.canvases.entries()) canvas.hidden = at < 2 ? !this.cells[at] : !this.isAlike;
    this.cells.forEach((cells, at) => this.paint(this.canvases[at]!, cells, (index) => {
      const value = cells.values[index]!;
      return Number.isNaN(value) ? null : cividis(position(value, 'log'));
    }));
    if (!this.isAlike) return;
    this.paint(this.canvases[2]!, a!, (index) => {
      const difference = a!.values[index]! - b!.values[index]!;
      return Number.isNaN(difference) ? null : mixed(difference);
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
    if (this.cells[0]?.block === 1 && this.mode === 'head') this.page.store.preview({query: y, key: x});
  }

  /** The cell under the cursor, in all three. */
  private tell(): void {
    const {at} = this;
    if (this.error || !this.cells[0]) {
      this.said.textContent = this.error || (this.mode === 'text' ? 'Ctrl+Enter reads the second text and compares this head on both.' : 'Shift-click another head to compare it.');
      return;
    }
    const block = this.cells[0].block;
    const size = block > 1 ? ` A cell is the largest of ${block} \u00d7 ${block} weights.` : '';
    const unlike = this.isAlike ? '' : ' The texts differ in length: no cell of one stands for one of the other, so there is no difference.';
    if (!at) {
      this.said.textContent = `Point at a cell.${size}${unlike}`;
      return;
    }
    const values = this.cells.map(({width, height, values}) => at.x < width && at.y < height ? values[at.y * width + at.x]! : NaN);
    const {queries, keys} = this.page.side;
    const name = block > 1 ? `${at.y * block}\u2026 \u2192 ${at.x * block}\u2026`
      : `${plain(queries[at.y] ?? queries.at(-1)!)} ${at.y} \u2192 ${plain(keys[at.x] ?? keys.at(-1)!)} ${at.x}`;
    const text = (value: number) => Number.isNaN(value) ? 'masked' : weight(value);
    const difference = values[0]! - values[1]!;
    const less = this.isAlike && !Number.isNaN(difference) ? `, A \u2212 B ${difference > 0 ? '+' : ''}${fixed(difference, 3).replace(/^(\u2212?)0/, '$1')}` : '';
    this.said.textContent = `${name}: A ${text(values[0]!)}, B ${text(values[1]!)}${less}.${size}`;
  }
}

