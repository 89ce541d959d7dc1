// The graph: layers down to the tokens; each column is a token or a run of others.
import {html, svg} from '../drawing/dom';
import {shortWeight, weight} from '../drawing/format';
import type {FlowData, FlowPage} from './flow_page';
import {flowPosition, nodeIndex, nodeName, signed} from './flow_page';

const kNames = 108;       // px for the layers' names
const kFoldRoom = 60;     // px that `130 tokens` needs
const kLetter = 7;         // px of a bold digit, with its part of the gap
const kTop = 22;          // px: for the top node and its name
const kAll = 384;         // px for all layers, if they fit
const kShareHeight = 130;  // px height of a share of 1
const kMostShare = 34;

interface Places { x: number[]; rooms: number[]; names: number; isTight: boolean }

/** Columns of tokens are evenly spaced; runs of others, whose names are longer, have more room. */
function placesOf({flow}: FlowData, width: number): Places {
  const weights = flow.columns.map(({begin, end}) => end - begin > 1 ? 1.75 : 1);
  const [names, after] = width < 500 ? [88, 8] : [kNames, 30];
  const unit = (width - names - after) / weights.reduce((sum, each) => sum + each, 0);
  let at = names;
  return {x: weights.map((each) => (at += each * unit) - each * unit / 2), rooms: weights.map((each) => each * unit), names, isTight: 1.75 * unit < kFoldRoom};
}

function curve(x1: number, y1: number, x2: number, y2: number): string {
  if (Math.abs(x1 - x2) < 0.5) return `M${x1},${y1}V${y2}`;
  const middle = (y1 + y2) / 2;
  return `M${x1},${y1}C${x1},${middle} ${x2},${middle} ${x2},${y2}`;
}

/** The columns on the way to the chosen token, from the top. */
function wayOf({flow}: FlowData): number[] {
  return flow.way.map((node) => flow.columns.findIndex(({begin, end}) => node >= begin && node < end));
}

function edges(data: FlowData, {x}: Places, pitch: number): SVGElement[] {
  const {flow} = data;
  const drawn: SVGElement[] = [];
  flow.layers.forEach((layer, step) => {
    const y = kTop + step * pitch;
    for (const {from, to, share} of layer.edges) {
      const isFold = [from, to].some((at) => flow.columns[at]!.end - flow.columns[at]!.begin > 1);
      const path = svg('path', {class: `flow-edge${isFold ? ' fold-edge' : ''}`, d: curve(x[from]!, y, x[to]!, y + pitch)});
      path.setAttribute('stroke-width', String(Math.max(0.6, 12 * share)));
      path.setAttribute('opacity', String(Math.min(0.9, 0.22 + Math.sqrt(share))));
      drawn.push(path);
    }
  });
  return drawn;
}

function nodes({flow}: FlowData, {x}: Places, pitch: number, position: number): SVGElement[] {
  const shares = [...flow.layers.map((layer) => layer.shares), flow.columns.map(({share}) => share)];
  return shares.flatMap((level, step) => level.flatMap((share, at) => {
    if (share < 0.002) return [];
    const {begin, end} = flow.columns[at]!;
    const isTop = step === 0 && begin === position;
    return [svg('circle', {class: `flow-node${isTop ? ' top' : end - begin > 1 ? ' fold-node' : ''}`, cx: x[at]!, cy: kTop + step * pitch, r: (1 + 6 * Math.sqrt(share)).toFixed(2)})];
  }));
}

/** The way to the chosen token, with its share. */
function way(data: FlowData, {x}: Places, pitch: number): SVGElement[] {
  const columns = wayOf(data);
  if (columns.length === 0 || columns.includes(-1)) return [];
  const drawn: SVGElement[] = [];
  let isNamed = false;
  for (let step = 0; step + 1 < columns.length; ++step) {
    const [from, to] = [columns[step]!, columns[step + 1]!];
    const y = kTop + step * pitch;
    drawn.push(svg('path', {class: 'flow-way', d: curve(x[from]!, y, x[to]!, y + pitch)}));
    if (isNamed || from === to) continue;
    isNamed = true;
    drawn.push(svg('text', {class: 'flow-number', x: (x[from]! + x[to]!) / 2, y: y + pitch / 2 + 4, 'text-anchor': 'middle'}, weight(data.flow.way_share)));
  }
  return drawn;
}

function layerNames({flow, isComing}: FlowData, pitch: number, top: string): HTMLElement[] {
  return flow.layers.map(({stack, layer, edges: kept, rest}, step) => {
    const kind = flow.source > 0 ? `${stack} ` : '';
    const held = kept.reduce((sum, {share}) => sum + share, 0);
    const element = html('div', {class: 'flow-layer'}, html('div', {}, `${kind}layer ${layer}`),
      ...isComing ? [] : pitch >= 52 ? [html('div', {class: 'quiet'}, `${kept.length} edges ${shortWeight(held)}`), html('div', {class: 'quiet'}, `+ ${shortWeight(rest.share)} in ${rest.count}`)]
        : [html('div', {class: 'quiet'}, `${kept.length} + ${shortWeight(rest.share)} in ${rest.count}`)]);
    element.style.top = `${kTop + step * pitch + (pitch >= 52 ? 18 : 2)}px`;
    element.title = top;
    return element;
  });
}

