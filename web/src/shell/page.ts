// The whole of one page: asks for the model, opens a session for the text, shows the view of the address.
import {parse, remarks} from '../address';
import {Comparison} from '../comparison';
import {html} from '../dom';
import {deliver, deliverFailure} from '../export/deliver';
import {fit, misfit} from '../fit';
import {firstHeld, heldOf, missing} from '../held';
import type {Place, Selection, Stack} from '../selection';
import {kNothing} from '../selection';
import {lastWord} from '../side';
import {stacksOf, toStack} from '../sides';
import type {Theme} from '../stage';
import {Stage} from '../stage';
import type {OnAddress} from '../store';
import {SelectionStore} from '../store';
import type {About, Input, SessionInfo} from '../transport/api';
import type {Keep} from '../transport/ask';
import {SessionApi} from '../transport/api';
import {ApiError, drop, open} from '../transport/ask';
import {derive} from '../transport/derive';
import {isSameInput, linked, taken, toBegin} from '../transport/inputs';
import {about as askModel} from '../transport/models';
import {Requests} from '../transport/requests';
import {versusEdits} from '../versus';
import type {Transport} from '../transport/transport';
import {areMostlyBytes} from '../tokens';
import {viewOf} from '../views/list';
import type {Header} from './header';
import {makeHeader} from './header';
import {modelsList} from './models_list';
import {altOf, isTyped, listenToKeys} from './keys';
import type {Session} from './session';
import {showSession} from './session';
import {failure, nothingYet, opening, textField} from './states';
import type {Steps} from './steps';
import {modelOfLast, stepsSlider} from './steps';

const kRetryMilliseconds = 2000;
const kQuietMilliseconds = 200;  // nothing is said about what takes less

export interface MountOptions {
  transport: Transport;
  address?: string | undefined;       // what to show first, as in #look/L2.H4/i=17
  theme?: Theme;                      // default: the system's
  onAddress?: OnAddress;              // told of each step of the reader
  onTitle?: (title: string) => void;  // told how the text begins
}

export interface Mounted {
  show(address: string): void;
  setTheme(theme: Theme): void;
  destroy(): void;
}

export class PageShell implements Mounted {
  private readonly stage: Stage;
  private readonly store: SelectionStore;
  private readonly requests: Requests;
  private readonly notice = html('div', {class: 'notice'});
  private readonly main = html('main', {});
  private address: string;
  private header: Header | null = null;
  private about: About | null = null;
  private steps: Steps | null = null;
  private api: SessionApi | null = null;
  private session: Session | null = null;
  private readonly comparison: Comparison;
  private drawn: SessionApi | null = null;  // A, B, or A less B
  private opening = 0;
  private isPassing = false;  // what the notice says ends with the next choice
  private seen: Selection;
  private wanted: Input = {text: ''};  // what is opened, or was last
  private shown = '';    // the attention that is drawn
  private retry: ReturnType<typeof setTimeout> | undefined;
  private readonly stopKeys: () => void;
  private readonly stop = new AbortController();
  private isPointed = false;  // the focus came by the pointer

  constructor(root: HTMLElement, private readonly options: MountOptions) {
    this.address = options.address ?? '';
    this.stage = new Stage(root, options.theme ?? 'system');
    this.requests = new Requests(options.transport);
    this.store = new SelectionStore((address, how) => {
      this.address = address;
      options.onAddress?.(address, how);
    });
    this.comparison = new Comparison(this.store, () => this.compare());
    this.seen = this.store.now;
    root.append(this.main);
    this.store.listen(() => this.moveOn());
    root.addEventListener('pointerdown', () => { this.isPointed = true; }, {signal: this.stop.signal});
    root.addEventListener('keydown', ({key}) => { this.isPointed &&= key === 'Escape'; }, {capture: true, signal: this.stop.signal});
    // Between two lists of tokens the other direction would take a query for a key.
    const alt = altOf((held) => this.store.turn(held && (this.session?.page.side.isSquare ?? true)));
    this.stopKeys = listenToKeys(root, (event) => {
      alt(event);
      if (event.type === 'keydown') this.press(event);
    });
    void this.connect();
  }

  setTheme(theme: Theme): void { this.stage.setTheme(theme); }

