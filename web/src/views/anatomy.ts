// Anatomy: one head step by step with its real numbers, and the results of other settings.
import type {Anatomy, Token} from '../answers';
import {latest, Slot} from '../data/slot';
import {choice, html} from '../drawing/dom';
import {scored, shortWeight, weight} from '../drawing/format';
import {hasOnlyWeights, isSaved} from '../heads/held';
import type {Page} from '../panels/panel';
import {headName, primary} from '../panels/panel';
import {cells, dots, lastRow, picture} from '../panels/anatomy_parts';
import type {Settings, Steps} from '../panels/anatomy_steps';
import {kModelsOwn, kNormalisers, kSimilarities, steps} from '../panels/anatomy_steps';
import type {WhyCell} from '../panels/why_cell';
import {ChosenCell} from '../panels/why_cell';
import {patchOf, shortPlaceName} from '../text/images';
import {plain} from '../text/tokens';
import type {Drawn, View} from './view';

const kRows = 16;
const kFactors = [0.01, 1, 100] as const;
const [kRow, kTall] = [21, 240];  // px of a row and of all rows, at most: two blocks fit one above the other in 900

/** `0`, and not `.00`. */
const short = (value: number) => value < 0.005 ? '0' : shortWeight(value);

/** `W_Q X` with its letter low. */
const lowered = (text: string) => text.split(/_(\w)/).map((part, at) => at % 2 === 1 ? html('sub', {}, part) : part);

/** A token's name beside a row; a cell of an image without the image's number. */
function inSmall(token: Token): string {
  const patch = patchOf(token);
  return patch ? shortPlaceName(patch) : plain(token);
}

interface Switch { element: HTMLElement; show: () => void }

class AnatomyView implements Drawn {
  private readonly title = html('div', {class: 'anatomy-title'});
  private readonly body = html('div', {class: 'anatomy-steps'});
  private readonly line = html('p', {class: 'anatomy-line'});
  private readonly slot: Slot<Anatomy>;
  private readonly cell: ChosenCell;
  private readonly name = html('span', {});
  private readonly switches: Switch[];
  private settings: Settings = kModelsOwn;
  private isUp = false;
  private step: number | null = null;
  private drawn: unknown[] = [];
  readonly keys: Record<string, () => void>;

  constructor(container: HTMLElement, private readonly page: Page) {
    this.slot = new Slot<Anatomy>('anatomy', () => this.update());
    this.cell = new ChosenCell(page, () => this.update());
    this.switches = [
      this.switch('scale', ['on', 'off'], () => this.settings.scaled ? 'on' : 'off', (name) => ({scaled: name === 'on'})),
      this.switch('factor', kFactors.map(String), () => String(this.settings.factor), (name) => ({factor: Number(name)})),
      this.switch('mask', ['on', 'off'], () => this.settings.masked ? 'on' : 'off', (name) => ({masked: name === 'on'})),
      this.switch('similarity', kSimilarities, () => this.settings.similarity, (name) => ({similarity: name as Settings['similarity']})),
      this.switch('weights', kNormalisers, () => this.settings.normaliser, (name) => ({normaliser: name as Settings['normaliser']})),
      this.switch('value', ['down', 'up'], () => this.isUp ? 'up' : 'down', (name) => {
        this.isUp = name === 'up';
        return {};
      }, 'what step 8 shows: down, each value in the head\u2019s own dimensions (W_V); up, the same brought back to the stream\u2019s dimensions (W_O)'),
    ];
    this.title.append(this.name, ...this.switches.map(({element}) => element));
    container.append(this.title, this.body, this.line);
    const move = (rows: number, keys: number) => () => this.move(rows, keys);
    this.keys = {
      ArrowUp: move(-1, 0), ArrowDown: move(1, 0), ArrowLeft: move(0, -1), ArrowRight: move(0, 1),
      w: () => page.store.set({view: 'why'}),
      ' ': () => {
        this.step = this.step === 8 ? null : (this.step ?? 0) + 1;
        this.update();
      },
    };
  }

  destroy(): void {
    this.slot.stop();
    this.cell.stop();
  }

  private switch(name: string, options: readonly string[], now: () => string, change: (name: string) => Partial<Settings>, title: string | null = null): Switch {
    const {element, show} = choice(name, options.map((option) => ({name: option, label: option})), (chosen) => {
      this.settings = {...this.settings, ...change(chosen)};
      this.update();
    });
    return {element: html('span', {class: 'anatomy-switch', title}, html('span', {class: 'quiet'}, name), element), show: () => show(now())};
  }

  /** The same cell as in Why; a file has one window. */
  private get chosen(): WhyCell | null { return isSaved(this.page.api.model) ? null : this.cell.now(); }

