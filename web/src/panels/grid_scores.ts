// A grid's labels for a head, and the order of heads.
import {score, shortWeight} from '../drawing/format';
import {holdsFor, readFilter, unknownScore} from '../heads/head_filter';
import type {FilterError, Term} from '../heads/head_filter';
import type {Page} from './panel';
import {briefName, fullName} from '../heads/score_names';
import type {Place} from '../selection/selection';
import {kNothing} from '../selection/selection';
import type {HeadScores, ScoreName} from '../transport/api';
import {isOfSide} from './heads_scores';

/** A head's number, with its name and formatted value. */
export interface Said { name: string; short: string; value: number; isShare: boolean }

export function scoresOf({api}: Page, place: Place): HeadScores | undefined {
  const layer = api.scoresOf(place);
  const own = layer?.[place.head];
  return own?.head === place.head ? own : layer?.find(({head}) => head === place.head);
}

function saidOf(of: ScoreName, scores: HeadScores): Said[] {
  const value = scores[of.name] as number | undefined;
  const short = of.name.startsWith('probe_') ? briefName(of) : of.short;  // cells have room for one word; all others are on the text
  return value === undefined || value === null ? [] : [{name: of.name, short, value, isShare: of.share}];
}

/** A head's numbers: first the sorting score, then its largest share, then the others in list order. */
export function storyOf(page: Page, place: Place): {first: Said; then: Said | undefined; others: Said[]} | null {
  const {api, store: {now: {sort}}, side} = page;
  const scores = scoresOf(page, place);
  if (!scores) return null;
  const all = api.about.scores.filter(({name}) => isOfSide(page, name)).flatMap((each) => saidOf(each, scores));
  const shares = all.filter(({isShare}) => isShare).sort((a, b) => b.value - a.value);
  if (sort === kNothing.sort && !side.isSquare && scores.order) {
    const {in_order: inOrder, peak} = scores.order;
    return {
      first: {name: 'in order', short: 'in order', value: inOrder, isShare: true},
      then: {name: 'peak', short: 'peak', value: peak, isShare: true}, others: all.filter(({isShare}) => !isShare),
    };
  }
  const first = all.find(({name}) => name === sort) ?? shares[0];
  if (!first) return null;
  const then = shares.find(({name}) => name !== first.name);
  return {first, then, others: all.filter(({name}) => name !== first.name && name !== then?.name)};
}

/** `previous .63` */
export function fullText({name, short, value}: Said): string {
  if (name === 'distance') return score(name, short, value);
  return name === 'entropy' || name === 'without' ? score(name, name, value) : `${fullName(name)} ${shortWeight(value)}`;
}

/** `prev .63` */
export function shortText({name, short, value}: Said): string { return score(name, short, value); }

/** The number alone: `.63`, `1.32`, `48.6`. */
export function numberText({name, short, value}: Said): string {
  if (name === 'distance') return score(name, short, value).replace(' back', '');
  return name === 'entropy' || name === 'without' ? score(name, '', value).trim() : shortWeight(value);
}

/** The heads of a layer, sorted; by number until their scores have loaded. */
export function sortedHeads(page: Page, layer: number): Place[] {
  const {store: {now: {sort, places}}, side} = page;
  const {stack} = places[0]!;
  const all = Array.from({length: side.heads}, (_, head): Place => ({...stack !== undefined && {stack}, layer, head}));
  if (sort === kNothing.sort || !scoresOf(page, all[0]!)) return all;
  const valueOf = (place: Place) => scoresOf(page, place)?.[sort] as number | undefined ?? -Infinity;
  return all.sort((a, b) => valueOf(b) - valueOf(a) || a.head - b.head);
}

/** The mean of a layer's sorting score; null if it is unsorted or the score is unknown. */
export function meanOf(page: Page, layer: number): Said | null {
  const {api, store: {now: {sort, places}}} = page;
  const heads = api.scoresOf({...places[0]!, layer});
  const named = api.about.scores.find(({name}) => name === sort);
  if (!heads || !named || heads.length === 0) return null;
  const value = heads.reduce((sum, scores) => sum + (scores[sort] as number), 0) / heads.length;
  return {name: sort, short: named.short, value, isShare: named.share};
}

/** A typed filter: its terms, or its error. */
export function filterOf({api}: Page, text: string): {terms: Term[]} | {error: FilterError} {
  const read = readFilter(text);
  if ('error' in read) return read;
  const error = unknownScore(text, read.terms, api.about.scores);
  return error ? {error} : read;
}

/** Whether the terms hold for a head; unknown until its scores have loaded. */
export function passes(page: Page, terms: Term[], place: Place): boolean | undefined {
  if (terms.length === 0) return true;
  const scores = scoresOf(page, place);
  const needsScores = terms.some(({test}) => test !== 'in');
  if (needsScores && !scores) return undefined;
  const named = (name: string) => page.api.about.scores.find((each) => each.name === name || each.short === name);
  return holdsFor(terms, (name) => {
    if (name === 'layer') return place.layer;
    if (name === 'head') return place.head;
    const own = named(name);
    return own && scores?.[own.name] as number | undefined;
  });
}
