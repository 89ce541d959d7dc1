// The other side of a page's comparison: opens B beside A, and says whether A, B or A − B is drawn.
import type {Place, Selection} from './selection';
import {headText} from './selection';
import {numbersOf} from '../attention/side';
import type {SelectionStore} from './store';
import type {SessionApi} from '../transport/api';
import type {Alignment} from '../transport/aligned';
import {align, alignedTo} from '../transport/aligned';
import {ApiError, json, kApi, open} from '../transport/ask';
import {derive} from '../transport/derive';
import type {Sides} from '../transport/difference';
import {differenceOf, mapped} from '../transport/difference';
import {taken} from '../transport/inputs';
import {about as askModel} from '../transport/models';
import type {Versus} from './versus';
import {editsText, readVersus} from './versus';

/** The drawn session and its other side, for parts that show both. */
export interface Compared extends Sides {
  name: string;
  unlike: string;  // why there is no difference; empty: there is one
}

/** The layers and heads of every attention. */
function shapeOf({info}: SessionApi): string { return info.attentions.map((each) => `${each.stack} ${numbersOf(each).join(' ')} of ${each.heads}`).join(); }

/** Two sessions with the same heads: each head has its scores in both, whether or not their tokens line up. */
export function hasScoresBeside(compared: Compared | null): boolean {
  return compared !== null && compared.a !== compared.b && shapeOf(compared.a) === shapeOf(compared.b);
}

/** Why the cells of A and B do not line up; empty where they do. */
function unlike(a: SessionApi, b: SessionApi, alignment: Alignment | null): string {
  const lengths = ({info}: SessionApi) => info.attentions.map(({stack, queries, keys}) => `${stack} ${queries} ${keys}`).join();
  const words = ({info: {tokens, key_tokens: keys = []}}: SessionApi) => [...tokens, ...keys].map(({text}) => text).join('\n');
  const areModels = a.info.model !== b.info.model;
  if (areModels && shapeOf(a) !== shapeOf(b)) return 'The models differ in layers or heads';
  if (areModels && words(a) !== words(b)) return 'The models split the text into different tokens';
  return alignment || lengths(a) === lengths(b) ? '' : 'The two sides differ in length';
}

/** `b`: the session of the edits, once it has loaded. */
function nameOf(versus: Versus, value: string, b?: SessionApi): string {
  if (versus.kind === 'head') return `head ${headText(versus.place)}`;
  if (versus.kind === 'edits') return editsText(value, b?.info.tokens);
  if (versus.kind === 'model') return versus.model;
  if (versus.kind === 'run') return `run ${versus.run}`;
  return `the text \u201c${versus.text.length > 60 ? `${versus.text.slice(0, 58)}\u2026` : versus.text}\u201d`;
}

/** A's values compared with B's, for the same head. */
export function ownName(compared: Compared | null): string {
  return compared && compared.a.info.model !== compared.b.info.model ? compared.a.model.name : 'this text';
}

/** A sentence about the parts of A and B that are not compared, and why. */
export function noDifference(compared: Compared | null): string {
  if (compared && !hasScoresBeside(compared)) return `${compared.unlike}: no head of B stands for one of A, so neither maps nor scores have a difference.`;
  return `${compared?.unlike || 'The two sides differ in length'}: their tokens do not line up, so maps have no difference; Heads compares scores.`;
}

export class Comparison {
  private value = '';              // the address's value for B
  private a: SessionApi | null = null;
  private b: SessionApi | null = null;
  private end: () => void = () => undefined;
  private opening = 0;
  private listener: () => void = () => undefined;  // called for B's events, by the part that draws B alone
  private shown: SessionApi | null = null;
  private shownAs = '';
  compared: Compared | null = null;
  name = '';                       // of B
  error = '';
  before: {to: string; selection: Partial<Selection>} | null = null;  // the page went on to another head by itself: its name, and the reader's own
  isNew = false;                   // the edit was made here, and its effect has not been shown yet
  formAt: string | null = null;    // the form of edits is open, for this value of the address; null: closed

  /** `changed`: something else is to be drawn. */
  constructor(private readonly store: SelectionStore, private readonly changed: () => void) {}

