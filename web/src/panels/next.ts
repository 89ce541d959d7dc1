// The next word after the shown token; without a word output, the largest edges of its row.
import type {Edge, Line} from '../arcs';
import {latest, Slot} from '../data/slot';
import {html} from '../dom';
import {weight} from '../format';
import {answersRuns} from '../held';
import type {MakePanel, Panel} from '../panel';
import {primary, unitsOf} from '../panel';
import {isolated, phrase, plain} from '../tokens';
import type {Side} from '../side';
import type {Next, Token} from '../transport/api';
import {others} from './key_column';
import {lensInShort} from './lens_short';
import {word} from './word';

function row(name: Node, share: number): HTMLElement {
  const bar = html('span', {class: 'bar'});
  bar.style.setProperty('--share', String(Math.abs(share)));
  return html('li', {class: 'next-row'}, name, html('span', {class: 'bar-room'}, bar),
    html('span', {class: 'value'}, weight(share)));
}

function nextRows(next: Next): HTMLElement[] {
  const rows = next.words.map((each) => row(word(each.text), each.probability));
  const {count, probability} = next.rest;
  if (count > 0) {
    rows.push(html('li', {class: 'quiet rest'}, `+ ${weight(probability)} in ${others(count)}`));
  }
  return rows;
}

function edgeRows(edges: Edge[], {keys}: Side): HTMLElement[] {
  return [...edges].sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight)).slice(0, 5).map((edge) =>
    row(html('span', {class: 'word'}, `${isolated(plain(keys[edge.key]!))} ${edge.key}`), edge.weight));
}

/** Without the special tokens, where there are others. */
function readable(tokens: Token[], begin: number, end: number): Token[] {
  const all = tokens.slice(begin, end);
  const plainOnes = all.filter(({special}) => !special);
  return plainOnes.length > 0 ? plainOnes : all;
}

export const nextPanel: MakePanel = (container, page): Panel => {
  const {store, api, side} = page;
  const title = html('h2', {}, side.isWritten ? 'Next word' : 'Largest edges');
  const after = html('span', {class: 'quiet'});
  const list = html('ol', {class: 'next'});
  container.append(html('div', {class: 'heading'}, title, after), list);
  const next = new Slot<Next>('next', () => update());
  const line = new Slot<Line>('next-edges', () => update());
  let drawn: Next | Line | null = null;
  const lens = side.isWritten && answersRuns(api.model, 'look') ? lensInShort(container, page) : null;

  /** The first token of the three words that end at the position. */
  const wordsBefore = (position: number) => {
    const {begins} = unitsOf(side, 'word');
    let first = begins[position]!;
    for (let word = 0; word < 3 && first > 0; ++word) first = begins[first - 1]!;
    return first;
  };
  const show = (answer: Next | Line | null, position: number, rows: () => HTMLElement[]) => {
    if (answer === drawn) return;
    drawn = answer;
    after.textContent = answer && `after \u201c${phrase(readable(side.queries, wordsBefore(position), position + 1), 0, Infinity)}\u201d`;
    list.replaceChildren(...rows());
  };
  const update = () => {
    const {range, to} = store.now;
    // Where columns are other tokens, one of them is no position.
    const query = side.isSquare ? store.query ?? range?.[1] : store.markedQuery ?? (to ? null : range?.[1]);
    const position = query ?? side.queries.length - 1;
    const isPassing = store.hover.query !== null;
    if (!api.hasWeights) return;
    if (side.isWritten) {
      const found = latest(next.show(api.next(position), isPassing));
      show(found, found?.position ?? position, () => found ? nextRows(found) : []);
      lens?.show(position, isPassing);
      return;
    }
    const found = latest(line.show(api.line(primary(store.now), position, position + 1, false)));
    show(found, found?.edges[0]?.query ?? position, () => found ? edgeRows(found.edges, side) : []);
  };
  const stop = () => {
    next.stop();
    line.stop();
    lens?.destroy();
  };
  return {update, destroy: stop};
};
