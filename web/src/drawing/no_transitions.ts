// Stands for d3-transition and d3-interpolate in the bundle (build.mjs): d3-zoom ends the transition that a gesture meets, and
// interpolates in transitions alone; the page has none.
import {selection} from 'd3-selection';

Object.assign(selection.prototype, {interrupt(this: unknown) { return this; }});

export const interpolateZoom = undefined;

export function interrupt(): void { /* there is nothing to end */ }
