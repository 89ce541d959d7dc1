// The types of /api/v1, written from src/inspect/answers by the test TypeWriter.

export interface Stack {
  stack: string;
  layers: number;
  attending?: number[];
  heads: number;
  kv_heads: number;
  kv_heads_of_layers?: number[];
  causal: boolean;
}

export interface HeldStack {
  stack: string;
  layers: number[][];
}

export interface Model {
  name: string;
  built_in: boolean;
  family: string;
  title: string;
  layers: number;
  heads: number;
  kv_heads: number;
  width: number;
  head_dim: number;
  vocabulary: number;
  positions: number;
  causal: boolean;
  has_words: boolean;
  fills_masks: boolean;
  takes_pair: boolean;
  takes_target: boolean;
  runs: boolean;
  stacks: Stack[];
  held?: HeldStack[];
  held_view?: string;
}

export interface Limits {
  text_bytes: number;
  body_bytes: number;
  tokens: number;
  sessions: number;
  session_bytes: number;
  streams: number;
}

export interface Score {
  name: string;
  short: string;
  about: string;
  share: boolean;
  title: string;
  unit: string;
  from: string;
  threshold?: number;
}

export interface Picture {
  format: string;
  width: number;
  panel?: string;
}

export interface Models {
  heed: string;
  models: Model[];
  text: string | null;
  pair?: string;
  target?: string;
  stack?: string;
  chats?: boolean;
  limits: Limits;
  scores: Score[];
  picture?: Picture;
  steps?: number[];
}

export interface FoundModels {
  models: Model[];
}

export interface ApiError {
  code: string;
  message: string;
  argument?: string;
  found?: string;
  expected?: string;
  hint?: string;
}

export interface Token {
  index: number;
  id: number;
  text: string;
  bytes?: string;
  begin: number;
  end: number;
  special?: boolean;
}

export interface TokenUnits {
  characters?: number[];
  words: number[];
  sentences: number[];
}

export interface SessionImage {
  of_queries: boolean;
  of_keys: boolean;
  rows: number;
  columns: number;
  tokens: number[];
  picture?: string;
  name: string;
}

export interface Attention {
  stack: string;
  layers: number;
  attending?: number[];
  heads: number;
  kv_heads: number;
  kv_heads_of_layers?: number[];
  causal: boolean;
  queries: number;
  keys: number;
  query_tokens: string;
  key_tokens: string;
  rectangular: boolean;
  kept?: number[];
  zooms: number;
  tile: number;
}

export interface Session {
  session: string;
  model: string;
  text: string;
  pair?: string;
  target?: string;
  chat?: string;
  edits?: string;
  derived_from?: string;
  state: string;
  error?: ApiError;
  heads_done: number;
  tokens: Token[];
  key_tokens?: Token[];
  units: TokenUnits;
  key_units?: TokenUnits;
  split?: number;
  images?: SessionImage[];
  attentions: Attention[];
}

export interface LookKey {
  key: number;
  weight: number;
}

export interface Rest {
  count: number;
  weight: number;
}

export interface Row {
  stack: string;
  layer: number;
  head: number;
  query: number;
  end: number;
  entropy: number;
  sum: number;
  largest: number;
  weights: (number | null)[];
  edges: LookKey[];
  rest: Rest;
}

export interface LookQuery {
  query: number;
  weight: number;
}

export interface Column {
  stack: string;
  layer: number;
  head: number;
  key: number;
  end: number;
  sum: number;
  largest: number;
  weights: (number | null)[];
  edges: LookQuery[];
  rest: Rest;
}

export interface EdgeRow {
  query: number;
  entropy: number;
  edges: LookKey[];
  rest: Rest;
}

export interface HeadEdges {
  head: number;
  rows: EdgeRow[];
}

export interface Edges {
  stack: string;
  layer: number;
  top_p: number;
  at_most: number;
  begin: number;
  end: number;
  heads: HeadEdges[];
}

export interface Cell {
  stack: string;
  layer: number;
  head: number;
  query: number;
  key: number;
  visible: boolean;
  weight: number;
  score?: number;
  lse?: number;
  rank?: number;
  of?: number;
  others?: LookKey[];
  write_length?: number;
  carried?: number;
}

export interface Sweep {
  stack: string;
  layer: number;
  head: number;
  kept: boolean;
  rows?: number;
  of: number;
}

export interface Term {
  name: string;
  value: number;
}

export interface Sum {
  terms: Term[];
  sum: number;
  residual: number;
}