  /** The window's first row and first key; queries and keys of one text share it. */
  private get window(): {query: number; key: number; rows: number; keys: number; at: {query: number; key: number}} {
    const {store, side} = this.page;
    const {query, key} = this.chosen ?? {query: store.pinnedQuery ?? side.queries.length - 1, key: store.pinnedKey ?? 0};
    const rows = Math.min(kRows, side.queries.length), keys = Math.min(kRows, side.keys.length);
    const first = Math.max(0, Math.min(query - rows + 1 + (side.isSquare ? 0 : Math.floor(rows / 2)), side.queries.length - rows));
    const near = key >= first && key < first + keys && side.isSquare;
    const firstKey = near ? first : Math.max(0, Math.min(key - Math.floor(keys / 2), side.keys.length - keys));
    return {query: first, key: firstKey, rows, keys, at: {query, key}};
  }

  private move(rows: number, keys: number): void {
    const {side, store} = this.page;
    const {at} = this.window;
    const clip = (value: number, length: number) => Math.min(length - 1, Math.max(0, value));
    store.set({query: clip(at.query + rows, side.queries.length), key: clip(at.key + keys, side.keys.length)}, {replace: true});
  }

  update(): void {
    const {api, store} = this.page;
    if (!api.hasWeights || (!this.chosen && !isSaved(api.model))) return;
    const window = this.window;
    this.switches.forEach(({show}) => show());
    const data = this.slot.show(api.ofHead<Anatomy>(primary(store.now), `anatomy?query=${window.query}&key=${window.key}`));
    const anatomy = latest(data);
    if (data?.state === 'error') this.line.textContent = data.error.message;
    if (!anatomy) return;
    const {stage: {isNarrow, isTwo}} = this.page;
    const room = Math.floor(this.body.clientWidth / (isNarrow ? 1 : isTwo ? 2 : 4));
    const state = [anatomy, this.settings, this.isUp, this.step, window.at.query, window.at.key, room];
    if (state.every((each, at) => each === this.drawn[at])) return;
    this.drawn = state;
    this.draw(anatomy, window.at, room);
  }

  private draw(anatomy: Anatomy, at: {query: number; key: number}, room: number): void {
    const {side, store} = this.page;
    const row = Math.min(Math.max(0, at.query - anatomy.query_begin), anatomy.q.length - 1);
    const key = Math.min(Math.max(0, at.key - anatomy.key_begin), anatomy.k.length - 1);
    const made = steps(anatomy, this.settings, row, side.keys.length);
    const [rows, keys] = [side.queries.slice(anatomy.query_begin, anatomy.query_begin + anatomy.q.length), side.keys.slice(anatomy.key_begin, anatomy.key_begin + anatomy.k.length)];
    const names = {rows: rows.map(inSmall), keys: keys.map(inSmall)};
    this.name.replaceChildren(html('b', {}, `Head ${headName({places: [primary(store.now)]})}`), ' step by step, row ', html('b', {class: 'accent'}, plain(rows[row]!)));
    const choose = (chosen: number, other: number) => {
      const isAgain = chosen === row && other === key && store.now.key !== null;  // a second click opens Why
      store.set({query: anatomy.query_begin + chosen, key: anatomy.key_begin + other, ...isAgain && {view: 'why'}}, {replace: !isAgain});
    };
    const marks = {row, key, choose};
    const {turned, kv_head: kv} = anatomy;
    const by = turned ? ', rotated by position' : '';
    const shared = side.attention.kv_heads < side.heads ? `, kv ${kv}` : '';
    const over = made.isWhole ? 'of each row' : `over the ${names.keys.length} keys in sight`;
    const largestOf = (values: (number | null)[][]) => Math.max(1e-9, ...values.flat().map((value) => Math.abs(value ?? 0)));
    const blocks: [string, string, ...Element[]][] = [
      ['X', anatomy.x.length > 0 ? `what the head reads, ${anatomy.x.length} \u00d7 ${anatomy.x[0]!.length}` : 'there is no model', cells(anatomy.x, names.rows, [row])],
      ['Q', `W_Q X${by}, ${anatomy.q.length} \u00d7 ${anatomy.q[0]?.length ?? 0}`, cells(anatomy.q, names.rows, [row])],
      ['K', `W_K X${by}${shared}`, cells(anatomy.k, names.keys, [key])],
      ['V', `W_V X${shared}${turned ? ', not rotated' : ''}: down to ${anatomy.v[0]?.length ?? 0}`, cells(anatomy.v, names.keys, [key])],
      ['Scores', `${this.settings.similarity === 'dot' ? 'Q K\u1d40' : this.settings.similarity}, area is size; open is negative`, dots(made.scores, names, largestOf(made.scores), marks, room, (value) => scored(value, Math.abs(value) < 9.95 ? 1 : 0))],
      ['Scaled and masked', `${this.settings.scaled ? `\u00d7 ${scored(anatomy.scale * this.settings.factor, 3)}` : `\u00d7 ${this.settings.factor}`}${this.settings.masked ? ', closed keys are dashes' : ', no mask'}`, dots(made.scaled, names, largestOf(made.scaled), marks, room, (value, isOwn) => scored(value, isOwn || Math.abs(value) < 9.95 ? 1 : 0))],
      ['Weights', `${this.settings.normaliser} ${over}, area is weight`, dots(made.weights.map((line, i) => line.map((value, j) => made.scaled[i]![j] === null ? null : value)), names, 1, marks, room, short)],
      ['Weighted values', this.isUp ? 'their sum, up through W_O to the stream' : `p \u00d7 V${anatomy.gates.length > 0 ? ' \u00d7 the row\u2019s gate' : ''}, row by row; their sum is the output`, ...this.weighted(anatomy, made, row, key)],
    ];
    this.body.style.setProperty('--row', `${Math.min(kRow, Math.floor(kTall / Math.max(anatomy.q.length, anatomy.k.length)))}px`);
    this.body.replaceChildren(...blocks.map(([name, about, ...parts], index) =>
      html('section', {class: this.step !== null && this.step !== index + 1 ? 'anatomy-step faded' : 'anatomy-step', 'aria-label': name},
        html('h2', {}, html('span', {class: 'quiet'}, `${index + 1} `), name), html('p', {class: 'quiet'}, ...lowered(about)), ...parts)));
    this.line.replaceChildren(...this.sentence(anatomy, made, row, key, [rows[row]!, keys[key]!]));
    if (anatomy.form.length > 0) this.line.append(html('details', {}, html('summary', {class: 'quiet'}, ...lowered('W_Q\u1d40 W_K, the form that scores tokens as pairs')), picture(anatomy.form)));
  }

