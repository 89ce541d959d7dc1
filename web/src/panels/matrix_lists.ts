// Beside the matrix at full size: the largest weights in the row and column of the current cell.
import type {Line} from '../attention/arcs';
import {Slot, valueOf} from '../data/slot';
import {button, html, say} from '../drawing/dom';
import {weight} from '../drawing/format';
import type {Page, Panel} from './panel';
import {barOf, largestName, primary} from './panel';
import {isolated, plain} from '../text/tokens';
import type {Token} from '../transport/api';

const kRow = 24;
const kHeading = 40;
const kMost = 20;
const kLeastWidth = 240;
const kAbreast = 488;  // px for two lists side by side (look.css); with less, one is above the other

interface List { element: HTMLElement; title: HTMLElement; about: HTMLElement; rows: HTMLElement; slot: Slot<Line>; drawn: Line | null; count: number }

export class MatrixLists implements Panel {
  readonly element = html('div', {class: 'matrix-lists'});
  private readonly lists: List[];
  private most = 0;

  constructor(private readonly page: Page) {
    this.lists = ['Row', 'Column'].map((name) => {
      const [title, about, rows] = [html('h2', {}), html('span', {class: 'quiet'}), html('ol', {class: 'next'})];
      const element = html('section', {'aria-label': `Largest of the ${name.toLowerCase()}`}, html('div', {class: 'heading'}, title, about), rows);
      return {element, title, about, rows, slot: new Slot<Line>(`matrix-${name.toLowerCase()}`, () => this.update()), drawn: null, count: 0};
    });
    this.element.append(...this.lists.map(({element}) => element));
  }

  destroy(): void { this.lists.forEach(({slot}) => slot.stop()); }

  /** `height`: of one list, or of what stands beside the matrix. */
  resize(width: number, height: number, isBeside: boolean): void {
    this.element.hidden = width < kLeastWidth;
    this.element.style.width = `${Math.max(0, width)}px`;
    this.most = Math.min(kMost, Math.floor(((isBeside && width < kAbreast ? height / 2 : height) - kHeading) / kRow) - 1);
  }

  update(): void {
    const {api, side, store} = this.page;
    if (this.element.hidden) return;
    const ends = [store.markedQuery, store.markedKey];
    for (const [at, list] of this.lists.entries()) {
      const own = ends[at]!;
      list.element.hidden = own === null;
      const asked = own !== null && api.hasWeights ? api.line(primary(store.now), own, own + 1, at === 1) : null;
      const line = valueOf(list.slot.show(asked));
      if (own === null || !line || (line === list.drawn && list.count === this.most)) continue;
      list.drawn = line;
      list.count = this.most;
      say(list.title, `${at === 0 ? 'From' : 'To'} ${isolated(plain((at === 0 ? side.queries : side.keys)[own]!))} ${own}`);
      this.draw(list, line, at === 0 ? side.keys : side.queries, (other) => at === 0 ? {query: own, key: other} : {query: other, key: own});
    }
  }

  private draw(list: List, {weights}: Line, tokens: Token[], cell: (other: number) => {query: number; key: number}): void {
    const {store} = this.page;
    const seen = weights.flatMap((value, at) => value === null ? [] : [{value, at}]);
    const shown = [...seen].sort((a, b) => Math.abs(b.value) - Math.abs(a.value)).slice(0, Math.max(0, this.most));
    const largest = Math.max(1e-9, ...shown.map(({value}) => Math.abs(value)));
    const rest = seen.reduce((sum, {value}) => sum + value, 0) - shown.reduce((sum, {value}) => sum + value, 0);
    say(list.about, `${largestName(this.page.api).replace('L', 'l')} of ${seen.length.toLocaleString('en')}`);
    list.rows.replaceChildren(...shown.map(({value, at}) => {
      const bar = html('span', {class: `bar ${barOf(value)}`});
      bar.style.setProperty('--share', String(Math.abs(value) / largest));
      const row = button({class: 'next-row'}, () => store.set({...cell(at), range: null}), html('span', {class: 'word'}, plain(tokens[at]!)),
        html('span', {class: 'index'}, String(at)), html('span', {class: 'bar-room'}, bar), html('span', {class: 'value'}, weight(value)));
      row.addEventListener('pointerenter', () => store.preview(cell(at)));
      row.addEventListener('pointerleave', () => store.preview({}));
      return html('li', {}, row);
    }), ...shown.length < seen.length ? [html('li', {class: 'rest quiet'}, `${rest < 0 ? '' : '+ '}${weight(rest)} in ${(seen.length - shown.length).toLocaleString('en')} others`)] : []);
  }
}
