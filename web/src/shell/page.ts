// One whole page: shows the address's view of the open session, and follows its reader.
import {remarks} from '../selection/address';
import type {Compared} from '../selection/comparison';
import {Comparison} from '../selection/comparison';
import {html} from '../drawing/dom';
import {count} from '../drawing/format';
import {deliver} from '../export/deliver';
import {fit} from '../selection/fit';
import type {Selection} from '../selection/selection';
import {kNothing} from '../selection/selection';
import {lastWord} from '../attention/side';
import type {Theme} from './stage';
import {Stage} from './stage';
import {SelectionStore} from '../selection/store';
import type {About, Input, SessionInfo} from '../transport/api';
import {SessionApi} from '../transport/api';
import type {ApiError} from '../transport/ask';
import {drop} from '../transport/ask';
import {derive} from '../transport/derive';
import {inputOf, isSameInput} from '../transport/inputs';
import {Requests} from '../transport/requests';
import {versusEdits} from '../selection/versus';
import type {Transport} from '../transport/transport';
import {areMostlyBytes} from '../text/tokens';
import {viewOf} from '../views/list';
import {fitted} from './fitted';
import type {Header} from './header';
import {makeHeader} from './header';
import {altOf, isTyped, leavesClicked, listenToKeys} from './keys';
import {Notice} from './notice';
import type {Showing} from './opening';
import {Opening} from './opening';
import type {Session} from './session';
import {showSession} from './session';

const kStepMilliseconds = 500;  // keys in quick succession are one step for Back

export interface MountOptions {
  transport: Transport;
  address?: string | undefined;       // the initial view, such as #look/L2.H4/i=17
  theme?: Theme;                      // default: the system's
  onAddress?: (address: string, how: {replace: boolean; input: Input}) => void;  // called at each step of the reader, with the text being read
  onTitle?: (title: string) => void;  // called with the beginning of the text
}

export interface Mounted {
  show(address: string, input?: Input | null): void;  // `input`: the text at that step
  setTheme(theme: Theme): void;
  destroy(): void;
}

export class PageShell implements Mounted, Showing {
  private readonly stage: Stage;
  private readonly store: SelectionStore;
  private readonly requests: Requests;
  private readonly notice = new Notice();
  private readonly opening: Opening;
  private readonly main = html('main', {});
  private readonly spoken = html('div', {class: 'spoken', role: 'status'});
  address: string;
  private header: Header | null = null;
  private api: SessionApi | null = null;
  private session: Session | null = null;
  private readonly comparison: Comparison;
  private drawn: SessionApi | null = null;  // A, B, or A minus B
  private beside: Compared | null = null;
  private seen: Selection;
  private shown = '';    // the drawn attention
  private readonly stop = new AbortController();
  private readonly leave: () => void;
  private isUnitOfText = false;  // the page chose characters, because the model reads the text as bytes
  private isNewText = false;  // its first address is a step for Back
  private restored: Input | null = null;  // the text of a step back or forward
  private keyed = 0;          // when a key last had an effect, in ms

  constructor(root: HTMLElement, private readonly options: MountOptions) {
    this.address = options.address ?? '';
    this.stage = new Stage(root, options.theme ?? 'system');
    this.requests = new Requests(options.transport);
    this.opening = new Opening(this.requests, options.transport, this.notice, this.main, this);
    this.store = new SelectionStore((address, {replace}) => {
      this.address = address;
      const isStep = !replace || this.isNewText;
      if (isStep && !this.store.isJoined) this.keyed = 0;  // the next key's effect is another step
      this.isNewText = false;
      options.onAddress?.(address, {replace: !isStep, input: inputOf(this.api!.info)});
    });
    this.requests.carried = () => this.store.now.quantity === 'carried' && this.api?.model.held === undefined;
    this.comparison = new Comparison(this.store, () => this.compare());
    this.seen = this.store.chosen;
    root.append(this.main, this.spoken);
    this.store.listen(() => this.moveOn());
    this.leave = leavesClicked(root, this.stop.signal);
    // Between two lists of tokens, reversing the direction would turn a query into a key.
    const alt = altOf((held) => this.store.turn(held && (this.session?.page.side.isSquare ?? true)));
    listenToKeys(root, this.stop.signal, (event) => {
      alt(event);
      if (event.type === 'keydown') this.press(event);
    });
    void this.opening.connect();
  }

  setTheme(theme: Theme): void { this.stage.setTheme(theme); }

