// The score by dimension, and the effect of positions on it.
import type {Why} from '../answers';
import {choice, html, svg} from '../drawing/dom';
import {fixed, scored, signed} from '../drawing/format';
import {bar, heading, note, quiet, residual, row} from './why_parts';
import {scaleName} from './why_sum';

export const kAgainst = [
  {name: 'raw', label: 'raw'}, {name: 'mean', label: 'mean key'}, {name: 'runner_up', label: 'other key'},
] as const;
export type Against = (typeof kAgainst)[number]['name'];
const kMost = 8;

export function sumAgainst(why: Why, against: Against): Why['raw'] {
  return against === 'raw' ? why.raw : against === 'mean' ? why.against_mean : why.against_runner_up;
}

export function dimensionsBlock(why: Why, against: Against, choose: (against: Against) => void): Node[] {
  const {terms, sum, residual: left} = sumAgainst(why, against);
  const base = against === 'raw' ? null : against === 'mean' ? why.mean_key : why.runner_key;
  const name = against === 'raw' ? 'k' : against === 'mean' ? '(k \u2212 mean key)' : '(k \u2212 other key)';
  const switches = choice('Against', kAgainst, choose);
  switches.show(against);
  const order = terms.map((term, at) => ({at, value: term.value})).sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const rest = order.slice(kMost).reduce((total, {value}) => total + value, 0);
  const values = [...order.slice(0, kMost).map(({value}) => value), rest];
  const [most, least] = [Math.max(0, ...values), Math.min(0, ...values)];
  let soFar = 0;
  const rows = order.slice(0, kMost).map(({at, value}) => {
    soFar += value;
    const k = (why.k[at] ?? 0) - (base?.[at] ?? 0);
    return row('dim', html('b', {}, String(at)), scored(why.q[at] ?? 0), scored(k), bar(value, most, least), signed(value),
      quiet(sum === 0 ? '' : `${fixed(100 * soFar / sum, 0)} %`));
  });
  if (order.length > kMost) rows.push(row('dim', '', '', quiet(`${order.length - kMost} more`), bar(rest, most, least), signed(rest), quiet('100 %')));
  const less = against === 'raw' ? 'q\u00b7k, scaled' : `score less ${against === 'mean' ? 'the keys\u2019 mean' : 'the strongest other key\u2019s'}, ${scored(why.raw.sum - sum)}`;
  return [
    heading('By dimension', `q \u00d7 ${name} ${why.scale === 1 ? '' : scaleName(why)}`, switches.element),
    row('dim head', quiet('dim'), quiet('q'), quiet(against === 'raw' ? 'k' : against === 'mean' ? 'k \u2212 mean' : 'k \u2212 other'), '', quiet('term'), quiet('so far')),
    ...rows, row('dim total', quiet(`${less}, ${residual(left)}`), html('b', {}, signed(sum))),
  ];
}

const [kWidth, kHeight, kLeft] = [432, 124, 28];

/** The score if the key were at another distance. */
function curve(why: Why): SVGElement {
  const {curve: scores} = why;
  const back = why.query - why.key;
  const top = Math.ceil(Math.max(...scores, 0) / 2) * 2;
  const bottom = Math.min(0, Math.floor(Math.min(...scores) / 2) * 2);
  const x = (at: number) => kLeft + (kWidth - kLeft - 8) * at / Math.max(1, scores.length - 1);
  const y = (score: number) => 12 + (kHeight - 36) * (top - score) / Math.max(1, top - bottom);
  const text = (at: number, high: number, words: string, kind = '') => svg('text', {x: at, y: high, class: `why-tick ${kind}`}, words);
  const step = Math.max(2, Math.ceil((top - bottom) / 8) * 2);
  const lines = Array.from({length: Math.floor((top - bottom) / step) + 1}, (_, at) => bottom + at * step);
  const path = scores.map((score, at) => `${at === 0 ? 'M' : 'L'}${x(at).toFixed(1)} ${y(score).toFixed(1)}`).join('');
  const here = scores[back];
  const late = x(back) > kWidth / 2;
  const label = `${back} back, ${scored(why.score)}`;
  const side = late ? -8 : 8;
  // Across the whole line beside it, or below it if there is no room.
  const beside = scores.filter((_, at) => Math.abs(x(at) - x(back) - side * (0.5 + 3.2 * label.length / 8)) <= 3.6 * label.length).map(y);
  const over = Math.min(...beside, here === undefined ? Infinity : y(here)) - 8;
  const labelY = over >= 12 ? over : Math.max(...beside, y(here ?? 0)) + 16;
  return svg('svg', {class: 'why-curve', viewBox: `0 0 ${kWidth} ${kHeight}`, role: 'img', 'aria-label': `score by distance, ${scored(why.score)} at ${back}`},
    ...lines.flatMap((line) => [svg('line', {x1: kLeft, x2: kWidth - 8, y1: y(line), y2: y(line), class: 'why-grid'}), text(0, y(line) + 4, scored(line, 0))]),
    svg('path', {d: path, class: 'why-line'}),
    ...here === undefined ? [] : [
      svg('line', {x1: x(back), x2: x(back), y1: y(here), y2: y(bottom), class: 'why-here'}), svg('circle', {cx: x(back), cy: y(here), r: 4, class: 'why-point'}),
      svg('text', {x: x(back) + side, y: labelY, class: 'why-tick accent', 'text-anchor': late ? 'end' : 'start'}, label)],
    text(kLeft, kHeight - 6, '0'), svg('text', {x: kWidth - 8, y: kHeight - 6, class: 'why-tick', 'text-anchor': 'end'}, `${scores.length - 1} back`));
}

const kBands = 8;

export function positionBlock(why: Why, learned: Node[] | null): Node[] {
  const {bands} = why;
  if (bands.length === 0) {
    const bias = why.sum.terms.filter(({name}) => name === 'bias' || name === 'slope');
    if (learned) return [heading('Position', 'learned: four terms of the score'), ...learned];
    return [heading('Position', bias.length > 0 ? 'a bias by distance' : 'no rotation'),
      ...bias.map(({name, value}) => row('sum', name, quiet(`${why.query - why.key} back`), signed(value))),
      note(bias.length > 0 ? 'added to the product' : 'the head reads positions from its input: see Where q and k came from')];
  }
  const shown = [...bands].sort((a, b) => Math.max(Math.abs(b.turned), Math.abs(b.still)) - Math.max(Math.abs(a.turned), Math.abs(a.still))).slice(0, kBands)
    .sort((a, b) => a.tokens_a_turn - b.tokens_a_turn);
  const values = shown.flatMap(({still, turned}) => [still, turned]);
  const [most, least] = [Math.max(0, ...values), Math.min(0, ...values)];
  const period = (tokens: number) => tokens < 100 ? tokens.toFixed(1) : Math.round(tokens).toLocaleString('en');
  const rest = bands.filter((band) => !shown.includes(band)).reduce((sum, {turned}) => sum + turned, 0);
  return [
    heading('Position', `${bands.length} rotary bands; the tick is the score without rotation`),
    row('band head', quiet('tokens per rotation'), quiet('unrotated'), '', quiet(`${why.query - why.key} back`)),
    ...shown.map(({tokens_a_turn: turn, still, turned}) => row('band', period(turn), quiet(scored(still)), bar(turned, most, least, still), scored(turned))),
    ...bands.length > shown.length ? [note(`${bands.length - shown.length} more bands: ${signed(rest)}`)] : [],
    note('score of this key at other positions, content unchanged'), curve(why),
  ];
}
