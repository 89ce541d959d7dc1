// How the model would continue after each of the likeliest words, generated while it is shown.
import type {BranchEnd, BranchToken, Next} from '../answers';
import {readLines, sessionPath} from '../data/lines';
import {latest, Slot} from '../data/slot';
import {button, html} from '../drawing/dom';
import {count, weight} from '../drawing/format';
import type {Panel} from './panel';
import {separated, underlined} from './underlined';
import type {WordsPage} from './words_page';
import {goOn, positionOf, wordsStack} from './words_page';
import {nextName} from './words_next';

const kFirst = 4;    // branches generated unasked
const kMost = 27;    // tokens per branch

interface Branch { tokens: BranchToken[]; end: BranchEnd | null; error: string; stop: AbortController }

export class Branches implements Panel {
  private readonly next = new Slot<Next>('branches', () => this.update());
  private readonly list = html('div', {class: 'branches'});
  private readonly rest = html('p', {class: 'quiet'});
  private readonly known = new Map<string, Branch>();
  private drawnOf = '';

  constructor(container: HTMLElement, private readonly page: WordsPage) {
    container.append(html('div', {class: 'heading'}, html('h2', {}, 'Branches'),
      html('span', {class: 'quiet'}, 'greedy continuation of each; click a word on the left to add it, or a word here to continue from it'),
      html('span', {class: 'quiet words-switches'}, 'bits per token')),
      this.list, this.rest, html('p', {class: 'quiet'}, `a branch ends at its line end, or after ${kMost} tokens`));
  }

  destroy(): void {
    this.next.stop();
    for (const {stop} of this.known.values()) stop.abort();
  }

  /** Puts another word first. */
  take(id: number): void {
    const {state} = this.page;
    const position = positionOf(this.page);
    if (state.of !== position) state.branches = [];
    state.of = position;
    state.branches = [id, ...state.branches.filter((each) => each !== id)].slice(0, kFirst);
    this.update();
  }

  private branch(position: number, id: number): Branch {
    const name = `${position}/${id}`;
    const found = this.known.get(name);
    if (found) return found;
    const made: Branch = {tokens: [], end: null, error: '', stop: new AbortController()};
    this.known.set(name, made);
    const {api} = this.page;
    const path = sessionPath(api.info.session, `${wordsStack(this.page)}/branch?position=${position}&token=${id}&most=${kMost}`);
    readLines<BranchToken | BranchEnd>(api.requests, path, made.stop.signal, (line) => {
      if ('ended' in line) made.end = line;
      else made.tokens.push(line);
      this.draw();
    }).catch((error: Error) => {
      if (made.stop.signal.aborted) this.known.delete(name);
      made.error = error.message;
      this.draw();
    });
    return made;
  }

  private row(position: number, id: number, isCame: boolean): HTMLElement {
    const {tokens, end, error} = this.branch(position, id);
    const go = (at: number) => goOn(this.page, position, tokens.slice(0, at + 1).map(({text}) => text));
    const told = end ? [button({class: 'option', 'data-unsaved': true, 'aria-label': 'continue from the end of this branch'}, () => go(tokens.length - 1), 'go on'), html('span', {class: 'quiet'}, count(end.tokens, 'token')), html('b', {}, end.bits.toFixed(2))] : [html('span', {class: 'quiet'}, error || '\u2026')];
    return html('div', {class: `branch${isCame ? ' came' : ''}`, 'data-id': id},
      html('span', {class: 'value'}, tokens[0] ? weight(tokens[0].probability) : ''),
      html('span', {class: 'branch-text words-text'}, ...underlined(tokens, go), end?.ended === 'length' ? ' \u2026' : ''), html('span', {class: 'branch-end'}, ...told));
  }

  private draw(): void {
    const next = latest(this.next.show(this.page.api.ask<Next>(nextName(this.page))));
    if (!next) return;
    const position = positionOf(this.page);
    const {state, tokens} = this.page;
    const asked = state.of === position ? state.branches : [];
    const ids = [...asked, ...next.words.map(({id}) => id).filter((id) => !asked.includes(id))].slice(0, Math.max(kFirst, asked.length));
    const came = tokens[position + 1]?.id;
    this.list.replaceChildren(...ids.map((id) => this.row(position, id, id === came)));
    separated(this.list);
    const seen = next.words.filter(({id}) => ids.includes(id)).reduce((sum, {probability}) => sum + probability, 0);
    const all = next.words.length + next.rest.count;
    this.rest.textContent = `+ ${weight(Math.max(0, 1 - seen))} in ${(all - ids.length).toLocaleString('en')} others`;
  }

  update(): void {
    const {api} = this.page;
    if (!api.hasWeights) return;
    const name = `${nextName(this.page)} ${this.page.state.branches.join()}`;
    if (name !== this.drawnOf) {
      const position = `${positionOf(this.page)}/`;
      for (const [key, each] of this.known) if (!key.startsWith(position) && !each.end) {
        each.stop.abort();
        this.known.delete(key);
      }
    }
    this.drawnOf = name;
    this.draw();
  }
}

