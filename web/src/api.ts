// The server as the page sees it: docs/api.md in types, with caches for what does not change.

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
}

export interface About {
  model: ModelInfo;
  text: string | null;
  limits: {tokens: number; text_bytes: number};
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

export interface HeadScores {
  head: number;
  previous: number;
  distance: number;
  profile: number[];
}

export interface LayerScores { layer: number; heads: HeadScores[] }
export interface Next {
  position: number;
  words: {id: number; text: string; probability: number}[];
  rest: {count: number; probability: number};
}
export interface Edge { query: number; key: number; weight: number }
export interface Rest { count: number; weight: number }

/** What a token (or a span) attends to; in a column, what attends to it. */
export interface Line {
  weights: (number | null)[];
  largest: number;
  edges: Edge[];
  rest: Rest;
}
export interface EdgeRow { query: number; edges: Edge[]; rest: Rest }
export interface Marginals { received: number[]; keys_in_use: number[]; row_sum_error: number }
export interface Place { layer: number; head: number }
export interface TilePlace extends Place { z: number; y: number; x: number }

/** An error in the server's words; `unreachable` when there is no server. */
export class ApiError extends Error {
  constructor(readonly code: string, message: string) { super(message); }
}

async function answer(path: string, init?: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, init);
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

export function open(text: string, layer: number): Promise<SessionInfo> {
  return json('/api/sessions', {
    method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({text, layer}),
  });
}

/** Remembers the answers used last, so that memory stays bounded however long one looks. */
class Recent<Value> {
  private readonly kept = new Map<string, Promise<Value>>();
  private readonly settled = new Map<string, Value>();

  constructor(private readonly most: number) {}

  now(name: string): Value | undefined { return this.settled.get(name); }

  get(name: string, make: () => Promise<Value>): Promise<Value> {
    let value = this.kept.get(name);
    if (value) {
      this.kept.delete(name);
    } else {
      value = make();
      value.then((known) => this.kept.has(name) && this.settled.set(name, known),
        () => this.drop(name));
    }
    this.kept.set(name, value);
    if (this.kept.size > this.most) this.drop(this.kept.keys().next().value!);
    return value;
  }

  private drop(name: string): void {
    this.kept.delete(name);
    this.settled.delete(name);
  }
}

/** Of rows: what is listed in both directions has a query and a key. */
function asLine(answer: Omit<Line, 'edges'> & {edges: Partial<Edge>[]}, own: Partial<Edge>): Line {
  return {...answer, edges: answer.edges.map((edge) => ({...own, ...edge}) as Edge)};
}

/** What views ask about one session. */
export class SessionApi {
  private readonly path: string;
  private readonly lines = new Recent<Line>(2000);
  private readonly margins = new Recent<Marginals>(64);
  private readonly words = new Recent<Next>(500);
  private readonly tiles = new Recent<ArrayBuffer>(256);
  readonly scores = new Map<number, HeadScores[]>();  // by layer, as they come
  error: ApiError | null = null;
  lost: (error: ApiError) => void = () => undefined;  // the server has dropped the session, or stopped
  hasWeights = false;  // the pass has ended

  constructor(readonly model: ModelInfo, readonly info: SessionInfo) {
    this.path = `/api/sessions/${info.session}`;
    this.hasWeights = info.state === 'ready';
  }

  get length(): number { return this.info.length; }

  private async get(name: string, init?: RequestInit): Promise<Response> {
    try {
      return await answer(`${this.path}/${name}`, init);
    } catch (error) {
      if (error instanceof ApiError && ['unknown_session', 'unreachable'].includes(error.code)) this.lost(error);
      throw error;
    }
  }

  private async json<Answer>(name: string, init?: RequestInit): Promise<Answer> {
    return await (await this.get(name, init)).json() as Answer;
  }

  /** Row `query` (the mean of the rows up to `end`), or column (the sum of the columns). */
  line(place: Place, first: number, end: number, to: boolean): Promise<Line> {
    const name = this.lineName(place, first, end, to);
    return this.lines.get(name, async () =>
      asLine(await this.json(name), to ? {key: first} : {query: first}));
  }

  lineNow(place: Place, first: number, end: number, to: boolean): Line | undefined {
    return this.lines.now(this.lineName(place, first, end, to));
  }

  private lineName(place: Place, first: number, end: number, to: boolean): string {
    const span = end > first + 1 ? `?end=${end}` : '';
    return `${to ? 'column' : 'row'}/${place.layer}/${place.head}/${first}${span}`;
  }

  /** The arcs of rows [begin, end), by head. */
  async edges(
    layer: number, heads: number[], begin: number, end: number, signal: AbortSignal
  ): Promise<Map<number, EdgeRow[]>> {
    const query = `layer=${layer}&heads=${heads.join(',')}&begin=${begin}&end=${end}`;
    const found = await this.json<{heads: {head: number; rows: EdgeRow[]}[]}>(
      `edges?${query}`, {signal});
    return new Map(found.heads.map(({head, rows}) => [head, rows.map((row) => ({
      ...row, edges: row.edges.map((edge) => ({...edge, query: row.query})),
    }))]));
  }

  marginals(place: Place): Promise<Marginals> {
    const name = `marginals/${place.layer}/${place.head}`;
    return this.margins.get(name, () => this.json(name));
  }

  next(position: number): Promise<Next> {
    const name = `next?position=${position}&top=5`;
    return this.words.get(name, () => this.json(name));
  }

  tile({layer, head, z, y, x}: TilePlace, as: 'u8' | 'f32'): Promise<ArrayBuffer> {
    const name = `tile/${layer}/${head}/${z}/${y}/${x}?as=${as}`;
    return this.tiles.get(name, async () => (await this.get(name)).arrayBuffer());
  }

  /** Asks for scores until all are there; `changed` is called at each step. */
  follow(layer: number, changed: () => void, begin: (place: Place) => void): () => void {
    const source = new EventSource(`${this.path}/events?layer=${layer}`);
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
