// The API of docs/api.md, answered by a saved page from its own data.
import {heldAnswer} from './held_answers';
import {readVersus, versusEdits} from '../selection/versus';
import {arcs, withNulls} from '../attention/arcs';
import type {Place, Stack} from '../selection/selection';
import type {Events, Transport} from '../transport/transport';
import type {HeldHead, Snapshot} from './file';
import {HeldHeads} from './file';
import {thumbnails} from './atlas';
import {encode, tile} from './tiles';
import {entropy, line} from './weights';

class Refused extends Error {
  constructor(readonly status: number, readonly code: string, message: string) { super(message); }
}

function notFound(message: string): never { throw new Refused(404, 'not_found', message); }

interface Asked {
  place: Required<Place>;
  rest: number[];           // the numbers in the path after the head
  query: URLSearchParams;
  signal: AbortSignal | null | undefined;
}

const numberOf = (query: URLSearchParams, name: string, otherwise: number) => Number(query.get(name) ?? otherwise);

export class SnapshotTransport implements Transport {
  private readonly held: HeldHeads;

  private readonly edited: SnapshotTransport | null;

  constructor(private readonly snapshot: Snapshot) {
    this.held = new HeldHeads(snapshot);
    const {edited, ...own} = snapshot;
    this.edited = edited ? new SnapshotTransport({...own, ...edited, answers: []}) : null;
  }

  /** Who knows the session that a path names: what it is compared with is another one. */
  private of(path: string): SnapshotTransport {
    const {edited} = this;
    return edited && `${path}/`.includes(`/sessions/${edited.snapshot.session.session}/`) ? edited : this;
  }

  async request(path: string, init?: RequestInit): Promise<Response> {
    try {
      const answer = await this.of(path).answer(new URL(path, 'http://file'), init);
      if (typeof answer === 'string') return new Response(answer);
      return answer instanceof ArrayBuffer ? new Response(answer) : Response.json(answer);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return Response.json({error: {code: error.code, message: error.message}}, {status: error.status});
    }
  }

  /** All at once: there is nothing to wait for. */
  events(path: string): Events {
    const {snapshot, length} = this.of(path);
    const target = new EventTarget();
    const tell = (name: string, data: unknown) =>
      target.dispatchEvent(new MessageEvent(name, {data: JSON.stringify(data)}));
    queueMicrotask(() => {
      const {session, scores, next, chosen} = snapshot;
      tell('tokens', session);
      tell('next', next.at(-1) ?? {position: length - 1, words: []});
      for (const layer of scores) tell('heads', layer);
      tell('chosen', chosen);
      tell('done', {});
    });
    return {
      addEventListener: (name, listener) => target.addEventListener(name, listener),
      close: () => undefined,
    };
  }

  /** /api/v1/sessions/{id}/{stack}/{layer}/{head}/{what}/... */
  private answer(url: URL, init?: RequestInit): string | object | Promise<object> {
    const [collection, id, stack, ...parts] = url.pathname.split('/').slice(3);
    const query = url.searchParams;
    if (collection === 'models') return this.snapshot.about;
    if (id === undefined || stack === undefined) return this.same(init);
    if (stack === 'derive') return this.derived(init);
    const number = parts.findIndex((part) => !/^\d+$/.test(part));  // how many parts precede the question
    const what = parts[number] ?? '';
    const [layer = 0, head = 0] = parts.slice(0, number).map(Number);
    const rest = parts.slice(number + 1).map(Number);
    const asked = {place: {stack: stack as Stack, layer, head}, rest, query, signal: init?.signal};
    if (what === 'similar') return this.similar(stack, init);
    const answered = heldAnswer(this.snapshot, `${stack}/${parts.join('/')}`, query);
    if (answered !== null) return answered;
    switch (what) {
      case 'next': return this.next(stack, numberOf(query, 'position', this.length - 1), numberOf(query, 'top', 6));
      case 'rows': return this.rows(asked);
      case 'row': return this.line(asked, false);
      case 'column': return this.line(asked, true);
      case 'edges': return this.edges(asked);
      case 'cell': return this.cell(asked);
      case 'marginals': return this.marginals(asked);
      case 'tile': return this.tile(asked);
      case 'atlas': return this.atlas(stack, query);
      default: return notFound(`${what}: a saved page does not answer it`);
    }
  }

  /** With the edits that the file was saved with. */
  private derived(init?: RequestInit): object {
    const edited = this.edited?.snapshot.session;
    const versus = edited?.edits === undefined ? null : readVersus(versusEdits(edited.edits));
    const isHeld = versus?.kind === 'edits' && JSON.stringify(versus.edits) === init?.body;
    return isHeld ? edited! : notFound('a saved page holds no model to run again');
  }

  /** The one session that there is. */
  private same(init?: RequestInit): object {
    const {session} = this.snapshot;
    const {text} = typeof init?.body === 'string' ? JSON.parse(init.body) as {text?: string} : session;
    return text === session.text ? session : notFound('a saved page holds no model to read another text');
  }

  /** Of what is written, or of the one text. */
  private get length(): number { return this.snapshot.session.tokens.length; }

