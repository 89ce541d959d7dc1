// A cache of constant answers; and lanes, in which a newer question cancels the older one.

import type {Requests} from './requests';

interface Kept<Value> { value: Promise<Value>; stop: AbortController; settled: boolean }

/** `signal` ends the request: closing its connection ends the server's work. */
export type Ask<Value> = (signal: AbortSignal) => Promise<Value>;

/**
 * The answers used last, so that memory stays bounded however long one looks.
 * A lane is one place of the page that shows one answer at a time: once it asks for another, the one
 * before is no longer wanted, and where no other lane waits for it its request is ended.
 */
export class Recent<Value> {
  private readonly kept = new Map<string, Kept<Value>>();
  private readonly known = new Map<string, Value>();
  private readonly lanes = new Map<string, string>();

  constructor(private readonly most: number, private readonly requests: Requests) {}

  now(name: string): Value | undefined { return this.known.get(name); }

  get(name: string, lane: string, ask: Ask<Value>): Promise<Value> {
    this.leave(lane, name);
    this.lanes.set(lane, name);
    const found = this.kept.get(name);
    if (found) {
      this.kept.delete(name);
      this.kept.set(name, found);
      return found.value;
    }
    const stop = new AbortController();
    const value = this.requests.notQuietUntil(ask(stop.signal));
    const kept: Kept<Value> = {value, stop, settled: false};
    this.kept.set(name, kept);
    kept.value.then((value) => {
      kept.settled = true;
      if (this.kept.get(name) === kept) this.known.set(name, value);
    }, () => {
      if (this.kept.get(name) === kept) this.drop(name);
    });
    if (this.kept.size > this.most) this.drop(this.kept.keys().next().value!);
    return kept.value;
  }

  /** Ends all running requests. */
  stop(): void {
    for (const {stop, settled} of this.kept.values()) if (!settled) stop.abort();
  }

  /** Ends a lane's running request. */
  end(lane: string): void { this.leave(lane, ''); }

  private leave(lane: string, next: string): void {
    const before = this.lanes.get(lane);
    if (before === undefined || before === next) return;
    this.lanes.delete(lane);
    const kept = this.kept.get(before);
    if (!kept || kept.settled || [...this.lanes.values()].includes(before)) return;
    this.drop(before);
    kept.stop.abort();
  }

  private drop(name: string): void {
    this.kept.delete(name);
    this.known.delete(name);
  }
}