  destroy(): void {
    this.opening.stop();
    this.stop.abort();
    this.close();
    this.comparison.destroy();
    this.stage.destroy();
  }

  /** Shows an address, for the Back button and links. */
  show(address: string, input: Input | null = null): void {
    this.address = address;
    if (!this.api && !this.opening.hasBegun) return;
    this.notice.moveOn();
    if (input && !(this.api && isSameInput(this.api.info, input))) return void this.opening.run(this.restored = input);
    if (!this.api) return;
    if (!input && address === '' && this.opening.hasBegun) return this.empty(this.api.info);
    const read = this.opening.read(address);
    if (read.selection && this.opening.isElsewhere(read.selection)) return void this.opening.follow(read.selection);
    const said = remarks(address, read);
    if (read.selection) this.placeAsked(this.api, read.selection, said, read.isHeadFree);
    else if (said.length > 0) this.notice.remark(said.join(' '));
  }

  /** Shows an address's selection; if it leaves the head to heed, heed chooses again. */
  private placeAsked(api: SessionApi, asked: Selection, said: string[], isHeadFree = false): void {
    this.place(this.fitted(api, asked, said), false, isHeadFree);
    if (!isHeadFree) return;
    this.store.isRowFresh = asked.query === null && asked.range === null;
    this.store.hasChoice = false;
    this.draw(api);
  }

  /** The page before its first text, with the last one in the field. */
  private empty(info: SessionInfo): void {
    this.close();
    this.header!.show(null);
    this.opening.edit(info);
  }

  private press(event: KeyboardEvent): void {
    if (isTyped(event) || !this.header) return;
    if (event.key === 'Escape') this.leave();
    if (this.header.press(event.key)) return;
    const now = Date.now();
    this.store.isJoined = now - this.keyed < kStepMilliseconds;
    const isDone = this.session?.press(event.key);
    this.store.isJoined = false;
    if (!isDone) return;
    this.keyed = now;
    event.preventDefault();
  }

  get info(): SessionInfo | null { return this.api?.info ?? null; }

  name(about: About): void {
    const title = this.options.onTitle ?? (() => undefined);
    this.header?.element.remove();
    this.header = makeHeader(about, this.store, () => this.opening.edit(), title, () => {
      void this.opening.run(inputOf(this.api!.info));
    }, () => this.session?.compare(), () => this.session?.guide());
    this.main.before(this.notice.element);
    (this.opening.steps?.element ?? this.notice.element).before(this.header.element);
    this.header.show(null);
  }

  take(info: SessionInfo): void {
    const old = this.api;
    const {steps} = this.opening;
    const isSameText = old !== null && isSameInput(steps ? {...old.info, model: info.model} : old.info, info);
    // Keeps the same head over the steps of a run, even if heed chose it at the first step.
    if (steps && isSameText && this.address !== '') this.store.isHeadFresh = false;
    const isRestored = this.restored !== null && isSameInput(this.restored, info);
    this.restored = null;
    const isOfField = this.stage.root.querySelector('.field textarea:focus') !== null;
    this.isNewText = (old !== null || this.opening.hasBegun) && !isSameText && !isRestored;
    this.open(new SessionApi(this.opening.about!, info, this.requests), old === null || isSameText || isRestored);
    if (isOfField) this.moveToText(info);
    if (old && !old.hasWeights && old.info.session !== info.session) void drop(this.requests, old.info);
  }

  /** The field with the keyboard focus is gone: the focus goes to the text's token, and the length is spoken. */
  private moveToText({tokens}: SessionInfo): void {
    (this.main.querySelector<HTMLElement>('.text:not([hidden]) [tabindex="0"]') ?? this.main.querySelector<HTMLElement>('.asker[tabindex="0"]'))?.focus();
    this.store.preview({});  // heed's row is shown, not the focused one
    this.spoken.textContent = count(tokens.length, 'token');
  }

  private close(): void {
    this.session?.destroy();
    this.session = null;
    this.api?.stop();
    this.api = null;
    this.notice.clear();
    this.main.replaceChildren();
  }