  /** Heads like the one that the file was saved with. */
  private similar(stack: string, init?: RequestInit): object {
    const {layer, head} = JSON.parse(String(init?.body)) as {layer?: number; head?: number};
    const found = layer === undefined ? null : heldAnswer(this.snapshot, `${stack}/similar`, new URLSearchParams(`layer=${layer}&head=${head}`));
    return found as object | null ?? notFound('a saved page knows the heads that are like the one it was saved with, and no others');
  }

  private head(place: Place): HeldHead {
    return this.held.find(place) ?? notFound(`this file does not hold layer ${place.layer}, head ${place.head}`);
  }

  private token(name: string, index: number, length: number): number {
    if (!(index >= 0 && index < length)) notFound(`${name} ${index} does not exist, the text has tokens 0 to ${length - 1}`);
    return index;
  }

  private next(stack: string, position: number, top: number): object {
    const found = this.snapshot.next.find((each) => each.position === this.token('position', position, this.length))
      ?? notFound(`next: only the words after the last position are kept`);
    const words = found.words.slice(0, top);
    const left = found.words.slice(top);
    const rest = {
      count: found.rest.count + left.length,
      probability: left.reduce((sum, word) => sum + word.probability, found.rest.probability),
    };
    return {stack, position, words, rest};
  }

  private rows({place, query}: Asked): ArrayBuffer {
    const held = this.head(place);
    const begin = this.token('begin', numberOf(query, 'begin', 0), held.queries);
    const end = Math.min(numberOf(query, 'end', begin + 1), held.queries);
    const cells = new Float32Array((end - begin) * held.keys);
    for (let row = begin; row < end; ++row) cells.set(line(held, row, row + 1, false), (row - begin) * held.keys);
    return cells.buffer;
  }

  private line({place, rest, query}: Asked, to: boolean): object {
    const held = this.head(place);
    const length = to ? held.keys : held.queries;
    const begin = this.token(to ? 'key' : 'query', rest[0] ?? NaN, length);
    const end = Math.min(numberOf(query, 'end', begin + 1), length);
    const weights = line(held, begin, end, to);
    const topP = to ? 1 : numberOf(query, 'top_p', 0.9);
    const {edges, ...of} = arcs(weights, topP, numberOf(query, 'at_most', 8));
    const named = edges.map(({at, weight}) => to ? {query: at, weight} : {key: at, weight});
    const own = to ? {key: begin} : {query: begin, entropy: entropy(weights)};
    return {...place, ...own, end, ...of, weights: withNulls(weights), edges: named};
  }

  private edges({place: {stack, layer}, query}: Asked): object {
    const {queries} = this.snapshot.session.attentions.find((each) => each.stack === stack)!;
    const begin = this.token('begin', numberOf(query, 'begin', 0), queries);
    const end = Math.min(numberOf(query, 'end', queries), queries);
    const [topP, most] = [numberOf(query, 'top_p', 0.9), numberOf(query, 'at_most', 8)];
    const heads = (query.get('heads') ?? '').split(',').map((name) => {
      const head = Number(name);
      const held = this.head({stack, layer, head});
      const rows = Array.from({length: end - begin}, (_, at) => {
        const weights = line(held, begin + at, begin + at + 1, false);
        const {edges, rest} = arcs(weights, topP, most);
        return {query: begin + at, entropy: entropy(weights), edges: edges.map(({at: key, weight}) => ({key, weight})), rest};
      });
      return {head, rows};
    });
    return {stack, layer, top_p: topP, at_most: most, begin, end, heads};
  }

  /** Whether the weight may be seen, and what it is. */
  private cell({place, rest: [query = -1, key = -1]}: Asked): object {
    const held = this.head(place);
    this.token('query', query, held.queries);
    this.token('key', key, held.keys);
    let found = {visible: false, weight: 0};
    held.weights(query, key, key + 1, (_, weight) => { found = {visible: true, weight}; });
    return {...place, query, key, ...found};
  }

  private marginals({place}: Asked): object {
    const {received, keysInUse, rowSumError, largest} = this.head(place);
    return {
      ...place, received: Array.from(received), keys_in_use: Array.from(keysInUse), row_sum_error: rowSumError, largest,
    };
  }

  private async tile({place, rest: [z = -1, y = -1, x = -1], query, signal}: Asked): Promise<ArrayBuffer> {
    const held = this.head(place);
    const as = query.get('as') === 'f32' ? 'f32' : 'u8';
    if (z === 0 && y === 0 && x === 0 && as === 'u8' && held.overview) return held.overview.slice().buffer;
    const cells = await tile(held, {z, y, x}, signal) ?? notFound(`tile: ${z}/${y}/${x} does not exist`);
    return encode(cells, as);
  }

  private async atlas(stack: string, query: URLSearchParams): Promise<ArrayBuffer> {
    const heads = (query.get('heads') ?? '').split(',').map(Number);
    return await thumbnails(this.snapshot, this.held, stack, heads, numberOf(query, 'cells', 67))
      ?? notFound('this file does not hold all of these heads');
  }
}
