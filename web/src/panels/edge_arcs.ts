// Arcs from queries to keys: width and opacity are the weight; the one chosen carries its number.
import type {Edge} from '../arcs';
import {linkHorizontal} from 'd3-shape';
import {svg} from '../dom';
import {weight} from '../format';
import {kColours} from '../selection';

export interface Arc {
  edge: Edge;
  source: number;      // heights of both ends
  target: number;
  kind: 'own' | 'other' | 'small' | 'free';  // free: with nothing pinned
  colour: string;      // a class: head-1 to head-4
  chosen: boolean;
  label: Label | null;
}

/** What stands at the middle of an arc; those of one key on lines of their own. */
export interface Label { text: string; line: number }

/** What an arc does when the pointer is at it. */
export interface ArcActions { enter(edge: Edge): void; leave(): void; click(edge: Edge): void }

const kLeastSmall = 0.01;  // lighter arcs of a small multiple are not drawn
const kLabelHeight = 13;

/** At a selected key each head has its number; the fourth, whose colour is light, at every key. */
export function labelOf({weight: value}: Edge, head: number, place: number, isSelected: boolean): Label | null {
  if (isSelected) return {line: place, text: place === 0 ? weight(value) : `H${head} ${weight(value)}`};
  return place === kColours - 1 ? {line: 0, text: weight(value)} : null;
}

function style({edge, kind}: Arc): {width: number; opacity: number} {
  const root = Math.sqrt(edge.weight);
  switch (kind) {
    case 'own': return {width: Math.max(1.25, 16 * edge.weight), opacity: Math.min(1, 0.45 + 0.8 * root)};
    case 'other': return {width: Math.max(0.6, 12 * edge.weight), opacity: 0.10 + 0.22 * root};
    case 'free': return {width: Math.max(0.75, 16 * edge.weight), opacity: Math.min(1, 0.2 + 0.9 * root)};
    case 'small': return {width: Math.max(0.75, 12 * edge.weight), opacity: Math.min(1, 0.2 + 0.9 * root)};
  }
}

const link = linkHorizontal<unknown, [number, number]>();

/** A wider, invisible stroke that the pointer can meet. */
function target(path: string, edge: Edge, actions: ArcActions): SVGElement {
  const element = svg('path', {class: 'arc-target', d: path, 'data-key': edge.key, 'data-query': edge.query});
  element.addEventListener('pointerenter', () => actions.enter(edge));
  element.addEventListener('pointerleave', () => actions.leave());
  element.addEventListener('click', () => actions.click(edge));
  return element;
}

/** Draws the arcs between both columns, which stand at `left` and `right`; a line holds the rows of a span. */
export function drawArcs(
  room: SVGSVGElement, arcs: Arc[], [left, right]: [number, number], actions: ArcActions,
  span: [number, number] | null = null
): void {
  const marks: SVGElement[] = [];
  if (span) marks.push(svg('line', {class: 'arc-span', x1: left, x2: left, y1: span[0], y2: span[1]}));
  const labels: SVGElement[] = [];
  for (const arc of arcs) {
    const {edge, source, target: end, kind, chosen} = arc;
    if (kind === 'small' && edge.weight < kLeastSmall) continue;
    const path = link({source: [left, source], target: [right, end]})!;
    const {width, opacity} = style(arc);
    const colour = chosen ? 'accent' : kind === 'other' ? 'other' : arc.colour;
    marks.push(svg('path', {
      class: `arc ${colour}`, d: path, 'stroke-width': width.toFixed(2), opacity: chosen ? 1 : opacity.toFixed(3),
    }));
    if (kind !== 'other') marks.push(target(path, edge, actions));
    if (arc.label) {
      const y = (source + end) / 2 - 6 - kLabelHeight * arc.label.line;
      labels.push(svg('text', {class: chosen ? 'arc-number chosen' : 'arc-number', x: (left + right) / 2, y}, arc.label.text));
    }
  }
  room.replaceChildren(...marks, ...labels);
}
