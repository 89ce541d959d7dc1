// Over the view: what is compared, what changed most, which side is drawn, and what can be edited or compared.
import type {Changes} from '../answers';
import type {Comparison} from '../comparison';
import {noDifference, ownName} from '../comparison';
import {css, diverging} from '../colour';
import {latest, Slot} from '../data/slot';
import {button, choice, html, say} from '../dom';
import {count, shortWeight, weight} from '../format';
import {isSaved} from '../held';
import type {Page, Panel} from '../panel';
import {primary} from '../panel';
import type {Place, Selection, Show} from '../selection';
import {headText, kShows, nameOf} from '../selection';
import {plain} from '../tokens';
import type {Next} from '../transport/api';
import {found} from '../transport/models';
import {tokenOfB} from '../transport/difference';
import {swapped} from '../transport/swap';
import {readVersus, versusHead, versusModel, versusText} from '../versus';
import {viewOf} from '../views/list';

const kWords = 3;      // of the next ones, in short
const kHeads = 6;      // of those that changed most
const kLayers = 4;
const kLeast = 0.0005;  // a change below it is written as none

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

function group(label: string, ...nodes: (Node | null)[]): HTMLElement {
  return html('span', {class: 'compare-group'}, html('span', {class: 'quiet'}, label), ...nodes);
}

function link(label: string, act: () => void): HTMLElement { return button({class: 'link'}, act, label); }

/** What could be done, and what is missing for it. */
function missing(label: string, why: string): HTMLElement { return html('span', {class: 'quiet', title: why}, `${label} (${why})`); }

/** The mean change of each layer's heads, the most changed layer first. */
function layersOf({heads}: Changes): {layer: number; change: number}[] {
  const layers = new Map<number, number[]>();
  for (const {layer, change} of heads) layers.set(layer, [...layers.get(layer) ?? [], change]);
  return [...layers].map(([layer, all]) => ({layer, change: all.reduce((sum, each) => sum + each, 0) / all.length}))
    .sort((a, b) => b.change - a.change);
}

export class CompareBar implements Panel {
  private readonly about = html('span', {class: 'compare-about'});
  private readonly words = html('span', {class: 'quiet compare-words'});
  private readonly sides = choice('Shown', kShows.map((name) => ({name, label: name.replace('-', ' \u2212 ')})), (show) => this.page.store.set({show}, {replace: true}));
  private readonly legend = html('span', {class: 'compare-legend quiet'}, 'B more', ramp(), 'A more');
  private readonly form = html('div', {class: 'compare-form', 'data-unsaved': true});
  private readonly line = html('div', {class: 'compare-line'});
  private readonly changed = html('div', {class: 'compare-line compare-changes'});
  private readonly same = html('p', {class: 'compare-same'});
  private readonly slots: Slot<Next>[];
  private readonly changes = new Slot<Changes>('compare-changes', () => this.update());
  private shownChanges: unknown[] = [];
  private isOpen = false;
  private formOf = '';

  constructor(private readonly container: HTMLElement, private readonly page: Page, private readonly comparison: Comparison) {
    this.slots = ['compare-next-a', 'compare-next-b'].map((lane) => new Slot<Next>(lane, () => this.update()));
    const close = button({class: 'link', 'aria-label': 'end the comparison', 'data-unsaved': true}, () => this.close(), 'end, Esc');
    this.line.append(this.about, this.sides.element, this.legend, this.words, close);
    container.append(this.line, this.changed, this.same, this.form);
    this.update();
  }

  destroy(): void { [...this.slots, this.changes].forEach((slot) => slot.stop()); }

  get isShown(): boolean { return this.isOpen || this.page.store.now.versus !== ''; }

  toggle(): void {
    this.isOpen = !this.isOpen;
    this.formOf = '';
    this.update();
    if (this.isOpen) this.form.querySelector<HTMLElement>('button, input')?.focus();
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
    this.sayChanges();
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
    if (compared?.alignment?.said) return `. ${compared.alignment.said}`;
    return api.isDifference && !viewOf(now.view).differs ? '. This view shows A; B alone shows B' : '';
  }

  /** What it does to the next word; Look has a list of its own. */
  private sayWords(): void {
    const {compared} = this.comparison;
    const {side, store} = this.page;
    const position = (side.isSquare ? store.now.query : store.pinnedQuery) ?? side.queries.length - 1;
    const can = store.now.view !== 'look' && compared && compared.a !== compared.b && compared.unlike === '' && side.isWritten && compared.a.hasWeights;
    const [a, b] = this.slots.map((slot, at) => latest(slot.show(can ? at === 0 ? compared.a.next(position) : compared.b.next(tokenOfB(compared, position)) : null)));
    if (!a || !b) return say(this.words, '');
    const parts = a.words.slice(0, kWords).map(({text, probability}) => {
      const other = b.words.find((each) => each.text === text)?.probability;
      return `\u201c${text.trim() || '\u00b7'}\u201d ${weight(probability)} \u2192 ${other === undefined ? `<${weight(b.words.at(-1)?.probability ?? 0)}` : weight(other)}`;
    });
    say(this.words, `next: ${parts.join(', ')}`);
  }

