// The next word after the shown token; for an encoder the words that fit in its place, or the largest edges of its row.
import type {Edge, Line} from '../attention/arcs';
import {latest, Slot} from '../data/slot';
import {html} from '../drawing/dom';
import {weight} from '../drawing/format';
import {answersRuns, hasOnlyWeights} from '../heads/held';
import type {MakePanel, Panel} from './panel';
import {focus, largestName, primary, unitsOf} from './panel';
import {isolated, phrase, plain} from '../text/tokens';
import type {Side} from '../attention/side';
import type {Next, Token} from '../transport/api';
import {tokenOfB} from '../transport/difference';
import {others} from './key_column';
import {lensInShort} from './lens_short';
import {areSpaced, word} from './word';

const kShown = 5;      // words
export const kCompared = 64;  // words of each side, among which the other side's are searched
const kUnseen = 0.0005;  // smaller chances are shown as `<.001`, and count as 0

function row(name: Node, share: number): HTMLElement {
  const bar = html('span', {class: 'bar'});
  bar.style.setProperty('--share', String(Math.abs(share)));
  return html('li', {class: 'next-row'}, name, html('span', {class: 'bar-room'}, bar),
    html('span', {class: 'value'}, weight(share)));
}

function nextRows(next: Next, tokens: Token[]): HTMLElement[] {
  const isSpaced = areSpaced(next.words, tokens);
  const rows = next.words.map((each) => row(word(each.text, isSpaced), each.probability));
  const {count, probability} = next.rest;
  if (count > 0) {
    rows.push(html('li', {class: 'quiet rest'}, `+ ${weight(probability)} in ${others(count)}`));
  }
  return rows;
}

/** A chance, or only its upper bound; `value`: null unless it is known to three digits. */
interface Chance { value: number | null; written: string }

/** Unlisted words are less likely than all listed ones. */
export function chanceIn({words}: Next, id: number): Chance {
  const value = words.find((each) => each.id === id)?.probability;
  if (value !== undefined) return {value, written: weight(value)};
  const most = words.at(-1)?.probability ?? 0;
  return {value: most < kUnseen ? 0 : null, written: `<${weight(Math.max(0.001, most))}`};
}

