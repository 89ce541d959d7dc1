// What every view and panel is, and what it is given.
import type {SessionApi} from './api';
import type {Selection, SelectionStore} from './selection';
import {kColours} from './selection';
import type {Units} from './tokens';
import {sentences, words} from './tokens';

export interface Panel {
  update(): void;
  destroy(): void;
}

export type MakePanel = (container: HTMLElement, selection: SelectionStore, api: SessionApi) => Panel;

export function isNarrow(): boolean {
  return matchMedia('(max-width: 759px)').matches;
}

/** Head `2·6`, as headings call it. */
export function headName(selection: Selection): string {
  if (selection.heads.length > kColours) return `${selection.heads.length} of layer ${selection.layer}`;
  return selection.heads.map((head) => `${selection.layer}\u00b7${head}`).join(', ');
}

export function primary(selection: Selection): {layer: number; head: number} {
  return {layer: selection.layer, head: selection.heads[0]!};
}

/** The class of a head's colour; small multiples, each with its name, share the first. */
export function colourOf(selection: Selection, head: number): string {
  return `head-${selection.heads.length > kColours ? 1 : selection.heads.indexOf(head) + 1}`;
}

const kUnitsOf = new WeakMap<SessionApi, {word: Units; sentence: Units}>();

export function unitsOf(api: SessionApi, unit: 'word' | 'sentence'): Units {
  let found = kUnitsOf.get(api);
  if (!found) {
    found = {word: words(api.info), sentence: sentences(api.info)};
    kUnitsOf.set(api, found);
  }
  return found[unit];
}

/** The units of the selection; null where each token is its own. */
export function chosenUnits(selection: Selection, api: SessionApi): Units | null {
  return selection.unit === 'token' ? null : unitsOf(api, selection.unit);
}

/** The tokens [first, end) whose attention is shown, or null with nothing pinned or hovered. */
export function focus(store: SelectionStore, api: SessionApi): {first: number; end: number} | null {
  const {range} = store.now;
  if (store.hover.query === null && range) return {first: range[0], end: range[1] + 1};
  const query = store.query;
  if (query === null) return null;
  const units = chosenUnits(store.now, api);
  return units ? {first: units.begins[query]!, end: units.ends[query]!} : {first: query, end: query + 1};
}
