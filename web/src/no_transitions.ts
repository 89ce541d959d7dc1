// Replaces d3-transition in the bundle (build.mjs): d3-zoom ends running transitions when a gesture begins, and the page has
// none.
import {selection} from 'd3-selection';

Object.assign(selection.prototype, {interrupt(this: unknown) { return this; }});

export function interrupt(): void { /* there is nothing to end */ }
