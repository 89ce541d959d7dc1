// One drawing per head, or one for all: the switch, and the heads of a common drawing by colour.
import {button, choice, html} from '../drawing/dom';
import type {Page} from './panel';
import {canBeTogether, colourOf, isTogether, shortName} from './panel';
import type {Place} from '../selection/selection';
import {nameOf} from '../selection/selection';
import {choose} from '../shell/chips';

export class Together {
  readonly names = html('div', {class: 'together-heads', role: 'group', 'aria-label': 'Heads of the drawing'});
  private readonly arcs = choice('Heads', [{name: 'apart', label: 'apart'}, {name: 'together', label: 'together'}] as const, (arcs) => this.page.store.set({arcs}));
  private drawn = '';

  constructor(private readonly page: Page) { this.element.classList.add('arranged'); }

  get element(): HTMLElement { return this.arcs.element; }

  /** `left`: the part of a head that is not drawn. */
  update(left: (place: Place) => string = () => ''): void {
    const {store} = this.page;
    this.arcs.show(store.now.arcs);
    this.element.hidden = !canBeTogether(this.page);
    const places = isTogether(this.page) ? store.now.places : [];
    const drawn = places.map((place) => `${nameOf(place)} ${left(place)}`).join();
    this.names.hidden = places.length === 0;
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    this.names.replaceChildren(...places.map((place) => button({class: `small-name ${colourOf(store.now, place)}`, 'data-head': place.head},
      (event) => choose(store, place, event), html('b', {}, shortName(store.now, place)), ' ', html('span', {class: 'quiet', title: left(place) && 'not drawn'}, left(place)))));
  }
}

/** Of the heads that can be one drawing: one, or one each. */
export function rearrange(page: Page): void {
  if (canBeTogether(page)) page.store.set({arcs: isTogether(page) ? 'apart' : 'together'});
}
