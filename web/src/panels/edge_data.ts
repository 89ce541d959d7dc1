// What the edges are drawn from: the line of each head of the shown token, and the rows in the window.
import type {EdgeRow, Line} from '../arcs';
import {Slot, valueOf} from '../data/slot';
import type {Page, Span} from '../panel';
import {primary} from '../panel';
import {nameOf} from '../selection';

export class EdgeData {
  private readonly slots: Slot<Line>[] = [];  // by the head's place in the selection
  private readonly window: Slot<EdgeRow[]>;
  lines = new Map<string, Line>();  // by head, of the shown token
  others: EdgeRow[] = [];           // the window's rows, of the first head

  constructor(private readonly page: Page, private readonly changed: () => void) {
    this.window = new Slot<EdgeRow[]>('edges', changed);
  }

  stop(): void {
    for (const slot of [...this.slots, this.window]) slot.stop();
  }

  /** Asks for what is not there; a line that is on its way is not in `lines`. */
  show(at: Span | null, rows: {begin: number; end: number} | null): void {
    const {store, api} = this.page;
    const {places} = store.now;
    while (this.slots.length < places.length) this.slots.push(new Slot<Line>(`edges-${this.slots.length}`, this.changed));
    this.lines.clear();
    for (const [index, slot] of this.slots.entries()) {
      const place = places[index];
      const line = valueOf(slot.show(at && place && api.hasWeights ? api.line(place, at.first, at.end, store.to) : null));
      if (line && place) this.lines.set(nameOf(place), line);
    }
    const wanted = rows && api.hasWeights ? api.edges(primary(store.now), rows.begin, rows.end) : null;
    this.others = valueOf(this.window.show(wanted)) ?? [];
  }
}
