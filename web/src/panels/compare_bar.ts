// Over the view: what is compared, which side of it is drawn, and what can be compared.
import type {Comparison} from '../comparison';
import {noDifference, ownName} from '../comparison';
import {css, diverging} from '../colour';
import {latest, Slot} from '../data/slot';
import {button, choice, html, say} from '../dom';
import {weight} from '../format';
import type {Page, Panel} from '../panel';
import {primary} from '../panel';
import type {Selection, Show} from '../selection';
import {headText, kShows, nameOf} from '../selection';
import {plain} from '../tokens';
import type {Next} from '../transport/api';
import {found} from '../transport/models';
import {versusHead, versusModel, versusText} from '../versus';
import {viewOf} from '../views/list';

const kWords = 3;  // of the next ones, in short

/** The key `c`: from A to B to their difference. */
export function showAfter({show}: Selection): Show { return kShows[(kShows.indexOf(show) + 1) % kShows.length]!; }

/** From what B has more to what A has more. */
function ramp(): HTMLCanvasElement {
  const canvas = html('canvas', {class: 'compare-ramp', width: 65, height: 1, role: 'img', 'aria-label': 'orange: B has more, blue: A has more'});
  const context = canvas.getContext('2d')!;
  for (let x = 0; x < 65; ++x) {
    context.fillStyle = css(diverging((x - 32) / 32));
    context.fillRect(x, 0, 1, 1);
  }
  return canvas;
}

/** A field of a few letters, and what Enter does with them. */
function field(label: string, size: number, take: (text: string) => void): HTMLInputElement {
  const input = html('input', {class: 'compare-field', size, 'aria-label': label, placeholder: label, autocomplete: 'off', spellcheck: 'false'});
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && input.value.trim() !== '') take(input.value);
  });
  return input;
}

/** The name of another model, of those that this machine has. */
function modelField({requests, info}: Page['api'], take: (name: string) => void): HTMLElement {
  const names = html('datalist', {id: `models-${Math.random().toString(36).slice(2)}`});
  const input = field('another model', 14, take);
  input.setAttribute('list', names.id);
  input.addEventListener('input', (event) => {  // one of the list was chosen
    if (!(event instanceof InputEvent) || event.inputType === 'insertReplacementText') take(input.value);
  });
  found(requests).then((models) => names.append(...models.filter(({name}) => name !== info.model).map(({name}) => html('option', {value: name}))), () => undefined);
  return html('span', {}, input, names);
}

export class CompareBar implements Panel {
  private readonly about = html('span', {class: 'compare-about'});
  private readonly words = html('span', {class: 'quiet compare-words'});
  private readonly sides = choice('Shown', kShows.map((name) => ({name, label: name.replace('-', ' \u2212 ')})), (show) => this.page.store.set({show}, {replace: true}));
  private readonly legend = html('span', {class: 'compare-legend quiet'}, 'B more', ramp(), 'A more');
  private readonly form = html('div', {class: 'compare-form', 'data-unsaved': true});
  private readonly line = html('div', {class: 'compare-line'});
  private readonly slots: Slot<Next>[];
  private isOpen = false;
  private formOf = '';

  constructor(private readonly container: HTMLElement, private readonly page: Page, private readonly comparison: Comparison) {
    this.slots = ['compare-next-a', 'compare-next-b'].map((lane) => new Slot<Next>(lane, () => this.update()));
    const close = button({class: 'link', 'aria-label': 'end the comparison', 'data-unsaved': true}, () => this.close(), 'end, Esc');
    const more = button({class: 'link', 'data-unsaved': true}, () => this.toggle(), 'more');
    this.line.append(this.about, this.sides.element, this.legend, this.words, more, close);
    container.append(this.line, this.form);
    this.update();
  }

  destroy(): void { this.slots.forEach((slot) => slot.stop()); }

  get isShown(): boolean { return this.isOpen || this.page.store.now.versus !== ''; }

  toggle(): void {
    this.isOpen = !this.isOpen;
    this.formOf = '';
    this.update();
    if (this.isOpen) this.form.querySelector('input')?.focus();
    this.page.store.set({}, {replace: true, fresh: this.page.store.isFresh});  // what stands under it makes room
  }

  /** Back to A alone. */
  close(): void {
    this.isOpen = false;
    if (this.page.store.now.versus !== '') this.page.store.set({versus: '', show: 'A-B'});
    else this.page.store.set({}, {replace: true, fresh: this.page.store.isFresh});
  }