export interface WhyKey {
  key: number;
  score: number;
  weight: number;
}

export interface WhyBand {
  tokens_a_turn: number;
  still: number;
  turned: number;
}

export interface Why {
  stack: string;
  layer: number;
  head: number;
  kv_head: number;
  query: number;
  key: number;
  visible: boolean;
  score: number;
  lse: number;
  weight: number;
  rank: number;
  of: number;
  sum: Sum;
  scale: number;
  softcap: number;
  q: number[];
  k: number[];
  mean_key: number[];
  runner_key: number[];
  raw: Sum;
  against_mean: Sum;
  against_runner_up: Sum;
  runner_up?: number;
  keys: WhyKey[];
  rest: Rest;
  bands: WhyBand[];
  curve: number[];
}

export interface Origins {
  against: string;
  query_parts: string[];
  key_parts: string[];
  cells: number[][];
  sum: number;
  residual: number;
}

export interface ChangedWord {
  id: number;
  text: string;
  change: number;
}

export interface Effect {
  length: number;
  head_length: number;
  cosine: number;
  raised: ChangedWord[];
  lowered: ChangedWord[];
  no_words?: string;
}

export interface TrialWord {
  id: number;
  text: string;
  as_it_is: number;
  edited: number;
}

export interface Trial {
  edits: string;
  position: number;
  words: TrialWord[];
  rest_count: number;
  rest_as_it_is: number;
  rest_edited: number;
  moved: number;
  text_moved?: number;
}

export interface Anatomy {
  stack: string;
  layer: number;
  head: number;
  kv_head: number;
  query_begin: number;
  key_begin: number;
  x: number[][];
  key_x: number[][];
  q: number[][];
  k: number[][];
  v: number[][];
  visible: number[][];
  bias: number[][];
  scale: number;
  softcap: number;
  lse: number[];
  turned: boolean;
  gates: number[][];
  up: number[][];
  form: number[][];
}

export interface DimensionsKey {
  key: number;
  visible: boolean;
  product: number;
  score: number;
  weight: number;
  k: number[];
  terms: number[];
}

export interface Dimensions {
  stack: string;
  layer: number;
  head: number;
  query: number;
  scale: number;
  q: number[];
  spread: number[];
  keys: DimensionsKey[];
  of: number;
  rest: Rest;
}

export interface PlaneQuery {
  query: number;
  x: number;
  y: number;
}

export interface PlaneKey {
  key: number;
  x: number;
  y: number;
  product: number;
  weight: number;
}

export interface Geometry {
  stack: string;
  layer: number;
  head: number;
  query: number;
  turned: boolean;
  queries: PlaneQuery[];
  keys: PlaneKey[];
  other_queries: number;
  other_keys: number;
  mean: number;
  shares: number[];
  explained: number;
}

export interface Marginals {
  stack: string;
  layer: number;
  head: number;
  received: number[];
  keys_in_use: number[];
  row_sum_error: number | null;
  largest?: number;
}

export interface Adjusted {
  previous?: number;
  current?: number;
  next?: number;
  sink?: number;
  distance?: number;
  entropy?: number;
  elsewhere?: number;
  normalised_entropy?: number;
  confidence?: number;
  local?: number;
  duplicate?: number;
  induction?: number;
  delimiter?: number;
  same_word?: number;
  value_weighted?: number;
  value_sink?: number;
  coverage?: number;
  image?: number;
  image_spread?: number;
  probe_induction?: number;
  probe_duplicate?: number;
  without?: number;
  direct?: number;
}

export interface Shares {
  a_to_a: number;
  a_to_b: number;
  b_to_a: number;
  b_to_b: number;
  to_first: number;
}

export interface SourceOrder {
  in_order: number;
  peak: number;
}

export interface Head {
  head: number;
  previous?: number;
  current?: number;
  next?: number;
  sink?: number;
  distance?: number;
  entropy?: number;
  elsewhere?: number;
  normalised_entropy?: number;
  confidence?: number;
  local?: number;
  duplicate?: number;
  induction?: number;
  delimiter?: number;
  same_word?: number;
  value_weighted?: number;
  value_sink?: number;
  coverage?: number;
  image?: number;
  image_spread?: number;
  probe_induction?: number;
  probe_duplicate?: number;
  without?: number;
  direct?: number;
  adjusted: Adjusted;
  profile: number[];
  shares?: Shares;
  order?: SourceOrder;
}

