// Small multiples: from the fifth head on each head has its own drawing instead of its own colour.
import type {SessionApi} from '../api';
import type {Edge, Line} from '../arcs';
import {button, html, svg} from '../dom';
import {weight} from '../format';
import type {Span} from '../panel';
import type {SelectionStore} from '../selection';
import {phrase, plain} from '../tokens';
import type {Arc} from './edge_arcs';
import {drawArcs} from './edge_arcs';
import {replaceUnlessSame} from './edge_rows';
import {left} from './key_column';

const kRowHeight = 24;
const kArcs: [number, number] = [40, 74];

interface Small { element: HTMLElement; query: HTMLElement; keys: HTMLElement; arcs: SVGSVGElement; rest: HTMLElement }

export class Multiples {
  readonly element = html('div', {class: 'multiples', hidden: true});
  private readonly small = new Map<number, Small>();  // by head
  private query = 0;                                   // what a click on a key pins it to

  constructor(private readonly store: SelectionStore, private readonly api: SessionApi) {
    this.element.addEventListener('pointerleave', () => store.preview({}));
  }

  /** One drawing a head: the shown row and its edges. */
  draw(at: Span, query: number | null, lines: Map<number, Line>): void {
    this.query = query ?? at.first;
    const {heads} = this.store.now;
    for (const head of this.small.keys()) if (!heads.includes(head)) this.small.delete(head);
    const all = heads.map((head) => this.of(head));
    if (all.length !== this.element.children.length
        || all.some((each, place) => each.element !== this.element.children[place])) {
      this.element.replaceChildren(...all.map(({element}) => element));
    }
    for (const [place, head] of heads.entries()) this.drawOne(all[place]!, head, at, lines.get(head));
  }

  private of(head: number): Small {
    let found = this.small.get(head);
    if (found) return found;
    const name = button({class: 'small-name', 'data-head': head}, (event) => this.choose(head, event));
    found = {
      element: html('section', {class: 'small head-1', 'data-head': head, 'aria-label': `Head ${head}`}),
      query: html('div', {class: 'small-query'}), keys: html('div', {class: 'small-keys'}),
      arcs: svg('svg', {class: 'arcs', 'aria-hidden': true}), rest: html('div', {class: 'quiet small-rest'}),
    };
    name.append(html('b', {}, `H${head}`));
    found.element.append(name, html('div', {class: 'small-body'}, found.arcs, found.query, found.keys), found.rest);
    this.small.set(head, found);
    return found;
  }

  /** As on its chip: a click shows this head alone, Shift takes it away. */
  private choose(head: number, event: MouseEvent): void {
    const {heads} = this.store.now;
    this.store.set({heads: event.shiftKey ? heads.filter((each) => each !== head) : [head]});
  }

  private drawOne(small: Small, head: number, at: Span, line: Line | undefined): void {
    const edges = line?.edges ?? [];
    const {now, key: selected} = this.store;
    small.query.textContent = phrase(this.api.info.tokens, at.first, at.end);
    small.query.style.top = `${(edges.length * kRowHeight - 20) / 2}px`;
    replaceUnlessSame(small.keys, edges.map((edge) => this.key(edge, now.key, selected)));
    small.arcs.style.height = `${edges.length * kRowHeight}px`;
    const arcs = edges.map((edge, index): Arc => {
      const chosen = edge.key === selected && head === now.heads[0];
      return {
        edge, kind: 'small', colour: 'head-1', source: edges.length * kRowHeight / 2,
        target: (index + 0.5) * kRowHeight, chosen, label: chosen ? {line: 0, text: weight(edge.weight)} : null,
      };
    });
    drawArcs(small.arcs, arcs, kArcs, {
      enter: (edge) => this.preview(edge.key), leave: () => this.store.preview({}),
      click: (edge) => this.pin(edge.key),
    });
    small.rest.textContent = line ? left(line.rest) : '\u2013';
  }

  private key({key, weight: value}: Edge, pinned: number | null, selected: number | null): HTMLElement {
    const isPinned = key === pinned && this.query === this.store.now.query;
    const state = isPinned ? ' pinned' : key === selected ? ' hovered' : '';
    const row = button({class: `key${state}`, 'data-index': key, 'aria-pressed': String(isPinned)}, () => this.pin(key),
      html('span', {class: 'context'}, html('b', {}, plain(this.api.info.tokens[key]!))),
      html('span', {class: 'index'}, String(key)), html('span', {class: 'value'}, weight(value)));
    row.addEventListener('pointerenter', () => this.preview(key));
    row.addEventListener('focus', () => row.matches(':focus-visible') && this.preview(key));
    return row;
  }

  private pin(key: number): void { this.store.set({query: this.query, key, range: null}); }

  private preview(key: number): void { this.store.preview({query: this.store.now.range ? null : this.query, key}); }
}
