// The output of an encoder-decoder: the texts of a beam search, highest score first.
import type {Beams} from '../answers';
import {latest, Slot} from '../data/slot';
import {choice, html} from '../drawing/dom';
import {count, fixed} from '../drawing/format';
import type {Panel} from './panel';
import {separated, underlined} from './underlined';
import type {WordsPage} from './words_page';
import {wordsStack} from './words_page';

const kWidths = ['2', '4', '8'] as const;

export class BeamsPanel implements Panel {
  private readonly beams = new Slot<Beams>('beams', () => this.update());
  private readonly list = html('div', {class: 'branches beams'});
  private width: (typeof kWidths)[number] = '4';
  private readonly widths = choice('Beams', kWidths.map((name) => ({name, label: name})), (width) => {
    this.width = width;
    this.update();
  });

  constructor(container: HTMLElement, private readonly page: WordsPage) {
    container.append(html('div', {class: 'heading'}, html('h2', {}, 'Beams'),
      html('span', {class: 'quiet'}, 'what the model writes by itself; grey: shared with a better text; score: log-probability by length'),
      html('span', {class: 'words-switches'}, html('span', {class: 'quiet'}, 'beams'), this.widths.element)), this.list);
  }

  destroy(): void { this.beams.stop(); }

  update(): void {
    const {api, open} = this.page;
    this.widths.show(this.width);
    const found = this.beams.show(api.hasWeights ? api.ask<Beams>(`${wordsStack(this.page)}/beams?beams=${this.width}`) : null);
    if (found?.state === 'error') this.list.replaceChildren(html('p', {class: 'quiet'}, found.error.message));
    const beams = latest(found);
    if (!beams) return;
    this.list.replaceChildren(...beams.hypotheses.map(({score, log_probability: sum, stopped, shared, tokens}) => {
      const words = stopped === 'end' ? tokens.slice(0, -1) : tokens;
      const target = words.map(({text}) => text).join('').trim();
      return html('div', {class: 'branch'}, html('span', {class: 'value'}, fixed(score, 2)),
        html('span', {class: 'branch-text words-text'}, ...underlined(words, () => open({text: api.info.text, target}), shared)),
        html('span', {class: 'branch-end'}, html('span', {class: 'quiet'}, count(tokens.length, 'token')), html('b', {}, fixed(sum, 2))));
    }));
    separated(this.list);
  }
}