  destroy(): void {
    ++this.opening;
    clearTimeout(this.retry);
    this.steps?.stop();
    this.stopKeys();
    this.stop.abort();
    this.session?.destroy();
    this.comparison.destroy();
    this.api?.stop();
    this.stage.destroy();
  }

  /** Shows what an address says, as the Back button and links do. */
  show(address: string): void {
    this.address = address;
    if (!this.api) return;
    if (this.isPassing) this.notice.replaceChildren();
    this.isPassing = false;
    const read = parse(address);
    if (read.selection && this.isElsewhere(read.selection)) {
      void this.follow(read.selection);
      return;
    }
    const said = remarks(address, read);
    if (read.selection) this.place(this.fitted(this.api, read.selection, said), false);
    else if (said.length > 0) this.remark(said.join(' '));
  }

  private press(event: KeyboardEvent): void {
    if (isTyped(event) || !this.header) return;
    if (event.key === 'Escape' && this.isPointed) this.leave();
    if (this.header.press(event.key)) return;
    if (this.session?.press(event.key)) event.preventDefault();
  }

  /** What was clicked would now be framed as if a key had led there. */
  private leave(): void {
    const focused = document.activeElement;
    if (focused instanceof HTMLElement && focused !== this.stage.root && !focused.closest('dialog')) focused.blur();
  }

  private async connect(): Promise<void> {
    clearTimeout(this.retry);
    const order = ++this.opening;
    try {
      this.about = await askModel(this.requests);
    } catch (error) {
      if (order === this.opening) this.fail(error as ApiError, {text: ''});
      return;
    }
    if (order !== this.opening) return;
    if (!this.header) this.makeHeader(this.about);
    this.notice.replaceChildren();
    const {steps} = this.about;
    if (steps && !this.steps) {
      this.steps = stepsSlider(this.requests, steps, (model) => this.run({...this.wanted, model}));
      this.notice.before(this.steps.element);
    }
    const asked = parse(this.address).selection;
    if (asked && this.isElsewhere(asked)) {
      await this.follow(asked);
      return;
    }
    const {text, pair, target} = this.about;
    const given = text === null ? null : {text, ...pair !== undefined && {pair}, ...target !== undefined && {target}};
    const kept = this.about.picture ? null : this.options.transport.memory?.texts() ?? null;
    const input = toBegin(kept, given, this.about.model.name);
    if (input === null) this.begin(this.about, {text: ''});
    else await this.run({...taken(this.about.model, input), ...steps && {model: modelOfLast(steps)}});
  }

  private makeHeader(about: About): void {
    const title = this.options.onTitle ?? (() => undefined);
    this.header?.element.remove();
    this.header = makeHeader(about, this.store, () => this.edit(), title, () => {
      const {text, pair, target, model} = this.api!.info;
      void this.run({text, model, ...pair !== undefined && {pair}, ...target !== undefined && {target}});
    });
    this.main.before(this.notice);
    (this.steps?.element ?? this.notice).before(this.header.element);
    this.header.show(null);
  }

  /** Whether a link names another model or text than those that are shown. */
  private isElsewhere({model, text, second}: Selection): boolean {
    if (model === '' && text === '') return false;
    const info = this.api?.info;
    return !info || (model !== '' && model !== info.model)
      || (text !== '' && (text !== info.text || second !== (info.pair ?? info.target ?? '')));
  }

  /** Opens what a link names; without a text, the one that is shown. */
  private async follow(asked: Selection): Promise<void> {
    const shown = this.api?.info ?? this.options.transport.memory?.texts() ?? null;
    try {
      const about = await this.aboutOf(asked.model || undefined);
      const own = {...asked, model: about.model.name};
      if (asked.text !== '') await this.run(linked(about.model, own));
      else if (shown) await this.run({...taken(about.model, shown), model: about.model.name});
      else this.begin(about, {text: ''});
    } catch (error) {
      this.fail(error as ApiError, linked(this.about!.model, asked));
    }
  }

  private async aboutOf(model: string | undefined): Promise<About> {
    return model === undefined || model === this.about!.model.name ? this.about! : askModel(this.requests, model);
  }

  /** An empty page: what to type, or another model. */
  private begin(about: About, input: Input): void {
    if (about !== this.about) this.makeHeader(this.about = about);
    nothingYet(this.main, about, input, (typed) => void this.run(typed), this.models(() => input));
  }

