// Cividis (Nunez, Anderton, Renslow 2018) by the polynomial that d3-scale-chromatic fitted to it.

export type Rgb = readonly [number, number, number];

function channel(value: number): number {
  return Math.max(0, Math.min(255, Math.round(value)));
}

export function cividis(t: number): Rgb {
  return [
    channel(-4.54 - t * (35.34 - t * (2381.73 - t * (6402.7 - t * (7024.72 - t * 2710.57))))),
    channel(32.49 + t * (170.73 + t * (52.82 - t * (131.46 - t * (176.58 - t * 67.37))))),
    channel(81.24 + t * (442.36 - t * (2482.43 - t * (6167.24 - t * (6614.94 - t * 2475.67))))),
  ];
}

const kNeutral: Rgb = [236, 236, 232];
const kMore: Rgb = [0, 114, 178];
const kLess: Rgb = [230, 159, 0];

/** From orange (-1) over grey to blue (1). */
export function diverging(t: number): Rgb {
  const end = t > 0 ? kMore : kLess;
  const part = Math.min(1, Math.abs(t));
  return [0, 1, 2].map((at) => channel(kNeutral[at]! + (end[at]! - kNeutral[at]!) * part)) as unknown as Rgb;
}

/** Relative luminance by WCAG. */
function luminance([r, g, b]: Rgb): number {
  const linear = (value: number) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
}

/** Ink or white, whichever has more contrast with a cell of this colour. */
export function numberColour(cell: Rgb): string {
  const shade = luminance(cell);
  const ink: Rgb = [0x16, 0x18, 0x1d];
  return (shade + 0.05) / (luminance(ink) + 0.05) > 1.05 / (shade + 0.05) ? '#16181d' : '#fff';
}

export function css([r, g, b]: Rgb): string {
  return `rgb(${r} ${g} ${b})`;
}
