// The Heads view's data for each head: scores in the chosen form, their order, thresholds and marks.
import type {Score} from '../answers';
import {hasScoresBeside} from '../selection/comparison';
import {fixed, nats, shortWeight, tokensAway} from '../drawing/format';
import type {Page} from './panel';
import {primary} from './panel';
import type {Place, Show} from '../selection/selection';
import {headText, kShows, nameOf} from '../selection/selection';
import type {SelectionStore} from '../selection/store';
import type {HeadScores, SessionApi} from '../transport/api';
import {headsOf} from '../heads/late';
import {hasNan} from '../heads/nan';
import {plainName, sourceOf} from '../heads/score_names';

export const kLike = 'like';  // the column of a search by example

const kColumns = ['image', 'image_spread', 'previous', 'sink', 'induction', 'duplicate', 'normalised_entropy', 'distance', 'without'];
// Between two texts: no probe has a source, and a token of one has no distance to a token of the other.
const kBetween = ['image', 'image_spread', 'in_order', 'confidence', 'coverage', 'normalised_entropy', 'without'];
const kOfOneText = new Set(['previous', 'current', 'next', 'sink', 'distance', 'local', 'induction', 'duplicate', 'probe_induction', 'probe_duplicate']);
const kInOrder: Column = {
  name: 'in_order', short: 'in order', about: 'mean weight of each token on the one at its place in the other text', title: 'same place', share: true, unit: 'share', from: 'text',
};

/** A column of the table: a score of the model, or how much heads resemble an example. `of`: the side of a comparison; default: what is shown. */
export interface Column extends Score { title: string; of?: Show }

/** The result of a search by an example, and the example. */
export interface Alike { said: string; overlap: Map<string, number> }

function named(page: Page, name: string): Column | undefined {
  const own = page.store.now.on === 'probe' ? page.api.about.scores.find((each) => each.name === `probe_${name}`) : undefined;
  return own ?? page.api.about.scores.find((each) => each.name === name);
}

/** Whether a score is meaningful for the attention: places and distances exist only within one text. */
export function isOfSide({side}: Page, name: string): boolean { return side.isSquare ? name !== 'coverage' : !kOfOneText.has(name); }

/** A score by its name; of the probe where the page is set to it. */
export function columnOf(page: Page, name: string, alike: Alike | null): Column | undefined {
  if (name === kLike && alike) return {name, short: name, about: `share of a row\u2019s weight that lies as in ${alike.said}`, title: alike.said, share: true, unit: 'share', from: 'text'};
  return name === kInOrder.name && !page.side.isSquare ? kInOrder : named(page, name);
}

function usualOf(page: Page): string[] { return (page.side.isSquare ? kColumns : kBetween).filter((name) => columnOf(page, name, null)); }

export function columnName({name, of}: Pick<Column, 'name' | 'of'>): string {
  return of === 'A-B' ? 'A \u2212 B' : `${plainName(name)}${of ? ` ${of}` : ''}`;
}

/** Whether it is one of the server's scores, with full evidence: for others there are only the weights by distance. */
export function isKnown({api}: Page, column: Column): boolean { return api.about.scores.some(({name}) => name === column.name); }

const kFirstSort = new WeakMap<SelectionStore, string>();  // of the open view

/** When Heads opens, a head chosen by heed is ranked by the score that distinguishes it. */
export function openHeads({store}: Page): void { kFirstSort.delete(store); }

/** Of the scores that some head reaches, the one in which heed's chosen head ranks highest, the larger of two; null if the reader chose the head. */
function apart(page: Page): string | null {
  const {api, store} = page;
  const {done, of} = api.scored;
  if (store.reason === '' || done < of) return null;
  const own = primary(store.now);
  const scores = api.about.scores.filter(({name, share, from}) => share && from === 'text' && columnOf(page, name, null)!.name === name)  // not one shown on random tokens
    .flatMap(({name, threshold = 0}) => {
    const value = api.scoresOf(own)?.[own.head]?.[name];
    if (typeof value !== 'number') return [];
    const all = headsOf(page).map((place) => api.scoresOf(place)?.[place.head]?.[name]).filter((each) => typeof each === 'number');
    const most = Math.max(...all);
    return [{name, value, most, isReached: most > 0 && most >= threshold, rank: all.filter((each) => each > value).length}];
  });
  const reached = scores.filter(({isReached}) => isReached).sort((a, b) => a.rank - b.rank || b.value - a.value);
  return (reached[0] ?? scores.sort((a, b) => b.most - a.most)[0])?.name ?? null;
}

