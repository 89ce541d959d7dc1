// Every head as a point between two scores; points with enough room have names.
import {isSamePlace} from '../selection/address';
import {roundStep} from '../drawing/axis';
import {html, menu, svg} from '../drawing/dom';
import {fixed, shortWeight} from '../drawing/format';
import type {Page, Panel} from './panel';
import {isSaved} from '../heads/held';
import {fullName, plainName, sourceOf} from '../heads/score_names';
import {choose} from '../shell/chips';
import type {Place} from '../selection/selection';
import {headText} from '../selection/selection';
import type {Alike, Column} from './heads_scores';
import {headsOf} from '../heads/late';
import {hasNan} from '../heads/nan';
import {columnOf, isNumber, isOfSide, kLike, valueOf, valueText} from './heads_scores';
import {nextName} from './heads_table';
import {Room} from './name_room';

const kHeight = 372;
const kLeft = 38;
const kTop = 22;
const kBottom = 40;
const kMostNames = 400;  // names of more heads would be unreadable
const kLetter = 6.5;   // px, approximately

interface Axis { first: number; last: number; ticks: number[] }

/** Round steps from 0, or from below it, to past the largest value. */
function axisOf(values: number[]): Axis {
  const low = Math.min(0, ...values);
  const high = Math.max(...values, low + 1e-6);
  const step = roundStep((high - low) / 4);
  const first = low < 0 ? Math.floor(low / step * 2) * step / 2 : 0;
  const ticks = Array.from({length: Math.floor((high * 1.0001 - Math.ceil(first / step) * step) / step) + 1}, (_, at) => (Math.ceil(first / step) + at) * step);
  return {first, last: high + (high - first) * 0.08, ticks};
}

function tickText({unit, from}: Column, value: number): string {
  if (from === 'run') return value === 0 ? '0' : `${value > 0 ? '+' : ''}${fixed(value, 3).replace(/^(\u2212?)0/, '$1').replace(/0+$/, '')}`.replace(/\.$/, '');
  return unit === 'share' ? (value === 0 ? '0' : shortWeight(value).replace(/0$/, '')) : String(Number(value.toFixed(2)));
}

/** Along an axis: what a score measures, or for one of two sources its name. */
function axisText({name, about}: Column): string { return sourceOf(name) === '' ? about : fullName(name); }

export class HeadsScatter implements Panel {
  readonly element = html('section', {class: 'heads-scatter', 'aria-label': 'Heads between two scores'});
  private readonly title = html('h2', {});
  private readonly axes = html('span', {class: 'heads-axes'});
  private readonly plot = svg('svg', {height: kHeight, role: 'img'});

  constructor(private readonly page: Page, private readonly alike: () => Alike | null) {
    this.element.append(html('div', {class: 'heading'}, this.title, this.axes), this.plot);
  }

  destroy(): void { /* nothing is on its way */ }

  update(): void {
    const {page} = this;
    const alike = this.alike();
    const own = (name: string, otherwise: string) => isOfSide(page, name) ? name : otherwise;
    const x = columnOf(page, alike ? kLike : own(page.store.now.x, 'in_order'), alike) ?? columnOf(page, 'previous', null)!;
    const y = columnOf(page, own(page.store.now.y, 'confidence'), alike) ?? columnOf(page, 'normalised_entropy', null)!;
    this.title.textContent = `All ${page.side.numbers.length * page.side.heads} heads`;
    this.axes.replaceChildren(this.choice('x', x), this.choice('y', y));
    const points = this.points(x, y);
    const early = columnOf(page, 'normalised_entropy', null);
    if (points.length > 0 || y.from === 'text' || !early) this.draw(x, y, points);
    else this.draw(x, early, this.points(x, early), `${plainName(early.name)}, ${isSaved(page.api.model) ? 'as this file lacks' : 'until'} the loss \u201c${fullName(y.name)}\u201d${isSaved(page.api.model) ? '' : ' is known'}`);  // passes of the model take long, and a model without a vocabulary has none
  }

  private points(x: Column, y: Column): {place: Place; a: number; b: number}[] {
    const {page} = this;
    const alike = this.alike();
    return headsOf(page).flatMap((place) => {
      const [a, b] = [valueOf(page, place, x, alike), valueOf(page, place, y, alike)];
      return isNumber(a) && isNumber(b) ? [{place, a, b}] : [];
    });
  }