export interface LayerHeads {
  stack: string;
  layer: number;
  heads: Head[];
  done?: number;
  of?: number;
}

export interface Heads {
  stack: string;
  done: number;
  of: number;
  layers: LayerHeads[];
}

export interface LateScores {
  stack: string;
  layer: number;
  head: number;
  previous?: number;
  current?: number;
  next?: number;
  sink?: number;
  distance?: number;
  entropy?: number;
  elsewhere?: number;
  normalised_entropy?: number;
  confidence?: number;
  local?: number;
  duplicate?: number;
  induction?: number;
  delimiter?: number;
  same_word?: number;
  value_weighted?: number;
  value_sink?: number;
  coverage?: number;
  image?: number;
  image_spread?: number;
  probe_induction?: number;
  probe_duplicate?: number;
  without?: number;
  direct?: number;
}

export interface WorstRow {
  row: number;
  value: number;
  key?: number;
  weight?: number;
}

export interface RunnerUp {
  stack: string;
  layer: number;
  head: number;
  profile: number[];
}

export interface Evidence {
  stack: string;
  layer: number;
  head: number;
  score: string;
  of_keys?: boolean;
  first_row: number;
  rows: (number | null)[];
  counted: number;
  first_of_row?: number;
  profile_begin: number;
  profile: number[];
  worst: WorstRow[];
  runner_up?: RunnerUp;
}

export interface SimilarHead {
  stack: string;
  layer: number;
  head: number;
  overlap: number;
}

export interface Similar {
  heads: SimilarHead[];
}

export interface Alignment {
  pairs: number[][];
  said: string;
}

export interface ChangedHead {
  stack: string;
  layer: number;
  head: number;
  change: number;
}

export interface Changes {
  rows: number;
  heads: ChangedHead[];
}

export interface Chosen {
  stack: string;
  layer: number;
  head: number;
  query?: number;
  key?: number;
  score: number;
  reason: string;
}

export interface Word {
  id: number;
  text: string;
  bytes?: string;
  probability: number;
  logit?: number;
}

export interface RestWords {
  count: number;
  probability: number;
}

export interface Next {
  stack: string;
  position: number;
  words: Word[];
  rest: RestWords;
  masked?: boolean;
}

export interface TokenSurprise {
  token: number;
  probability: number;
  entropy: number;
  rank: number;
}

export interface Words {
  stack: string;
  tokens: TokenSurprise[];
  nats: number;
  first_choices: number;
}

export interface LensCell {
  id: number;
  text: string;
  bytes?: string;
  probability: number;
  came?: number;
  rank?: number;
}

export interface LensLevel {
  name: string;
  layer?: number;
  right: number;
  of: number;
  cells: LensCell[];
  ranks: number[];
  chances: number[];
}

export interface Lens {
  stack: string;
  begin: number;
  end: number;
  levels: LensLevel[];
  answers: Word[];
  has_blocks: boolean;
  judged_all: boolean;
  difference?: number;
}

export interface BranchToken {
  id: number;
  text: string;
  bytes?: string;
  probability: number;
}

export interface BranchEnd {
  ended: string;
  tokens: number;
  bits: number;
}

export interface Hypothesis {
  score: number;
  log_probability: number;
  stopped: string;
  shared: number;
  tokens: BranchToken[];
}

export interface Beams {
  beams: number;
  length_penalty: number;
  hypotheses: Hypothesis[];
}

export interface FlowProgress {
  working: string;
  done: number;
  of: number;
}

export interface FlowColumn {
  begin: number;
  end: number;
  share: number;
}

export interface FlowEdge {
  from: number;
  to: number;
  share: number;
}

export interface FlowRest {
  count: number;
  share: number;
}

export interface FlowLayer {
  stack: string;
  layer: number;
  edges: FlowEdge[];
  rest: FlowRest;
  shares: number[];
}

export interface FlowPath {
  nodes: number[];
  share: number;
}

export interface Flow {
  stack: string;
  position: number;
  by: string;
  tried?: number;
  tokens: number;
  source: number;
  shares: number[];
  columns: FlowColumn[];
  layers: FlowLayer[];
  paths: FlowPath[];
  others: number;
  way: number[];
  way_share: number;
  sum_error: number;
}

export interface HiddenToken {
  node: number;
  share: number;
  effect: number;
  probability?: number;
}

export interface FlowTest {
  stack: string;
  position: number;
  word?: Word;
  hidden: HiddenToken[];
  not_hidden: number;
  rank_correlation: number | null;
}

