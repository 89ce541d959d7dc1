// The next word after the shown token; without a word output, the largest edges of its row.
import type {Edge, Line} from '../arcs';
import {latest, Slot} from '../data/slot';
import {html} from '../dom';
import {weight} from '../format';
import type {MakePanel, Panel} from '../panel';
import {primary, unitsOf} from '../panel';
import {phrase, plain, shown} from '../tokens';
import type {Next, SessionApi} from '../transport/api';
import {others} from './key_column';

function word(text: string): HTMLElement {
  const element = html('span', {class: 'word'});
  const bytes = /<0x[0-9A-F]{2}>/.test(text) ? text : undefined;  // a word with bytes that are no text
  for (const piece of shown({index: 0, id: 0, text, begin: 0, end: 0, bytes}).pieces) {
    element.append(piece.hex ? html('span', {class: 'hex'}, piece.text) : piece.text);
  }
  return element;
}

function row(name: Node, share: number): HTMLElement {
  const bar = html('span', {class: 'bar'});
  bar.style.setProperty('--share', String(share));
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

function edgeRows(edges: Edge[], api: SessionApi): HTMLElement[] {
  return [...edges].sort((a, b) => b.weight - a.weight).slice(0, 5).map((edge) =>
    row(html('span', {class: 'word'}, `${plain(api.info.tokens[edge.key]!)} ${edge.key}`), edge.weight));
}

export const nextPanel: MakePanel = (container, {store, api}): Panel => {
  const title = html('h2', {}, api.model.has_words ? 'Next word' : 'Largest edges');
  const after = html('span', {class: 'quiet'});
  const list = html('ol', {class: 'next'});
  container.append(html('div', {class: 'heading'}, title, after), list);
  const next = new Slot<Next>('next', () => update());
  const line = new Slot<Line>('next-edges', () => update());
  let drawn: Next | Line | null = null;

  /** The first token of the three words that end at the position. */
  const wordsBefore = (position: number) => {
    const {begins} = unitsOf(api, 'word');
    let first = begins[position]!;
    for (let word = 0; word < 3 && first > 0; ++word) first = begins[first - 1]!;
    return first;
  };
  const show = (answer: Next | Line | null, position: number, rows: () => HTMLElement[]) => {
    if (answer === drawn) return;
    drawn = answer;
    const {tokens} = api.info;
    after.textContent = answer && `after \u201c${phrase(tokens, wordsBefore(position), position + 1)}\u201d`;
    list.replaceChildren(...rows());
  };
  const update = () => {
    const position = store.query ?? store.now.range?.[1] ?? api.length - 1;
    if (!api.hasWeights) return;
    if (api.model.has_words) {
      const found = latest(next.show(api.next(position)));
      show(found, found?.position ?? position, () => found ? nextRows(found) : []);
      return;
    }
    const found = latest(line.show(api.line(primary(store.now), position, position + 1, false)));
    show(found, found?.edges[0]?.query ?? position, () => found ? edgeRows(found.edges, api) : []);
  };
  const stop = () => {
    next.stop();
    line.stop();
  };
  return {update, destroy: stop};
};
