// The selection of one page: the choice, the pointer's target, and the listeners.
import {format} from './address';
import {Frame} from '../drawing/frame';
import type {Place, Selection} from './selection';
import {kNothing, nameOf} from './selection';

/** The target of the pointer or keyboard; never in the address. */
export interface Hover {
  query: number | null;
  key: number | null;
  place: Place | null;  // one head of many
  tried: Place | null;  // a head shown on trial, instead of the chosen ones
}

/** Called with each address: `replace` leaves no step for the Back button. */
export type OnAddress = (address: string, how: {replace: boolean}) => void;

/** How a selection changes; `fresh`: it was not chosen explicitly, `byHeed`: heed chose its head and row. */
export interface How { replace?: boolean; fresh?: boolean; byHeed?: boolean }

type Listener = () => void;

const kNowhere: Hover = {query: null, key: null, place: null, tried: null};

export class SelectionStore {
  chosen: Selection = kNothing;  // as in the address
  now: Selection = kNothing;     // as shown: including the head under the pointer
  private hovered: Hover = kNowhere;
  private turned = false;
  private coming: Partial<Hover> | null = null;
  private readonly passing = new Frame(() => this.coming && this.preview(this.coming));
  private readonly listeners = new Set<Listener>();
  isFresh = true;      // neither the address nor the reader has chosen: there is no address
  isHeadFresh = true;  // the head has not been chosen explicitly
  isRowFresh = true;   // the reader has not chosen a row
  byHeed = false;      // the last change was heed's choice of a head and a row
  reason = '';         // heed's reason for it
  hasChoice = false;   // heed has chosen for the current text
  isHeadEarly = false; // the reader chose the head before that: for this text only
  isJoined = false;    // changes belong to the previous step

  constructor(private readonly onAddress: OnAddress = () => undefined) {}

  get hover(): Hover { return this.hovered; }

  /** Whether the queries that attend to the token are shown; reversed while Alt is held. */
  get to(): boolean { return this.chosen.to !== this.turned; }

  /** The shown row: under the pointer, else pinned. */
  get query(): number | null { return this.hovered.query ?? this.chosen.query; }

  /** The shown key: under the pointer, else pinned, as long as its row is shown. */
  get key(): number | null {
    if (this.hovered.key !== null) return this.hovered.key;
    return this.query === this.chosen.query ? this.chosen.key : null;
  }

  /** The token whose row is shown, or whose column: of an edge its query, or its key. */
  get token(): number | null { return this.hoveredToken ?? this.pinnedToken; }

  get hoveredToken(): number | null {
    const {query, key} = this.hovered;
    return this.to ? key ?? query : query;
  }

  /** The pinned row: a column's single token is not a row, and if rows and columns differ, its number belongs to another token. */
  get pinnedQuery(): number | null { return this.isColumn ? null : this.chosen.query; }

  /** The pinned column, of an edge or alone. */
  get pinnedKey(): number | null { return this.isColumn ? this.chosen.query : this.chosen.key; }

  /** The marked row: under the pointer, else pinned. */
  get markedQuery(): number | null { return this.hovered.query ?? this.pinnedQuery; }

  /** The marked column: under the pointer, else pinned, as long as its row is shown. */
  get markedKey(): number | null {
    if (this.hovered.key !== null) return this.hovered.key;
    return this.markedQuery === this.pinnedQuery ? this.pinnedKey : null;
  }

  private get isColumn(): boolean { return this.chosen.to && this.chosen.key === null; }

  get pinnedToken(): number | null {
    const {query, key} = this.chosen;
    return this.to ? key ?? query : query;
  }

  /** The shown edge's other end; null if only a token is shown. */
  get other(): number | null {
    if (!this.to) return this.key;
    return this.key === null ? null : this.query;
  }

  /** The pinned edge's other end, while its token is shown. */
  get pinnedOther(): number | null {
    const {query, key} = this.chosen;
    if (key === null || this.token !== this.pinnedToken) return null;
    return this.to ? query : key;
  }

  listen(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  set(change: Partial<Selection>, how: How = {}): void {
    this.isFresh = how.fresh ?? false;
    this.byHeed = how.byHeed ?? false;
    if ('query' in change && !this.isFresh) this.isRowFresh = this.byHeed;
    if (change.places && !this.isFresh) {
      this.isHeadFresh = this.byHeed;
      if (!this.isHeadFresh) this.reason = '';
      this.isHeadEarly = !this.isHeadFresh && !this.hasChoice;
    }
    this.chosen = {...this.chosen, ...change};
    if (this.chosen.query === null) this.chosen.key = null;
    if (change.places || change.view) this.hovered = {...this.hovered, tried: null};
    this.show();
    this.tell();  // first, so that its requests start while the browser stores the address
    if (!this.isFresh) this.onAddress(`#${format(this.chosen)}`, {replace: how.replace ?? this.isJoined});
  }

  /** The same in the next frame, so that the browser lays out once for all elements passed by the pointer. */
  previewSoon(hover: Partial<Hover>): void {
    this.coming = hover;
    this.passing.ask();
  }

  preview(hover: Partial<Hover>): void {
    this.coming = null;
    const next = {...kNowhere, ...hover};
    const namesOf = ({place, tried}: Hover) => [place, tried].map((each) => each && nameOf(each)).join();
    if (next.query === this.hovered.query && next.key === this.hovered.key && namesOf(next) === namesOf(this.hovered)) return;
    this.hovered = next;
    this.show();
    this.tell();
  }

  turn(turned: boolean): void {
    if (turned === this.turned) return;
    this.turned = turned;
    this.tell();
  }

  private show(): void {
    const {tried} = this.hovered;
    this.now = tried ? {...this.chosen, places: [tried]} : this.chosen;
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }
}