  update(): void {
    const {store: {now}} = this.page;
    this.container.hidden = !this.isShown;
    if (!this.isShown) return;
    this.line.hidden = now.versus === '';
    this.form.hidden = !this.isOpen;
    if (this.isOpen) this.drawForm();
    if (now.versus === '') return;
    const {compared, error, isWorking, name} = this.comparison;
    this.sides.show(!compared ? 'A' : compared.unlike !== '' && now.show === 'A-B' ? 'A' : now.show);
    this.legend.hidden = !this.page.api.isDifference || !viewOf(now.view).differs;
    say(this.about, error !== '' ? `Not compared: ${error}` : `A: ${this.ownName} \u00b7 B: ${name}${isWorking ? ', which is read\u2026' : ''}${this.remark}`);
    this.sayWords();
  }

  private get ownName(): string {
    const {layer, head} = primary(this.page.store.now);
    const {compared} = this.comparison;
    return compared && compared.a === compared.b ? `head ${headText({layer, head})}` : ownName(compared);
  }

  private get remark(): string {
    const {store: {now}, api} = this.page;
    const {compared} = this.comparison;
    if (compared && compared.unlike !== '') return `. ${noDifference(compared).slice(0, -1)}`;
    return api.isDifference && !viewOf(now.view).differs ? '. This view shows A; B alone shows B' : '';
  }

  /** What it does to the next word. */
  private sayWords(): void {
    const {compared} = this.comparison;
    const {side, store} = this.page;
    const position = (side.isSquare ? store.now.query : store.pinnedQuery) ?? side.queries.length - 1;
    const can = compared && compared.a !== compared.b && compared.unlike === '' && side.isWritten && compared.a.hasWeights;
    const [a, b] = this.slots.map((slot, at) => latest(slot.show(can ? (at === 0 ? compared.a : compared.b).next(position) : null)));
    if (!a || !b) return say(this.words, '');
    const parts = a.words.slice(0, kWords).map(({text, probability}) => {
      const other = b.words.find((each) => each.text === text)?.probability;
      return `${text.trim() || '\u00b7'} ${weight(probability)} \u2192 ${other === undefined ? `<${weight(b.words.at(-1)?.probability ?? 0)}` : weight(other)}`;
    });
    say(this.words, `next: ${parts.join(', ')}`);
  }

  /** What can be compared with: a head, a text, the same text with an edit of what is pinned. */
  private drawForm(): void {
    const {store, side, api} = this.page;
    const {places, query, key, to} = store.now;
    const first = primary(store.now);
    const state = `${places.map(nameOf).join()} ${query} ${key} ${to}`;
    if (state === this.formOf) return;
    this.formOf = state;
    const set = (versus: string) => store.set({versus, show: 'A-B'});
    const place = {stack: side.stack, layer: first.layer, head: first.head};
    const link = (label: string, act: () => void) => button({class: 'link'}, act, label);
    const group = (label: string, ...nodes: (Node | null)[]) => html('span', {class: 'compare-group'}, html('span', {class: 'quiet'}, label), ...nodes);
    const second = places[1];
    const heads = group('head', second ? link(headText(second), () => set(versusHead(second))) : null,
      field('as L2.H6', 12, (text) => {
        const [, layer, head] = /^\D*(\d{1,4})\D+(\d{1,4})$/.exec(text.trim()) ?? [];
        if (head !== undefined) set(versusHead({...first.stack && {stack: first.stack}, layer: Number(layer), head: Number(head)}));
      }));
    const groups = [heads];
    if (api.model.held === undefined) groups.push(group('text', field('another text', 28, (text) => set(versusText(text)))),
      group('model', modelField(api, (name) => set(versusModel(name)))), ...this.edits(place, group, link));
    this.form.replaceChildren(html('b', {}, 'Compare with'), ...groups);
  }

  private edits(place: object, group: (label: string, ...nodes: (Node | null)[]) => HTMLElement, link: (label: string, act: () => void) => HTMLElement): HTMLElement[] {
    const {derive, side, store, api} = this.page;
    const {query, key, to} = store.now;
    const {layer, head} = primary(store.now);
    const edits = [link(`ablate head ${headText({layer, head})}`, () => derive({ablate: [place]}))];
    if (query !== null && key !== null) edits.push(link(`mask ${plain(side.queries[query]!)} \u2192 ${plain(side.keys[key]!)}`, () => derive({remove: [{...place, query, key}]})));
    const groups = [group('edited', ...edits)];
    const isKey = key !== null || to;
    const at = key ?? query;
    if (at !== null) {
      const list = isKey || side.isSquare ? side.attention.key_tokens : side.attention.query_tokens;
      const token = {side: list === 'key_tokens' && api.info.key_tokens ? 'key_tokens' : 'tokens', position: at};
      const name = plain((isKey || side.isSquare ? side.keys : side.queries)[at]!);
      groups.push(group(name, link('hide', () => derive({hide: [token]})), field('swap for', 10, (text) => derive({swap: [{...token, text}]}))));
    }
    groups.push(group('limit attention to the last', field('tokens', 6, (text) => {
      if (/^\s*\d+\s*$/.test(text)) derive({mask: [{stack: side.stack, left: Number(text)}]});
    })));
    return groups;
  }
}
