// The one selection that all parts of a page share; address.ts writes and reads it.

export const kViewNames = [
  'look',
  'grid',
  'matrix',
  'why',
  'anatomy',
  'words',
  'heads',
  'flow',
] as const;
export type ViewName = (typeof kViewNames)[number];
export const kScales = ['linear', 'sqrt', 'log', 'rank'] as const;
export type Scale = (typeof kScales)[number];
export const kUnits = ['token', 'character', 'word', 'sentence'] as const;
export type Unit = (typeof kUnits)[number];
export const kStacks = ['self', 'encoder', 'decoder', 'cross'] as const;
export type Stack = (typeof kStacks)[number];
export const kQuantities = ['weight', 'carried'] as const;
export type Quantity = (typeof kQuantities)[number];
export const kArcs = ['apart', 'together'] as const;
export const kLines = ['surprise', 'entropy', 'rank'] as const;
export const kBys = ['rollout', 'effect'] as const;
export const kRotations = ['after', 'before'] as const;
export const kPairs = ['A-A', 'A-B', 'B-A', 'B-B'] as const;
export type Pair = (typeof kPairs)[number];

/** A head; without a stack it is one of the session's first. */
export interface Place { stack?: Stack; layer: number; head: number }

/** `L2.H6`, as the address spells a head. */
export function headText({layer, head}: Pick<Place, 'layer' | 'head'>): string { return `L${layer}.H${head}`; }

/** Equal for equal places. */
export function nameOf({stack, layer, head}: Place): string { return `${stack ?? ''}.${layer}.${head}`; }

/** The part of a matrix in sight, both ends included. */
export interface Zoom { queries: [number, number]; keys: [number, number] }

export const kShows = ['A', 'B', 'A-B'] as const;
export type Show = (typeof kShows)[number];

export interface Selection {
  view: ViewName;
  places: Place[];             // the first one is shaded in the text and drawn as the matrix
  query: number | null;        // the pinned token
  key: number | null;          // the pinned edge's other end
  range: [number, number] | null;  // a dragged span of tokens, both ends included
  to: boolean;                 // who attends to the token is shown, not whom it attends to
  unit: Unit;
  quantity: Quantity;          // what a cell is; carried: its share of what the row's values write
  scale: Scale;
  pair: Pair | null;           // of two texts, from which to which; null: all
  arcs: (typeof kArcs)[number];  // of several heads: a drawing each, or one
  scores: [string, string];    // the two that the chips show, by name
  temperature: number;         // of the next word, as it would be drawn
  topK: number;                // 0: all
  topP: number;                // 1: all
  line: (typeof kLines)[number];  // what underlines a word
  by: (typeof kBys)[number];   // what weighs a flow
  sort: string;                // of the heads of a layer in the grid: a score, or `number`
  filter: string;              // of heads in the grid, as head_filter.ts reads it
  zoom: Zoom | null;           // of the matrix; null: all of it
  x: string;                   // the scores on the axes of the heads view
  y: string;
  form: 'raw' | 'adjusted';    // of scores: adjusted is without the sink
  on: 'probe' | 'text';        // what induction and duplicates are looked for on
  rotation: (typeof kRotations)[number];  // of the plane in Why: as positions turned queries and keys, or before that
  versus: string;              // what A is compared with, as versus.ts reads it; empty: nothing
  show: Show;                  // of a comparison
  guide: number;               // the step of the guided look; 0: none
  model: string;               // in links that somebody else can open: the model, the text, the second one
  text: string;
  second: string;
}

export const kSteps = ['1', '2', '3', '4', '5'] as const;  // of the guided look

/** At most four heads at once have a colour of their own; more are drawn as small multiples. */
export const kColours = 4;
export const kMostHeads = 16;

export const kNothing: Selection = {
  view: 'look', places: [{layer: 0, head: 0}], query: null, key: null, range: null, to: false,
  unit: 'token', quantity: 'weight', scale: 'log', pair: null, arcs: 'apart', scores: ['previous', 'distance'],
  temperature: 1, topK: 0, topP: 1, line: 'surprise', by: 'rollout',
  sort: 'number', filter: '', zoom: null,
  x: 'previous', y: 'without', form: 'raw', on: 'probe', rotation: 'after', versus: '', show: 'A-B', guide: 0, model: '', text: '', second: '',
};
