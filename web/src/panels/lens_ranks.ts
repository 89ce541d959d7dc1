// How the rank of the likeliest answers rises through the layers.
import type {Lens} from '../answers';
import {logAxis} from '../axis';
import {html, svg} from '../dom';
import {plain} from '../tokens';
import {asToken} from './word';

const kWidth = 255;
const kTop = 30;
const kRow = 33;
const kLetter = 6.5;  // px, about

/** A line an answer: the first in the accent with its ranks, the others dashed and dotted. */
export function rankChart({levels, answers}: Lens, position: number, vocabulary: number): Element[] {
  const scale = logAxis([vocabulary, 1], [18, kWidth - 12]);
  const up = [...levels].reverse();
  const y = (at: number) => kTop + 16 + at * kRow;
  const height = y(up.length - 1) + 16;
  const ticks = [1, 10, 100, 1000, 10_000, 100_000].filter((rank) => rank < vocabulary / 2);
  const element = svg('svg', {class: 'lens-ranks', width: kWidth, height, viewBox: `0 0 ${kWidth} ${height}`, role: 'img', 'aria-label': 'Ranks by layer'},
    ...[...ticks, vocabulary].flatMap((rank) => [
      svg('line', {class: 'grid-line', x1: scale(rank), x2: scale(rank), y1: kTop, y2: height}),
      svg('text', {class: 'tick', x: scale(rank), y: 12}, rank.toLocaleString('en')),
    ]));
  const order = answers.map((_, at) => at).reverse();  // the first one on top
  for (const which of order) {
    const points = up.map(({ranks}, at) => [scale(ranks[which]!), y(at)] as const);
    element.append(svg('polyline', {class: `rank-line rank-${which}`, points: points.map((point) => point.join()).join(' ')}),
      ...points.map(([cx, cy]) => svg('circle', {class: `rank-dot rank-${which}`, cx, cy, r: which === 0 ? 3.5 : 2.5})));
    const last = 1;  // where lines are apart, one below the top
    const rank = up[last]?.ranks[which];
    if (rank !== undefined && which > 0) {
      const isLeft = which === 1;
      element.append(svg('text', {class: 'rank-name', x: points[last]![0] + (isLeft ? -8 : 8), y: points[last]![1] + (isLeft ? 4 : 12), 'text-anchor': isLeft ? 'end' : 'start'}, `${plain(asToken(answers[which]!.text))} ${rank}`));
    }
    if (which === 0) {
      up.forEach(({ranks}, at) => {
        const [x, top] = points[at]!;
        const said = at === 1 ? `${plain(asToken(answers[0]!.text))} ${ranks[0]}` : String(ranks[0]);
        const isRight = x + 8 + kLetter * said.length > kWidth;  // no room behind it
        if (at > 0) element.append(svg('text', {class: 'rank-name first', x: x + (isRight ? -8 : 8), y: top + 4, 'text-anchor': isRight ? 'end' : 'start'},
          said));
      });
    }
  }
  return [html('div', {class: 'heading'}, html('h2', {}, 'Rank'), html('span', {class: 'quiet'}, `of three answers at ${position}`)), element];
}