  /** A menu of all scores, labelled with the chosen one. */
  private choice(name: 'x' | 'y', chosen: Column): HTMLElement {
    const {api, store} = this.page;
    const scores = api.about.scores.filter(({name: each}) => !each.startsWith('probe_') && isOfSide(this.page, each)).map((score) => ({name: score.name, label: fullName(columnOf(this.page, score.name, null)!.name), about: score.about}));
    return html('label', {class: 'quiet'}, `${name} `,
      menu(`${name} axis`, this.page.side.isSquare ? scores : [{name: 'in_order', label: 'in order'}, ...scores], chosen.name.replace(/^probe_/, ''), (score) => store.set({[name]: score})));
  }

  private draw(x: Column, y: Column, points: {place: Place; a: number; b: number}[], up = axisText(y).split(',')[0]!): void {
    const {store, stage} = this.page;
    const width = this.element.clientWidth || 445;
    this.plot.setAttribute('width', String(width));
    this.plot.setAttribute('aria-label', `${axisText(x)} against ${axisText(y)}`);
    this.plot.replaceChildren();
    const texts: {text: string; x: number; y: number; anchor: 'start' | 'middle' | 'end'}[] = [];  // which names must not cover
    const said = (text: string, at: {x: number; y: number}, anchor: 'start' | 'middle' | 'end' = 'start', name = 'tick') => {
      texts.push({text, ...at, anchor});
      return svg('text', {...at, 'text-anchor': anchor, class: name}, text);
    };
    this.plot.append(said(up, {x: kLeft, y: 12}), said(axisText(x), {x: width, y: kHeight - 6}, 'end'));
    if (points.length === 0) {
      this.plot.append(said(headsOf(this.page).every((place) => hasNan(this.page.api, place)) ? 'no head has both scores: all have weights that are NaN' : 'no head has both scores yet', {x: kLeft, y: 60}));
      return;
    }
    const [h, v] = [axisOf(points.map(({a}) => a)), axisOf(points.map(({b}) => b))];
    const right = width - 8;
    const toX = (value: number) => kLeft + (right - kLeft) * (value - h.first) / (h.last - h.first);
    const toY = (value: number) => kHeight - kBottom - (kHeight - kBottom - kTop) * (value - v.first) / (v.last - v.first);
    for (const tick of v.ticks) {
      this.plot.append(svg('path', {d: `M${kLeft} ${toY(tick)}H${width}`, class: tick === 0 ? 'axis' : 'rule'}),
        said(tickText(y, tick), {x: kLeft - 8, y: toY(tick) + 4}, 'end'));
    }
    for (const tick of h.ticks) this.plot.append(said(tickText(x, tick), {x: toX(tick), y: kHeight - kBottom + 18}, 'middle'));
    if (x.threshold !== undefined && x.threshold < h.last) {
      this.plot.append(svg('path', {d: `M${toX(x.threshold)} ${kTop}V${kHeight - kBottom}`, class: 'bound'}),
        said(shortWeight(x.threshold), {x: toX(x.threshold) + 4, y: kTop + 8}));
    }
    const placed = points.map((point) => ({...point, x: toX(point.a), y: toY(point.b)}));
    const room = new Room(placed, width);
    for (const {text, x: left, y: base, anchor} of texts) room.take(left, base, kLetter * text.length, anchor);
    const isPinned = (place: Place) => !store.isFresh && store.now.places.some((each) => isSamePlace({...each, stack: place.stack!}, place));
    const isHovered = (place: Place) => store.hover.place !== null && isSamePlace({...store.hover.place, stack: place.stack!}, place);
    const marked = (place: Place) => isPinned(place) || isHovered(place);
    for (const {place, x: left, y: top, a, b} of [...placed].sort((p, q) => Number(marked(q.place)) - Number(marked(p.place)))) {
      const name = headText(place);
      const own: Place = store.now.places[0]!.stack === undefined ? {layer: place.layer, head: place.head} : place;
      const mark = isPinned(place) ? ' pinned' : isHovered(place) ? ' hovered' : '';
      const point = svg('circle', {cx: left, cy: top, r: mark ? 5 : 2.5, class: `point${mark}`});
      const target = svg('circle', {cx: left, cy: top, r: 8, class: 'target'}, svg('title', {}, `${name}: ${fullName(x.name)} ${valueText(x, a)}, ${fullName(y.name)} ${valueText(y, b)}`));
      target.addEventListener('click', (event) => choose(store, own, event));
      target.addEventListener('pointerenter', () => store.preview({place: own}));
      target.addEventListener('pointerleave', () => store.preview({}));
      const at = placed.length > kMostNames && !mark ? null : room.find(left, top, kLetter * name.length + (mark ? 4 : 0));
      this.plot.append(point, ...at ? [said(name, at, 'start', `point-name${mark}`)] : [], target);
    }
    void stage;
  }

  walk(name: 'x' | 'y'): void { this.page.store.set({[name]: nextName(this.page, this.page.store.now[name])}); }
}
