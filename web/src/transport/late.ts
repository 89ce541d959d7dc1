// Scores that need passes of the model: requested head by head while they are shown, the current head first.
import type {LateScores, Score} from '../answers';
import type {Place} from '../selection/selection';
import {nameOf} from '../selection/selection';

/** The source of a score, if it needs more than the text's weights. */
export type LateFrom = 'probe' | 'run';

type Ask = (place: Place, from: LateFrom, signal: AbortSignal) => Promise<LateScores>;

const kRedrawMilliseconds = 150;  // a redraw takes longer than a small model's answer

interface Wanted { from: LateFrom; place: Place }

function keyOf(from: LateFrom, place: Place): string { return `${from} ${nameOf(place)}`; }

export class Late {
  private readonly found = new Map<string, object>();
  private wanted: Wanted[] = [];
  private asked: string[] = [];  // the wanted scores as text, so that repeating a wish costs nothing
  private stopped: AbortController | null = null;
  private isRefused = false;     // a saved page has no model, only the scores it was saved with

  /** `all`: the scores of the model. Calls `told` for each answer, `changed` at most every kRedrawMilliseconds and after the last one. */
  constructor(private readonly ask: Ask, private readonly told: (place: Place, scores: object) => void, private readonly changed: () => void,
    private readonly all: readonly Score[] = []) {}

  /** Adds the finished late scores to those that a head arrives with. Late ones among these, from an earlier request, count as finished. */
  merge<Scores extends object>(place: Place, scores: Scores): Scores {
    for (const {name, from} of this.all) {
      if (from === 'text' || !(name in scores)) continue;
      const key = keyOf(from as LateFrom, place);
      this.found.set(key, {[name]: scores[name as keyof Scores], ...this.found.get(key)});
    }
    return Object.assign(scores, this.of(place));
  }

  /** The finished late scores of a head. */
  of(place: Place): object {
    return Object.assign({}, ...(['probe', 'run'] as const).map((from) => this.found.get(keyOf(from, place))));
  }

  /** The progress of the request; null if nothing is running. */
  get progress(): {done: number; of: number} | null {
    const done = this.wanted.filter(({from, place}) => this.found.has(keyOf(from, place))).length;
    return this.stopped && done < this.wanted.length ? {done, of: this.wanted.length} : null;
  }

  /** The progress of each kind, in heads: those whose scores are in the table. */
  get kinds(): {from: LateFrom; done: number; of: number}[] {
    if (this.progress === null) return [];
    return [...new Set(this.wanted.map(({from}) => from))].map((from) => {
      const own = this.wanted.filter((each) => each.from === from);
      return {from, done: own.filter(({place}) => this.found.has(keyOf(from, place))).length, of: own.length};
    });
  }

  /** From now on requests only these. */
  want(froms: readonly LateFrom[], first: Place, places: () => Place[]): void {
    const asked = [...froms, nameOf(first)];
    if (asked.join() === this.asked.join() || this.isRefused) return;
    this.asked = asked;
    if (froms.length === 0) this.stopped?.abort();  // the server ends its pass
    const all = froms.length === 0 ? [] : [first, ...places().filter((place) => nameOf(place) !== nameOf(first))];
    const quick = [...froms].sort((a, b) => Number(a === 'run') - Number(b === 'run'));
    this.wanted = quick.flatMap((from) => all.map((place) => ({from, place})));
    if (!this.stopped && this.next()) void this.work();
  }

  stop(): void {
    this.wanted = [];
    this.stopped?.abort();
  }

  private next(): Wanted | undefined { return this.wanted.find(({from, place}) => !this.found.has(keyOf(from, place))); }

  private async work(): Promise<void> {
    const {signal} = this.stopped = new AbortController();
    let redrawn = -Infinity;
    let isStale = false;
    try {
      for (let next = this.next(); next && !signal.aborted; next = this.next()) {
        const {stack: _, layer: __, head: ___, ...scores} = await this.ask(next.place, next.from, signal);
        this.found.set(keyOf(next.from, next.place), scores);
        this.told(next.place, scores);
        isStale = performance.now() - redrawn < kRedrawMilliseconds;
        if (isStale) continue;
        this.changed();
        redrawn = performance.now();
      }
    } catch {
      this.isRefused = !signal.aborted;  // on an error the dash remains
    }
    this.stopped = null;
    if (isStale) this.changed();
  }
}
