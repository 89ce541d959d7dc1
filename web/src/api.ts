// The server as the page sees it: docs/api.md in types, with caches for what does not change.
import type {Edge, EdgeRow, Line} from './arcs';
import {Recent} from './recent';
import {RowBlocks} from './row_blocks';
import type {Place} from './selection';
import {events, request} from './transport';

export interface ModelInfo {
  name: string;
  built_in: boolean;
  title: string;
  layers: number;
  heads: number;
  kv_heads: number;
  vocabulary: number;
  positions: number;
  causal: boolean;
  has_words: boolean;
  held?: number[][];  // in a saved page: the heads of each layer that it holds
}

/** A score of heads: what it is called in the address, on a chip, and what it measures. */
export interface ScoreName { name: string; short: string; about: string }

/** What the command line waits for. */
export interface PictureOrder { format: 'svg' | 'png'; width: number }

export interface About {
  model: ModelInfo;
  text: string | null;
  limits: {tokens: number; text_bytes: number};
  scores: ScoreName[];
  picture?: PictureOrder;
}

export interface Token {
  index: number;
  id: number;
  text: string;
  bytes?: string;
  special?: boolean;
  begin: number;
  end: number;
}

export interface SessionInfo {
  session: string;
  model: string;
  text: string;
  length: number;
  state: 'running' | 'ready' | 'failed';
  error?: {code: string; message: string};
  tokens: Token[];
  zooms: number;
  tile: number;
  heads_done: number;
}

/** One number for each score of the model, by its name. */
export type HeadScores = {head: number; profile: number[]} & Record<string, number | number[]>;

export interface LayerScores { layer: number; heads: HeadScores[] }
export interface Next {
  position: number;
  words: {id: number; text: string; probability: number}[];
  rest: {count: number; probability: number};
}
export interface Marginals { received: number[]; keys_in_use: number[]; row_sum_error: number }
export interface TilePlace extends Place { z: number; y: number; x: number }

/** An error in the server's words; `unreachable` when there is no server. */
export class ApiError extends Error {
  constructor(readonly code: string, message: string) { super(message); }
}

async function answer(path: string, init?: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await request(path, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError('unreachable', 'heed cannot be reached');
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => null) as {error?: {code: string; message: string}} | null;
  throw new ApiError(body?.error?.code ?? 'failed', body?.error?.message ?? response.statusText);
}

async function json<Answer>(path: string, init?: RequestInit): Promise<Answer> {
  return await (await answer(path, init)).json() as Answer;
}

export function about(): Promise<About> {
  return json('/api/model');
}

/** Which end of a text that is too long is kept. */
export type Keep = 'first' | 'last';

export function open(text: string, layer: number, keep?: Keep): Promise<SessionInfo> {
  return json('/api/sessions', {
    method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({text, layer, keep}),
  });
}

/** Of rows: what is listed in both directions has a query and a key. */
function asLine(answer: Omit<Line, 'edges'> & {edges: Partial<Edge>[]}, own: Partial<Edge>): Line {
  return {...answer, edges: answer.edges.map((edge) => ({...own, ...edge}) as Edge)};
}

function withView(path: string, view: string): string {
  return `${path}${path.includes('?') ? '&' : '?'}view=${view}`;
}

function tileName({layer, head, z, y, x}: TilePlace, as: 'u8' | 'f32'): string {
  return `tile/${layer}/${head}/${z}/${y}/${x}?as=${as}`;
}

/** What views ask about one session; `lane` is the place that shows the answer (see recent.ts). */
export class SessionApi {
  private readonly path: string;
  private readonly lines = new Recent<Line>(500);
  private readonly rows: RowBlocks;
  private readonly windows = new Recent<EdgeRow[]>(50);
  private readonly margins = new Recent<Marginals>(64);
  private readonly words = new Recent<Next>(500);
  private readonly tiles = new Recent<ArrayBuffer>(256);
  private hasEveryNext = true;  // the words after each position were kept, not the last ones alone
  readonly model: ModelInfo;
  readonly scores = new Map<number, HeadScores[]>();  // by layer, as they come
  error: ApiError | null = null;
  lost: (error: ApiError) => void = () => undefined;  // the server has dropped the session, or stopped
  hasWeights = false;  // the pass has ended

  constructor(readonly about: About, readonly info: SessionInfo) {
    this.model = about.model;
    this.path = `/api/sessions/${info.session}`;
    this.hasWeights = info.state === 'ready';
    this.rows = new RowBlocks(info.length, async ({layer, head}, begin, end, signal, view) =>
      (await this.get(withView(`rows/${layer}/${head}?begin=${begin}&end=${end}`, view), signal)).arrayBuffer());
  }

  get length(): number { return this.info.length; }

  /** What an address may name. */
  get size(): {layers: number; heads: number; tokens: number; scores: string[]} {
    const {layers, heads} = this.model;
    return {layers, heads, tokens: this.length, scores: this.about.scores.map(({name}) => name)};
  }

