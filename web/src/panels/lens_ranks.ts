// How the rank of the likeliest answers changes through the layers.
import type {Lens} from '../answers';
import {logAxis} from '../drawing/axis';
import {html, svg} from '../drawing/dom';
import {Room} from './name_room';
import {saidWord} from './word';
import type {WordsPage} from './words_page';

const kWidth = 255;
const kRight = 56;    // px right of rank 1, for a name
const kTop = 30;
const kRow = 33;
const kLetter = 6.5;  // px, approximately
const kBetween = 12;  // px between the vocabulary's tick and the next, at least
const kStep = 4;      // px between the points of a line that names keep off

/** The points of a line, near enough that no name stands between them. */
function along(line: {x: number; y: number}[]): {x: number; y: number}[] {
  return line.flatMap((to, at) => {
    const from = line[Math.max(0, at - 1)]!;
    const steps = Math.ceil(Math.hypot(to.x - from.x, to.y - from.y) / kStep);
    return Array.from({length: steps + 1}, (_, step) => {
      const part = step / Math.max(1, steps);
      return {x: to.x + (from.x - to.x) * part, y: to.y + (from.y - to.y) * part};
    });
  });
}

/** The ranks of the first answer at every level but the last, those of the others where there is room. */
function rankNames(up: Lens['levels'], words: string[], places: {x: number; y: number}[][]): SVGElement[] {
  const room = new Room(places.flatMap(along), kWidth - 20);
  return words.flatMap((word, which) => {
    const isFirst = which === 0;
    const found: SVGElement[] = [];
    for (const [at, {ranks}] of up.entries()) {
      if (at === 0 || (!isFirst && found.length > 0)) continue;
      const text = isFirst && found.length > 0 ? ranks[which]!.toLocaleString('en') : `${word} ${ranks[which]!.toLocaleString('en')}`;
      const free = room.find(places[which]![at]!.x, places[which]![at]!.y, kLetter * text.length);
      if (free) found.push(svg('text', {...free, class: isFirst ? 'rank-name first' : 'rank-name'}, text));
    }
    return found;
  });
}

/** One line per answer: the first in the accent colour with its ranks, the others dashed and dotted. */
export function rankChart({levels, answers}: Lens, position: number, {tokens, api: {model: {vocabulary}}}: WordsPage): Element[] {
  const scale = logAxis([vocabulary, 1], [18, kWidth - kRight]);
  const up = [...levels].reverse();
  const y = (at: number) => kTop + 16 + at * kRow;
  const height = y(up.length - 1) + 16;
  const widthOf = (rank: number) => kLetter * rank.toLocaleString('en').length;
  const ticks = [1, 10, 100, 1000, 10_000, 100_000].filter((rank) => scale(rank) - scale(vocabulary) > (widthOf(rank) + widthOf(vocabulary)) / 2 + kBetween);
  const element = svg('svg', {class: 'lens-ranks', width: kWidth, height, viewBox: `0 0 ${kWidth} ${height}`, role: 'img', 'aria-label': 'Ranks by layer'},
    ...[...ticks, vocabulary].flatMap((rank) => [
      svg('line', {class: 'grid-line', x1: scale(rank), x2: scale(rank), y1: kTop, y2: height}),
      svg('text', {class: 'tick', x: scale(rank), y: 12}, rank.toLocaleString('en')),
    ]));
  const places = answers.map((_, which) => up.map(({ranks}, at) => ({x: scale(ranks[which]!), y: y(at)})));
  for (const which of answers.map((_, at) => at).reverse()) {  // the first one on top
    const points = places[which]!;
    element.append(svg('polyline', {class: `rank-line rank-${which}`, points: points.map((point) => `${point.x},${point.y}`).join(' ')}),
      ...points.map((point) => svg('circle', {class: `rank-dot rank-${which}`, cx: point.x, cy: point.y, r: which === 0 ? 3.5 : 2.5})));
  }
  element.append(...rankNames(up, answers.map(({text}) => saidWord(text, tokens)), places));
  return [html('div', {class: 'heading'}, html('h2', {}, 'Rank'), html('span', {class: 'quiet'}, `of three answers at ${position}`)), element];
}