/** The score by which the heads are ranked. */
export function sortName(page: Page, alike: Alike | null): string {
  const {sort} = page.store.now;
  if (alike) return kLike;
  if (isOfSide(page, sort) && page.api.about.scores.some(({name}) => name === sort)) return sort;
  const first = kFirstSort.get(page.store) ?? apart(page);
  if (first !== null) kFirstSort.set(page.store, first);  // choosing another head later does not change the order
  return first ?? usualOf(page)[0]!;
}

/** The ranking score first, if it is not a default one, or if it is A's, followed by those of B and of A \u2212 B. */
export function columnsOf(page: Page, alike: Alike | null): Column[] {
  const sort = sortName(page, alike);
  const own = usualOf(page);
  const usual = own.includes(sort) ? own : [sort, ...own.filter((_, at) => at !== 1)];
  const columns = usual.map((name) => columnOf(page, name, alike)).filter((column) => column !== undefined);
  const ranking = columnOf(page, sort, alike);
  if (!ranking || alike || !hasScoresBeside(page.compared)) return columns;
  const {threshold: _, ...unbound} = ranking;
  return [...kShows.map((of) => ({...of === 'A-B' ? unbound : ranking, of})), ...columns.filter((column) => column !== ranking)];
}

/** Whether it can be ranked and drawn. */
export function isNumber(value: number | undefined): value is number { return value !== undefined && !Number.isNaN(value); }

/** Undefined if it is missing, now or for good; NaN if it is the score of weights that are. */
export function valueOf(page: Page, place: Place, column: Column, alike: Alike | null): number | undefined {
  if (column.name === kLike) return alike?.overlap.get(nameOf({layer: place.layer, head: place.head}));
  const {compared} = page;
  if (!column.of || !compared) return valueIn(page.api, page, place, column);
  const [a, b] = [valueIn(compared.a, page, place, column), valueIn(compared.b, page, compared.toB(place), column)];
  return column.of === 'A' ? a : column.of === 'B' ? b : a === undefined || b === undefined ? undefined : a - b;
}

function valueIn(api: SessionApi, page: Page, place: Place, column: Column): number | undefined {
  const scores: HeadScores | undefined = api.scoresOf(place)?.[place.head];
  if (column.name === kInOrder.name && isNumber(scores?.order?.in_order ?? undefined)) return scores!.order!.in_order;
  const form = page.store.now.form === 'adjusted' ? (scores?.adjusted as unknown as Record<string, number> | undefined)?.[column.name] : undefined;
  const value = form ?? scores?.[column.name];
  return typeof value === 'number' ? value : column.from === 'text' && hasNan(api, place) ? NaN : undefined;
}

export interface Ranked { place: Place; value: number | undefined }

/** Largest first; those without a number last. */
export function ranked(page: Page, column: Column, alike: Alike | null): Ranked[] {
  const heads = headsOf(page).map((place) => ({place, value: valueOf(page, place, column, alike)}));
  const rank = ({value}: Ranked) => isNumber(value) ? value : -Infinity;
  return heads.sort((a, b) => rank(b) - rank(a));
}

/** `.63`, `48.6`, `1.32`, `+.006` (nats), `NaN`; a dash where there is none. */
export function valueText({unit, from}: Column, value: number | undefined): string {
  if (!isNumber(value)) return value === undefined ? '\u2013' : 'NaN';
  if (from === 'run') return nats(value);
  if (unit === 'share') return shortWeight(value);
  return unit === 'tokens' ? tokensAway(value) : fixed(value, 2);
}

/** The text below a column's name. */
export function unitText({name, title, from}: Column): string { return from === 'run' ? 'loss, nats' : sourceOf(name) || title; }

/** `4 heads ≥ .40`, `none ≥ .20`, `max L4.H4 .77`; of a difference the largest of either sign. */
export function reachedText(page: Page, column: Column, alike: Alike | null): string {
  const heads = ranked(page, column, alike).filter(({value}) => isNumber(value));
  if (heads.length === 0) return '';
  const {place, value} = column.of === 'A-B' && Math.abs(heads.at(-1)!.value!) > Math.abs(heads[0]!.value!) ? heads.at(-1)! : heads[0]!;
  if (column.threshold === undefined) return `max ${headText(place)} ${valueText(column, value)}`;
  const count = heads.filter((each) => each.value! >= column.threshold!).length;
  return `${count === 0 ? 'none' : count === 1 ? '1 head' : `${count} heads`} \u2265 ${shortWeight(column.threshold)}`;
}
