// The data for the edges: the line of each head of the shown token, and the rows in the window.
import type {Edge, EdgeRow, Line} from '../attention/arcs';
import {Slot, valueOf} from '../data/slot';
import type {Page, Span} from './panel';
import {isIn, primary} from './panel';
import type {Rows} from '../attention/rows';
import type {Place} from '../selection/selection';
import {nameOf} from '../selection/selection';

/** For the shown token, or another visible row. */
export interface ShownEdge { edge: Edge; own: boolean; place: Place }

export function ownEdges(rows: EdgeRow[], place: Place): ShownEdge[] {
  return rows.flatMap(({edges}) => edges.map((edge) => ({edge, own: true, place})));
}

export class EdgeData {
  private readonly slots: Slot<Line>[] = [];  // by the head's place in the selection
  private readonly window: Slot<EdgeRow[]>;
  lines = new Map<string, Line>();  // by head, of the shown token
  others: EdgeRow[] = [];           // rows of the window, for the first head

  constructor(private readonly page: Page, private readonly changed: () => void) {
    this.window = new Slot<EdgeRow[]>('edges', changed);
  }

  stop(): void {
    for (const slot of [...this.slots, this.window]) slot.stop();
  }

  /** Requests missing lines; a line that is loading is not in `lines`. */
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

  /** The data of these heads; first, the first head's rows around the tokens `at`. */
  edges(at: Span, rows: Rows, places: Place[]): ShownEdge[] {
    const {store} = this.page;
    const first = places[0]!;
    const shown = rows.within(at);
    const others = store.to ? [] : rows.edges(this.others).filter((row) => !isIn(shown, row.query));
    return [...others.flatMap(({edges}) => edges.map((edge) => ({edge, own: false, place: first}))), ...places.flatMap((place) => {
      const line = this.lines.get(nameOf(place));
      return line ? rows.line(line, store.to).edges.map((edge) => ({edge, own: true, place})) : [];
    })];
  }
}
