// The grammar of addresses, #look/L5.H1+H2/i=17/j=3/scale=sqrt; tests/vectors/addresses.json checks both languages.
import {readFilter} from '../heads/head_filter';
import type {Place, Selection} from './selection';
import {kArcs, kBys, kLines, kMostHeads, kNothing, kPairs, kQuantities, kRotations, kScales, kShows, kStacks, kSteps, kUnits, kViewNames} from './selection';
import {readVersus} from './versus';

export const kMostLinked = 2000;  // characters of a text in an address
const kMostSaid = 40;  // characters shown of a wrong address

/** A wrong part of an address, its allowed values, and both in a sentence. */
export interface Wrong { found: string; expected: string; said: string }

export interface Address {
  selection: Selection | null;  // null if it names no head, or cannot be read
  isHeadFree?: boolean;         // heed chooses the head
  wrong: Wrong[];               // parts that were ignored
}

function isOneOf<Name extends string>(names: readonly Name[], text: string): text is Name {
  return (names as readonly string[]).includes(text);
}

/** `a, b or c` */
export function list(names: readonly string[]): string {
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
}

/** A part of the address after the heads: how it is parsed (null: wrong) and written (null: omitted). */
interface Part {
  name: string;
  expected: string;
  read(value: string): Partial<Selection> | null;
  write(selection: Selection): string | number | null;
}

const indexOf = (value: string) => /^\d{1,9}$/.test(value) ? Number(value) : null;

function readRange(value: string): [number, number] | null {
  const [, first, last] = /^(\d{1,9})-(\d{1,9})$/.exec(value)?.map(Number) ?? [];
  return first === undefined || last === undefined || first > last ? null : [first, last];
}

function readZoom(value: string): Partial<Selection> | null {
  const [queries, keys, ...more] = value.split(',').map(readRange);
  return queries && keys && more.length === 0 ? {zoom: {queries, keys}} : null;
}

/** Browsers encode some letters as %3E; a space may be a plus sign. */
function readFilterPart(value: string): Partial<Selection> | null {
  const plain = value.replace(/\+/g, ' ').replace(/%([0-9a-f]{2})/gi, (_, digits: string) => String.fromCharCode(parseInt(digits, 16)));
  const filter = plain.replace(/ +/g, ' ').trim();
  return filter === '' || 'error' in readFilter(filter) ? null : {filter};
}

function readScores(value: string): Partial<Selection> | null {
  const [, first, second] = /^([a-z_]{1,32})\+([a-z_]{1,32})$/.exec(value) ?? [];
  return first === undefined || second === undefined ? null : {scores: [first, second]};
}

/** Encoded like in browsers, or unencoded. */
function readText(field: 'model' | 'text' | 'second', value: string): Partial<Selection> | null {
  try {
    const text = decodeURIComponent(value);
    return text !== '' && [...text].length <= kMostLinked ? {[field]: text} : null;
  } catch {
    return null;
  }
}

/** `0.7`: above 0 and at most `most`. */
function fraction(value: string, most: number): number | null {
  const number = /^\d{1,2}(\.\d{1,4})?$/.test(value) ? Number(value) : 0;
  return number > 0 && number <= most ? number : null;
}

type Choice = 'unit' | 'quantity' | 'scale' | 'pair' | 'arcs' | 'line' | 'by' | 'form' | 'on' | 'rotation' | 'show';

/** A part that addresses omit where it has its usual value. */
function optional(field: Choice | 'sort' | 'x' | 'y', part: Pick<Part, 'name' | 'expected'>, fits: (value: string) => boolean): Part {
  return {
    ...part, write: ({[field]: chosen}) => chosen === kNothing[field] ? null : chosen,
    read: (value) => fits(value) ? {[field]: value} : null,
  };
}

function choice<Field extends Choice>(name: string, field: Field, values: readonly (Selection[Field] & string)[]): Part {
  return optional(field, {name, expected: list(values)}, (value) => isOneOf(values, value));
}

