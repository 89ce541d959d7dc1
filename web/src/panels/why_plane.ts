// The head's queries and keys in a plane: the product of two points approximates their score. The current query is on the
// axis to the right, which orders its keys by score.
import {arcs} from '../attention/arcs';
import type {Geometry, PlaneKey} from '../answers';
import {choice, html, svg} from '../drawing/dom';
import {scored, weight} from '../drawing/format';
import type {Page} from './panel';
import {kRotations} from '../selection/selection';
import {isolated, plain} from '../text/tokens';
import {widthOf} from './matrix_labels';
import {Room} from './name_room';
import {percent} from './why_effect';
import {heading, note, quiet, row} from './why_parts';
import {keyName} from './why_sum';

const kHeight = 420;
const kPad = 28;   // room for names of the outermost points
const kNear = 24;  // maximum pixels from the pointer to its point
const kNames = 16;
const kNarrowNames = 8;
const kListed = 10;
const kGap = 48;   // between columns of Why, two of which the plane takes

/** A query or key, and the place where it is drawn. */
interface Point { x: number; y: number; query: number | null; key: PlaneKey | null }

function list(found: Geometry, page: Page, key: number): HTMLElement {
  const first = [...found.keys].sort((a, b) => b.weight - a.weight || a.key - b.key).slice(0, kListed);
  return html('div', {}, row('plane head', '', '', quiet('less mean'), quiet('weight')), ...first.map((each) => row('plane', html('span', {class: 'index'}, String(each.key)),
    keyName(page, found.query, each.key, each.key === key), scored(each.product - found.mean), weight(each.weight))),
  note(`scores are q\u00b7k less the row\u2019s mean, ${scored(found.mean)}`));
}

/** Queries, then keys, at one scale along both axes, and the centre. */
function placed({queries, keys}: Geometry, width: number, height: number): {points: Point[]; centre: {x: number; y: number}} {
  const ends = (values: number[]) => [Math.min(0, ...values), Math.max(0, ...values)] as const;
  const all: Point[] = [...queries.map((each) => ({...each, key: null})), ...keys.map((key) => ({x: key.x, y: key.y, query: null, key}))];
  const [west, east] = ends(all.map(({x}) => x));
  const [south, north] = ends(all.map(({y}) => y));
  const scale = Math.min((width - 2 * kPad) / (east - west || 1e-9), (height - 2 * kPad) / (north - south || 1e-9));
  const place = <At extends {x: number; y: number}>(at: At): At => ({...at, x: width / 2 + scale * (at.x - (west + east) / 2), y: height / 2 - scale * (at.y - (south + north) / 2)});
  return {points: all.map(place), centre: place({x: 0, y: 0})};
}

function marks(points: Point[], own: Point, pinned: Point | undefined, centre: {x: number; y: number}, width: number, height: number): SVGElement[] {
  const keys = points.filter(({key}) => key);
  const edges = arcs(Float32Array.from(keys, ({key}) => key!.weight), 0.9, 8).edges.map(({at, weight: share}) => svg('path', {
    d: `M${own.x} ${own.y}L${keys[at]!.x} ${keys[at]!.y}`, class: 'why-edge', 'stroke-width': Math.max(1.25, 16 * share), opacity: Math.min(1, 0.45 + 0.8 * Math.sqrt(share)),
  }));
  const radius = ({key}: Point) => 2 + (key ? 5 * Math.sqrt(key.weight) : 0);
  return [
    svg('path', {d: `M0 ${centre.y}H${width}M${centre.x} 0V${height}`, class: 'why-grid'}),
    ...edges,
    ...points.map((point) => svg('circle', {cx: point.x, cy: point.y, r: radius(point), class: point.key ? 'why-dot' : 'why-open'})),
    ...pinned ? [svg('circle', {cx: pinned.x, cy: pinned.y, r: radius(pinned) + 2, class: 'why-ring'})] : [],
    svg('circle', {cx: own.x, cy: own.y, r: 5, class: 'why-point'}),
  ];
}

/** `128 of 201 keys` */
function some(shown: number, others: number, one: string, many: string): string {
  const all = (shown + others).toLocaleString('en');
  return `${others > 0 ? `${shown} of ` : ''}${all} ${shown + others === 1 ? one : many}`;
}

