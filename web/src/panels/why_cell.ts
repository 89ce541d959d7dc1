// The explained cell: the selected one, or the largest weight of the selected row.
import {Slot, latest} from '../data/slot';
import type {Line} from '../attention/arcs';
import type {Page} from './panel';
import {primary} from './panel';
import type {Place} from '../selection/selection';

export interface WhyCell { place: Place; query: number; key: number; path: string }

/** The page's state, as it changes. */
export class ChosenCell {
  private readonly line: Slot<Line>;

  constructor(private readonly page: Page, changed: () => void) { this.line = new Slot<Line>('why-row', changed); }

  now(): WhyCell | null {
    const {store, api, side} = this.page;
    if (!api.hasWeights) return null;
    const place = primary(store.now);
    const query = store.pinnedQuery ?? side.queries.length - 1;
    const pinned = store.pinnedKey;
    const row = pinned === null ? latest(this.line.show(api.line(place, query, query + 1, false))) : null;
    const largest = row ? [...row.edges].sort((a, b) => b.weight - a.weight)[0]?.key ?? null : null;
    const key = pinned ?? largest;
    return key === null ? null : {place, query, key, path: `why/${query}/${key}`};
  }

  stop(): void { this.line.stop(); }
}
