// From a tile's byte to a colour. Changing the scale needs a new table, but no new tile.
import {cividis, diverging} from '../drawing/colour';
import type {Rgb} from '../drawing/colour';
import type {Scale} from '../selection/selection';

const kLeast = 0.001;  // the dark end of the logarithmic scale

/** The weight that a byte of a tile represents; 0 is masked. */
export function weightOf(byte: number): number {
  return byte < 2 ? 0 : 2 ** (24 * ((byte - 2) / 253 - 1));
}

/** A weight's place between dark (0) and light (1). `rank` needs all existing weights. */
export function position(weight: number, scale: Exclude<Scale, 'rank'>): number {
  switch (scale) {
    case 'linear': return weight;
    case 'sqrt': return Math.sqrt(weight);
    case 'log': return weight <= kLeast ? 0 : 1 - Math.log(weight) / Math.log(kLeast);
  }
}

/** The share of cells below each byte; equal bytes count as their middle. */
export function ranks(histogram: Uint32Array): Float64Array {
  const result = new Float64Array(256);
  let total = 0;
  for (let byte = 1; byte < 256; ++byte) total += histogram[byte]!;
  let below = 0;
  for (let byte = 1; byte < 256; ++byte) {
    result[byte] = total === 0 ? 0 : (below + histogram[byte]! / 2) / total;
    below += histogram[byte]!;
  }
  return result;
}

/** From the lowest weight to the highest; B alone has the colour in which a difference shows it. */
export function rampOf({isB}: {isB: boolean}): (t: number) => Rgb { return isB ? (t) => diverging(-t) : cividis; }

/** 256 colours as RGBA in memory order; masked is transparent, so that the background shows. */
export function table(scale: Scale, histogram: Uint32Array, ramp: (t: number) => Rgb): Uint32Array {
  const rank = scale === 'rank' ? ranks(histogram) : null;
  const colours = new Uint32Array(256);
  for (let byte = 1; byte < 256; ++byte) {
    const t = rank ? rank[byte]! : position(weightOf(byte), scale as Exclude<Scale, 'rank'>);
    const [r, g, b] = ramp(t);
    colours[byte] = (255 << 24 | b << 16 | g << 8 | r) >>> 0;
  }
  return colours;
}

const kOctaves = 10;  // for differences, down to a thousandth
const kSteps = 127;

/** A difference as a byte: 0 is masked, 128 no difference, with up to 127 steps of its logarithm on either side. */
export function differenceCode(difference: number): number {
  if (Number.isNaN(difference)) return 0;
  const size = Math.abs(difference) < 2 ** -kOctaves ? 0 : Math.max(1, Math.round(kSteps * (1 + Math.log2(Math.min(1, Math.abs(difference))) / kOctaves)));
  return 128 + Math.sign(difference) * size;
}

const kPale = 0.01;  // differences up to this size have little colour, however small the others are

export const kPaleText = 'pale below .01';  // in every legend of differences

/** How strong the colour of a difference is, from 0 to 1; `log` is linear up to kPale. */
function strength(size: number, scale: Exclude<Scale, 'rank'>): number {
  return scale === 'log' ? Math.log1p(size / kPale) / Math.log1p(1 / kPale) : position(size, scale);
}

/** A difference's place between orange (-1) and blue (1). */
export function differencePosition(difference: number, scale: Scale = 'log'): number {
  return Math.sign(difference) * strength(Math.abs(difference), scale === 'rank' ? 'log' : scale);
}

/** The size of a difference this many steps from 0. */
function sizeOf(steps: number): number { return steps === 0 ? 0 : 2 ** (kOctaves * (steps / kSteps - 1)); }

/** The colours of differences; by rank, those of either sign together, from kPale on. */
export function differenceTable(scale: Scale, histogram: Uint32Array): Uint32Array {
  const sizes = new Uint32Array(256);
  for (let code = 1; code < 256; ++code) {
    const steps = Math.abs(code - 128);
    if (sizeOf(steps) > kPale) sizes[1 + steps]! += histogram[code]!;
  }
  const rank = scale === 'rank' ? ranks(sizes) : null;
  const colours = new Uint32Array(256);
  for (let code = 1; code < 256; ++code) {
    const steps = Math.abs(code - 128);
    const t = rank ? rank[1 + steps]! : strength(sizeOf(steps), scale as Exclude<Scale, 'rank'>);
    const [r, g, b] = diverging(Math.sign(code - 128) * t);
    colours[code] = (255 << 24 | b << 16 | g << 8 | r) >>> 0;
  }
  return colours;
}

/** The legend's ticks: places and labels. */
export function ticks(scale: Scale): {at: number; label: string}[] {
  switch (scale) {
    case 'linear': return [0, 0.25, 0.5, 0.75, 1].map((value) => ({at: value, label: String(value)}));
    case 'sqrt': return [0, 0.1, 0.25, 0.5, 1].map((value) => ({at: Math.sqrt(value), label: String(value)}));
    case 'log': return [0.001, 0.01, 0.1, 1].map((value) => ({at: position(value, 'log'), label: String(value)}));
    case 'rank': return [{at: 0, label: 'lowest'}, {at: 0.5, label: 'half'}, {at: 1, label: 'highest'}];
  }
}

/** The same for differences, with 0 in the middle. */
export function differenceTicks(scale: Scale): {at: number; label: string}[] {
  if (scale === 'rank') return [{at: 0, label: 'B more'}, {at: 0.5, label: '0'}, {at: 1, label: 'A more'}];
  const least = scale === 'linear' ? 0.5 : 0.1;
  return [-1, -least, 0, least, 1].map((value) => ({at: (1 + differencePosition(value, scale)) / 2, label: String(value).replace('-', '\u2212')}));
}
