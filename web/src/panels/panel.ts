// The interface of views and panels, and what they are given.
import {isSamePlace} from '../selection/address';
import type {Place, Selection, Unit} from '../selection/selection';
import {headText, kColours} from '../selection/selection';
import type {Stage} from '../shell/stage';
import type {SelectionStore} from '../selection/store';
import type {Side, Span} from '../attention/side';
import type {HasTokens, Units} from '../text/tokens';
import {gapBefore, phrase, unitsFrom} from '../text/tokens';
import type {Compared} from '../selection/comparison';
import type {Input, SessionApi} from '../transport/api';

export type {Span};

export interface Panel {
  update(): void;
  destroy(): void;
}

/** Shared by the parts of one page. */
export interface Page {
  store: SelectionStore; api: SessionApi; side: Side; stage: Stage;
  open: (input: Input) => void;  // replaces the text by another one
  derive: (edits: object, otherwise?: () => void) => void;  // the same text with edits, beside this session; `otherwise` is called if no session has them
  compared: Compared | null;        // the drawn session, and its other side
}

export type MakePanel = (container: HTMLElement, page: Page) => Panel;

/** `L2.H6, L2.H7`, as headings call heads. */
export function headName({places}: Pick<Selection, 'places'>): string { return places.map(headText).join(', '); }

/** `H6` beside others of its layer, else `L2.H6`. */
export function shortName({places}: Selection, place: Place): string {
  return places.every((each) => each.layer === place.layer) ? `H${place.head}` : headText(place);
}

export function primary({places}: Pick<Selection, 'places'>): Place { return places[0]!; }

/** The class of a head's colour; small multiples, each with its name, and heads that are not chosen share the first. */
export function colourOf({places}: Selection, place: Place): string {
  return `head-${places.length > kColours ? 1 : Math.max(0, places.findIndex((each) => isSamePlace(each, place))) + 1}`;
}

/** Whether several heads can share a drawing: as many as have different colours. */
export function canBeTogether({api, store: {now: {places}}}: Page): boolean {
  return places.length > 1 && places.length <= kColours && !api.isDifference;
}

export function isTogether(page: Page): boolean { return page.store.now.arcs === 'together' && canBeTogether(page); }

/** The same for an edge: for a difference, the colour shows which side has more. */
export function colourOfEdge({api, store}: Page, place: Place, weight: number): string {
  return api.isDifference ? weight < 0 ? 'less' : 'more' : colourOf(store.now, place);
}

/** The class of a bar: for a difference, orange if B has more. */
export function barOf(weight: number): string { return weight < 0 ? 'less' : 'of-head'; }

/** The sorting key of a list of the largest weights. */
export function largestName({isDifference}: Page['api']): string { return isDifference ? 'Largest |A \u2212 B|' : 'Largest'; }

const kUnitsOf = new WeakMap<Side, Partial<Record<Unit, Units>>>();

/** Units of the queries. */
export function unitsOf(side: Side, unit: 'word' | 'sentence' | 'character'): Units {
  const known = kUnitsOf.get(side) ?? {};
  kUnitsOf.set(side, known);
  const {units, queries} = side;
  return known[unit] ??= unitsFrom(
    unit === 'word' ? units.words : unit === 'sentence' ? units.sentences : units.characters ?? queries.map(({index}) => index), queries.length);
}

/** The units of the selection; null if each token is a unit. */
export function chosenUnits({unit}: Pick<Selection, 'unit'>, side: Side): Units | null {
  return unit === 'token' || (unit === 'character' && !side.units.characters) ? null : unitsOf(side, unit);
}

/** A hovered row is not a column if columns are other tokens. */
function hoveredOf({store, side}: Page): number | null {
  return side.isSquare || !store.to || store.hover.key !== null ? store.hoveredToken : null;
}

/** The tokens whose attention is shown as the mean of their rows: a dragged span, or the token that is pinned or
    hovered with its word or sentence; null with neither. */
export function focus(page: Page, hovered = hoveredOf(page)): Span | null {
  const {store, side} = page;
  const {range} = store.now;
  if (hovered === null && range) return {first: range[0], end: range[1] + 1};
  const token = hovered ?? store.pinnedToken;
  if (token === null) return null;
  const units = chosenUnits(store.now, side);
  return units ? {first: units.begins[token]!, end: units.ends[token]!} : {first: token, end: token + 1};
}

export function isIn(span: Span | null, index: number): boolean {
  return span !== null && index >= span.first && index < span.end;
}

/** The words of a span; for a long one its beginning and end. */
export function spanName({tokens}: HasTokens, {first, end}: Span): string {
  if (end - first <= 4) return phrase(tokens, first, end);
  const hasLetters = (index: number) => /[\p{L}\p{N}]/u.test(tokens[index]!.text);
  const begins = (index: number) => gapBefore(tokens, index) !== '' || !hasLetters(index);  // a whole word, not a piece of one
  let last = end - 1;
  while (last > first + 2 && (!hasLetters(last) || !begins(last))) --last;
  let after = first + 2;
  while (after < last && !begins(after)) ++after;
  const name = after >= last ? phrase(tokens, first, end) : `${phrase(tokens, first, after)} \u2026 ${phrase(tokens, last, end)}`;
  return name.replace(/\u23ce+$/, '');
}