  /** The list of models; one that is chosen reads what was typed. */
  private models(typed: () => Input): HTMLElement {
    return modelsList(this.requests, this.about!.model.name, async (model) => {
      const {text} = typed();
      try {
        const about = await this.aboutOf(model);
        if (text === '') this.begin(about, {text});
        else await this.run({...taken(about.model, typed()), model: about.model.name});
      } catch (error) {
        this.fail(error as ApiError, typed());
      }
    });
  }

  /** What is looked at where the address says nothing. */
  private get first(): Selection {
    const stack = this.about?.stack as Stack | undefined;
    return stack === undefined ? kNothing : {...kNothing, places: [{stack, layer: 0, head: 0}]};
  }

  /** Opens a session; the old result stays until the new one is there. */
  private async run(input: Input, keep?: Keep, ask?: () => Promise<SessionInfo>): Promise<void> {
    const order = ++this.opening;
    this.wanted = input;
    const late = setTimeout(() => this.notice.replaceChildren(opening(input)), kQuietMilliseconds);
    try {
      const about = await this.aboutOf(input.model);
      const model = about.model.name;
      const info = await (ask ? ask() : open(this.requests, {...input, model}, this.inView(about), keep));
      if (order === this.opening) this.take(about, info);
      else if (!isSameInput(input, this.wanted) && info.session !== this.api?.info.session) void drop(this.requests, info);
    } catch (error) {
      if (order === this.opening) this.fail(error as ApiError, input);
    } finally {
      clearTimeout(late);
    }
  }

  /** The place whose statistics should come first, in a layer that there is. */
  private inView({model: {stacks}}: About): Place {
    const asked = (parse(this.address).selection ?? this.first).places[0]!;
    const own = stacks.find(({stack}) => stack === asked.stack);
    const {layers} = own ?? stacks[0]!;
    return {...own && {stack: asked.stack!}, layer: Math.min(asked.layer, layers - 1), head: 0};
  }

  private take(about: About, info: SessionInfo): void {
    if (about !== this.about) this.makeHeader(this.about = about);
    this.options.transport.memory?.keep(info, info.model);
    const old = this.api;
    const isSameText = old !== null && isSameInput(this.steps ? {...old.info, model: info.model} : old.info, info);
    this.open(new SessionApi(this.about!, info, this.requests), old === null || isSameText);
    if (old && !old.hasWeights && old.info.session !== info.session) void drop(this.requests, old.info);
  }

  private open(api: SessionApi, keepSelection: boolean): void {
    const isFirst = this.api === null;
    this.session?.destroy();
    this.session = null;
    this.api?.stop();
    this.notice.replaceChildren();
    this.main.replaceChildren();
    this.api = api;
    api.failed = (error) => this.lose(api, error);
    const read = parse(this.address);
    const asked = read.selection ?? this.first;
    const side = api.side(asked.places[0]!.stack);
    const unit = asked.unit === kNothing.unit && areMostlyBytes(side.queries) ? 'character' : asked.unit;
    const last: Selection = {...asked, query: lastWord(side), key: null, range: null, unit};
    const isLinked = read.selection !== null && (asked.text !== '' || asked.model !== '');
    const selection = {...(keepSelection || isLinked) && read.selection ? read.selection : last, model: '', text: '', second: ''};
    this.place(this.fitted(api, selection, remarks(this.address, read)), !read.selection, this.store.isHeadFresh && !(isFirst && read.selection));
    this.header!.show(api);
    this.draw(api);
    if (this.about!.picture) void deliver(this.about!.picture, this.session!.page);
  }

  /** The session with the attention that is chosen. */
  private draw(api: SessionApi): void {
    this.session?.destroy();
    const side = api.side(this.store.now.places[0]!.stack);
    this.shown = side.stack;
    this.drawn = this.comparison.of(api);
    const {compared} = this.comparison;
    if (compared && !compared.isAlike) this.store.set(fit(this.store.now, this.drawn.size), {replace: true, fresh: this.store.isFresh});  // B may be shorter
    const open = (input: Input) => void this.run(input);
    const withEdits = (edits: object) => void this.derive(compared?.b ?? api, edits);
    this.session = showSession(this.main, {
      store: this.store, api: this.drawn, side: this.drawn.side(side.stack), stage: this.stage, open, derive: withEdits, compared,
    }, this.comparison);
  }