  private weighted(anatomy: Anatomy, made: Steps, row: number, key: number): Element[] {
    if (!this.isUp) return [cells(made.values, made.weights[row]!.map(short), [key], 2, true), lastRow(made.output, 'output')];
    const up = (value: number[]) => (anatomy.up[0] ?? []).map((_, c) => value.reduce((sum, each, d) => sum + each * anatomy.up[d]![c]!, 0));
    return anatomy.up.length === 0 ? [] : [cells(made.values.map(up), made.weights[row]!.map(short), [key], 2, true), lastRow(up(made.output), 'output')];
  }

  /** The cell, written out. */
  private sentence(anatomy: Anatomy, made: Steps, row: number, key: number, [from, to]: [Token, Token]): (Node | string)[] {
    const [q, k] = [anatomy.q[row]!, anatomy.k[key]!];
    const bracket = (value: number) => value < 0 ? `(${scored(value)})` : scored(value);
    const order = q.map((value, d) => ({d, term: value * k[d]!})).sort((a, b) => Math.abs(b.term) - Math.abs(a.term)).slice(0, 3);
    const product = this.settings.similarity !== 'dot' ? `${this.settings.similarity} = `
      : `q\u00b7k = ${order.map(({d}) => `${bracket(q[d]!)} \u00d7 ${bracket(k[d]!)}`).join(' + ')}${q.length > 3 ? ` + ${q.length - 3} more` : ''} = `;
    const after = made.scaled[row]![key] ?? null;
    const value = made.weights[row]![key]!;
    const end = after === null ? [' masked: weight ', html('b', {}, '0')]
      : this.settings.normaliser === 'softmax' ? [` \u2003\u00d7 ${scored(anatomy.scale * this.settings.factor, 3)} = `, html('b', {}, scored(after)), ` \u2003minus row lse ${scored(made.lse)} = `, html('b', {}, scored(after - made.lse)),
        ' \u2003weight = e', html('sup', {}, scored(after - made.lse)), ' = ', html('b', {class: 'accent'}, weight(value))]
        : [` \u2003${this.settings.normaliser}: weight = `, html('b', {class: 'accent'}, weight(value))];
    return [html('b', {}, `${plain(from)} \u2192 `), html('b', {class: 'accent'}, plain(to)), ` \u2003${product}`, html('b', {}, scored(made.scores[row]![key]!)), ...end];
  }
}

export const anatomy: View = {
  name: 'anatomy',
  label: 'Anatomy',
  key: '5',
  ofScores: true,
  needs: (model) => (!isSaved(model) || model.held_view === 'anatomy') && !hasOnlyWeights(model),
  parts: [],
  keys: [['click', 'a dot picks row and column, a second one opens Why'], ['\u2191 \u2193 \u2190 \u2192', 'move the cell'], ['Space', 'next step; the others fade']],
  footKeys: [['click', 'a dot picks row and column'], ['\u2191 \u2193 \u2190 \u2192', 'move'], ['Space', 'next step']],
  draw: (container, page) => new AnatomyView(container, page),
};