  /** The session to draw for A and the selection; A itself until B has loaded. */
  of(a: SessionApi): SessionApi {
    const {versus, show} = this.store.now;
    if (a !== this.a || versus !== this.value) this.begin(a, versus);
    const as = this.compared ? this.compared.unlike === '' || show !== 'A-B' ? show : 'A' : 'A';
    if (as !== this.shownAs || !this.shown) {
      this.shownAs = as;
      this.shown = as === 'A' ? a : this.facade(as === 'B' ? mapped(this.compared!) : differenceOf(this.compared!), as === 'B');
    }
    return this.shown;
  }

  get isWorking(): boolean { return this.value !== '' && this.compared === null && this.error === ''; }

  destroy(): void {
    ++this.opening;
    this.end();
    this.b?.stop();
  }

  private begin(a: SessionApi, value: string): void {
    const order = ++this.opening;
    this.end();
    this.end = () => undefined;
    if (this.b && this.b !== this.a) this.b.stop();
    Object.assign(this, {a, value, b: null, compared: null, shown: null, shownAs: '', error: '', name: '', before: null, isNew: false});
    const versus = readVersus(value);
    if (!versus) return;
    const stay = (place: Place) => place;
    let name = this.name = nameOf(versus, value);
    if (versus.kind === 'head') {
      const side = a.side(versus.place.stack);
      const has = side.numbers.includes(versus.place.layer) && versus.place.head < side.heads;
      if (has) this.compared = {a, b: a, aligned: [a, a], toB: () => versus.place, name, alignment: null, unlike: ''};
      else this.error = `There is no ${name}.`;
      return;
    }
    const settle = (b: SessionApi, alignment: Alignment | null) => {
      if (order !== this.opening) return;
      this.b = b;
      name = this.name = nameOf(versus, value, b);
      b.failed = (error) => { if (error.code === 'unknown_session') this.begin(a, value); };
      const tell = () => {
        if (b.error) this.error = b.error.message;
        if (b.hasWeights && !this.compared) {
          const aligned: Sides['aligned'] = alignment ? [alignedTo(a, a, alignment.ofA), alignedTo(a, b, alignment.ofB)] : [a, b];
          this.compared = {a, b, aligned, toB: stay, name, alignment, unlike: unlike(a, b, alignment)};
        }
        this.listener();
        this.changed();
      };
      this.end = b.follow(this.store.now.places[0]!, tell, () => undefined);
      tell();
    };
    const isOther = (b: SessionApi) => versus.kind === 'text' && a.info.tokens.length !== b.info.tokens.length;
    this.open(a, versus).then(async (b) => settle(b, isOther(b) ? await align(a, b) : null)).catch((error: unknown) => {
      if (order !== this.opening) return;
      this.error = error instanceof ApiError ? error.message : String(error);
      this.changed();
    });
  }

  private async open(a: SessionApi, versus: Versus): Promise<SessionApi> {
    if (versus.kind === 'model') {
      const about = await askModel(a.requests, versus.model);
      return a.withSession(await open(a.requests, {...taken(about.model, a.info), model: about.model.name}, this.store.now.places[0]!), about);
    }
    if (versus.kind === 'text') return a.withInput({text: versus.text}, this.store.now.places[0]!);
    if (versus.kind === 'run') return a.withSession(await json(a.requests, `${kApi}/sessions/run-${versus.run}`));
    const {edits} = versus as Extract<Versus, {kind: 'edits'}>;
    return a.withSession(await derive(a.requests, a.info, edits));
  }

  /** Its events are followed here, and once. */
  private facade(api: SessionApi, isB: boolean): SessionApi {
    const {a, b} = this.compared!;
    const follow: SessionApi['follow'] = (place, changed, begin) => {
      this.listener = changed;
      const end = isB && b !== a ? () => undefined : a.follow(place, changed, begin);
      return () => {
        this.listener = () => undefined;
        end();
      };
    };
    Object.defineProperty(api, 'follow', {value: follow});
    Object.defineProperty(api, 'hasWeights', {get: () => (isB || a.hasWeights) && b.hasWeights, set: (value: boolean) => { a.hasWeights ||= value && !isB; }});
    return api;
  }
}
