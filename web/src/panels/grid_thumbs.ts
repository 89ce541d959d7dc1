// The thumbnails of a grid: asked for a few heads at a time, those in sight first, and kept by the session.
import {keeps} from '../heads/held';
import type {Place} from '../selection/selection';
import type {Page} from './panel';
import type {Cut} from '../transport/atlas';
import {cutOf} from '../transport/atlas';

const kEntries = 2 ** 27;      // per request: about 150 ms on a server
const kMostHeads = 64;
const kLanes = 2;              // concurrent requests
const kAheadEntries = 2 ** 36; // invisible heads are fetched only if the model takes at most about a minute
const kMostKept = 4096;        // heads: 20 MB

/** A session's data that the page keeps between two visits to its grid. */
export type KeptThumbs = Map<string, {cut: Cut; codes: Uint8Array}>;

const kept = new WeakMap<object, KeptThumbs>();

export class Thumbs {
  private readonly known: KeptThumbs;
  private wanted: number[] = [];
  private inSight = 0;                                   // number of them
  private readonly asked = new Map<string, number[]>();  // by lane
  private readonly failed = new Set<number>();
  private cells = 0;
  private lastCut: Cut | null = null;  // a saved file's cut may differ from the requested one
  private stopped = false;

  constructor(private readonly page: Page, private readonly arrived: (heads: number[]) => void) {
    const {api} = page;
    this.known = kept.get(api) ?? new Map();
    kept.set(api, this.known);
  }

  stop(): void { this.stopped = true; }

  /** A head's number in its stack. */
  indexOf({layer, head}: Place): number { return layer * this.page.side.heads + head; }

  codes(head: number): {cut: Cut; codes: Uint8Array} | null { return this.known.get(this.nameOf(head)) ?? null; }

  /** Whether there is none to come. */
  isMissing(head: number): boolean { return this.failed.has(head) || !this.isKept(head); }

  /** The blocks of this many cells. */
  get cut(): Cut {
    const {queries, keys, zooms} = this.page.side.attention;
    return this.lastCut ?? cutOf(queries, keys, 2 ** (zooms - 1), this.cells);
  }

  /** Limits the cells per side from now on. */
  resize(cells: number): void {
    if (cells !== this.cells) this.lastCut = null;
    this.cells = cells;
  }

  /** Requests visible heads first; then the others, if that is little work. */
  want(inSight: number[], count: number): void {
    const {queries, keys} = this.page.side.attention;
    const seen = new Set(inSight);
    const isSmall = queries * keys * count <= kAheadEntries && count <= kMostKept;
    const others = isSmall ? Array.from({length: count}, (_, head) => head).filter((head) => !seen.has(head)) : [];
    const seenAndKept = inSight.filter((head) => this.isKept(head));
    this.wanted = [...seenAndKept, ...others.filter((head) => this.isKept(head))];
    this.inSight = seenAndKept.length;
    this.fill();
  }

  private isKept(head: number): boolean { return keeps(this.page.side, {layer: Math.floor(head / this.page.side.heads)}); }

  private nameOf(head: number): string { return `${this.page.side.stack} ${this.cells} ${head}`; }

  private get perRequest(): number {
    const {queries, keys} = this.page.side.attention;
    return Math.max(1, Math.min(kMostHeads, Math.floor(kEntries / (queries * keys))));
  }

  private fill(): void {
    if (this.stopped || !this.page.api.hasWeights) return;
    for (let lane = 0; lane < kLanes; ++lane) this.ask(`thumbs-${lane}`);
  }

  /** The next heads not yet requested; a slow request for one head yields to a visible one. */
  private ask(lane: string): void {
    const busy = new Set([...this.asked.values()].flat());
    const missing = this.wanted.filter((head) => !this.codes(head) && !this.failed.has(head) && !busy.has(head));
    const own = this.asked.get(lane);
    if (own) {
      const isSeen = (heads: number[]) => this.wanted.slice(0, this.inSight).some((head) => heads.includes(head));
      if (own.length > 1 || isSeen(own) || !isSeen(missing.slice(0, 1))) return;
    }
    const heads = missing.slice(0, this.perRequest);
    if (heads.length === 0) return;
    this.asked.set(lane, heads);
    const {api, side} = this.page;
    const isOwn = () => this.asked.get(lane) === heads;
    api.atlas(side.stack, heads, this.cells).get(lane).then(({codes, ...cut}) => {
      heads.forEach((head, at) => this.keep(head, {cut, codes: codes[at]!}));
      if (isOwn()) this.asked.delete(lane);
      if (!this.stopped) this.arrived(heads);
      this.fill();
    }, (error: unknown) => {
      if (!isOwn()) return;  // another one replaced it
      this.asked.delete(lane);
      if (error instanceof DOMException || this.stopped) return;
      heads.forEach((head) => this.failed.add(head));
      this.arrived(heads);
      this.fill();
    });
  }

  private keep(head: number, thumb: {cut: Cut; codes: Uint8Array}): void {
    if (this.known.size >= kMostKept) this.known.delete(this.known.keys().next().value!);
    this.lastCut = thumb.cut;
    this.known.set(this.nameOf(head), {...thumb, codes: thumb.codes.slice()});
  }
}
