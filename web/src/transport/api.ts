// The page's view of the server: docs/api.md as types, with caches for constant answers.
import type {
  Attention as AttentionInfo, Chosen, Evidence, FlowProgress, Marginals, Model as ModelInfo, Next, Score as ScoreName,
  Session as SessionInfo, Similar, Token,
} from '../answers';
import type {EdgeRow, Line} from '../attention/arcs';
import {readLines} from '../data/lines';
import type {Question} from '../data/slot';
import type {Size} from '../selection/fit';
import {noteImages} from '../text/images';
import type {Looks, LooksReader} from '../attention/looks';
import type {Place, Stack} from '../selection/selection';
import {numbersOf, type Side, sideOf} from '../attention/side';
import {joinBytes} from '../text/tokens';
import {Late} from './late';
import {type Atlas, readAtlas} from './atlas';
import {type Caches, cachesOf} from './caches';
import {listenTo} from './events';
import {type AskMany, looksOf, wholeRows} from './many_rows';
import type {Ask, Recent} from './recent';
import type {Requests} from './requests';
import {RowBlocks} from './row_blocks';
import {type About, asLine, type HeadScores, type LayerScores, type TilePlace} from './shapes';
import {answer, ApiError, bodyOf, drop, json, kApi, open} from './ask';
import type {Input} from './transport';

export type {About, AttentionInfo, Chosen, Input, Marginals, HeadScores, LayerScores, ModelInfo, Next, ScoreName, SessionInfo, TilePlace, Token};

/** The views' questions about one session, which slots turn into data (data/slot.ts). */
export class SessionApi {
  readonly path: string;
  private readonly kept: Caches;
  private readonly rows: RowBlocks;
  private readonly sides = new Map<string, Side>();
  readonly late: Late;
  private changed: () => void = () => undefined;  // requests a redraw
  private hasEveryNext = true;  // the words after every position were kept, not only the last
  readonly model: ModelInfo;
  private readonly scores = new Map<string, HeadScores[]>();  // by layer, in order of arrival
  private readonly far = new Map<string, FlowProgress>();  // by question
  error: ApiError | null = null;
  failed: (error: ApiError) => void = () => undefined;  // a question failed
  hasWeights = false;  // the pass has ended
  readonly isDifference: boolean = false;  // its weights are those of one session minus another's
  readonly isB: boolean = false;  // only B of a comparison

  constructor(readonly about: About, readonly info: SessionInfo, readonly requests: Requests) {
    this.model = about.model;
    noteImages(info);
    joinBytes(info.tokens, info.units.characters);
    if (info.key_tokens) joinBytes(info.key_tokens, info.key_units?.characters);
    this.path = `${kApi}/sessions/${info.session}`;
    this.hasWeights = info.state === 'ready';
    this.kept = cachesOf(requests);
    this.late = new Late((place, from, signal) => this.json(`${this.at(place)}/late/${from}`, signal), (place, scores) => this.merge(place, scores), () => this.changed(), about.scores);
    // Prefetched, so its errors are ignored.
    const sizeOf = ({stack}: Place) => this.side(stack).attention;
    this.rows = new RowBlocks(sizeOf, this.kept.blocks, async (place, begin, end, signal) =>
      (await answer(this.requests, `${this.path}/${this.at(place)}/rows?begin=${begin}&end=${end}`, {signal})).arrayBuffer());
  }

  /** An attention by its name, or the first. */
  side(stack?: string): Side {
    const name = stack ?? this.info.attentions[0]!.stack;
    const known = this.sides.get(name) ?? sideOf(this.info, this.model, stack);
    this.sides.set(name, known);
    return known;
  }

  /** The names allowed in an address. */
  get size(): Size {
    return {attentions: this.info.attentions, isPair: this.info.split !== undefined, scores: this.about.scores};
  }

  /** Heads with scores, out of all. */
  get scored(): {done: number; of: number} {
    const done = [...this.scores.values()].reduce((sum, heads) => sum + heads.length, 0);
    return {done, of: this.info.attentions.reduce((sum, each) => sum + numbersOf(each).length * each.heads, 0)};
  }

  /** The scores of the heads of the place's layer. */
  scoresOf(place: Place): HeadScores[] | undefined {
    return this.scores.get(`${this.stackOf(place)} ${place.layer}`);
  }

  /** Ends running requests, when another session replaces this one. */
  stop(): void {
    this.late.stop();
    for (const kind of Object.values(this.kept)) kind.stop();
  }

  /** Late scores are stored with the others, so every part that shows scores shows them. */
  private merge(place: Place, scores: object): void {
    Object.assign(this.scoresOf(place)?.[place.head] ?? {}, scores);
  }

