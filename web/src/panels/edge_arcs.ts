// Arcs from queries to keys: width and opacity show the weight; the chosen arc has its number.
import {select} from 'd3-selection';
import type {Edge} from '../attention/arcs';

export interface Arc {
  edge: Edge;
  source: number;      // heights of both ends
  target: number;
  kind: 'own' | 'other' | 'small' | 'free' | 'sink' | 'together';  // free: nothing is pinned; sink: a free arc to the key with the most weight
  colour: string;      // a class: head-1 to head-4
  chosen: boolean;
  label: string;        // the number at its middle, or before it
  indent?: number;      // px that it begins later
  line?: number;        // px that its number is lower: with several heads, each has a line
}

/** The actions of an arc under the pointer. */
export interface ArcActions { enter(edge: Edge): void; leave(): void; click(edge: Edge): void }

export const kNumber = 30;  // px of a number before its arc
const [kLane, kLine] = [4, 14];  // px between heads: for arcs, for numbers
const kLeastSmall = 0.01;  // lighter arcs are not drawn in small multiples

function style({edge, kind}: Arc): {width: number; opacity: number} {
  const size = Math.abs(edge.weight);
  const root = Math.sqrt(size);
  switch (kind) {
    case 'own': return {width: Math.max(1.25, 16 * size), opacity: Math.min(1, 0.45 + 0.8 * root)};
    case 'other': return {width: Math.max(0.6, 12 * size), opacity: 0.10 + 0.22 * root};
    case 'free': return {width: Math.max(0.75, 16 * size), opacity: Math.min(1, 0.2 + 0.9 * root)};
    case 'sink': return {width: 1.25, opacity: 0.5};  // its number gives the weight
    case 'together':
    case 'small': return {width: Math.max(0.75, 12 * size), opacity: Math.min(1, 0.2 + 0.9 * root)};
  }
}

/** The arc of head number `at` of `count` in one drawing: each has a separate lane, and a separate line for its number. */
export function inLane(arc: Arc, at: number, count: number): Arc {
  const step = at - (count - 1) / 2;
  return {
    ...arc, kind: arc.kind === 'other' ? 'other' : 'together', line: step * kLine,
    source: arc.source + step * kLane, target: arc.target + step * kLane,
  };
}

function link([left, right]: [number, number], source: number, target: number): string {
  const middle = (left + right) / 2;
  return `M${left},${source}C${middle},${source},${middle},${target},${right},${target}`;
}

/** One mark of the drawing: equal keys are one element, which moves. */
interface Mark { key: string; name: 'line' | 'path' | 'text'; attributes: Record<string, string | number>; text: string; arc: Arc | null }

function marksOf(arc: Arc, columns: [number, number], actions: boolean): Mark[] {
  const {edge, source, target, kind, chosen, label} = arc;
  const [left, right] = columns;
  const d = link([left + (arc.indent ?? 0), right], source, target);
  const {width, opacity} = style(arc);
  const key = `${kind} ${arc.colour} ${edge.query} ${edge.key}`;
  const colour = chosen && kind !== 'together' ? 'accent' : kind === 'other' ? 'other' : arc.colour;
  const mark = (part: string, name: Mark['name'], attributes: Mark['attributes'], text = ''): Mark =>
    ({key: `${part} ${key}`, name, attributes, text, arc});
  const marks = [mark('arc', 'path',
    {class: `arc ${colour}`, d, 'stroke-width': width.toFixed(2), opacity: chosen ? 1 : opacity.toFixed(3)})];
  // A wider, invisible stroke as a target for the pointer.
  if (actions) marks.push(mark('target', 'path', {class: 'arc-target', d, 'data-key': edge.key, 'data-query': edge.query}));
  if (label) marks.push(mark('label', 'text', {class: chosen ? 'arc-number chosen' : 'arc-number', ...kind === 'sink' ? {x: left + 3, y: source + 4, 'text-anchor': 'start'}
    : {x: (left + right) / 2, y: (source + target) / 2 + (arc.line ?? 0) + 4, 'text-anchor': 'middle'}}, label));
  return marks;
}

/** Draws the arcs between the columns at `left` and `right`; a line has the rows of a span. */
export function drawArcs(
  room: SVGSVGElement, arcs: Arc[], columns: [number, number], actions: ArcActions,
  span: [number, number] | null = null
): void {
  const drawn = arcs.filter(({kind, edge}) => kind !== 'small' || Math.abs(edge.weight) >= kLeastSmall)
    .flatMap((arc) => marksOf(arc, columns, arc.kind !== 'other'));
  const marks = [...drawn.filter(({name}) => name !== 'text'), ...drawn.filter(({name}) => name === 'text')];
  if (span) {
    const attributes = {class: 'arc-span', x1: columns[0], x2: columns[0], y1: span[0], y2: span[1]};
    marks.unshift({key: 'span', name: 'line', attributes, text: '', arc: null});
  }
  const elements = select(room).selectChildren<SVGElement, Mark>().data(marks, ({key}) => key)
    .join((enter) => enter.append(({name}) => document.createElementNS('http://www.w3.org/2000/svg', name)));
  elements.order().each(function({attributes, text}) {
    for (const [name, value] of Object.entries(attributes)) {
      if (this.getAttribute(name) !== String(value)) this.setAttribute(name, String(value));
    }
    if (this.textContent !== text) this.textContent = text;
  });
  elements.filter(({attributes}) => attributes.class === 'arc-target')
    .on('pointerenter', (_, {arc}) => actions.enter(arc!.edge))
    .on('pointerleave', () => actions.leave())
    .on('click', (_, {arc}) => actions.click(arc!.edge));
}
