// The transport of a page in a notebook: requests and answers are messages of a widget, answered in the kernel.
import type {Events, Transport} from './transport';

/** The part of a widget's model needed for messages. */
export interface Channel {
  send(content: object, callbacks?: undefined, buffers?: ArrayBuffer[]): void;
  on(event: 'msg:custom', listener: (message: FromKernel, buffers: DataView[]) => void): void;
  off(event: 'msg:custom', listener: (message: FromKernel, buffers: DataView[]) => void): void;
}

/** An answer's first message has status and type, its last one `end`: whether it is complete. */
export interface FromKernel { to?: string; status?: number; type?: string; end?: boolean; stopped?: string }

interface Waiting {
  begin(status: number, type: string): void;
  take(piece: Uint8Array<ArrayBuffer>): void;
  end(isWhole: boolean): void;
}

function piecesOf(buffers: DataView[]): Uint8Array<ArrayBuffer>[] {
  return buffers.map(({buffer, byteOffset, byteLength}) => new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength));
}

/** An answer whose body comes later. */
class Answer implements Waiting {
  private body: ReadableStreamDefaultController<Uint8Array> | null = null;
  private readonly failed = () => new TypeError('the answer was cut off');

  constructor(private readonly resolve: (answer: Response) => void, private readonly reject: (why: unknown) => void) {}

  begin(status: number, type: string): void {
    const isEmpty = status === 204 || status === 304;
    const body = isEmpty ? null : new ReadableStream<Uint8Array>({start: (controller) => { this.body = controller; }});
    this.resolve(new Response(body, {status, headers: {'Content-Type': type}}));
  }

  take(piece: Uint8Array<ArrayBuffer>): void { this.body?.enqueue(piece); }

  end(isWhole: boolean): void {
    if (isWhole) this.body?.close();
    else this.fail(this.failed());
  }

  fail(why: unknown): void {
    this.body?.error(why);
    this.reject(why);  // no effect once it has begun
  }
}

/** Events in an answer's text: `event: NAME`, `data: TEXT`, an empty line. */
class Told implements Waiting {
  private readonly decoder = new TextDecoder();
  private status = 0;
  private left = '';

  constructor(private readonly target: EventTarget) {}

  begin(status: number): void { this.status = status; }

  take(piece: Uint8Array<ArrayBuffer>): void {
    if (this.status !== 200) return;
    const blocks = (this.left + this.decoder.decode(piece, {stream: true})).split('\n\n');
    this.left = blocks.pop()!;
    for (const block of blocks) {
      const field = (name: string) => block.split('\n').filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2));
      const [name] = field('event');
      if (name !== undefined) this.target.dispatchEvent(new MessageEvent(name, {data: field('data').join('\n')}));
    }
  }

  end(): void { /* what is told last says so */ }
}

export class NotebookTransport implements Transport {
  private readonly waiting = new Map<string, Waiting>();
  // Every page of the kernel receives all answers, including those for other windows.
  private readonly own = crypto.getRandomValues(new Uint32Array(2)).join('.');
  private count = 0;
  private readonly hear = (message: FromKernel, buffers: DataView[]) => this.take(message, buffers);

  constructor(private readonly channel: Channel) { channel.on('msg:custom', this.hear); }

  async request(path: string, init: RequestInit = {}): Promise<Response> {
    const {signal, method = 'GET', body} = init;
    signal?.throwIfAborted();
    const bytes = body === undefined || body === null ? [] : [await new Response(body).arrayBuffer()];
    return new Promise((resolve, reject) => {
      const answer = new Answer(resolve, reject);
      const name = this.ask(answer, method, path, bytes);
      signal?.addEventListener('abort', () => {
        if (!this.waiting.has(name)) return;
        this.cancel(name);
        answer.fail(signal.reason);
      });
    });
  }

  events(path: string): Events {
    const target = new EventTarget();
    const name = this.ask(new Told(target), 'GET', path, []);
    return {
      addEventListener: (event, listener) => target.addEventListener(event, listener),
      close: () => { if (this.waiting.has(name)) this.cancel(name); },
    };
  }

  /** No listener is left. */
  close(): void {
    for (const name of this.waiting.keys()) this.cancel(name);
    this.channel.off('msg:custom', this.hear);
  }

  private ask(waiting: Waiting, method: string, path: string, buffers: ArrayBuffer[]): string {
    const name = `${this.own}.${++this.count}`;
    this.waiting.set(name, waiting);
    this.channel.send({ask: name, method, path}, undefined, buffers);
    return name;
  }

  private cancel(name: string): void {
    this.waiting.delete(name);
    this.channel.send({cancel: name});
  }

  private take({to, status, type, end}: FromKernel, buffers: DataView[]): void {
    const waiting = to === undefined ? undefined : this.waiting.get(to);
    if (!waiting) return;
    if (status !== undefined) waiting.begin(status, type ?? '');
    for (const piece of piecesOf(buffers)) waiting.take(piece);
    if (end === undefined) return;
    this.waiting.delete(to!);
    waiting.end(end);
  }
}
