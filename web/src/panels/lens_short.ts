// The lens at the side of Look: the chance of the two likeliest words, as it grows through the blocks.
import type {Lens} from '../answers';
import {latest, Slot} from '../data/slot';
import {html, svg} from '../dom';
import {shortWeight, weight} from '../format';
import type {Page} from '../panel';
import {plain} from '../tokens';
import {levelName} from './lens';
import {asToken} from './word';

const [kWidth, kMost, kHeight] = [316, 430, 80];
const [kLeft, kTop, kLow] = [6, 8, 58];  // of the curves
const kNames = 78;     // px right of them
const kLine = 14;      // px between two names
const kTick = 18;      // px between two layers' numbers
const kLetters = 6;    // of a word

/** `Lily .89` */
function named(word: string, chance: number): string {
  const letters = [...plain(asToken(word))];
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

function curves({levels, answers}: Lens, width: number): SVGElement {
  const right = width - kNames;
  const x = (at: number) => kLeft + (right - kLeft) * at / Math.max(1, levels.length - 1);
  const y = (chance: number) => kLow - (kLow - kTop) * chance;
  const shown = answers.slice(0, 2).map(({text}, which) => ({text, chances: levels.map(({chances}) => chances[which]!)}));
  const ends = shown.map(({chances}) => y(chances.at(-1)!));
  if (ends.length === 2) {  // apart, and over the name of the axis
    ends[1] = Math.min(kLow, Math.max(ends[1]!, ends[0]! + kLine));
    ends[0] = Math.min(ends[0]!, ends[1] - kLine);
  }
  const said = shown.map(({text, chances}) => `${plain(asToken(text))}: ${levels.map((level, at) => `${levelName(level)} ${weight(chances[at]!)}`).join(', ')}`);
  return svg('svg', {class: 'lens-short', width, height: kHeight, viewBox: `0 0 ${width} ${kHeight}`, role: 'img', 'aria-label': said.join('; ')},
    svg('line', {x1: kLeft, x2: right, y1: kLow + 4, y2: kLow + 4}), ...ticks(levels, x),
    svg('text', {x: width, y: kLow + 18, 'text-anchor': 'end'}, 'layer'),
    ...shown.map(({text, chances}, which) => svg('g', {class: which === 0 ? 'first' : ''},
      svg('polyline', {points: chances.map((chance, at) => `${x(at)},${y(chance)}`).join(' ')}),
      ...chances.map((chance, at) => svg('circle', {cx: x(at), cy: y(chance), r: which === 0 ? 2.5 : 2},
        svg('title', {}, `${levelName(levels[at]!)}: ${plain(asToken(text))} ${weight(chance)}`))),
      svg('text', {x: width, y: ends[which]! + 4, 'text-anchor': 'end'}, named(text, chances.at(-1)!)))).reverse());
}

export function lensInShort(container: HTMLElement, {api, side}: Page): {show(position: number, isPassing: boolean): void; destroy(): void} {
  const place = html('div');
  const about = html('span', {class: 'quiet'});
  const heading = html('div', {class: 'heading'}, html('h2', {}, 'Lens'), about);
  container.append(heading, place);
  heading.hidden = true;
  let drawn: Lens | null = null;
  let asked = '';
  const draw = (isPassing = false) => {
    const found = slot.show(api.ask<Lens>(asked), isPassing);
    if (found?.state === 'error') {  // a saved page holds one position's
      heading.hidden = true;
      place.replaceChildren();
      drawn = null;
    }
    const lens = latest(found);
    if (!lens || lens === drawn) return;
    drawn = lens;
    heading.hidden = false;
    about.textContent = `the same, read after each ${lens.has_blocks ? 'block' : 'layer'}`;
    place.replaceChildren(curves(lens, Math.min(kMost, container.clientWidth || kWidth)));
  };
  const slot = new Slot<Lens>('lens-short', () => draw());
  return {
    show: (position, isPassing) => {
      asked = `${side.stack}/lens?begin=${position}&end=${position + 1}&at=${position}&blocks=1`;
      draw(isPassing);
    },
    destroy: () => slot.stop(),
  };
}
