// The other side of a view's comparison: another head, text or model, or the same text with edits; and its form in an
// address.
import type {Token} from '../answers';
import type {Place, Stack} from './selection';
import {count} from '../drawing/format';
import {kStacks} from './selection';
import {plain} from '../text/tokens';

export type Versus =
  | {kind: 'head'; place: Place}
  | {kind: 'edits'; edits: object}   // the body of POST derive
  | {kind: 'text'; text: string}
  | {kind: 'model'; model: string}   // reads the same text
  | {kind: 'run'; run: string};      // a session that was given beside this one

const kMostText = 6000;  // characters of an encoded text or name
const kStack = `(?:${kStacks.join('|')})`;
const kPlace = `${kStack}\\.L\\d{1,4}\\.H\\d{1,4}`;
const kAt = '\\d{1,9}';
const kSide = '(?:tokens|key_tokens)';
const kSpan = `(?:-1|${kAt})`;

/** One edit of a kind, as a session writes it with : for / and =. */
const kItems: Record<string, RegExp> = {
  ablate: RegExp(`^${kPlace}$`),
  remove: RegExp(`^${kPlace}:${kAt}:${kAt}$`),
  hide: RegExp(`^${kSide}:${kAt}$`),
  swap: RegExp(`^${kSide}:${kAt}:${kAt}$`),
  mask: RegExp(`^${kStack}(?:\\.L\\d{1,4})?(?:\\.H\\d{1,4})?:${kSpan}:${kSpan}$`),
};

/** Edits that Python makes, of which there may be many: what they are, and what became of it. */
const kCounted: Record<string, [string, string]> = {
  temperature: ['head', 'with other temperature'], steer: ['score', 'steered'], masked: ['mask', 'added'],
  freeze: ['head', 'with weights of another run'], patch: ['output', 'of another run'],
};

/** `cross.L2.H6`, of which stack and head may be missing. */
function placeOf(text: string): {stack?: Stack; layer?: number; head?: number} {
  const [, stack, layer, head] = /^(?:([a-z]+))?(?:\.?L(\d+))?(?:\.H(\d+))?$/.exec(text) ?? [];
  return {...stack && {stack: stack as Stack}, ...layer && {layer: Number(layer)}, ...head && {head: Number(head)}};
}

function editOf(kind: string, [first = '', ...numbers]: string[]): object {
  const [a, b] = numbers.map(Number);
  switch (kind) {
    case 'ablate': return placeOf(first);
    case 'remove': return {...placeOf(first), query: a, key: b};
    case 'hide': return {side: first, position: a};
    case 'swap': return {side: first, position: a, id: b};
    default: return {...placeOf(first), left: a, right: b};
  }
}

/** `ablate:self.L2.H6;swap:tokens:3:431` */
function readEdits(value: string): Versus | null {
  const edits: Record<string, object[]> = {};
  for (const part of value.split(';')) {
    const colon = part.indexOf(':');
    const kind = part.slice(0, Math.max(0, colon));
    const item = Object.hasOwn(kItems, kind) && !Object.hasOwn(edits, kind) ? kItems[kind]! : null;
    const items = part.slice(colon + 1).split(',');
    if (!item || !items.every((each) => item.test(each))) return null;
    edits[kind] = items.map((each) => editOf(kind, each.split(':')));
  }
  return {kind: 'edits', edits};
}

function decoded(value: string): string | null {
  if (value === '' || value.length > kMostText || !/^(?:[\w\-.!~*'()]|%[0-9A-Fa-f]{2})+$/.test(value)) return null;
  try {
    return decodeURIComponent(value);
  } catch {
    return null;  // invalid UTF-8
  }
}

/** Null if it is not one. */
export function readVersus(written: string): Versus | null {
  const value = written.replace(/^(text|model)%3A/i, '$1:');  // as encoded by other programs
  const [, kind, encoded] = /^(text|model):(.*)$/s.exec(value) ?? [];
  if (kind) {
    const named = decoded(encoded!);
    return named === null ? null : kind === 'text' ? {kind, text: named} : {kind: 'model', model: named};
  }
  const [, run] = /^run:([A-Za-z0-9_-]{1,40})$/.exec(value) ?? [];
  if (run !== undefined) return {kind: 'run', run};
  const [, stack, layer, head] = /^(?:([a-z]+)\.)?L(\d{1,4})\.H(\d{1,4})$/.exec(value) ?? [];
  if (head === undefined) return readEdits(value);
  if (stack !== undefined && !(kStacks as readonly string[]).includes(stack)) return null;
  return {kind: 'head', place: {...stack && {stack: stack as Stack}, layer: Number(layer), head: Number(head)}};
}

export function versusHead({stack, layer, head}: Place): string { return `${stack ? `${stack}.` : ''}L${layer}.H${head}`; }
export function versusText(text: string): string { return `text:${encodeURIComponent(text)}`; }
export function versusModel(name: string): string { return `model:${encodeURIComponent(name)}`; }

/** The form of a session's edits, as the session writes them. */
export function versusEdits(edits: string): string { return edits.replace(/[=/]/g, ':'); }

/** `ablate:self.L2.H6;hide:tokens:5` as `without head L2.H6, token 5 hidden`; `tokens` are those after the edits. */
export function editsText(edits: string, tokens: Token[] = []): string {
  return versusEdits(edits).split(';').map((part) => {
    const [kind = '', items = ''] = part.split(/:(.*)/s);
    const all = items.split(',').map((item) => item.replace(/self\.?/, '').split(':'));
    const many = kCounted[kind];
    if (many) return `${count(all.length, many[0])} ${many[1]}`;
    return kind === 'swap' ? swapsText(all, tokens) : all.map((item) => itemText(kind, item)).join(', ');
  }).join(', ');
}

/** `tokens 6, 13 swapped for cook`: the places of one word together. */
function swapsText(swaps: string[][], tokens: Token[]): string {
  const nameOf = ([side, , id]: string[]) => `${side} ${id}`;
  return [...new Set(swaps.map(nameOf))].map((name) => {
    const all = swaps.filter((each) => nameOf(each) === name);
    const [side, position, id] = all[0]!;
    const word = side === 'tokens' && tokens[Number(position)] ? plain(tokens[Number(position)]!) : `id ${id}`;
    return `${side === 'key_tokens' ? 'source ' : ''}token${all.length > 1 ? 's' : ''} ${all.map(([, at]) => at).join(', ')} swapped for ${word}`;
  }).join(', ');
}

function itemText(kind: string, [first = '', a = '', b = '']: string[]): string {
  const token = `${first === 'key_tokens' ? 'source token' : 'token'} ${a}`;
  switch (kind) {
    case 'ablate': return `without head ${first}`;
    case 'remove': return `without edge ${first} ${a} \u2192 ${b}`;
    case 'hide': return `${token} hidden`;
    default: {
      const sides = [['back', a], ['ahead', b]].flatMap(([side, count]) => count === '-1' ? [] : [`${count} tokens ${side}`]);
      return `${first === '' ? 'every head' : first} sees at most ${sides.join(' and ')}`;
    }
  }
}