  private open(api: SessionApi, keepSelection: boolean): void {
    const isFirst = this.api === null;
    this.close();
    this.api = api;
    api.failed = (error) => this.lose(api, error);
    const read = this.opening.read(this.address);
    const asked = read.selection ?? this.opening.usual;
    const side = api.side(asked.places[0]!.stack);
    const given = this.isUnitOfText && !keepSelection && asked.unit === 'character' ? kNothing.unit : asked.unit;
    this.isUnitOfText = given === kNothing.unit && areMostlyBytes(side.queries);
    const unit = this.isUnitOfText ? 'character' : given;
    const last: Selection = {...asked, query: lastWord(side), key: null, range: null, unit};
    const isLinked = read.selection !== null && (asked.text !== '' || asked.model !== '');
    this.isNewText &&= !isLinked;  // the link is already a step
    const kept = keepSelection || isLinked ? read.selection : null;
    const selection = {...kept ?? last, model: '', text: '', second: ''};
    const isRowFresh = kept === null || (this.store.isRowFresh && !isFirst) || (read.isHeadFree === true && kept.query === null && kept.range === null);
    if (this.store.isHeadEarly && !keepSelection) this.store.isHeadFresh = true;
    this.store.hasChoice = false;
    this.place(this.fitted(api, selection, remarks(this.address, read)), !read.selection, this.store.isHeadFresh && !(isFirst && read.selection && !read.isHeadFree));
    this.store.isHeadEarly = false;
    this.store.isRowFresh = isRowFresh;
    this.header!.show(api);
    this.draw(api);
    const {picture} = api.about;
    if (picture) void deliver(picture, this.session!.page);
  }

  /** The session with the chosen attention. */
  private draw(api: SessionApi): void {
    this.session?.destroy();
    const side = api.side(this.store.now.places[0]!.stack);
    this.shown = side.stack;
    this.drawn = this.comparison.of(api);
    const {compared} = this.comparison;
    this.beside = compared;
    if (compared && (compared.unlike !== '' || compared.alignment)) this.store.set(fit(this.store.chosen, this.drawn.size), {replace: true, fresh: this.store.isFresh});  // B may be smaller
    const open = (input: Input) => void this.opening.run(input);
    const withEdits = (edits: object, otherwise?: () => void) => void this.derive(compared?.b ?? api, edits, otherwise);
    this.session = showSession(this.main, {
      store: this.store, api: this.drawn, side: this.drawn.side(side.stack), stage: this.stage, open, derive: withEdits, compared,
    }, this.comparison);
  }

  /** The same text with edits is shown beside this one, as their difference. */
  private async derive(of: SessionApi, edits: object, otherwise?: () => void): Promise<void> {
    const {api} = this;
    try {
      const {edits: all} = await derive(this.requests, of.info, edits);
      if (api !== this.api || all === undefined) return;
      this.store.set({versus: versusEdits(all), show: viewOf(this.store.now.view).differs ? 'A-B' : 'B'});
      this.comparison.isNew = true;
    } catch (error) {
      if (otherwise && api === this.api && (error as ApiError).code === 'bad_request') otherwise();
      else this.opening.fail(error as ApiError, of.info, true);
    }
  }

  /** Whether another side will be drawn, or a different comparison is open: for texts of different length A stays A. */
  private isDrawnAnew(): boolean { return this.comparison.of(this.api!) !== this.drawn || this.comparison.compared !== this.beside; }

  /** Draws the other side, or the difference, as soon as it has loaded. */
  private compare(): void {
    if (!this.api) return;
    if (!this.isDrawnAnew()) this.session?.update();
    else this.draw(this.api);
  }

  /** The part of the selection that can be shown; reports what is `wrong` or missing. */
  private fitted(api: SessionApi, asked: Selection, wrong: string[]): Selection {
    const {selection, said} = fitted(api, asked);
    if (wrong.length + said.length > 0) this.notice.remark([...wrong, ...said].join(' '));
    return selection;
  }

  /** Messages about a choice disappear with the next one; choosing the first head does not count. */
  private moveOn(): void {
    if (this.store.chosen === this.seen) return;
    this.seen = this.store.chosen;
    const isOther = this.session && (this.api!.side(this.seen.places[0]!.stack).stack !== this.shown || this.isDrawnAnew());
    if (isOther) this.draw(this.api!);
    if (!this.store.byHeed) this.notice.moveOn();
  }

  /** A question failed: if the server no longer knows the session, opens the same text again. */
  private lose(api: SessionApi, error: ApiError): void {
    if (api !== this.api) return;
    if (error.code === 'unknown_session') void this.opening.run(api.info);
    else this.opening.fail(error, api.info, true);
  }

  /** A selection from the address: messages about it are kept. */
  private place(selection: Selection, fresh: boolean, byHeed = false): void {
    const said = this.notice.isPassing;
    this.notice.isPassing = false;
    this.store.set(selection, {replace: true, fresh, byHeed});
    this.notice.isPassing = said;
  }
}
