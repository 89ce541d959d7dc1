// The one selection that all parts of a page share; address.ts writes and reads it.

export const kViewNames = [
  'look',
  'why',
  'anatomy',
] as const;
export type ViewName = (typeof kViewNames)[number];
export const kScales = ['linear', 'sqrt', 'log', 'rank'] as const;
export type Scale = (typeof kScales)[number];
export const kUnits = ['token', 'word', 'sentence'] as const;
export type Unit = (typeof kUnits)[number];
export const kStacks = ['self', 'encoder', 'decoder', 'cross'] as const;
export type Stack = (typeof kStacks)[number];
export const kPairs = ['A-A', 'A-B', 'B-A', 'B-B'] as const;
export type Pair = (typeof kPairs)[number];

/** A head; without a stack it is one of the session's first. */
export interface Place { stack?: Stack; layer: number; head: number }

/** Equal for equal places. */
export function nameOf({stack, layer, head}: Place): string { return `${stack ?? ''}.${layer}.${head}`; }

export interface Selection {
  view: ViewName;
  places: Place[];             // the first one is shaded in the text and drawn as the matrix
  query: number | null;        // the pinned token
  key: number | null;          // the pinned edge's other end
  range: [number, number] | null;  // a dragged span of tokens, both ends included
  to: boolean;                 // who attends to the token is shown, not whom it attends to
  unit: Unit;
  scale: Scale;
  pair: Pair | null;           // of two texts, from which to which; null: all
  scores: [string, string];    // the two that the chips show, by name
}

/** At most four heads at once have a colour of their own; more are drawn as small multiples. */
export const kColours = 4;
export const kMostHeads = 16;

export const kNothing: Selection = {
  view: 'look', places: [{layer: 0, head: 0}], query: null, key: null, range: null, to: false,
  unit: 'token', scale: 'log', pair: null, scores: ['previous', 'distance'],
};
