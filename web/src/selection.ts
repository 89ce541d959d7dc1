// The one selection that all views share, and its address: #look/L5.H1+H2/i=17/j=3/scale=sqrt.

export const kViews = ['look'] as const;
export type View = (typeof kViews)[number];
export const kScales = ['linear', 'sqrt', 'log', 'rank'] as const;
export type Scale = (typeof kScales)[number];
export const kUnits = ['token', 'word', 'sentence'] as const;
export type Unit = (typeof kUnits)[number];

export interface Selection {
  view: View;
  layer: number;
  heads: number[];             // the first one is shaded in the text and drawn as the matrix
  query: number | null;        // the pinned token
  key: number | null;          // the pinned edge's other end
  range: [number, number] | null;  // a dragged span of tokens, both ends included
  to: boolean;                 // the text shows who attends to the token, not whom it attends to
  unit: Unit;
  scale: Scale;
  scores: [string, string];    // the two that the chips show, by name
}

/** A head of a layer. */
export interface Place { layer: number; head: number }

/** What the pointer or the keyboard is at; never in the address. */
export interface Hover {
  query: number | null;
  key: number | null;
}

/** At most four heads at once have a colour of their own; more are drawn as small multiples. */
export const kColours = 4;
export const kMostHeads = 16;

const kMostSaid = 40;  // characters of an address that is wrong

export const kNothing: Selection = {
  view: 'look', layer: 0, heads: [0], query: null, key: null, range: null, to: false,
  unit: 'token', scale: 'log', scores: ['previous', 'distance'],
};

function isOneOf<Name extends string>(names: readonly Name[], text: string): text is Name {
  return (names as readonly string[]).includes(text);
}

export function format(selection: Selection): string {
  const {layer, heads} = selection;
  const parts = [selection.view, `L${layer}.${heads.map((head) => `H${head}`).join('+')}`];
  if (selection.query !== null) parts.push(`i=${selection.query}`);
  if (selection.key !== null) parts.push(`j=${selection.key}`);
  if (selection.range !== null) parts.push(`range=${selection.range.join('-')}`);
  if (selection.to) parts.push('to=1');
  if (selection.unit !== kNothing.unit) parts.push(`units=${selection.unit}`);
  if (selection.scale !== kNothing.scale) parts.push(`scale=${selection.scale}`);
  const scores = selection.scores.join('+');
  if (scores !== kNothing.scores.join('+')) parts.push(`scores=${scores}`);
  return `#${parts.join('/')}`;
}

/** A part of the address behind the heads: what it may be, and what it sets; null for anything else. */
interface Part { expected: string; read: (value: string) => Partial<Selection> | null }

const indexOf = (value: string) => /^\d{1,9}$/.test(value) ? Number(value) : null;

function readIndex(name: 'query' | 'key'): Part['read'] {
  return (value) => indexOf(value) === null ? null : {[name]: indexOf(value)};
}

function readRange(value: string): Partial<Selection> | null {
  const [, first, last] = /^(\d{1,9})-(\d{1,9})$/.exec(value)?.map(Number) ?? [];
  return first === undefined || last === undefined || first > last ? null : {range: [first, last]};
}

function readScores(value: string): Partial<Selection> | null {
  const [, first, second] = /^([a-z_]{1,32})\+([a-z_]{1,32})$/.exec(value) ?? [];
  return first === undefined || second === undefined ? null : {scores: [first, second]};
}

const kParts = new Map<string, Part>([
  ['i', {expected: 'a number from 0', read: readIndex('query')}],
  ['j', {expected: 'a number from 0', read: readIndex('key')}],
  ['range', {expected: 'the first token and the last, as in 2-9', read: readRange}],
  ['to', {expected: '0 or 1', read: (value) => isOneOf(['0', '1'], value) ? {to: value === '1'} : null}],
  ['units', {expected: list(kUnits), read: (value) => isOneOf(kUnits, value) ? {unit: value} : null}],
  ['scale', {expected: list(kScales), read: (value) => isOneOf(kScales, value) ? {scale: value} : null}],
  ['scores', {expected: 'two names, as in previous+distance', read: readScores}],
]);

