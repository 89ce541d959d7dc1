// What the reader is likely to look at next, fetched while nothing else is on its way: the rows of the
// text in sight, and the heads before and after.
import type {SessionApi} from './api';
import {headAfter, isSaved} from './held';
import {primary} from './panel';
import type {SelectionStore} from './selection';
import {whenQuiet} from './transport';

const kReadingMilliseconds = 150;  // who goes through the heads faster does not point at words

export class Ahead {
  private asked = '';
  private reading: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly store: SelectionStore, private readonly api: SessionApi,
    private readonly inSight: () => {first: number; end: number}
  ) {}

  stop(): void {
    this.asked = '';
    clearTimeout(this.reading);
  }

  update(): void {
    if (!this.api.hasWeights || isSaved(this.api.model)) return;  // a file has everything at hand
    const {layer, head} = primary(this.store.now);
    const {first, end} = this.inSight();
    const name = `${layer}.${head} ${first} ${end} ${this.store.now.query}`;
    if (name === this.asked) return;
    this.asked = name;
    clearTimeout(this.reading);
    void whenQuiet().then(() => {
      if (this.asked !== name) return;
      for (const by of [1, -1] as const) this.fetchHead(by);
      this.reading = setTimeout(() => this.api.fetchRows({layer, head}, first, end), kReadingMilliseconds);
    });
  }

  private fetchHead(by: 1 | -1): void {
    const {layer, heads} = headAfter(this.api.model, this.store.now, by);
    const place = {layer: layer!, head: heads![0]!};
    const {query} = this.store.now;
    const ignore = () => undefined;  // it is asked for again when it is wanted
    this.api.tile({...place, z: 0, y: 0, x: 0}, 'u8', `ahead-tile-${by}`).catch(ignore);
    if (query !== null) this.api.line(`ahead-row-${by}`, place, query, query + 1, false).catch(ignore);
  }
}
