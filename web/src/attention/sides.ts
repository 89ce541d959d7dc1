// The choices in a session with two sides: which attention, and from which text of a pair to which.
import {isSamePlace} from '../selection/address';
import {choice, html} from '../drawing/dom';
import {firstHeld, heldOf, holdsAny} from '../heads/held';
import type {Page} from '../panels/panel';
import type {Pair, Place, Selection, Stack} from '../selection/selection';
import {lastWord} from './side';
import {kPairs} from '../selection/selection';

const kAll = [null, ...kPairs] as const;

export function pairAfter(pair: Pair | null): Pair | null {
  return kAll[(kAll.indexOf(pair) + 1) % kAll.length]!;
}

/** `A\u2192B`, `all` */
export function pairName(pair: Pair | null): string { return pair?.replace('-', '\u2192') ?? 'all'; }

/** Whether two lists of tokens face each other: of a cross-attention, or from one text of a pair to another. */
export function isBetween({side, store}: Page): boolean { return !side.isSquare || store.now.pair !== null; }

/** The attentions with at least one head that can be shown: a saved page may have only one. */
export function stacksOf(api: Page['api']): string[] {
  return api.info.attentions.map(({stack}) => stack).filter((stack) => holdsAny(api.side(stack)));
}

/** The same heads of another attention, as far as they can be shown; pins its last word. If heed chose the head, it chooses there too. */
export function toStack(api: Page['api'], stack: string, from: Place[]): Partial<Selection> {
  const side = api.side(stack);
  const own = stack === api.info.attentions[0]!.stack ? {} : {stack: stack as Stack};
  const moved = from.map(({layer, head}) => ({
    ...own, layer: Math.min(layer, side.layers - 1), head: Math.min(head, side.heads - 1),
  }));
  const held = heldOf(side, {places: moved});
  const first = firstHeld(side);
  const places = held.length === 0 && first ? [{...own, ...first}] : held;
  return {
    places: places.filter((place, at) => places.findIndex((each) => isSamePlace(each, place)) === at),
    query: lastWord(side), key: null, range: null, to: false,
  };
}

export function stackAfter(page: Pick<Page, 'api' | 'side' | 'store'>): Partial<Selection> {
  const stacks = stacksOf(page.api);
  const next = stacks[(stacks.indexOf(page.side.stack) + 1) % stacks.length];
  return next === undefined || next === page.side.stack ? {} : toStack(page.api, next, page.store.chosen.places);
}

/** If there is a choice: `stack encoder decoder cross`, `all A\u2192A A\u2192B B\u2192A B\u2192B`. */
export function sideSwitch(page: Page): {element: HTMLElement; show(): void} | null {
  const {api, side, store} = page;
  if (api.info.attentions.length > 1) {
    const options = stacksOf(api).map((stack) => ({name: stack, label: stack}));
    const stacks = choice('Attention', options, (stack) => {
      if (stack !== side.stack) store.set(toStack(api, stack, store.now.places), {byHeed: store.isHeadFresh});
    });
    stacks.element.prepend(html('span', {class: 'quiet'}, 'stack'));
    return {element: stacks.element, show: () => stacks.show(side.stack)};
  }
  if (side.split === null) return null;
  const options = kAll.map((pair) => ({name: pair ?? 'all' as const, label: pairName(pair)}));
  const pairs = choice('From which text to which', options, (name) => store.set({pair: name === 'all' ? null : name}));
  return {element: pairs.element, show: () => pairs.show(store.now.pair ?? 'all')};
}
