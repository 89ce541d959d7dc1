// Small multiples: a separate drawing for each of several heads.
import type {Edge, Line} from '../attention/arcs';
import {otherEnd} from '../attention/arcs';
import {isSamePlace} from '../selection/address';
import {button, html, svg} from '../drawing/dom';
import {weight} from '../drawing/format';
import type {Page, Span} from './panel';
import {colourOf, colourOfEdge, primary, shortName} from './panel';
import type {Place} from '../selection/selection';
import {nameOf} from '../selection/selection';
import {Rows} from '../attention/rows';
import {phrase} from '../text/tokens';
import type {Arc} from './edge_arcs';
import {drawArcs} from './edge_arcs';
import {replaceUnlessSame} from './edge_rows';
import {left} from './key_column';

const kRowHeight = 24;
const kArcs: [number, number] = [40, 74];

interface Small { element: HTMLElement; name: HTMLElement; query: HTMLElement; keys: HTMLElement; arcs: SVGSVGElement; rest: HTMLElement }

/** What a click on a key pins, and what hovering over it previews. */
export interface KeyActions { pin(other: number): void; preview(other: number): void }

export class Multiples {
  readonly element = html('div', {class: 'multiples', hidden: true});
  private rows: Rows;
  private readonly small = new Map<string, Small>();  // by head

  constructor(private readonly page: Page, private readonly actions: KeyActions) {
    this.rows = new Rows(page);
    this.element.addEventListener('pointerleave', () => page.store.preview({}));
  }

  /** One drawing per head: the shown token and its edges. */
  draw(rows: Rows, at: Span, lines: Map<string, Line>): void {
    const {places} = this.page.store.now;
    const names = places.map(nameOf);
    for (const name of this.small.keys()) if (!names.includes(name)) this.small.delete(name);
    const all = places.map((place) => this.of(place));
    if (all.length !== this.element.children.length
        || all.some((each, at) => each.element !== this.element.children[at])) {
      this.element.replaceChildren(...all.map(({element}) => element));
    }
    this.rows = rows;
    const {to} = this.page.store;
    for (const [index, place] of places.entries()) {
      const line = lines.get(nameOf(place));
      this.drawOne(all[index]!, place, at, line && rows.line(line, to));
    }
  }

  private of(place: Place): Small {
    const known = this.small.get(nameOf(place));
    if (known) return known;
    const name = button({class: 'small-name', 'data-head': place.head}, (event) => this.choose(place, event));
    const made = {
      element: html('section', {class: 'small', 'data-head': place.head, 'aria-label': `Head ${place.head}`}),
      name: html('b', {}), query: html('div', {class: 'small-query'}), keys: html('div', {class: 'small-keys'}),
      arcs: svg('svg', {class: 'arcs', 'aria-hidden': true}), rest: html('div', {class: 'quiet small-rest'}),
    };
    name.append(made.name);
    made.element.append(name, html('div', {class: 'small-body'}, made.arcs, made.query, made.keys), made.rest);
    this.small.set(nameOf(place), made);
    return made;
  }

  /** As on its chip: a click shows this head alone, Shift takes it away. */
  private choose(place: Place, event: MouseEvent): void {
    const {store} = this.page;
    store.set({places: event.shiftKey ? store.now.places.filter((each) => !isSamePlace(each, place)) : [place]});
  }

  private drawOne(small: Small, place: Place, at: Span, line: Line | undefined): void {
    const edges = line?.edges ?? [];
    const {store, side} = this.page;
    small.element.className = `small ${colourOf(store.now, place)}`;
    small.name.textContent = shortName(store.now, place);
    small.query.textContent = phrase(side.queries, at.first, at.end);
    small.query.style.top = `${(edges.length * kRowHeight - 20) / 2}px`;
    replaceUnlessSame(small.keys, edges.map((edge) => this.key(edge)));
    small.arcs.style.height = `${edges.length * kRowHeight}px`;
    const arcs = edges.map((edge, index): Arc => {
      const chosen = this.isAt(edge, store.other) && isSamePlace(place, primary(store.now));
      return {
        edge, kind: 'small', colour: colourOfEdge(this.page, place, edge.weight), source: edges.length * kRowHeight / 2,
        target: (index + 0.5) * kRowHeight, chosen, label: '',  // it is in the row
      };
    });
    const end = (edge: Edge) => this.rows.first(otherEnd(edge, store.to));
    drawArcs(small.arcs, arcs, kArcs, {
      enter: (edge) => this.actions.preview(end(edge)), leave: () => store.preview({}),
      click: (edge) => this.actions.pin(end(edge)),
    });
    small.rest.textContent = line ? left(line.rest) : '\u2013';
  }

  private key(edge: Edge): HTMLElement {
    const {store} = this.page;
    const row = otherEnd(edge, store.to);
    const other = this.rows.first(row);
    const isPinned = this.isAt(edge, store.pinnedOther);
    const state = isPinned ? ' pinned' : this.isAt(edge, store.other) ? ' hovered' : '';
    const made = button({class: `key${state}`, 'data-index': other, 'aria-pressed': String(isPinned)}, () => this.actions.pin(other),
      html('span', {class: 'context'}, html('b', {}, this.rows.text(row))),
      html('span', {class: 'index'}, String(other)), html('span', {class: 'value'}, weight(edge.weight)));
    made.addEventListener('pointerenter', () => this.actions.preview(other));
    made.addEventListener('focus', () => made.matches(':focus-visible') && this.actions.preview(other));
    return made;
  }

  /** Whether the edge's other end contains the token. */
  private isAt(edge: Edge, token: number | null): boolean {
    return token !== null && this.rows.of(token) === otherEnd(edge, this.page.store.to);
  }
}