  /** Which heads and layers differ most, and why the head in view may not. */
  private sayChanges(): void {
    const {compared} = this.comparison;
    const {side, store} = this.page;
    const can = store.now.versus !== '' && compared && compared.a !== compared.b && compared.unlike === '' && !compared.alignment && !isSaved(compared.b.model);
    const all = latest(this.changes.show(can ? compared.b.ask<Changes>(`${side.stack}/changes?from=${compared.a.info.session}`) : null));
    this.changed.hidden = this.same.hidden = all === null;
    if (all === null) return;
    const place = primary(store.now);
    say(this.same, this.whySame(all, place));
    if (this.shownChanges[0] === all && this.shownChanges[1] === nameOf(place)) return;
    this.shownChanges = [all, nameOf(place)];
    const {heads, rows} = all;
    const go = ({layer, head}: Pick<Place, 'layer' | 'head'>) => store.set({places: [{...place.stack && {stack: place.stack}, layer, head}]});
    const option = (label: string, change: number, to: Pick<Place, 'layer' | 'head'>, isHere: boolean) =>
      button({class: 'option', 'aria-pressed': String(isHere), 'data-change': change}, () => go(to), `${label} `, html('b', {}, shortWeight(change)));
    const most = heads.filter(({change}) => change >= kLeast);
    const layers = layersOf(all).filter(({change}) => change >= kLeast);
    this.changed.title = `the share of a row\u2019s weight that moves to other keys, mean of ${count(rows, 'row')}`;
    const isHere = ({layer, head}: Pick<Place, 'layer' | 'head'>) => layer === place.layer && head === place.head;
    this.changed.replaceChildren(...most.length === 0 ? [html('span', {class: 'quiet'}, 'no head\u2019s weights change')] : [
      group('changed most, share of a row: heads', ...most.slice(0, kHeads).map((each) => option(headText(each), each.change, each, isHere(each)))),
      group('layers', ...layers.slice(0, kLayers).map(({layer, change}) => option(`L${layer}`, change, most.find((each) => each.layer === layer)!, layer === place.layer)))]);
  }

  /** Why the map of the head in view is the same on both sides; empty where it is not. */
  private whySame({heads}: Changes, {layer, head}: Place): string {
    const own = heads.find((each) => each.layer === layer && each.head === head);
    if (!own || own.change >= kLeast) return '';
    const name = headText(own);
    const versus = readVersus(this.page.store.now.versus);
    const edits = versus?.kind === 'edits' ? versus.edits as {ablate?: Place[]} : {};
    const isAblated = edits.ablate?.some((each) => each.layer === layer && each.head === head && (each.stack ?? own.stack) === own.stack);
    if (isAblated) return `The map of ${name} is the same in A and B: ablating a head zeroes what it writes, and its weights do not depend on that. The layers above it change.`;
    return own.change === 0 ? `The map of ${name} is the same in A and B: nothing that it reads is changed by the edit.`
      : `The map of ${name} is nearly the same in A and B: less than .001 of a row\u2019s weight moves.`;
  }

  /** What can be compared with, and the edits of what is pinned. */
  private drawForm(): void {
    const {store, api} = this.page;
    const {places, query, key, to} = store.now;
    const first = primary(store.now);
    const state = `${places.map(nameOf).join()} ${query} ${key} ${to}`;
    if (state === this.formOf) return;
    this.formOf = state;
    const set = (versus: string) => store.set({versus, show: 'A-B'});
    const second = places[1];
    const heads = group('head', second ? link(headText(second), () => set(versusHead(second))) : null,
      field('as L2.H6', 12, (text) => {
        const [, layer, head] = /^\D*(\d{1,4})\D+(\d{1,4})$/.exec(text.trim()) ?? [];
        if (head !== undefined) set(versusHead({...first.stack && {stack: first.stack}, layer: Number(layer), head: Number(head)}));
      }));
    const line = (label: string, ...groups: HTMLElement[]) => html('div', {class: 'compare-line'}, html('b', {}, label), ...groups);
    if (isSaved(api.model)) return this.form.replaceChildren(line('Compare with', heads));
    this.form.replaceChildren(line('Edit', ...this.edits()),
      line('Compare with', group('text', field('another text', 28, (text) => set(versusText(text)))), heads, group('model', modelField(api, (name) => set(versusModel(name))))));
  }

  private edits(): HTMLElement[] {
    const {derive, side, store, api} = this.page;
    const {query, key, to} = store.now;
    const {layer, head} = primary(store.now);
    const place = {stack: side.stack, layer, head};
    const edits = [link(`ablate head ${headText(place)}`, () => derive({ablate: [place]})),
      query !== null && key !== null
        ? link(`remove edge ${plain(side.queries[query]!)} \u2192 ${plain(side.keys[key]!)}`, () => derive({remove: [{...place, query, key}]}))
        : missing('remove edge', 'pin one first')];
    const isKey = key !== null || to;
    const at = key ?? query;
    if (at === null) {
      edits.push(missing('hide token, swap word', 'pin one first'));
    } else {
      const list = isKey || side.isSquare ? side.attention.key_tokens : side.attention.query_tokens;
      const token = {side: list === 'key_tokens' && api.info.key_tokens ? 'key_tokens' : 'tokens', position: at};
      const name = plain((isKey || side.isSquare ? side.keys : side.queries)[at]!);
      const other = (text: string) => {
        const whole = swapped(api.info, at, text);
        derive({swap: [{...token, text}]}, whole === null ? undefined : () => store.set({versus: versusText(whole), show: 'A-B'}));
      };
      edits.push(link(`hide token ${name}`, () => derive({hide: [token]})), group(`swap word ${name} for`, field('swap for', 10, other)));
    }
    edits.push(group('limit distance to', field('tokens', 6, (text) => {
      if (/^\s*\d+\s*$/.test(text)) derive({mask: [{stack: side.stack, left: Number(text)}]});
    })));
    return edits;
  }
}
