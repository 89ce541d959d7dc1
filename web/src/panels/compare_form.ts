// Below the line of a comparison: edits of the pinned token, and other things to compare with.
import {button, html} from '../drawing/dom';
import {isSaved} from '../heads/held';
import type {Page} from './panel';
import {primary} from './panel';
import {headText, nameOf} from '../selection/selection';
import {plain} from '../text/tokens';
import {found} from '../transport/models';
import {sameWords, swapped} from '../transport/swap';
import {versusHead, versusModel, versusText} from '../selection/versus';

/** A field for a few letters, and the effect of Enter. */
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
  input.addEventListener('input', (event) => {  // an item of the list was chosen
    if (!(event instanceof InputEvent) || event.inputType === 'insertReplacementText') take(input.value);
  });
  found(requests).then((models) => names.append(...models.filter(({name}) => name !== info.model).map(({name}) => html('option', {value: name}))), () => undefined);
  return html('span', {}, input, names);
}

export function group(label: string, ...nodes: (Node | null)[]): HTMLElement {
  return html('span', {class: 'compare-group'}, html('span', {class: 'quiet'}, label), ...nodes);
}

export function link(label: string, act: () => void): HTMLElement { return button({class: 'link'}, act, label); }

/** A possible action, and the missing requirement. */
function missing(label: string, why: string): HTMLElement { return html('span', {class: 'quiet', title: why}, `${label} (${why})`); }

export class CompareForm {
  readonly element = html('div', {class: 'compare-form', 'data-unsaved': true});
  private drawn = '';

  constructor(private readonly page: Page) {}

  /** The possible comparisons, and the edits of the pinned token. */
  update(): void {
    const {store, api} = this.page;
    const {places, query, key, to} = store.now;
    const state = `${places.map(nameOf).join()} ${query} ${key} ${to}`;
    if (state === this.drawn) return;
    this.drawn = state;
    const line = (label: string, ...groups: HTMLElement[]) => html('div', {class: 'compare-line'}, html('b', {}, label), ...groups);
    if (isSaved(api.model)) return this.element.replaceChildren(line('Compare with', this.heads()));
    this.element.replaceChildren(line('Edit', ...this.edits()), line('Compare with',
      group('text', field('another text', 28, (text) => this.set(versusText(text)))), this.heads(), group('model', modelField(api, (name) => this.set(versusModel(name))))));
  }

  private set(versus: string): void { this.page.store.set({versus, show: 'A-B'}); }

  private heads(): HTMLElement {
    const {side, store} = this.page;
    const {places: [first, second]} = store.now;
    const said = html('span', {role: 'alert'});
    const {layer, head} = first!;
    const other = side.heads > 1 ? {layer, head: (head + 1) % side.heads} : {layer: side.numbers.find((each) => each !== layer) ?? layer, head};
    return group('head', second ? link(headText(second), () => this.set(versusHead(second))) : null,
      field(`as ${headText(other)}`, 12, (text) => {
        const [layer, head] = /^\D*(\d{1,4})\D+(\d{1,4})$/.exec(text.trim())?.slice(1).map(Number) ?? [];
        if (layer !== undefined && side.numbers.includes(layer) && head! < side.heads) this.set(versusHead({...first!, layer, head: head!}));
        else said.textContent = `There is no head \u201c${text.trim()}\u201d.`;
      }), said);
  }

  private edits(): HTMLElement[] {
    const {derive, side, store} = this.page;
    const {query, key} = store.now;
    const {layer, head} = primary(store.now);
    const place = {stack: side.stack, layer, head};
    return [link(`ablate head ${headText(place)}`, () => derive({ablate: [place]})),
      query !== null && key !== null
        ? link(`remove edge ${plain(side.queries[query]!)} \u2192 ${plain(side.keys[key]!)}`, () => derive({remove: [{...place, query, key}]}))
        : missing('remove edge', 'pin one first'),
      ...this.tokenEdits(),
      group('limit distance to', field('tokens', 6, (text) => {
        if (/^\s*\d+\s*$/.test(text)) derive({mask: [{stack: side.stack, left: Number(text)}]});
      }))];
  }

  /** The edits of the pinned token, in its text. */
  private tokenEdits(): HTMLElement[] {
    const {side, store: {now: {query, key, to}}, api: {info}, derive} = this.page;
    const at = key ?? query;
    if (at === null) return [missing('hide token, swap word', 'pin one first')];
    const isKey = key !== null || to || side.isSquare;
    const isSource = info.key_tokens !== undefined && (isKey ? side.attention.key_tokens : side.attention.query_tokens) === 'key_tokens';
    const name = plain((isKey ? side.keys : side.queries)[at]!);
    const token = {side: isSource ? 'key_tokens' : 'tokens', position: at};
    return [link(`hide token ${name}`, () => derive({hide: [token]})), this.swaps(token.side, at, name, isSource ? [at] : sameWords(info, at))];
  }

  /** `all`: all occurrences of the word, including `at`. */
  private swaps(side: string, at: number, name: string, all: number[]): HTMLElement {
    const {derive, store, api: {info}} = this.page;
    const list = side === 'tokens' ? info.tokens : info.key_tokens!;
    const swap = (positions: number[], word: string) => {
      const swaps = positions.map((position) => ({side, position, text: /^\s*/.exec(list[position]!.text)![0] + word.trim()}));
      const whole = swapped(info, positions, word);
      derive({swap: swaps}, whole === null ? undefined : () => store.set({versus: versusText(whole), show: 'A-B'}));
    };
    const input = field('swap for', 10, (word) => swap([at], word));
    const offer = (label: string, positions: number[]) => link(label, () => input.value.trim() === '' ? input.focus() : swap(positions, input.value));
    return group(`swap word ${name} for`, input, ...all.length < 2 ? [] : [offer('swap this one', [at]), offer(`swap all ${all.length} ${name}`, all)]);
  }
}
