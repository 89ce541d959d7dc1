// The format of numbers: weights without the leading zero, minus signs, never -0.00.
import type {Model} from '../answers';

const kMinus = '\u2212';

/** `\u22121.06`; never `\u22120.00`. */
export function fixed(value: number, digits: number): string {
  const text = Math.abs(value).toFixed(digits);
  const isZero = Number(text) === 0;
  return value < 0 && !isZero ? kMinus + text : text;
}

/** `.172`; `1.00` for one, so that the width stays; `<.001` where three digits would be zero; `\u2212.172`, of a difference. */
export function weight(value: number): string {
  if (value < 0) return value > -0.0005 ? weight(-value) : kMinus + weight(-value);
  if (value < 0.0005) return value === 0 ? '0' : '<.001';
  if (value >= 0.9995) return '1.00';
  return fixed(value, 3).slice(1);
}

/** `.17`, for chips and under tokens; `<.01` where two digits would be zero. */
export function shortWeight(value: number): string {
  if (Math.abs(value) < 0.005) return value === 0 ? '0' : '<.01';
  if (Math.abs(value) >= 0.995) return value < 0 ? `${kMinus}1.0` : '1.0';
  return fixed(value, 2).replace(/^(\u2212?)0/, '$1');
}

/** `0.172`: the one large number of a view. */
export function largeWeight(value: number): string {
  return value !== 0 && Math.abs(value) < 0.0005 ? '<0.001' : fixed(value, 3);
}

/** `−0.21`: a score or a term of one. */
export function scored(value: number, digits = 2): string { return fixed(value, digits); }

/** `+1.94`, `−0.07`, `0.00`. */
export function signed(value: number, digits = 2): string {
  const text = fixed(value, digits);
  return value > 0 && Number(text) !== 0 ? `+${text}` : text;
}

/** `4e-7`: the remainder of a sum. */
export function leftOver(value: number): string { return value === 0 ? '0' : Math.abs(value).toExponential(0); }

/** `48.6`, `1224`: a mean distance in tokens. */
export function tokensAway(value: number): string { return fixed(value, Math.abs(value) < 1000 ? 1 : 0); }

/** `48.6 back`. */
export function distance(value: number): string { return `${tokensAway(value)} back`; }

/** `+.033`: a rise of a loss. */
export function nats(value: number): string {
  const text = fixed(value, 3).replace(/^(\u2212?)0/, '$1');
  return Number(text.replace('\u2212', '-')) === 0 ? '0' : value > 0 ? `+${text}` : text;
}

/** A head's score in its chip's form: `prev .43`, `48.6 back`, `entropy 1.32`. */
export function score(name: string, short: string, value: number): string {
  if (name === 'distance') return Number.isNaN(value) ? `${short} NaN` : distance(value);
  if (name === 'without') return `${short} ${nats(value)}`;
  return `${short} ${name === 'entropy' ? fixed(value, 2) : shortWeight(value)}`;
}

/** A number of a cell, in hundredths; nothing below half of one. */
export function hundredths(value: number): string {
  return Math.abs(value) < 0.005 ? '' : fixed(value * 100, 0);
}

export function count(value: number, noun: string): string {
  return `${value.toLocaleString('en')} ${noun}${value === 1 ? '' : 's'}`;
}

/** `GPT-2, 4 layers \u00d7 6 heads`, `8 layers, 2 with attention, \u00d7 4 heads`, `6 + 6 layers \u00d7 8 heads`, `6 layers \u00d7 8 heads + 2 layers \u00d7 4 heads`. */
export function shapeOf({title, stacks}: Pick<Model, 'title' | 'stacks'>): string {
  const read = stacks.filter(({stack}) => stack !== 'cross');
  const own = read.length > 0 ? read : stacks;  // arrays may be of a cross-attention alone
  const isAlike = own.every(({heads}) => heads === own[0]!.heads);
  const written = (isAlike ? [own] : own.map((each) => [each])).map((alike) => {
    const layers = alike.map((each) => each.layers).join(' + ');
    const some = alike.some(({attending}) => attending) ? `, ${alike.map((each) => each.attending?.length ?? each.layers).join(' + ')} with attention,` : '';
    return `${layers} layer${layers === '1' ? '' : 's'}${some} \u00d7 ${count(alike[0]!.heads, 'head')}`;
  });
  return `${title}, ${written.join(' + ')}`;
}
