// What of a selection a session has, and what is said of the rest.
import {isSamePlace, list} from './address';
import type {Place, Selection} from './selection';
import {kNothing} from './selection';

export interface Attention { stack: string; layers: number; heads: number }

/** What a session has, of all that an address may name. */
export interface Size { attentions: Attention[]; tokens: number; scores: string[] }

function attentionOf({attentions}: Size, place: Place): Attention {
  return attentions.find(({stack}) => stack === place.stack) ?? attentions[0]!;
}

/** The place, in a layer that there is. */
function fitPlace(place: Place, size: Size): Place {
  const {stack, layers} = attentionOf(size, place);
  return {...place.stack !== undefined && place.stack === stack && {stack: place.stack}, layer: Math.min(place.layer, layers - 1), head: place.head};
}

function fitPlaces(places: Place[], size: Size): Place[] {
  const fitted = places.map((place) => fitPlace(place, size));
  const there = fitted.filter((place) => place.head < attentionOf(size, place).heads)
    .filter((place, at, all) => all.findIndex((each) => isSamePlace(each, place)) === at);
  return there.length > 0 ? there : [{...fitted[0]!, head: 0}];
}

/** The same selection with everything that the session does not have taken out. */
export function fit(selection: Selection, size: Size): Selection {
  const token = (index: number | null) => index !== null && index < size.tokens ? index : null;
  const {range, scores} = selection;
  const query = token(selection.query);
  return {
    ...selection, query,
    places: fitPlaces(selection.places, size),
    key: query === null ? null : token(selection.key),
    scores: scores.every((name) => size.scores.includes(name)) ? scores : kNothing.scores,
    range: range && range[1] < size.tokens ? range : null,
  };
}

function unique(numbers: number[]): number[] { return [...new Set(numbers)]; }

/** What of an asked selection is not there, and what is shown instead, a sentence each. */
export function misfit(asked: Selection, size: Size): string[] {
  const shown = fit(asked, size);
  const said: string[] = [];
  const none = (what: string, last: number, instead: string) =>
    said.push(`There is no ${what}, the last one is ${last}: ${instead}.`);
  const {places} = asked;
  const stacks = size.attentions.map(({stack}) => stack);
  const unknown = places.map(({stack}) => stack).find((stack) => stack !== undefined && !stacks.includes(stack));
  if (unknown) said.push(`There is no attention ${unknown}, expected ${list(stacks)}: ${stacks[0]} is shown.`);
  const {layers, heads} = attentionOf(size, places[0]!);
  const high = unique(places.filter((place) => place.layer >= attentionOf(size, place).layers).map(({layer}) => layer));
  if (high.length > 0) none(`layer ${high.join(', ')}`, layers - 1, `layer ${shown.places[0]!.layer} is shown`);
  const wrong = unique(places.filter((place) => place.head >= attentionOf(size, place).heads).map(({head}) => head));
  if (wrong.length > 0) {
    none(`head ${wrong.join(', ')}`, heads - 1, `head ${shown.places.map(({head}) => head).join(', ')} is shown`);
  }
  const tokens = [asked.query, asked.key, ...asked.range ?? []].filter((index) => index !== null && index >= size.tokens);
  if (tokens.length > 0) none(`token ${tokens.join(', ')}`, size.tokens - 1, 'it is not pinned');
  const scores = asked.scores.filter((name) => !size.scores.includes(name));
  if (scores.length > 0) {
    said.push(`There is no score ${scores.join(', ')}, expected ${list(size.scores)}: ${shown.scores.join(' and ')} are shown.`);
  }
  return said;
}
