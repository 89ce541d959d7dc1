// The selection shared by all parts of a page; address.ts writes and parses it.

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
  places: Place[];             // the first one shades the text and is drawn as the matrix
  query: number | null;        // the pinned token
  key: number | null;          // the pinned edge's other end
  range: [number, number] | null;  // a dragged span of tokens, both ends included
  to: boolean;                 // show who attends to the token, instead of what it attends to
  unit: Unit;
  quantity: Quantity;          // a cell's quantity; carried: its share of what the row writes
  scale: Scale;
  pair: Pair | null;           // of two texts, from which to which; null: all
  arcs: (typeof kArcs)[number];  // several heads: a drawing each, or one
  scores: [string, string];    // the two scores shown by chips, by name
  temperature: number;         // for the sampled distribution of the next word
  topK: number;                // 0: all
  topP: number;                // 1: all
  line: (typeof kLines)[number];  // what a word's underline shows
  by: (typeof kBys)[number];   // how a flow is weighted
  sort: string;                // order of a layer's heads in the grid: a score, or `number`
  filter: string;              // filter of heads in the grid, parsed by head_filter.ts
  zoom: Zoom | null;           // of the matrix; null: all of it
  x: string;                   // the scores on the axes of the heads view
  y: string;
  form: 'raw' | 'adjusted';    // of scores: adjusted is without the sink
  on: 'probe' | 'text';        // where induction and duplicates are measured
  rotation: (typeof kRotations)[number];  // of the plane in Why: after or before rotation by position
  versus: string;              // the other side of a comparison, parsed by versus.ts; empty: none
  show: Show;                  // the side of a comparison to show
  guide: number;               // step of the guided tour; 0: none
  model: string;               // in links for other people: the model, the text, the second text
  text: string;
  second: string;
}

export const kSteps = ['1', '2', '3', '4', '5'] as const;  // of the guided tour

/** At most four heads have different colours; more heads are drawn as small multiples. */
export const kColours = 4;
export const kMostHeads = 16;

export const kNothing: Selection = {
  view: 'look', places: [{layer: 0, head: 0}], query: null, key: null, range: null, to: false,
  unit: 'token', quantity: 'weight', scale: 'log', pair: null, arcs: 'apart', scores: ['previous', 'distance'],
  temperature: 1, topK: 0, topP: 1, line: 'surprise', by: 'rollout',
  sort: 'number', filter: '', zoom: null,
  x: 'previous', y: 'without', form: 'raw', on: 'probe', rotation: 'after', versus: '', show: 'A-B', guide: 0, model: '', text: '', second: '',
};