export function planeBlock(found: Geometry, page: Page, key: number, room: number): Node[] {
  const {side, store, stage} = page;
  const {query} = found;
  const switches = choice('Rotation', kRotations.map((name) => ({name, label: `${name} rotation`})), (rotation) => store.set({rotation}));
  switches.show(store.now.rotation);
  const title = heading('Queries and keys in a plane', `exact for this row; ${percent(found.explained)} of the squared scores of all rows`, ...found.turned ? [switches.element] : []);
  if (found.shares.every((share) => share === 0)) return [title, note('The row has one score for all of its keys: there is no direction to show.')];
  const width = stage.isStacked ? room : Math.floor((room - 2 * kGap) / 3) * 2 + kGap;
  const height = Math.min(kHeight, width);
  const {points, centre} = placed(found, width, height);
  const own = points.find((point) => point.query === query)!;
  const pinned = points.find((point) => point.key?.key === key);
  const nameOf = ({query: at, key: of}: Point) => isolated(plain(of ? side.keys[of.key]! : side.queries[at!]!));
  const drawn = svg('svg', {width, height, class: 'why-plane', role: 'img', 'aria-label': `queries and keys in a plane, with ${nameOf(own)} ${query}`}, ...marks(points, own, pinned, centre, width, height));
  const text = (words: string, {x, y}: {x: number; y: number}, kind = '') => drawn.append(svg('text', {x, y, class: `why-tick ${kind}`}, words));
  const [along, up] = found.shares.map(percent) as [string, string];
  const axes = [{words: along, x: width - widthOf(along) - 4, y: centre.y - 6}, {words: up, x: centre.x + 6, y: 12}];
  const chosen = new Room([], width - 20);  // whose names may cover other points
  const free = new Room(points, width - 20);
  for (const {words, ...at} of axes) {
    text(words, at);
    for (const room of [chosen, free]) room.take(at.x, at.y, widthOf(words));
  }
  const write = (room: Room, point: Point, kind: string) => {
    const words = nameOf(point);
    const at = room.find(point.x, point.y, widthOf(words));
    if (!at || at.y < 10 || at.y > height - 2) return;
    text(words, at, kind);
    if (room === chosen) free.take(at.x, at.y, widthOf(words));
  };
  for (const point of [own, ...pinned ? [pinned] : []]) write(chosen, point, 'accent');
  const others = points.filter((point) => point.key && point !== pinned).sort((a, b) => b.key!.weight - a.key!.weight);
  for (const point of others.slice(0, stage.isNarrow ? kNarrowNames : kNames)) write(free, point, 'name');
  const usual = `The further right a key, the higher its score with this query; lines are as wide as weights. Filled: ${some(found.keys.length, found.other_keys, 'key', 'keys')}; open: ${some(found.queries.length, found.other_queries, 'query', 'queries')}.`;
  const said = note(usual);
  said.classList.add('why-said');
  const mark = svg('circle', {r: 7, class: 'why-ring', hidden: true});
  drawn.append(mark);
  const nearest = ({clientX, clientY}: MouseEvent) => {
    const box = drawn.getBoundingClientRect();
    const away = ({x, y}: Point) => Math.hypot(x + box.left - clientX, y + box.top - clientY);
    const best = points.reduce((least, point) => away(point) < away(least) ? point : least);
    return away(best) <= kNear ? best : null;
  };
  const tell = (at: Point | null) => {
    mark.toggleAttribute('hidden', at === null);
    drawn.classList.toggle('at', at !== null);
    mark.setAttribute('cx', String(at?.x));
    mark.setAttribute('cy', String(at?.y));
    if (!at?.key) return void (said.textContent = at ? `query ${nameOf(at)} ${at.query}` : usual);
    said.textContent = `key ${nameOf(at)} ${at.key.key}: q\u00b7k ${scored(at.key.product)}, less the mean ${scored(at.key.product - found.mean)}, weight ${weight(at.key.weight)}`;
  };
  for (const name of ['pointermove', 'pointerdown'] as const) drawn.addEventListener(name, (event) => tell(nearest(event)));
  drawn.addEventListener('pointerleave', () => tell(null));
  drawn.addEventListener('click', (event) => {
    const at = nearest(event);
    if (at) store.set(at.key ? {query, key: at.key.key} : {query: at.query, key: null});
  });
  return [title, html('div', {class: 'why-plane-parts'}, html('div', {}, drawn, said), list(found, page, key))];
}