/** The likeliest words of either side: both probabilities and their difference, largest change first. */
function rowsOfBoth(a: Next, b: Next, tokens: Token[]): HTMLElement[] {
  const words = [...a.words.slice(0, kShown), ...b.words.slice(0, kShown).filter(({id}) => !a.words.slice(0, kShown).some((each) => each.id === id))];
  const isSpaced = areSpaced(words, tokens);
  const rows = words.map(({id, text}) => {
    const [ofA, ofB] = [chanceIn(a, id), chanceIn(b, id)];
    const change = ofA.value === null || ofB.value === null ? null : ofA.value - ofB.value;
    return {text, ofA, ofB, change, size: Math.abs(change ?? ofA.value ?? ofB.value ?? 0)};
  }).sort((one, other) => other.size - one.size).slice(0, kShown + 1);
  return [
    html('li', {class: 'next-row both quiet'}, html('span'), html('span', {class: 'value'}, 'A'), html('span', {class: 'value'}, 'B'), html('span'), html('span', {class: 'value'}, 'A \u2212 B')),
    ...rows.map(({text, ofA, ofB, change}) => {
      const bar = html('span', {class: change !== null && change < 0 ? 'bar less' : 'bar more'});
      bar.style.setProperty('--share', String(Math.abs(change ?? 0)));
      return html('li', {class: 'next-row both'}, word(text, isSpaced), html('span', {class: 'value'}, ofA.written), html('span', {class: 'value'}, ofB.written),
        html('span', {class: 'bar-room'}, bar), html('span', {class: 'value'}, change === null ? '\u2013' : weight(change)));
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

/** Whether the token is a gap that the model fills. */
function isGap({text}: Token): boolean { return /^(\[MASK\]|<mask>)$/.test(text.trim()); }

export const nextPanel: MakePanel = (container, page): Panel => {
  const {store, api, side, compared} = page;
  const sides = api.isDifference && compared && compared.a !== compared.b ? compared : null;
  const fills = api.model.fills_masks && side.queries === api.info.tokens;
  const title = html('h2', {});
  const after = html('span', {class: 'quiet'});
  const list = html('ol', {class: 'next'});
  container.append(html('div', {class: 'heading'}, title, after), list);
  const slots = ['next', 'next-b'].map((lane) => new Slot<Next>(lane, () => update()));
  const line = new Slot<Line>('next-edges', () => update());
  let drawn: unknown[] = [];
  const lens = side.isWritten && answersRuns(api.model, 'look') ? lensInShort(container, page, sides) : null;

  /** The first token of the three words that end at the position. */
  const wordsBefore = (position: number) => {
    const {begins} = unitsOf(side, 'word');
    let first = begins[position]!;
    for (let word = 0; word < 3 && first > 0; ++word) first = begins[first - 1]!;
    return first;
  };
  const afterText = (position: number) => `after \u201c${phrase(readable(side.queries, wordsBefore(position), position + 1), 0, Infinity)}\u201d`;
  const show = (name: string, answers: unknown[], about: () => string, rows: () => HTMLElement[]) => {
    if (title.textContent === name && answers.length === drawn.length && answers.every((each, at) => each === drawn[at])) return;
    drawn = answers;
    const isThere = answers.every((each) => each !== null);
    title.textContent = name;
    after.textContent = isThere ? about() : '';
    list.replaceChildren(...isThere ? rows() : []);
  };
  /** The words after the position, on both sides of a comparison. */
  const showWords = (position: number, isPassing: boolean) => {
    const asked = sides ? [sides.a.next(position, kCompared), sides.b.next(tokenOfB(sides, position), kCompared)] : [api.next(position)];
    const found = asked.map((question, at) => latest(slots[at]!.show(question, isPassing)));
    const [a, b] = found;
    show('Next word', found, () => afterText(a!.position), () => b ? rowsOfBoth(a!, b, side.queries) : nextRows(a!, side.queries));
    lens?.show(position, isPassing);
  };
  /** The words for the position itself: in a gap, or where a word is masked. */
  const showFilled = (position: number, isPassing: boolean) => {
    const token = side.queries[position]!;
    const isOpen = isGap(token);
    const asked = isOpen ? api.next(position) : api.ask<Next>(`${side.stack}/next?position=${position}&top=${kShown}&mask=1`);
    const found = latest(slots[0]!.show(asked, isPassing));
    show(isOpen ? 'In the gap' : 'In its place', [found], () => isOpen ? `at ${plain(token)} ${position}` : `where \u201c${plain(token)}\u201d ${position} is covered`, () => nextRows(found!, side.queries));
  };
  /** Without words: the largest edges, unless the list of keys shows them. */
  const showEdges = (position: number) => {
    const isListed = focus(page) !== null && store.now.places.length === 1 && store.now.pair === null;
    const found = latest(line.show(isListed ? null : api.line(primary(store.now), position, position + 1, false)));
    if (isListed) show('', [position], () => hasOnlyWeights(api.model) ? 'weights alone: without q and k there is no Why' : 'click an edge or a cell: why its weight is what it is', () => []);
    else show(api.isDifference ? largestName(api) : 'Largest edges', [found], () => afterText(found!.edges[0]?.query ?? position), () => edgeRows(found!.edges, side));
  };
  const update = () => {
    const {range, to} = store.now;
    // If columns are other tokens, a column is not a position.
    const query = side.isSquare ? store.query ?? range?.[1] : store.markedQuery ?? (to ? null : range?.[1]);
    const pinned = store.pinnedQuery;
    const staysInGap = fills && pinned !== null && isGap(side.queries[pinned]!);  // Why below it is the pinned gap's
    const position = (staysInGap ? pinned : query) ?? side.queries.length - 1;
    const isPassing = !staysInGap && store.hover.query !== null;
    if (!api.hasWeights) return;
    if (side.isWritten) showWords(position, isPassing);
    else if (fills && (!side.queries[position]!.special || isGap(side.queries[position]!))) showFilled(position, isPassing);
    else showEdges(position);
  };
  const stop = () => {
    slots.forEach((slot) => slot.stop());
    line.stop();
    lens?.destroy();
  };
  return {update, destroy: stop};
};
