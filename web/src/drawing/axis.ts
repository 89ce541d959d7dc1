// The place of a value along an axis, and the round steps between its ticks.

type Range = readonly [number, number];

/** Maps values to places, logarithmically; values beyond the ends are clamped. */
export function logAxis([from, to]: Range, [first, last]: Range): (value: number) => number {
  const whole = Math.log(to / from) || 1;
  return (value) => first + (last - first) * Math.max(0, Math.min(1, Math.log(value / from) / whole));
}

/** The smallest of 1, 2, 5, 10, 20, ... and their tenths that is not below the value. */
export function roundStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].find((each) => each * power >= rough)! * power;
}