  private stackOf({stack}: Place): string { return this.side(stack).stack; }

  private at(place: Place): string { return `${this.stackOf(place)}/${place.layer}/${place.head}`; }

  /** A path to weights, in the quantity that the page shows. */
  private weighed(path: string): string { return this.requests.carried() ? `${path}${path.includes('?') ? '&' : '?'}q=carried` : path; }

  private async get(name: string, signal: AbortSignal): Promise<Response> {
    return this.heard(answer(this.requests, `${this.path}/${name}`, {signal}));
  }

  /** The answer; the page shows if there is none. */
  private async heard<Value>(answered: Promise<Value>): Promise<Value> {
    try {
      return await answered;
    } catch (error) {
      if (error instanceof ApiError && error.code !== 'not_found') this.failed(error);
      throw error;
    }
  }

  private async json<Answer>(name: string, signal: AbortSignal): Promise<Answer> {
    return bodyOf(await this.get(name, signal));  // an error that comes late is for the part of the page that asked
  }

  private question<Value>(kept: Recent<Value>, name: string, read: Ask<Value>): Question<Value> {
    return {name, now: () => kept.now(name), get: (lane) => kept.get(name, lane, read)};
  }

  /** Row `first` (the mean of the rows up to `end`), or column (the sum of the columns). */
  line(place: Place, first: number, end: number, to: boolean): Question<Line> {
    const span = end > first + 1 ? `?end=${end}` : '';
    const name = this.weighed(`${this.at(place)}/${to ? 'column' : 'row'}/${first}${span}`);
    const far = this.question(this.kept.lines, name, async (signal) =>
      asLine(await this.json(name, signal), to ? {key: first} : {query: first}));
    if (to || end > first + 1 || this.requests.carried()) return far;
    const near = () => this.rows.line(place, first);
    return {name, now: () => near() ?? far.now(), get: far.get};
  }

  /** Fetches whole rows ahead of the pointer. */
  fetchRows(place: Place, begin: number, end: number): void { if (!this.requests.carried()) this.rows.fetch(place, begin, end); }

  /** The arcs of rows [begin, end) of a head. */
  edges(place: Place, begin: number, end: number): Question<EdgeRow[]> {
    const {layer, head} = place;
    const name = this.weighed(`${this.stackOf(place)}/${layer}/edges?heads=${head}&begin=${begin}&end=${end}`);
    const far = this.question(this.kept.windows, name, async (signal) => {
      const {heads: [found]} = await this.json<{heads: {rows: EdgeRow[]}[]}>(name, signal);
      return found!.rows.map((row) => ({...row, edges: row.edges.map((edge) => ({...edge, query: row.query}))}));
    });
    return {name, now: () => (this.requests.carried() ? null : this.rows.edges(place, begin, end)) ?? far.now(), get: far.get};
  }

  /** Rows [begin, end) of a head as numbers, concatenated; NaN where masked. */
  matrix(place: Place, begin: number, end: number): Question<Float32Array> {
    return this.question(this.kept.matrices, this.weighed(`${this.at(place)}/rows?begin=${begin}&end=${end}`), (signal) =>
      wholeRows(begin, end, this.side(place.stack).keys.length, this.askRows(place, signal)));
  }

  /** The result of reading rows [begin, end) of a head; many rows are not kept; `what` names the result. */
  looks(place: Place, begin: number, end: number, what: string, make: () => LooksReader): Question<Looks> {
    const name = this.weighed(`${this.at(place)}/${what}/${begin}/${end}`);
    const get = (lane: string) => this.kept.read.get(name, lane, (signal) =>
      looksOf(make(), begin, end, this.side(place.stack).keys.length, this.askRows(place, signal),
        () => this.matrix(place, begin, end).get(lane)));
    return {name, now: () => this.kept.read.now(name), get};
  }

  private askRows(place: Place, signal: AbortSignal): AskMany {
    return async (begin, end) => {
      const name = this.weighed(`${this.at(place)}/rows?begin=${begin}&end=${end}`);
      return new Float32Array(await (await this.get(name, signal)).arrayBuffer());
    };
  }

  marginals(place: Place): Question<Marginals> {
    const name = this.weighed(`${this.at(place)}/marginals`);
    return this.question(this.kept.margins, name, (signal) => this.json(name, signal));
  }

  /** Questions about one head with one answer: `why/197/67`, `anatomy?query=3`. */
  ofHead<Value>(place: Place, what: string): Question<Value> {
    return this.ask(`${this.at(place)}/${what}`);
  }

