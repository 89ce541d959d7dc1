// The possible words at a position, with the probability of drawing each: another temperature needs no new run.
import type {Next} from '../answers';
import type {Data} from '../data/slot';
import {latest, Slot} from '../data/slot';
import {button, choice, html, say} from '../drawing/dom';
import {fixed, weight} from '../drawing/format';
import {others} from './key_column';
import type {Panel} from './panel';
import {unitsOf} from './panel';
import {drawn, ranked, softmax} from '../text/sampling';
import {phrase, plain} from '../text/tokens';
import {areSpaced, word} from './word';
import type {WordsPage} from './words_page';
import {positionOf, wordsStack} from './words_page';

const [kShownWords, kOverBeams] = [12, 9];

interface Setting { name: string; key: 'temperature' | 'topK' | 'topP'; values: readonly number[]; off: number }

const kSettings: readonly Setting[] = [
  {name: 'temperature', key: 'temperature', values: [0.5, 0.7, 1], off: NaN},
  {name: 'top-k', key: 'topK', values: [0, 40], off: 0},
  {name: 'top-p', key: 'topP', values: [1, 0.9], off: 1},
];

function bar(share: number, most: number): HTMLElement {
  const filled = html('span', {class: 'bar'});
  filled.style.setProperty('--share', String(most > 0 ? share / most : 0));
  return html('span', {class: 'bar-room'}, filled);
}

/** The question about the words at the position, for this panel and the branches. */
export function nextName(page: WordsPage): string {
  const mask = !page.writes && page.state.covered ? '&mask=1' : '';
  return `${wordsStack(page)}/next?position=${positionOf(page)}&top=${page.api.info.key_tokens && page.writes ? kOverBeams : kShownWords}${mask}`;
}

export class WordsNext implements Panel {
  private readonly next = new Slot<Next>('words-next', () => this.update());
  private readonly logits = new Slot<Float32Array>('words-logits', () => this.update());
  private readonly after = html('span', {class: 'quiet'});
  private readonly table = html('div', {class: 'words-next'});
  private readonly settings: {show: () => void}[] = [];
  private shown: unknown[] = [];

  constructor(container: HTMLElement, private readonly page: WordsPage, private readonly take: (id: number) => void) {
    const {state, writes} = page;
    const cover = writes ? null : button({class: 'option'}, () => {
      state.covered = !state.covered;
      state.changed();
    }, 'covered');
    if (cover) this.settings.push({show: () => cover.setAttribute('aria-pressed', String(state.covered))});
    container.append(html('div', {class: 'heading'}, html('h2', {}, writes ? 'Next word' : 'In its place'), this.after, cover,
      html('span', {class: 'words-switches'}, ...kSettings.map((setting) => this.setting(setting)))), this.table);
  }

  private setting({name, key, values, off}: Setting): HTMLElement {
    const {store} = this.page;
    const own = values.includes(store.now[key]) ? values : [...values, store.now[key]];
    const label = (value: number) => value === off ? 'off' : String(value).replace(/^0/, '');
    const made = choice(name, own.map((value) => ({name: String(value), label: label(value)})), (value) => store.set({[key]: Number(value)}));
    this.settings.push({show: () => made.show(String(store.now[key]))});
    return html('span', {class: 'words-setting'}, html('span', {class: 'quiet'}, name), made.element);
  }

  destroy(): void {
    this.next.stop();
    this.logits.stop();
  }

  private nameOf(position: number): string {
    const {side, tokens, writes} = this.page;
    if (!writes) return `\u201c${plain(tokens[position]!)}\u201d`;
    const first = side.queries === tokens ? unitsOf(side, 'word').begins[position]! : position;
    const begin = first === position && first > 0 && /^\W/.test(tokens[position]!.text.trim()) && side.queries === tokens
      ? unitsOf(side, 'word').begins[first - 1]! : first;
    return `after \u201c${phrase(tokens, begin, position + 1)}\u201d`;
  }

  private rows(next: Next, logits: Float32Array): HTMLElement[] {
    const {temperature, topK, topP} = this.page.store.now;
    const order = ranked(logits);
    const own = softmax(logits);
    const {shares, left} = drawn(logits, order, {temperature, topK, topP});
    const most = Math.max(own[order[0]!]!, shares[order[0]!]!);
    const came = this.page.tokens[positionOf(this.page) + (this.page.writes ? 1 : 0)]?.id;
    const isSpaced = areSpaced(next.words, this.page.tokens);
    const line = (id: number, text: string, logit: number) => {
      const share = shares[id]!;
      const classes = `words-row${id === came ? ' came' : ''}${share === 0 ? ' cut' : ''}`;
      return button({class: classes, 'data-id': id, disabled: !this.page.writes}, () => this.take(id),
        word(text, isSpaced), html('span', {class: 'value'}, fixed(logit, 2)),
        bar(own[id]!, most), html('span', {class: 'value'}, weight(own[id]!)),
        bar(share, most), html('span', {class: 'value'}, share === 0 ? '\u2013' : weight(share)));
    };
    const shown = next.words.map(({id, text}) => line(id, text, logits[id]!));
    const rest = order.slice(next.words.length);
    const sum = (of: Float64Array) => rest.reduce((total, id) => total + of[id]!, 0);
    const cut = logits.length - left;
    const told = cut > 0 ? `${cut.toLocaleString('en')} words cut` : weight(sum(shares));
    if (left < shown.length) shown[left - 1]?.classList.add('last');
    return [
      html('div', {class: 'words-row quiet'}, html('span', {}, ''), html('span', {class: 'value'}, 'logit'), html('span', {class: 'words-head'}, 'probability'), html('span', {class: 'words-head'}, 'drawn from')),
      ...shown,
      html('div', {class: 'words-row quiet'}, html('span', {}, others(rest.length)), html('span', {}), html('span', {}),
        html('span', {class: 'value'}, weight(sum(own))), html('span', {class: 'value words-cut'}, cut > 0 && left > next.words.length ? `${weight(sum(shares))}, ${told}` : told)),
    ];
  }

  update(): void {
    const {api, store, state, writes} = this.page;
    const position = positionOf(this.page);
    for (const {show} of this.settings) show();
    say(this.after, this.nameOf(position));
    this.after.title = this.after.textContent;
    if (!api.hasWeights) return;
    const next = this.next.show(api.ask<Next>(nextName(this.page)));
    const mask = !writes && state.covered ? '&mask=1' : '';
    const logits = this.logits.show(api.floats(`${wordsStack(this.page)}/logits?position=${position}${mask}`));
    const failed = [next, logits].find((each): each is Extract<Data<unknown>, {state: 'error'}> => each?.state === 'error');
    const now = [latest(next), latest(logits), store.now.temperature, store.now.topK, store.now.topP, failed];
    if (now.every((each, at) => each === this.shown[at]) && this.shown.length > 0) return;
    this.shown = now;
    const [words, all] = [latest(next), latest(logits)];
    if (failed) this.table.replaceChildren(html('p', {class: 'quiet'}, failed.error.message));
    else this.table.replaceChildren(...words && all ? this.rows(words, all) : []);
  }
}
