// The parts of a selection that a session has, and a message about the others.
import {isSamePlace, list} from './address';
import {readFilter, unknownScore} from '../heads/head_filter';
import type {Place, Selection} from './selection';
import {kNothing} from './selection';
import {numbersOf} from '../attention/side';

export interface Attention { stack: string; layers: number; attending?: number[]; heads: number; queries: number; keys: number; rectangular: boolean }

/** The parts of a session that an address may name. */
export interface Size { attentions: Attention[]; isPair: boolean; scores: {name: string; short: string}[] }

function attentionOf({attentions}: Size, {stack}: Place): Attention {
  return attentions.find((each) => each.stack === stack) ?? attentions[0]!;
}

/** The last layer with attention up to `layer`; else the first one. */
export function layerNear(attention: Parameters<typeof numbersOf>[0], layer: number): number {
  const numbers = numbersOf(attention);
  return numbers.filter((each) => each <= layer).at(-1) ?? numbers[0]!;
}

/** The place, in an existing layer; the first attention needs no name. */
function fitPlace(place: Place, size: Size): Place {
  const own = attentionOf(size, place);
  const isNamed = place.stack !== undefined && place.stack === own.stack && own !== size.attentions[0];
  return {...isNamed && {stack: place.stack!}, layer: layerNear(own, place.layer), head: place.head};
}

/** The existing heads of the first one's attention. */
function fitPlaces(places: Place[], size: Size): Place[] {
  const fitted = places.map((place) => fitPlace(place, size)).filter((place, _, [first]) => place.stack === first!.stack);
  const there = fitted.filter((place) => place.head < attentionOf(size, place).heads)
    .filter((place, at, all) => all.findIndex((each) => isSamePlace(each, place)) === at);
  return there.length > 0 ? there : [{...fitted[0]!, head: 0}];
}

/** How many tokens a query, a key and a span may name; in the reversed direction without a key, the query is a column. */
function counts({places, to, key}: Selection, size: Size): {query: number; key: number; range: number} {
  const {queries, keys} = attentionOf(size, places[0]!);
  return {query: to && key === null ? keys : queries, key: keys, range: to ? keys : queries};
}

function hasScore({scores}: Size, name: string): boolean { return scores.some((each) => each.name === name); }

/** The error for a filter with an unknown score. */
function unknownIn(filter: string, {scores}: Size): string | null {
  const read = readFilter(filter);
  const unknown = 'terms' in read ? unknownScore(filter, read.terms, scores) : read.error;
  return unknown && `The filter has ${unknown.found} at character ${unknown.at}, expected ${unknown.expected}: all heads are shown.`;
}

/** The same selection without the parts that the session does not have. */
export function fit(selection: Selection, size: Size): Selection {
  const within = (index: number | null, count: number) => index !== null && index < count ? index : null;
  const {range, scores, sort, filter, zoom} = selection;
  const count = counts(selection, size);
  const own = attentionOf(size, selection.places[0]!);
  const query = within(selection.query, count.query);
  return {
    ...selection, query,
    x: hasScore(size, selection.x) ? selection.x : kNothing.x,
    y: hasScore(size, selection.y) ? selection.y : kNothing.y,
    places: fitPlaces(selection.places, size),
    key: query === null ? null : within(selection.key, count.key),
    scores: scores.every((name) => hasScore(size, name)) ? scores : kNothing.scores,
    sort: hasScore(size, sort) ? sort : kNothing.sort,
    filter: unknownIn(filter, size) === null ? filter : '',
    zoom: zoom && zoom.queries[1] < own.queries && zoom.keys[1] < own.keys ? zoom : null,
    range: range && range[1] < count.range ? range : null,
    pair: size.isPair ? selection.pair : null,
    unit: own.rectangular ? kNothing.unit : selection.unit,
  };
}

function unique(numbers: number[]): number[] { return [...new Set(numbers)]; }

/** Sentences about missing heads of a requested selection. */
function misfitPlaces(asked: Selection, size: Size, shown: Selection): string[] {
  const said: string[] = [];
  const {places} = asked;
  const stacks = size.attentions.map(({stack}) => stack);
  const unknown = places.map(({stack}) => stack).find((stack) => stack !== undefined && !stacks.includes(stack));
  if (unknown) said.push(`There is no attention ${unknown}, expected ${list(stacks)}: ${stacks[0]} is shown.`);
  const first = attentionOf(size, places[0]!);
  const other = places.find((place) => attentionOf(size, place) !== first);
  if (other && !unknown) said.push(`Heads of one attention are shown at once: ${attentionOf(size, other).stack} is left out.`);
  const own = places.filter((place) => attentionOf(size, place) === first);
  const none = (what: string, last: number, instead: string) =>
    said.push(`There is no ${what}, the last one is ${last}: ${instead}.`);
  const high = unique(own.filter(({layer}) => layer >= first.layers).map(({layer}) => layer));
  if (high.length > 0) none(`layer ${high.join(', ')}`, first.layers - 1, `layer ${shown.places[0]!.layer} is shown`);
  const silent = unique(own.filter(({layer}) => layer < first.layers && !numbersOf(first).includes(layer)).map(({layer}) => layer));
  if (silent.length > 0) said.push(`Layer ${silent.join(', ')} has no attention, layers ${numbersOf(first).join(', ')} have: layer ${shown.places[0]!.layer} is shown.`);
  const wrong = unique(own.filter(({head}) => head >= first.heads).map(({head}) => head));
  if (wrong.length > 0) {
    none(`head ${wrong.join(', ')}`, first.heads - 1, `head ${shown.places.map(({head}) => head).join(', ')} is shown`);
  }
  return said;
}

/** Sentences about the missing parts of a requested selection and what is shown instead. */
export function misfit(asked: Selection, size: Size): string[] {
  const shown = fit(asked, size);
  const said = misfitPlaces(asked, size, shown);
  const count = counts(asked, size);
  const lost = (indices: (number | null)[], last: number, what: string) => {
    const beyond = indices.filter((index) => index !== null && index > last);
    if (beyond.length > 0) said.push(`There is no ${what} ${beyond.join(', ')}, the last one is ${last}: it is not pinned.`);
  };
  if (count.query === count.key) {
    lost([asked.query, asked.key, ...asked.range ?? []], count.key - 1, 'token');
  } else {
    lost([asked.query, ...asked.range ?? []], count.query - 1, 'query token');
    lost([asked.key], count.key - 1, 'key token');
  }
  if (asked.pair !== null && shown.pair === null) said.push('One text was read, not a pair: all is shown.');
  if (asked.zoom !== null && shown.zoom === null) said.push('The zoom is beyond the matrix: all of it is shown.');
  return [...said, ...misfitScores(asked, size, shown)];
}

function misfitScores(asked: Selection, size: Size, shown: Selection): string[] {
  const said: string[] = [];
  const names = list(size.scores.map(({name}) => name));
  const scores = asked.scores.filter((name) => !hasScore(size, name));
  if (scores.length > 0) said.push(`There is no score ${scores.join(', ')}, expected ${names}: ${shown.scores.join(' and ')} are shown.`);
  if (asked.sort !== shown.sort) said.push(`There is no score ${asked.sort}, expected ${names}: heads are sorted by number.`);
  const unknown = unknownIn(asked.filter, size);
  if (unknown !== null) said.push(unknown);
  return said;
}
