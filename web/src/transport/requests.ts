// The requests of one page, counted: waits for quiet end when none is running.
import type {Quantity} from '../selection/selection';
import type {Events, Transport} from './transport';

export class Requests {
  carried = () => false;  // whether weights are requested as shares of what rows carry
  private open = 0;  // running requests, streams and readings of answers
  private waiting: (() => void)[] = [];

  constructor(readonly transport: Transport) {}

  /** The kind of the shown weights. */
  get quantity(): Quantity { return this.carried() ? 'carried' : 'weight'; }

  /** Whether nothing is loading: neither an answer nor an event. */
  get isQuiet(): boolean { return this.open === 0; }

  /** Called when no request is running; at once if none is. */
  whenQuiet(): Promise<void> {
    return new Promise((resolve) => this.isQuiet ? resolve() : this.waiting.push(resolve));
  }

  /** The page is not quiet before the work ends: on a busy machine, reading an answer may take longer than waiting for it. */
  async notQuietUntil<Value>(work: Promise<Value>): Promise<Value> {
    ++this.open;
    try {
      return await work;
    } finally {
      this.ended();
    }
  }

  request(path: string, init?: RequestInit): Promise<Response> {
    return this.notQuietUntil(this.transport.request(path, init));
  }

  /** A stream of events; its reader closes it after the last one. */
  events(path: string): Events {
    const source = this.transport.events(path);
    let closed = false;
    ++this.open;
    return {
      addEventListener: (name, listener) => source.addEventListener(name, listener),
      close: () => {
        if (!closed) this.ended();
        closed = true;
        source.close();
      },
    };
  }

  private ended(): void {
    --this.open;
    if (this.open > 0) return;
    const told = this.waiting;
    this.waiting = [];
    for (const tell of told) tell();
  }
}
