// The logit lens: each layer's prediction through the model's last norm and vocabulary layer.
import type {Lens} from '../answers';
import {latest, Slot} from '../data/slot';
import {button, choice, html, say} from '../drawing/dom';
import {shortWeight, weight} from '../drawing/format';
import type {Panel} from './panel';
import {plain} from '../text/tokens';
import {asToken, saidWord} from './word';
import {rankChart} from './lens_ranks';
import type {WordsPage} from './words_page';
import {choose, positionOf, wordsStack} from './words_page';

const kColumn = 51;       // px per column, at least
const kNames = 123;       // px for a level's name

type Level = Lens['levels'][number];

export function levelName({name, layer}: Level): string {
  return name === 'embedding' ? 'tokens' : name === 'layer' ? `layer ${layer}` : `${layer} ${name}`;
}

/** The words around the position, as many as fit. */
function windowOf(page: WordsPage, width: number): {begin: number; end: number} {
  const most = Math.max(4, Math.min(24, Math.floor((width - kNames) / kColumn)));
  const length = page.tokens.length;
  const begin = Math.max(0, Math.min(length - most, positionOf(page) - Math.ceil(most * 0.6)));
  return {begin, end: Math.min(length, begin + most)};
}

export class LensPanel implements Panel {
  private readonly lens = new Slot<Lens>('lens', () => this.update());
  private readonly table = html('table', {class: 'lens'});
  private readonly blocks = choice('Levels', [{name: 'layers', label: 'layers'}, {name: 'blocks', label: 'every block'}], (name) => {
    this.every = name === 'blocks';
    this.update();
  });
  private every = false;
  private drawn: Lens | null = null;
  readonly said = html('span', {class: 'quiet'});  // in the foot line

  constructor(private readonly container: HTMLElement, private readonly ranks: HTMLElement, private readonly page: WordsPage) {
    const came = page.writes ? 'came' : 'in the text';
    container.append(html('div', {class: 'heading'}, html('h2', {}, 'Lens'),
      html('span', {class: 'quiet'}, `the word each layer would say, bold if it is the one that ${came}, and the chance it gives it, as shade and number`),
      html('span', {class: 'words-switches'}, html('span', {class: 'quiet'}, 'after'), this.blocks.element)), this.table);
  }

  destroy(): void { this.lens.stop(); }

  private header({begin, end}: Lens, chosen: number): HTMLElement {
    const {tokens, writes} = this.page;
    const cells = Array.from({length: end - begin}, (_, at) => {
      const token = begin + at + (writes ? 1 : 0);
      const text = tokens[token] ? plain(tokens[token]) : '\u2013';
      return html('th', {scope: 'col', class: begin + at === chosen ? 'chosen' : null},
        button({'aria-label': `${text}, ${token}`}, () => choose(this.page, token), text));
    });
    return html('tr', {}, html('th', {scope: 'row', class: 'quiet'}, writes ? 'came next' : 'in the text'), ...cells);
  }

  private level(level: Level, {begin}: Lens, chosen: number, isLast: boolean): HTMLElement {
    const cells = level.cells.map((cell, at) => {
      const {probability: own} = cell;
      const element = html('td', {class: `${cell.rank === 1 ? 'right' : ''}${begin + at === chosen ? ` chosen${isLast ? ' last' : ''}` : ''}`, title: `${plain(asToken(cell.text))} ${weight(cell.probability)}${cell.rank === undefined ? '' : `; the word that came: ${weight(cell.came ?? 0)}, rank ${cell.rank.toLocaleString('en')}`}`},
        html('span', {}, saidWord(cell.text, this.page.tokens)), html('span', {class: 'lens-chance'}, own >= 0.995 ? '1' : own >= 0.005 ? shortWeight(own) : ''));
      element.style.setProperty('--weight', own.toFixed(3));
      return element;
    });
    return html('tr', {}, html('th', {scope: 'row'}, levelName(level), html('div', {class: 'quiet'}, `${level.right} of ${level.of}`)), ...cells);
  }

  update(): void {
    const {api} = this.page;
    if (!api.hasWeights) return;
    const {begin, end} = windowOf(this.page, this.container.clientWidth);
    const position = positionOf(this.page);
    const found = this.lens.show(api.ask<Lens>(
      `${wordsStack(this.page)}/lens?begin=${begin}&end=${end}&at=${position}${this.every ? '&blocks=1' : ''}`));
    this.blocks.show(this.every ? 'blocks' : 'layers');
    const lens = latest(found);
    if (found?.state === 'error') this.table.replaceChildren(html('caption', {class: 'quiet'}, found.error.message));
    if (!lens || lens === this.drawn) return;
    this.drawn = lens;
    const {difference} = lens;
    say(this.said, difference === undefined ? '' : `the lens of the last layer is the answer itself, difference ${difference < 1e-7 ? 0 : difference.toExponential(0)}`);
    this.blocks.element.hidden = !lens.has_blocks;
    this.table.replaceChildren(html('thead', {}, this.header(lens, position)),
      html('tbody', {}, ...[...lens.levels].reverse().map((level, at, {length}) => this.level(level, lens, position, at === length - 1))));
    this.ranks.replaceChildren(...rankChart(lens, position, this.page));
  }
}