  /** Ends what is on its way, for when another session takes the page. */
  stop(): void {
    for (const kind of [this.lines, this.rows, this.windows, this.margins, this.words, this.tiles]) kind.stop();
  }

  private async get(name: string, signal: AbortSignal): Promise<Response> {
    try {
      return await answer(`${this.path}/${name}`, {signal});
    } catch (error) {
      if (error instanceof ApiError && ['unknown_session', 'unreachable'].includes(error.code)) this.lost(error);
      throw error;
    }
  }

  private async json<Answer>(name: string, signal: AbortSignal): Promise<Answer> {
    return await (await this.get(name, signal)).json() as Answer;
  }

  /** Row `query` (the mean of the rows up to `end`), or column (the sum of the columns). */
  async line(lane: string, place: Place, first: number, end: number, to: boolean): Promise<Line> {
    const near = this.nearLine(place, first, end, to);
    if (near) return near;
    const name = this.lineName(place, first, end, to);
    return this.lines.get(name, lane, async (signal, view) =>
      asLine(await this.json(withView(name, view), signal), to ? {key: first} : {query: first}));
  }

  lineNow(place: Place, first: number, end: number, to: boolean): Line | undefined {
    return this.nearLine(place, first, end, to) ?? this.lines.now(this.lineName(place, first, end, to));
  }

  private nearLine(place: Place, first: number, end: number, to: boolean): Line | undefined {
    return to || end > first + 1 ? undefined : this.rows.line(place, first);
  }

  /** Fetches whole rows ahead of the pointer. */
  fetchRows(place: Place, begin: number, end: number): void { this.rows.fetch(place, begin, end); }

  private lineName(place: Place, first: number, end: number, to: boolean): string {
    const span = end > first + 1 ? `?end=${end}` : '';
    return `${to ? 'column' : 'row'}/${place.layer}/${place.head}/${first}${span}`;
  }

  /** The arcs of rows [begin, end) of a head. */
  async edges({layer, head}: Place, begin: number, end: number): Promise<EdgeRow[]> {
    const near = this.rows.edges({layer, head}, begin, end);
    if (near) return near;
    const name = `edges?layer=${layer}&heads=${head}&begin=${begin}&end=${end}`;
    return this.windows.get(name, 'edges', async (signal, view) => {
      const {heads: [found]} = await this.json<{heads: {rows: EdgeRow[]}[]}>(withView(name, view), signal);
      return found!.rows.map((row) => ({...row, edges: row.edges.map((edge) => ({...edge, query: row.query}))}));
    });
  }

  edgesNow({layer, head}: Place, begin: number, end: number): EdgeRow[] | undefined {
    return this.rows.edges({layer, head}, begin, end)
      ?? this.windows.now(`edges?layer=${layer}&heads=${head}&begin=${begin}&end=${end}`);
  }

  marginals(place: Place): Promise<Marginals> {
    const name = `marginals/${place.layer}/${place.head}`;
    return this.margins.get(name, 'margins', (signal, view) => this.json(withView(name, view), signal));
  }

  /** The words after a position; of a long text after its last token, whatever was asked. */
  async next(position: number): Promise<Next> {
    const ask = (place: number) => {
      const name = `next?position=${place}&top=5`;
      return this.words.get(name, 'next', (signal) => this.json<Next>(name, signal));
    };
    if (!this.hasEveryNext) return ask(this.length - 1);
    try {
      return await ask(position);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'not_found') throw error;
      this.hasEveryNext = false;
      return ask(this.length - 1);
    }
  }

  tile(place: TilePlace, as: 'u8' | 'f32', lane = `tile-${as}-${place.z}-${place.y}-${place.x}`): Promise<ArrayBuffer> {
    const name = tileName(place, as);
    return this.tiles.get(name, lane, async (signal, view) =>
      (await this.get(withView(name, view), signal)).arrayBuffer());
  }

  tileNow(place: TilePlace, as: 'u8' | 'f32'): ArrayBuffer | undefined { return this.tiles.now(tileName(place, as)); }

  /** Asks for scores until all are there; `changed` is called at each step. */
  follow(layer: number, changed: () => void, begin: (place: Place) => void): () => void {
    const source = events(`${this.path}/events?layer=${layer}&tokens=0`);
    source.addEventListener('next', () => {
      this.hasWeights = true;
      changed();
    });
    source.addEventListener('heads', (event) => {
      const scores = JSON.parse((event as MessageEvent<string>).data) as LayerScores;
      this.scores.set(scores.layer, scores.heads);
      changed();
    });
    source.addEventListener('chosen', (event) =>
      begin(JSON.parse((event as MessageEvent<string>).data) as Place));
    source.addEventListener('done', () => source.close());
    source.addEventListener('failed', (event) => {
      const {error} = JSON.parse((event as MessageEvent<string>).data) as {error: {code: string; message: string}};
      this.error = new ApiError(error.code, error.message);
      source.close();
      changed();
    });
    return () => source.close();
  }
}
