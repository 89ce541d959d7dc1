// Lists the words of a long text that surprised the model most.
import {button, html} from '../drawing/dom';
import {weight} from '../drawing/format';
import {unitsOf} from './panel';
import {phrase} from '../text/tokens';
import type {Facts, WordsPage} from './words_page';
import {choose} from './words_page';

const kMost = 20;
const kBefore = 4;  // words shown before each

interface Surprise { first: number; end: number; probability: number }

export class SurprisesList {
  readonly element = html('section', {class: 'surprises', 'aria-label': 'The most surprising words'});

  constructor(private readonly page: WordsPage) {}

  show(facts: (Facts | undefined)[]): void {
    const {starts, ends} = unitsOf(this.page.side, 'word');
    const words = starts.flatMap((first): Surprise[] => {
      const own = facts.slice(first, ends[first]).filter((each) => each !== undefined);
      return own.length === 0 ? [] : [{first, end: ends[first]!, probability: own.reduce((product, each) => product * each.probability, 1)}];
    });
    const most = words.sort((a, b) => a.probability - b.probability).slice(0, kMost);
    this.element.replaceChildren(...most.length === 0 ? [] : [
      html('div', {class: 'heading'}, html('h2', {}, `The ${most.length} most surprising words`), html('span', {class: 'quiet'}, 'bits, probability')),
      html('div', {class: 'surprises-rows'}, ...most.map((each) => this.row(each))),
    ]);
  }

  private row({first, end, probability}: Surprise): HTMLElement {
    const {page} = this;
    const {begins} = unitsOf(page.side, 'word');
    let before = first;
    for (let word = 0; word < kBefore && before > 0; ++word) before = begins[before - 1]!;
    return button({class: 'surprises-row', 'data-index': first}, () => choose(page, first),
      html('span', {class: 'index'}, String(first)),
      html('span', {class: 'surprises-word'}, html('span', {class: 'quiet'}, html('bdi', {}, phrase(page.tokens, before, first))), html('b', {}, phrase(page.tokens, first, end) || '\u00b7')),
      html('span', {class: 'value'}, (-Math.log2(probability)).toFixed(1)), html('span', {class: 'value'}, weight(probability)));
  }
}
