// Small multiples between two texts: one drawing per head, all at the same scale.
import type {Between} from '../attention/between';
import {pairShare} from '../attention/between';
import {button, html, svg} from '../drawing/dom';
import {shortWeight} from '../drawing/format';
import type {Page} from './panel';
import {colourOf, colourOfEdge, primary} from './panel';
import {isSamePlace} from '../selection/address';
import type {Place} from '../selection/selection';
import {nameOf} from '../selection/selection';
import type {Block, Span} from '../attention/side';
import {plain} from '../text/tokens';
import type {Token} from '../transport/api';
import {drawArcs} from './edge_arcs';

const kPitch = 20;
const kLowPitch = 18;  // below the lines of a comparison
const kMostRows = 24;   // a small drawing shows only a part of a longer text
const kWidth = 230;
const kNames = 62;      // px for the tokens of one side
const kLetters = 9;

function cut({first, end}: Span): Span { return {first, end: Math.min(end, first + kMostRows)}; }

function nameOfToken(token: Token): string {
  const name = plain(token);
  return name.length > kLetters ? `${name.slice(0, kLetters - 1)}\u2026` : name;
}

export class BetweenSmall {
  readonly element = html('div', {class: 'between-multiples', hidden: true});

  private drawn: (Between | string | undefined)[] = [];

  constructor(private readonly page: Page) {}

  /** `name`: the title above a head's drawing. */
  draw(block: Block, places: Place[], found: Map<string, Between>, name: (place: Place) => string): void {
    const now = [nameOf(primary(this.page.store.now)), ...places.flatMap((place) => [name(place), this.share(place), found.get(nameOf(place))])];
    if (now.length === this.drawn.length && now.every((each, at) => each === this.drawn[at])) return;
    this.drawn = now;
    const parts = {queries: cut(block.queries), keys: cut(block.keys)};
    this.element.replaceChildren(...places.map((place) => this.one(parts, place, found.get(nameOf(place)), name(place))));
  }

  private one({queries, keys}: Block, place: Place, between: Between | undefined, name: string): HTMLElement {
    const {api, store, side} = this.page;
    const pitch = api.isDifference ? kLowPitch : kPitch;
    const rows = Math.max(queries.end - queries.first, keys.end - keys.first);
    const size = {width: kWidth, height: rows * pitch, viewBox: `0 0 ${kWidth} ${rows * pitch}`};
    const above = (span: Span) => (rows - (span.end - span.first)) / 2 * pitch;
    const y = (index: number, span: Span) => above(span) + (index - span.first + 0.5) * pitch;
    const label = (token: Token, index: number, span: Span, x: number, anchor: string) =>
      svg('text', {x, y: y(index, span) + 4, 'text-anchor': anchor}, nameOfToken(token));
    const names = svg('svg', {class: 'small-names', 'aria-hidden': true, ...size},
      ...side.queries.slice(queries.first, queries.end).map((token, at) => label(token, queries.first + at, queries, kNames, 'end')),
      ...side.keys.slice(keys.first, keys.end).map((token, at) => label(token, keys.first + at, keys, kWidth - kNames, 'start')));
    const arcs = svg('svg', {class: 'small-arcs', 'aria-hidden': true, ...size});
    const edges = (between?.rows ?? []).flatMap((row) => row.edges)
      .filter(({query, key}) => query < queries.end && key < keys.end);
    drawArcs(arcs, edges.map((edge) => ({
      edge, kind: 'small', colour: colourOfEdge(this.page, place, edge.weight), source: y(edge.query, queries), target: y(edge.key, keys), chosen: false, label: '',
    })), [kNames + 6, kWidth - kNames - 6], {enter: () => undefined, leave: () => undefined, click: () => store.set({places: [place]})});
    const isShown = isSamePlace(place, primary(store.now));
    return html('section', {class: `between-small ${colourOf(store.now, place)}`, 'data-head': place.head},
      button({class: isShown ? 'small-head shown' : 'small-head'}, (event) => this.choose(place, event),
        html('b', {}, name), html('b', {}, this.share(place))),
      html('div', {class: 'small-sheet'}, names, arcs));
  }

  /** The same as on its chip: over all rows, not only the drawn ones. */
  private share(place: Place): string {
    const share = this.page.side.split === null ? undefined : pairShare(this.page, place);
    return share === undefined ? '' : shortWeight(share);
  }

  /** As on its chip: a click shows this head alone, Shift takes it away. */
  private choose(place: Place, event: MouseEvent): void {
    const {store} = this.page;
    const others = store.now.places.filter((each) => !isSamePlace(each, place));
    store.set({places: event.shiftKey && others.length > 0 ? others : [place]});
  }
}
