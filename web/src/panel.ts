// What every view and panel is, and what it is given.
import type {SessionApi, SessionInfo} from './api';
import type {Selection, SelectionStore} from './selection';
import {kColours} from './selection';
import type {Units} from './tokens';
import {phrase, sentences, words} from './tokens';

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

/** Tokens [first, end) whose attention is shown, as the mean of their rows. */
export interface Span { first: number; end: number }

/** A dragged span, or the token that is pinned or hovered with its word or sentence; null with neither. */
export function focus(store: SelectionStore, api: SessionApi, hovered = store.hover.query): Span | null {
  const {range, query: pinned} = store.now;
  if (hovered === null && range) return {first: range[0], end: range[1] + 1};
  const query = hovered ?? pinned;
  if (query === null) return null;
  const units = chosenUnits(store.now, api);
  return units ? {first: units.begins[query]!, end: units.ends[query]!} : {first: query, end: query + 1};
}

export function isIn(span: Span | null, index: number): boolean {
  return span !== null && index >= span.first && index < span.end;
}

/** The words of a span; of a long one its beginning and its end. */
export function spanName({tokens}: SessionInfo, {first, end}: Span): string {
  if (end - first <= 4) return phrase(tokens, first, end);
  const hasLetters = (index: number) => /[\p{L}\p{N}]/u.test(tokens[index]!.text);
  let last = end - 1;
  while (last > first + 2 && !hasLetters(last)) --last;
  const name = `${phrase(tokens, first, first + 2)} \u2026 ${phrase(tokens, last, end)}`;
  return name.replace(/\u23ce+$/, '');
}