function list(names: readonly string[]): string {
  return `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
}

/** Reads a part into the selection; what is wrong with it in words, null where nothing is. */
function readPart(selection: Selection, part: string): string | null {
  const [name = '', ...values] = part.split('=');
  const known = kParts.get(name);
  const change = known?.read(values.join('='));
  Object.assign(selection, change);
  if (change) return null;
  const why = known ? `${name}= is ${known.expected}` : `expected ${list([...kParts.keys()].map((key) => `${key}=`))}`;
  return `\u201c${part.slice(0, kMostSaid)}\u201d is left out, ${why}.`;
}

export interface Address {
  selection: Selection;
  wrong: string[];  // what is left out of it, a sentence each
}

/** Null when the address names no head; what it does not know is left out. */
export function parse(hash: string): Address | null {
  const [view = '', head = '', ...rest] = hash.replace(/^#/, '').split('/');
  const place = /^L(\d{1,4})\.(H\d{1,4}(?:\+H\d{1,4})*)$/.exec(head);
  if (!isOneOf(kViews, view) || !place) return null;
  const heads = [...new Set(place[2]!.split('+').map((name) => Number(name.slice(1))))];
  const selection: Selection = {...kNothing, view, layer: Number(place[1]), heads: heads.slice(0, kMostHeads)};
  const wrong = rest.map((part) => readPart(selection, part)).filter((each) => each !== null);
  if (heads.length > kMostHeads) wrong.unshift(`Of ${heads.length} heads the first ${kMostHeads} are shown.`);
  if (selection.key !== null && selection.query === null) {
    wrong.push(`\u201cj=${selection.key}\u201d is left out, it needs i= beside it.`);
    selection.key = null;
  }
  return {selection, wrong};
}

/** What is wrong with an address that names no head; none where there is no address. */
export function noHead(hash: string): string[] {
  if (/^#?$/.test(hash)) return [];
  return [`\u201c${hash.slice(0, kMostSaid)}\u201d names no head, expected an address as in #look/L2.H4/i=17.`];
}

/** The same selection with everything that the session does not have taken out. */
export function fit(
  selection: Selection, size: {layers: number; heads: number; tokens: number; scores: string[]}
): Selection {
  const token = (index: number | null) => index !== null && index < size.tokens ? index : null;
  const heads = selection.heads.filter((head) => head < size.heads);
  const range = selection.range;
  const query = token(selection.query);
  return {
    ...selection,
    layer: Math.min(selection.layer, size.layers - 1),
    heads: heads.length > 0 ? heads : [0],
    query,
    key: query === null ? null : token(selection.key),
    scores: selection.scores.every((name) => size.scores.includes(name)) ? selection.scores : kNothing.scores,
    range: range && range[1] < size.tokens ? range : null,
  };
}

/** What of an asked selection is not there, and what is shown instead, a sentence each. */
export function misfit(
  asked: Selection, size: {layers: number; heads: number; tokens: number; scores: string[]}
): string[] {
  const shown = fit(asked, size);
  const said: string[] = [];
  const none = (what: string, last: number, instead: string) =>
    said.push(`There is no ${what}, the last one is ${last}: ${instead}.`);
  if (asked.layer >= size.layers) none(`layer ${asked.layer}`, size.layers - 1, `layer ${shown.layer} is shown`);
  const heads = asked.heads.filter((head) => head >= size.heads);
  if (heads.length > 0) none(`head ${heads.join(', ')}`, size.heads - 1, `head ${shown.heads.join(', ')} is shown`);
  const tokens = [asked.query, asked.key, ...asked.range ?? []].filter((index) => index !== null && index >= size.tokens);
  if (tokens.length > 0) none(`token ${tokens.join(', ')}`, size.tokens - 1, 'it is not pinned');
  const scores = asked.scores.filter((name) => !size.scores.includes(name));
  if (scores.length > 0) {
    said.push(`There is no score ${scores.join(', ')}, expected ${list(size.scores)}: ${shown.scores.join(' and ')} are shown.`);
  }
  return said;
}

type Listener = () => void;

export class SelectionStore {
  private chosen: Selection = kNothing;
  private hovered: Hover = {query: null, key: null};
  private readonly listeners = new Set<Listener>();
  isFresh = true;  // nobody has chosen yet, neither the address nor the reader: there is no address

  get now(): Selection { return this.chosen; }
  get hover(): Hover { return this.hovered; }

  /** The row that is shown: the one under the pointer, else the pinned one. */
  get query(): number | null { return this.hovered.query ?? this.chosen.query; }

  /** The key that is shown: under the pointer, else pinned, as long as its row is shown. */
  get key(): number | null {
    if (this.hovered.key !== null) return this.hovered.key;
    return this.query === this.chosen.query ? this.chosen.key : null;
  }

  listen(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Changes the selection and its address; `replace` leaves no step for the Back button. */
  set(change: Partial<Selection>, how: {replace?: boolean; fresh?: boolean} = {}): void {
    this.isFresh = how.fresh ?? false;
    this.chosen = {...this.chosen, ...change};
    if (this.chosen.query === null) this.chosen.key = null;
    this.tell();  // first: what it asks for is on its way while the browser notes the address
    if (this.isFresh) return;
    const address = format(this.chosen);
    if (address !== location.hash) {
      history[how.replace ? 'replaceState' : 'pushState'](null, '', address);
    }
  }

  preview(hover: Partial<Hover>): void {
    const next = {query: null, key: null, ...hover};
    if (next.query === this.hovered.query && next.key === this.hovered.key) return;
    this.hovered = next;
    this.tell();
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }
}