  /** The same text with edits is shown beside this one, as their difference. */
  private async derive(of: SessionApi, edits: object): Promise<void> {
    const {api} = this;
    try {
      const {edits: all} = await derive(this.requests, of.info, edits);
      if (api === this.api && all !== undefined) this.store.set({versus: versusEdits(all), show: viewOf(this.store.now.view).differs ? 'A-B' : 'B'});
    } catch (error) {
      this.fail(error as ApiError, of.info, true);
    }
  }

  /** Draws the other side, or the difference, as soon as that is there. */
  private compare(): void {
    if (!this.api) return;
    if (this.comparison.of(this.api) === this.drawn) this.session?.update();
    else this.draw(this.api);
  }

  /** What of the selection can be shown; says what is `wrong` with it, and what is not there. */
  private fitted(api: SessionApi, selection: Selection, wrong: string[]): Selection {
    const fitting = fit(selection, api.size);
    const all = api.side(fitting.places[0]!.stack);
    const lost = missing(all, fitting);
    const said = [...wrong, ...misfit(selection, api.size), ...(lost === null ? [] : [lost])];
    if (said.length > 0) this.remark(said.join(' '));
    if (lost === null) return fitting;
    const held = heldOf(all, fitting);
    const first = firstHeld(all);
    if (held.length > 0 || first) return {...fitting, places: held.length > 0 ? held : [{...fitting.places[0]!, ...first!}]};
    const [stack] = stacksOf(api);
    return stack === undefined ? fitting : {...fitting, ...toStack(api, stack, fitting.places)};
  }

  private remark(text: string): void {
    this.notice.replaceChildren(html('p', {class: 'quiet', role: 'alert'}, text));
    this.isPassing = true;
  }

  /** What was said of a choice goes with the next one, which the choice of a first head is not. */
  private moveOn(): void {
    if (this.store.now === this.seen) return;
    this.seen = this.store.now;
    const isOther = this.session && (this.api!.side(this.seen.places[0]!.stack).stack !== this.shown || this.comparison.of(this.api!) !== this.drawn);
    if (isOther) this.draw(this.api!);
    if (this.store.byHeed) return;
    if (this.isPassing) this.notice.replaceChildren();
    this.isPassing = false;
  }

  /** A question had no answer: where the server does not know the session any more, the same text again. */
  private lose(api: SessionApi, error: ApiError): void {
    if (api !== this.api) return;
    if (error.code === 'unknown_session') void this.run(api.info);
    else this.fail(error, api.info, true);
  }

  private fail(error: ApiError, input: Input, isOfView = false): void {
    if (this.about?.picture) void deliverFailure(this.requests, error.message);
    const remedies = {
      edit: () => this.edit(input),
      keep: (part: Keep) => void this.run(input, part),
      again: () => void this.connect(),
      restart: (this.about && this.options.transport.restart?.(this.about.model.name)) ?? 'heed serve',
      isOfView,
    };
    const shown = failure(error, this.about, remedies);
    if (this.session && !isOfView && error.code !== 'unreachable') shown.append(html('p', {class: 'quiet'}, 'before the change'));
    this.isPassing = error.code !== 'unreachable';
    if (this.about) this.notice.replaceChildren(shown);
    else this.main.replaceChildren(shown);
    clearTimeout(this.retry);
    // Who opens the printed address of a new run in another tab brings this page back too: they share the cookie.
    const mayPass = error.code === 'unreachable' || error.code === 'unauthorized';
    if (mayPass) this.retry = setTimeout(() => void this.connect(), kRetryMilliseconds);
    if (!this.session && this.about) this.main.replaceChildren();
  }

  private edit(input: Input = this.api?.info ?? {text: ''}): void {
    const leave = () => this.notice.replaceChildren();
    if (!this.session) {
      this.notice.replaceChildren();
      this.begin(this.about!, input);
      return;
    }
    const field = textField(this.about!, input, (typed) => void this.run(typed), leave);
    this.isPassing = false;
    this.notice.replaceChildren(field.element, this.models(field.typed));
    field.focus();
  }

  /** A selection that came with the address: what was said of it stays. */
  private place(selection: Selection, fresh: boolean, byHeed = false): void {
    const said = this.isPassing;
    this.isPassing = false;
    this.store.set(selection, {replace: true, fresh, byHeed});
    this.isPassing = said;
  }
}
