// Small multiples: from the fifth head on each head has its own drawing instead of its own colour.
import type {Edge, Line} from '../arcs';
import {otherEnd} from '../arcs';
import {isSamePlace} from '../address';
import {button, html, svg} from '../dom';
import {weight} from '../format';
import type {Page, Span} from '../panel';
import {primary, shortName} from '../panel';
import type {Place} from '../selection';
import {nameOf} from '../selection';
import {phrase, plain} from '../tokens';
import type {Arc} from './edge_arcs';
import {drawArcs} from './edge_arcs';
import {replaceUnlessSame} from './edge_rows';
import {left} from './key_column';

const kRowHeight = 24;
const kArcs: [number, number] = [40, 74];

interface Small { element: HTMLElement; name: HTMLElement; query: HTMLElement; keys: HTMLElement; arcs: SVGSVGElement; rest: HTMLElement }

/** What a click on a key pins, and what the pointer over it previews. */
export interface KeyActions { pin(other: number): void; preview(other: number): void }

export class Multiples {
  readonly element = html('div', {class: 'multiples', hidden: true});
  private readonly small = new Map<string, Small>();  // by head

  constructor(private readonly page: Page, private readonly actions: KeyActions) {
    this.element.addEventListener('pointerleave', () => page.store.preview({}));
  }

  /** One drawing a head: the shown token and its edges. */
  draw(at: Span, lines: Map<string, Line>): void {
    const {places} = this.page.store.now;
    const names = places.map(nameOf);
    for (const name of this.small.keys()) if (!names.includes(name)) this.small.delete(name);
    const all = places.map((place) => this.of(place));
    if (all.length !== this.element.children.length
        || all.some((each, at) => each.element !== this.element.children[at])) {
      this.element.replaceChildren(...all.map(({element}) => element));
    }
    for (const [index, place] of places.entries()) this.drawOne(all[index]!, place, at, lines.get(nameOf(place)));
  }

  private of(place: Place): Small {
    const known = this.small.get(nameOf(place));
    if (known) return known;
    const name = button({class: 'small-name', 'data-head': place.head}, (event) => this.choose(place, event));
    const made = {
      element: html('section', {class: 'small head-1', 'data-head': place.head, 'aria-label': `Head ${place.head}`}),
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
    small.name.textContent = shortName(store.now, place);
    small.query.textContent = phrase(side.queries, at.first, at.end);
    small.query.style.top = `${(edges.length * kRowHeight - 20) / 2}px`;
    replaceUnlessSame(small.keys, edges.map((edge) => this.key(edge)));
    small.arcs.style.height = `${edges.length * kRowHeight}px`;
    const arcs = edges.map((edge, index): Arc => {
      const chosen = otherEnd(edge, store.to) === store.other && isSamePlace(place, primary(store.now));
      return {
        edge, kind: 'small', colour: 'head-1', source: edges.length * kRowHeight / 2,
        target: (index + 0.5) * kRowHeight, chosen, label: chosen ? {line: 0, text: weight(edge.weight)} : null,
      };
    });
    const end = (edge: Edge) => otherEnd(edge, store.to);
    drawArcs(small.arcs, arcs, kArcs, {
      enter: (edge) => this.actions.preview(end(edge)), leave: () => store.preview({}),
      click: (edge) => this.actions.pin(end(edge)),
    });
    small.rest.textContent = line ? left(line.rest) : '\u2013';
  }

  private key(edge: Edge): HTMLElement {
    const {store, side} = this.page;
    const other = otherEnd(edge, store.to);
    const isShown = other === store.other;
    const isPinned = other === store.pinnedOther;
    const state = isPinned ? ' pinned' : isShown ? ' hovered' : '';
    const row = button({class: `key${state}`, 'data-index': other, 'aria-pressed': String(isPinned)}, () => this.actions.pin(other),
      html('span', {class: 'context'}, html('b', {}, plain(side.keys[other]!))),
      html('span', {class: 'index'}, String(other)), html('span', {class: 'value'}, weight(edge.weight)));
    row.addEventListener('pointerenter', () => this.actions.preview(other));
    row.addEventListener('focus', () => row.matches(':focus-visible') && this.actions.preview(other));
    return row;
  }
}