function score(name: string, field: 'sort' | 'x' | 'y'): Part {
  return optional(field, {name, expected: 'a name, as in previous'}, (value) => /^[a-z_]{1,32}$/.test(value));
}

function token(name: string, field: 'query' | 'key'): Part {
  return {
    name, expected: 'a number from 0', write: ({[field]: at}) => at,
    read: (value) => indexOf(value) === null ? null : {[field]: indexOf(value)},
  };
}

const kParts: readonly Part[] = [
  token('i', 'query'),
  token('j', 'key'),
  {
    name: 'range', expected: 'the first token and the last, as in 2-9',
    read: (value) => {
      const range = readRange(value);
      return range && {range};
    },
    write: ({range}) => range && range.join('-'),
  },
  {
    name: 'to', expected: '0 or 1', write: ({to}) => to ? '1' : null,
    read: (value) => isOneOf(['0', '1'], value) ? {to: value === '1'} : null,
  },
  choice('units', 'unit', kUnits),
  choice('of', 'quantity', kQuantities),
  choice('scale', 'scale', kScales),
  choice('pair', 'pair', kPairs),
  choice('arcs', 'arcs', kArcs),
  {
    name: 'scores', expected: 'two names, as in previous+distance', read: readScores,
    write: ({scores}) => scores.join('+') === kNothing.scores.join('+') ? null : scores.join('+'),
  },
  {
    name: 't', expected: 'a temperature above 0 and at most 10, as in 0.7', write: ({temperature}) => temperature === 1 ? null : temperature,
    read: (value) => fraction(value, 10) === null ? null : {temperature: fraction(value, 10)!},
  },
  {
    name: 'k', expected: 'how many words may come, from 1', write: ({topK}) => topK || null,
    read: (value) => indexOf(value) ? {topK: indexOf(value)!} : null,
  },
  {
    name: 'p', expected: 'a share above 0 and at most 1, as in 0.9', write: ({topP}) => topP === 1 ? null : topP,
    read: (value) => fraction(value, 1) === null ? null : {topP: fraction(value, 1)!},
  },
  choice('line', 'line', kLines),
  choice('by', 'by', kBys),
  score('sort', 'sort'),
  {
    name: 'filter', expected: 'conditions with plus signs between, as in previous>0.2+layer+4-8', read: readFilterPart,
    write: ({filter}) => filter === '' ? null : filter.replace(/ /g, '+'),
  },
  {
    name: 'zoom', expected: 'the queries and the keys in sight, as in 180-200,160-180', read: readZoom,
    write: ({zoom}) => zoom && `${zoom.queries.join('-')},${zoom.keys.join('-')}`,
  },
  score('across', 'x'),
  score('up', 'y'),
  choice('form', 'form', ['raw', 'adjusted']),
  choice('on', 'on', ['probe', 'text']),
  choice('rotation', 'rotation', kRotations),
  {
    name: 'vs', expected: 'a head as in L2.H4, edits as in ablate:self.L2.H4, text: and a text, or model: and its name', write: ({versus}) => versus || null,
    read: (value) => readVersus(value) ? {versus: value} : null,
  },
  choice('show', 'show', kShows),
  {
    name: 'guide', expected: list(kSteps), write: ({guide}) => guide || null,
    read: (value) => isOneOf(kSteps, value) ? {guide: Number(value)} : null,
  },
  ...([
    ['m', 'model', 'the name of a model'], ['x', 'text', `a text of 1 to ${kMostLinked} characters, as in One%20day`],
    ['x2', 'second', `a second text of 1 to ${kMostLinked} characters`],
  ] as const).map(([name, field, expected]): Part => ({
    name, expected, read: (value) => readText(field, value), write: (selection) => selection[field] && encodeURIComponent(selection[field]) || null,
  })),
];

const kPlace = /^(?:(?:([a-z]+)\.)?L(\d{1,4})\.)?H(\d{1,4})$/;
const kPlaces = 'a head as in L2.H4, L2.H4+H1 or cross.L2.H4';

