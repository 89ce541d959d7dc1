// The next word after the shown token; without a word output, the largest edges of its row.
import type {Edge, Line} from '../arcs';
import {latest, Slot} from '../data/slot';
import {html} from '../dom';
import {weight} from '../format';
import {isSaved} from '../held';
import type {MakePanel, Panel} from '../panel';
import {primary, unitsOf} from '../panel';
import {isolated, phrase, plain} from '../tokens';
import type {Side} from '../side';
import type {Next, Token} from '../transport/api';
import {tokenOfB} from '../transport/difference';
import {others} from './key_column';
import {lensInShort} from './lens_short';
import {word} from './word';

const kShown = 5;      // words
const kCompared = 64;  // words of either side, among which the other side's are looked for

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

/** The words that either side expects most: what both give each, and how that differs; the largest change first. */
function rowsOfBoth(a: Next, b: Next): HTMLElement[] {
  const words = [...a.words.slice(0, kShown), ...b.words.slice(0, kShown).filter(({id}) => !a.words.slice(0, kShown).some((each) => each.id === id))];
  const of = ({words: all}: Next, id: number) => all.find((each) => each.id === id)?.probability ?? null;
  const least = ({words: all}: Next) => all.at(-1)?.probability ?? 0;
  const rows = words.map(({id, text}) => ({text, ofA: of(a, id), ofB: of(b, id), change: (of(a, id) ?? least(a)) - (of(b, id) ?? least(b))}))
    .sort((one, other) => Math.abs(other.change) - Math.abs(one.change)).slice(0, kShown + 1);
  const written = (value: number | null, all: Next) => value === null ? `<${weight(Math.max(0.001, least(all)))}` : weight(value);
  return [
    html('li', {class: 'next-row both quiet'}, '', html('span', {class: 'value'}, 'A'), html('span', {class: 'value'}, 'B'), '', html('span', {class: 'value'}, 'A \u2212 B')),
    ...rows.map(({text, ofA, ofB, change}) => {
      const bar = html('span', {class: change < 0 ? 'bar less' : 'bar more'});
      bar.style.setProperty('--share', String(Math.abs(change)));
      return html('li', {class: 'next-row both'}, word(text), html('span', {class: 'value'}, written(ofA, a)), html('span', {class: 'value'}, written(ofB, b)),
        html('span', {class: 'bar-room'}, bar), html('span', {class: 'value'}, weight(change)));
    }),
  ];
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
  const {store, api, side, compared} = page;
  const sides = api.isDifference && compared && compared.a !== compared.b ? compared : null;
  const title = html('h2', {}, side.isWritten ? 'Next word' : 'Largest edges');
  const after = html('span', {class: 'quiet'});
  const list = html('ol', {class: 'next'});
  container.append(html('div', {class: 'heading'}, title, after), list);
  const slots = ['next', 'next-b'].map((lane) => new Slot<Next>(lane, () => update()));
  const line = new Slot<Line>('next-edges', () => update());
  let drawn: unknown[] = [];
  const lens = side.isWritten && api.model.runs ? lensInShort(container, page, sides) : null;

  /** The first token of the three words that end at the position. */
  const wordsBefore = (position: number) => {
    const {begins} = unitsOf(side, 'word');
    let first = begins[position]!;
    for (let word = 0; word < 3 && first > 0; ++word) first = begins[first - 1]!;
    return first;
  };
  const show = (answers: unknown[], position: number, rows: () => HTMLElement[]) => {
    if (answers.every((each, at) => each === drawn[at])) return;
    drawn = answers;
    const isThere = answers.every((each) => each !== null);
    after.textContent = isThere ? `after \u201c${phrase(readable(side.queries, wordsBefore(position), position + 1), 0, Infinity)}\u201d` : '';
    list.replaceChildren(...isThere ? rows() : []);
  };
  const showWords = (position: number, isPassing: boolean) => {
    const top = sides && !isSaved(api.model) ? kCompared : kShown;  // a saved page holds no more
    const asked = sides ? [sides.a.next(position, top), sides.b.next(tokenOfB(sides, position), top)] : [api.next(position)];
    const found = asked.map((question, at) => latest(slots[at]!.show(question, isPassing)));
    const [a, b] = found;
    show(found, a?.position ?? position, () => b ? rowsOfBoth(a!, b) : nextRows(a!));
    lens?.show(position, isPassing);
  };
  const update = () => {
    const {range, to} = store.now;
    // Where columns are other tokens, one of them is no position.
    const query = side.isSquare ? store.query ?? range?.[1] : store.markedQuery ?? (to ? null : range?.[1]);
    const position = query ?? side.queries.length - 1;
    if (!api.hasWeights) return;
    if (side.isWritten) return showWords(position, store.hover.query !== null);
    const found = latest(line.show(api.line(primary(store.now), position, position + 1, false)));
    show([found], found?.edges[0]?.query ?? position, () => edgeRows(found!.edges, side));
  };
  const stop = () => {
    slots.forEach((slot) => slot.stop());
    line.stop();
    lens?.destroy();
  };
  return {update, destroy: stop};
};