/** With so few digits that it stands apart from its neighbours. */
function signedWithin(value: number, room: number): string {
  return [2, 1].map((digits) => signed(value, digits)).find((text) => kLetter * text.length < room) ?? signed(value, 0);
}

/** The names of the columns, their shares and what hiding them does. */
function feet(page: FlowPage, data: FlowData, {x, rooms, isTight}: Places, top: number): HTMLElement[] {
  const {flow, test, isComing} = data;
  const chosen = flow.way.at(-1);
  const position = flowPosition(page);
  return flow.columns.map(({begin, end, share}, at) => {
    const isFold = end - begin > 1;
    const own = isFold ? '' : nodeName(page, begin);
    const effects = test?.hidden.filter(({node}) => node >= begin && node < end).map(({effect}) => effect) ?? [];
    const most = Math.max(0, ...effects.map(Math.abs));
    const effect = begin === position && !isFold ? '\u2013' : effects.length === 0 ? '' : !isFold ? signedWithin(effects[0]!, rooms[at]!)
      : `${isTight ? '' : 'each '}${most < 0.005 ? '<.005' : `\u2264 ${shortWeight(Math.ceil(most * 100) / 100)}`}`;
    const bar = html('span', {class: 'flow-share'});
    bar.style.height = `${Math.max(1, Math.min(kMostShare, share * kShareHeight))}px`;
    const classes = `flow-foot${isFold ? ' fold-foot' : ''}${begin === chosen && !isFold ? ' chosen' : ''}${begin === position && !isFold ? ' own' : ''}${most >= 0.05 ? ' strong' : ''}`;
    const content = [html('span', {class: 'flow-name'}, isFold ? isTight ? `+${end - begin}` : `${end - begin} tokens` : own), isComing ? null : bar, html('span', {class: 'flow-value'}, isComing ? '\u2013' : shortWeight(share)),
      html('span', {class: 'flow-effect'}, effect)];
    const isChoice = !isComing && !isFold && (page.side.isSquare || begin >= page.side.queries.length);
    const element = isChoice ? html('button', {type: 'button', class: classes, 'aria-label': `${own}, ${nodeIndex(page, begin)}, share ${shortWeight(share)}${effect ? `, effect ${effect}` : ''}`}, ...content)
      : html('div', {class: classes}, ...content);
    if (isChoice) element.addEventListener('click', () => page.choose(begin));
    element.style.left = `${x[at]!}px`;
    element.style.setProperty('--room', `${rooms[at]!}px`);
    element.style.top = `${top}px`;
    return element;
  });
}

export function drawFlow(container: HTMLElement, page: FlowPage, data: FlowData): void {
  const width = container.clientWidth;
  const steps = data.flow.layers.length;
  const pitch = Math.max(32, Math.min(76, kAll / steps));
  const bottom = kTop + steps * pitch;
  const places = placesOf(data, width);
  const lines = Array.from({length: steps + 1}, (_, step) => svg('line', {class: 'grid-line', x1: places.names, x2: width, y1: kTop + step * pitch, y2: kTop + step * pitch}));
  const position = flowPosition(page);
  const says = `flow into ${nodeName(page, position)} ${position}`;
  const own = data.flow.columns.findIndex(({begin, end}) => position >= begin && position < end);
  const top = svg('text', {class: 'flow-number', x: Math.min((places.x[own] ?? width) + 24, width), y: kTop - 10, 'text-anchor': 'end'}, `${nodeName(page, position)} 1.00`);
  const drawing = svg('svg', {class: 'flow-drawing', width, height: bottom + 6, viewBox: `0 0 ${width} ${bottom + 6}`, role: 'img', 'aria-label': says},
    ...lines, ...edges(data, places, pitch), ...nodes(data, places, pitch, position), ...way(data, places, pitch), top);
  const unit = data.test?.word ? 'effect, nats' : data.test ? places.names < kNames ? 'effect' : 'effect, of its state' : '';
  const side = ['tokens', 'share', unit].map((name, at) => {
    const element = html('div', {class: at === 0 ? 'flow-side' : 'flow-side quiet'}, name);
    element.style.top = `${bottom + [8, 30, 88][at]!}px`;
    return element;
  });
  container.style.height = `${bottom + 112}px`;
  container.replaceChildren(drawing, ...layerNames(data, pitch, says), ...side, ...feet(page, data, places, bottom + 6));
}
