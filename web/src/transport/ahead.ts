// What the reader will probably look at next, fetched while no other request is running: rows of the visible text, and
// the heads before and after.
import {headAfter, isSaved} from '../heads/held';
import type {Page} from '../panels/panel';
import {primary} from '../panels/panel';
import {nameOf} from '../selection/selection';

const kReadingMilliseconds = 150;  // a reader who moves faster through heads does not point at words

export class Ahead {
  private asked = '';
  private reading: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly page: Page, private readonly inSight: () => {first: number; end: number} | null) {}

  stop(): void {
    this.asked = '';
    clearTimeout(this.reading);
  }

  update(): void {
    const {api, store} = this.page;
    if (!api.hasWeights || isSaved(api.model)) return;  // a file already has everything
    const place = primary(store.chosen);
    const {first, end} = this.inSight() ?? {first: 0, end: 0};
    const name = `${nameOf(place)} ${first} ${end} ${store.now.query}`;
    if (name === this.asked) return;
    this.asked = name;
    clearTimeout(this.reading);
    void api.requests.whenQuiet().then(() => {
      if (this.asked !== name) return;
      for (const by of [1, -1] as const) this.fetchHead(by);
      this.reading = setTimeout(() => api.fetchRows(place, first, end), kReadingMilliseconds);
    });
  }

  private fetchHead(by: 1 | -1): void {
    const {api, side, store} = this.page;
    const place = primary(headAfter(side, store.chosen, by));
    const {query} = store.now;
    const ignore = () => undefined;  // it is requested again when needed
    api.tile({...place, z: 0, y: 0, x: 0}, 'u8').get(`ahead-tile-${by}`).catch(ignore);
    if (query !== null) api.line(place, query, query + 1, false).get(`ahead-row-${by}`).catch(ignore);
  }
}