  /** The words after a position of the output; for a long text, after its last token in any case. */
  next(position: number, top = 5): Question<Next> {
    const {stack} = this.info.attentions.find(({query_tokens: list}) => list === 'tokens')!;
    const at = (place: number) => {
      const name = `${stack}/next?position=${place}&top=${top}`;
      return this.question(this.kept.words, name, (signal) => this.json<Next>(name, signal));
    };
    const last = at(this.info.tokens.length - 1);
    if (!this.hasEveryNext) return last;
    const own = at(position);
    const get = async (lane: string) => {
      try {
        return await own.get(lane);
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 'not_found') throw error;
        this.hasEveryNext = false;
        return last.get(lane);
      }
    };
    return {...own, get};
  }

  /** The answer of a path after the session, according to its name. */
  ask<Answer>(name: string): Question<Answer> {
    return this.question(this.kept.asked as Recent<Answer>, name, (signal) => this.json(name, signal));
  }

  /** The same for slow answers: `farOf` gives the progress. */
  askLong<Answer extends object>(name: string): Question<Answer> {
    if (this.model.held !== undefined) return this.ask(name);  // a saved page has it at once
    return this.question(this.kept.asked as Recent<Answer>, name, async (signal) => {
      let last: Answer | null = null;
      this.far.delete(name);
      await this.heard(readLines<Answer | FlowProgress>(this.requests, `${this.path}/${name}&progress=1`, signal, (line) => {
        if (!('working' in line)) {
          last = line;
          return;
        }
        this.far.set(name, line);
        this.changed();
      }));
      return last!;
    });
  }

  farOf(name: string): FlowProgress | undefined { return this.far.get(name); }

  /** Ends the running request of a place in the page, and the server's work on it. */
  end(lane: string): void { this.kept.asked.end(lane); }

  floats(name: string): Question<Float32Array> {
    return this.question(this.kept.asked as Recent<Float32Array>, name, async (signal) =>
      new Float32Array(await (await this.get(name, signal)).arrayBuffer()));
  }

  /** The evidence for a head's score, compared with the next head. */
  evidence(place: Place, score: string, form: string, against: Place | null): Question<Evidence> {
    const other = against ? `&against=${against.layer},${against.head}` : '';
    const name = `${this.at(place)}/evidence/${score}?form=${form}${other}`;
    return this.question(this.kept.proofs, name, (signal) => this.json(name, signal));
  }

  /** Every head of a stack by how much it resembles an example. */
  similar(stack: string, example: object): Promise<Similar> {
    return json(this.requests, `${this.path}/${stack}/similar`, {
      method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(example),
    });
  }

  /** Opens another session beside this one. */
  async withInput(input: Input, place: Place): Promise<SessionApi> {
    return this.withSession(await open(this.requests, input, place));
  }

  /** The same for an existing session, perhaps of another model. */
  withSession(info: SessionInfo, about = this.about): SessionApi {
    const other = new SessionApi(about, info, this.requests);
    const stop = other.stop.bind(other);
    other.stop = () => {
      stop();
      if (!other.hasWeights && info.session !== this.info.session) void drop(this.requests, info);
    };
    return other;
  }

  tile(place: TilePlace, as: 'u8' | 'f32'): Question<ArrayBuffer> {
    const name = this.weighed(`${this.at(place)}/tile/${place.z}/${place.y}/${place.x}?as=${as}`);
    return this.question(this.kept.tiles, name, async (signal) => (await this.get(name, signal)).arrayBuffer());
  }

  /** Thumbnails of at most `cells` a side; the heads of a stack are numbered layer after layer. */
  atlas(stack: string, heads: number[], cells: number): Question<Atlas> {
    const name = `${stack}/atlas?heads=${heads.join(',')}&cells=${cells}`;
    return this.question(this.kept.atlases, name, async (signal) =>
      readAtlas(await (await this.get(name, signal)).arrayBuffer(), heads.length));
  }

  /** Requests scores until all have arrived; calls `changed` after each step. */
  follow(place: Place, changed: () => void, begin: (chosen: Chosen) => void): () => void {
    this.changed = changed;
    return listenTo(this.requests, `${this.path}/events?stack=${this.stackOf(place)}&layer=${place.layer}&tokens=0`, {
      next: () => {
        this.hasWeights = true;
        changed();
      },
      heads: ({stack, layer, heads}) => {
        this.scores.set(`${stack} ${layer}`, heads.map((scores) => this.late.merge({stack: stack as Stack, layer, head: scores.head}, scores)));
        changed();
      },
      chosen: begin,
      failed: (error) => {
        this.error = error;
        changed();
      },
    });
  }
}
