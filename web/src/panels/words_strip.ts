// The text, with each token underlined by how much it surprised the model.
import type {Words} from '../answers';
import {latest, Slot} from '../data/slot';
import {choice, html, say} from '../drawing/dom';
import {count, largeWeight, shortWeight, weight} from '../drawing/format';
import type {Panel} from './panel';
import {unitsOf} from './panel';
import {kLines} from '../selection/selection';
import type {Mark} from '../shell/text_numbers';
import {TextView} from '../shell/text_view';
import {SurprisesList} from './surprises_list';
import {kMostBits} from './underlined';
import type {Facts, WordsPage} from './words_page';
import {choose, chosenOf, wordsStack} from './words_page';

const kSaid = {
  surprise: 'underlined by surprise, \u2212log\u2082 of the probability, 2 px per bit up to 6; the probability where it is under .25',
  entropy: 'underlined by the entropy of the prediction, 2 px per bit up to 6; above 4 bits in numbers',
  rank: 'underlined by rank, 2 px per doubling up to 6; the rank where another word was more likely',
};
const kHeat = {
  surprise: 'shaded by surprise, \u2212log\u2082 of the probability, darkest from 12 bits',
  entropy: 'shaded by the entropy of the prediction, darkest from 12 bits',
  rank: 'shaded by rank, darkest from 12 doublings',
};
const kMostShown = 600;  // maximum underlined tokens; longer texts are shaded, and their most surprising words listed
const kDarkest = 12;     // bits

export class WordsStrip implements Panel {
  private readonly view: TextView;
  private readonly words = new Slot<Words>('words', () => this.update());
  private readonly line;
  private readonly unit;
  private readonly about = html('span', {class: 'quiet'});
  private readonly sum = html('div', {class: 'quiet words-sum'});
  private readonly list: SurprisesList | null;
  private facts: (Facts | undefined)[] = [];
  private units: {begins: number[]; ends: number[]} | null = null;
  private drawn: Words | null = null;
  private readonly resized = new ResizeObserver(() => this.view.layOut());

  constructor(container: HTMLElement, private readonly page: WordsPage) {
    const {store} = page;
    this.line = choice('The line is', kLines.map((name) => ({name, label: name})), (line) => store.set({line}));
    this.unit = choice('Unit', (['token', 'word'] as const).map((name) => ({name, label: name})), (unit) => store.set({unit}));
    this.view = new TextView(page, (index) => this.markOf(index));
    this.list = page.tokens.length > kMostShown ? new SurprisesList(page) : null;
    container.classList.toggle('heat', this.list !== null);
    const title = page.writes ? 'Words' : 'Words, each seen by the model while it says how likely it is';
    container.append(
      html('div', {class: 'heading'}, html('h2', {}, title), this.about,
        html('span', {class: 'words-switches'}, html('span', {class: 'quiet'}, 'line is'), this.line.element, this.unit.element)),
      ...this.list ? [html('div', {class: 'heat-columns'}, html('div', {}, this.view.scroller, this.sum), this.list.element)] : [this.view.scroller, this.sum]);
    this.listen();
    this.view.makeStop(chosenOf(page));
    this.resized.observe(container);
    this.view.layOut();
  }

  destroy(): void {
    this.words.stop();
    this.resized.disconnect();
    this.view.destroy();
  }

  private listen(): void {
    const indexOf = (event: Event) => (event.target as Element).closest<HTMLElement>('.token')?.dataset.index;
    this.view.paragraph.addEventListener('click', (event) => {
      const index = indexOf(event);
      if (index !== undefined) choose(this.page, Number(index));
    });
    this.view.paragraph.addEventListener('keydown', (event) => {
      const index = indexOf(event);
      if (index === undefined || (event.key !== 'Enter' && event.key !== ' ')) return;
      choose(this.page, Number(index));
      event.preventDefault();
    });
  }

  private markOf(index: number): Mark {
    const {line} = this.page.store.now;
    const classes = index === chosenOf(this.page) ? ' pinned' : '';
    const first = this.units ? this.units.begins[index]! : index;
    const end = this.units ? this.units.ends[index]! : index + 1;
    const facts = this.facts.slice(first, end).filter((each) => each !== undefined);
    if (facts.length === 0) return {shade: 0, number: '', classes, nudge: 0};
    const probability = facts.reduce((product, each) => product * each.probability, 1);
    const rank = Math.max(...facts.map((each) => each.rank));
    const entropy = facts.reduce((sum, each) => sum + each.entropy, 0) / Math.LN2;
    const bits = line === 'surprise' ? -Math.log2(probability) : line === 'rank' ? Math.log2(rank) : entropy;
    const title = `surprise ${(-Math.log2(probability)).toFixed(1)} bits, probability ${weight(probability)}, rank ${rank}`;
    if (this.list) return {shade: Math.min(1, bits / kDarkest), number: '', classes, nudge: 0, title};
    const number = line === 'surprise' ? probability < 0.25 ? shortWeight(probability) : ''
      : line === 'rank' ? rank > 1 ? String(rank) : '' : entropy > 4 ? entropy.toFixed(1) : '';
    return {shade: bits < 0.25 ? 0 : Math.min(bits, kMostBits), number: index === end - 1 ? number : '', classes, nudge: 0, title};
  }

  private summary({nats, first_choices: first, tokens}: Words): (Node | string)[] {
    const all = tokens.length;
    const choices = first === all ? `all ${all}` : `${first} of ${all}`;
    const bold = (text: string) => html('b', {}, text);
    return [html('span', {}, `${choices} were the first choice, `), bold(largeWeight(nats).replace(/^0/, '')), ' nats or ', bold((nats / Math.LN2).toFixed(2)), ' bits per token'];
  }

  update(): void {
    const {api, store, tokens} = this.page;
    this.line.show(store.now.line);
    this.unit.show(store.now.unit === 'word' ? 'word' : 'token');
    say(this.about, (this.list ? kHeat : kSaid)[store.now.line]);
    this.units = store.now.unit === 'word' ? unitsOf(this.page.side, 'word') : null;
    const found = this.words.show(api.hasWeights ? api.ask<Words>(`${wordsStack(this.page)}/words`) : null);
    const words = latest(found);
    if (words !== this.drawn) {
      this.drawn = words;
      this.facts = new Array<Facts | undefined>(tokens.length);
      for (const each of words?.tokens ?? []) this.facts[each.token] = each;
      this.sum.replaceChildren(...words ? this.summary(words) : []);
      this.list?.show(this.facts);
    }
    if (found?.state === 'error') say(this.sum, found.error.message);
    if (this.list && found?.state === 'loading') say(this.sum, `Computing the surprise of ${count(tokens.length, 'token')}\u2026`);
    this.view.layOut();
    this.view.mark();
    const chosen = Math.min(chosenOf(this.page), tokens.length - 1);
    this.view.makeStop(chosen);
    this.view.reveal(chosen);
  }

}
