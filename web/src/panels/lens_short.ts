// The lens beside Look: the probability of the two likeliest words, block by block.
import type {Lens} from '../answers';
import {latest, Slot} from '../data/slot';
import {html, svg} from '../drawing/dom';
import {shortWeight, weight} from '../drawing/format';
import type {Page} from './panel';
import type {SessionApi, Token} from '../transport/api';
import type {Sides} from '../transport/difference';
import {tokenOfB} from '../transport/difference';
import {levelName} from './lens';
import {saidWord} from './word';

const [kWidth, kMost, kHeight] = [316, 430, 80];
const [kLeft, kTop, kLow] = [6, 8, 58];  // of the curves
const kNames = 78;     // px to the right of them
const kLine = 14;      // px between two names
const kTick = 18;      // px between two layers' numbers
const kLetters = 6;    // per word

/** `Lily .89` */
function named(word: string, chance: number): string {
  const letters = [...word];
  return `${letters.length > kLetters ? `${letters.slice(0, kLetters).join('')}\u2026` : letters.join('')} ${shortWeight(chance)}`;
}

/** The numbers of the layers, each under its blocks. */
function ticks(levels: Lens['levels'], x: (at: number) => number): SVGElement[] {
  const numbers = [...new Set(levels.flatMap(({layer}) => layer === undefined ? [] : [layer]))];
  const every = Math.ceil(kTick * numbers.length / (x(levels.length - 1) - x(0)));
  return numbers.filter((layer) => layer % every === 0).map((layer) => {
    const own = levels.flatMap((level, at) => level.layer === layer ? [x(at)] : []);
    return svg('text', {x: (own[0]! + own.at(-1)!) / 2, y: kLow + 18, 'text-anchor': 'middle'}, String(layer));
  });
}

interface Curve { side: string; word: string; chances: number[] }

const curveOf = ({levels, answers}: Lens, which: number, tokens: Token[], side = ''): Curve =>
  ({side, word: saidWord(answers[which]!.text, tokens), chances: levels.map(({chances}) => chances[which]!)});

/** The two likeliest words; with two sides, A's likeliest in both, or B's own if B's lens does not list it. */
function curvesOf([lens, other]: Lens[], tokens: Token[]): Curve[] {
  if (!other) return lens!.answers.slice(0, 2).map((_, which) => curveOf(lens!, which, tokens));
  const same = other.answers.findIndex(({text}) => text === lens!.answers[0]!.text);
  return [curveOf(lens!, 0, tokens, 'A '), curveOf(other, Math.max(0, same), tokens, 'B ')];
}

function drawn({levels}: Lens, shown: Curve[], width: number): SVGElement {
  const right = width - kNames;
  const x = (at: number) => kLeft + (right - kLeft) * at / Math.max(1, levels.length - 1);
  const y = (chance: number) => kLow - (kLow - kTop) * chance;
  const ends = shown.map(({chances}) => y(chances.at(-1)!));
  if (ends.length === 2) {  // separate, and above the axis name
    ends[1] = Math.min(kLow, Math.max(ends[1]!, ends[0]! + kLine));
    ends[0] = Math.min(ends[0]!, ends[1] - kLine);
  }
  const said = shown.map(({side, word, chances}) => `${side}${word}: ${levels.map((level, at) => `${levelName(level)} ${weight(chances[at]!)}`).join(', ')}`);
  return svg('svg', {class: shown[0]!.side === '' ? 'lens-short' : 'lens-short both', width, height: kHeight, viewBox: `0 0 ${width} ${kHeight}`, role: 'img', 'aria-label': said.join('; ')},
    svg('line', {x1: kLeft, x2: right, y1: kLow + 4, y2: kLow + 4}), ...ticks(levels, x),
    svg('text', {x: width, y: kLow + 18, 'text-anchor': 'end'}, 'layer'),
    ...shown.map(({side, word, chances}, which) => svg('g', {class: which === 0 ? 'first' : ''},
      svg('polyline', {points: chances.map((chance, at) => `${x(at)},${y(chance)}`).join(' ')}),
      ...chances.map((chance, at) => svg('circle', {cx: x(at), cy: y(chance), r: which === 0 ? 2.5 : 2},
        svg('title', {}, `${levelName(levels[at]!)}: ${side}${word} ${weight(chance)}`))),
      svg('text', {x: width, y: ends[which]! + 4, 'text-anchor': 'end'}, `${side}${named(word, chances.at(-1)!)}`))).reverse());
}

/** For the page's session, or both `sides`. */
export function lensInShort(container: HTMLElement, {api, side}: Page, sides: Sides | null): {show(position: number, isPassing: boolean): void; destroy(): void} {
  const place = html('div');
  const about = html('span', {class: 'quiet'});
  const heading = html('div', {class: 'heading'}, html('h2', {}, 'Lens'), about);
  container.append(heading, place);
  heading.hidden = true;
  let shown: Lens[] = [];
  let position = 0;
  const ask = (of: SessionApi, at: number) => of.ask<Lens>(`${side.stack}/lens?begin=${at}&end=${at + 1}&at=${at}&blocks=1`);
  const draw = (isPassing = false) => {
    const asked = sides ? [ask(sides.a, position), ask(sides.b, tokenOfB(sides, position))] : [ask(api, position)];
    const answers = asked.map((question, at) => slots[at]!.show(question, isPassing));
    if (answers.some((answer) => answer?.state === 'error')) {  // a saved page has only one position's
      heading.hidden = true;
      place.replaceChildren();
      shown = [];
    }
    const lenses = answers.map((answer) => latest(answer)).filter((lens) => lens !== null);
    if (lenses.length < asked.length || lenses.every((lens, at) => lens === shown[at])) return;
    shown = lenses;
    heading.hidden = false;
    about.textContent = `the same, read after each ${lenses[0]!.has_blocks ? 'block' : 'layer'}`;
    place.replaceChildren(drawn(lenses[0]!, curvesOf(lenses, side.queries), Math.min(kMost, container.clientWidth || kWidth)));
  };
  const slots = ['lens-short', 'lens-short-b'].map((lane) => new Slot<Lens>(lane, () => draw()));
  return {
    show: (at, isPassing) => {
      position = at;
      draw(isPassing);
    },
    destroy: () => slots.forEach((slot) => slot.stop()),
  };
}