/** `cross.L2.H4+H1+L3.H0`: missing parts are those of the previous head; null if invalid. */
function readPlaces(text: string): Place[] | null {
  const places: Place[] = [];
  for (const part of text.split('+')) {
    const [, stack, layer, head] = kPlace.exec(part) ?? [];
    const before = places.at(-1);
    const own = layer === undefined ? before?.layer : Number(layer);
    if (head === undefined || own === undefined || (stack !== undefined && !isOneOf(kStacks, stack))) return null;
    const named = stack ?? before?.stack;
    places.push({...named && {stack: named}, layer: own, head: Number(head)});
  }
  return places.filter((place, at) => places.findIndex((each) => isSamePlace(each, place)) === at);
}

export function isSamePlace(a: Place, b: Place): boolean {
  return a.layer === b.layer && a.head === b.head && a.stack === b.stack;
}

function formatPlaces(places: Place[]): string {
  return places.map(({stack, layer, head}, at) => {
    const before = places[at - 1];
    const isOfStack = before !== undefined && before.stack === stack;
    if (isOfStack && before.layer === layer) return `H${head}`;
    return `${stack === undefined || isOfStack ? '' : `${stack}.`}L${layer}.H${head}`;
  }).join('+');
}

/** The address without its `#`. */
export function format(selection: Selection): string {
  const parts = kParts.flatMap(({name, write}) => {
    const value = write(selection);
    return value === null ? [] : [`${name}=${value}`];
  });
  return [selection.view, formatPlaces(selection.places), ...parts].join('/');
}

/** Parses a part into the selection; returns its error, or null. */
function readPart(selection: Selection, part: string): Wrong | null {
  const [name = '', ...values] = part.split('=');
  const known = kParts.find((each) => each.name === name);
  const change = known?.read(values.join('='));
  if (change) {
    Object.assign(selection, change);
    return null;
  }
  const expected = known?.expected ?? list(kParts.map((each) => `${each.name}=`));
  const why = known ? `${name}= is ${expected}` : `expected ${expected}`;
  return {found: part, expected, said: `\u201c${part.slice(0, kMostSaid)}\u201d is left out, ${why}.`};
}

function noHead(address: string, found: string, expected: string): Address {
  const said = `\u201c#${address.slice(0, kMostSaid)}\u201d names no head, expected an address as in #look/L2.H4/i=17.`;
  return {selection: null, wrong: [{found, expected, said}]};
}

/** Parses an address with or without its `#`; ignores unknown parts. `usual`: the heads until heed chooses, if it names none. */
export function parse(hash: string, usual?: Place[]): Address {
  const address = hash.replace(/^#/, '');
  const [view = '', ...rest] = address.split('/');
  if (!isOneOf(kViewNames, view)) return noHead(address, view, list(kViewNames));
  const isHeadFree = usual !== undefined && (rest[0] ?? '=').includes('=');
  const heads = isHeadFree ? '' : rest.shift() ?? '';
  const places = isHeadFree ? usual : readPlaces(heads);
  if (!places) return noHead(address, heads, kPlaces);
  const selection: Selection = {...kNothing, view, places: places.slice(0, kMostHeads)};
  const wrong = rest.map((part) => readPart(selection, part)).filter((each) => each !== null);
  if (places.length > kMostHeads) {
    const said = `Of ${places.length} heads the first ${kMostHeads} are shown.`;
    wrong.unshift({found: `${places.length} heads`, expected: `at most ${kMostHeads}`, said});
  }
  if (selection.key !== null && selection.query === null) {
    const found = `j=${selection.key}`;
    wrong.push({found, expected: 'i= beside it', said: `\u201c${found}\u201d is left out, it needs i= beside it.`});
    selection.key = null;
  }
  return {selection, isHeadFree, wrong};
}

/** The errors of an address, one sentence each; empty without errors. */
export function remarks(hash: string, {wrong}: Address): string[] {
  return /^#?$/.test(hash) ? [] : wrong.map(({said}) => said);
}
