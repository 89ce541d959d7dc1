// Which model reads which text: turns an address, a tab's memory, a list or typed text into a session of the server.
import type {Address} from '../selection/address';
import {parse} from '../selection/address';
import {html} from '../drawing/dom';
import {deliverFailure} from '../export/deliver';
import {kQuietMilliseconds} from '../drawing/progress_line';
import {layerNear} from '../selection/fit';
import type {Place, Selection, Stack} from '../selection/selection';
import {kNothing} from '../selection/selection';
import type {About, Input, SessionInfo} from '../transport/api';
import type {ApiError, Keep} from '../transport/ask';
import {drop, open} from '../transport/ask';
import {givenTo, inputOf, isSameInput, linked, taken, toBegin} from '../transport/inputs';
import {about as askModel} from '../transport/models';
import type {Requests} from '../transport/requests';
import type {Transport} from '../transport/transport';
import {modelsList} from './models_list';
import type {Notice} from './notice';
import {examples, failure, isEmpty, nothingYet, opening, textField} from './states';
import type {Steps} from './steps';
import {modelOfLast, stepsSlider} from './steps';

const kRetryMilliseconds = 2000;

/** The part that shows the sessions opened here. */
export interface Showing {
  readonly address: string;
  readonly info: SessionInfo | null;  // of the shown session
  name(about: About): void;           // the header now names another model
  take(info: SessionInfo): void;
}

export class Opening {
  about: About | null = null;
  hasBegun = false;  // without a text
  steps: Steps | null = null;  // of a watched training run
  private order = 0;
  private wanted: Input = {text: ''};  // the text being opened, or opened last
  private retry: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly requests: Requests, private readonly transport: Transport, private readonly notice: Notice,
    private readonly main: HTMLElement, private readonly showing: Showing
  ) {}

  stop(): void {
    ++this.order;
    clearTimeout(this.retry);
    this.steps?.stop();
  }

  async connect(): Promise<void> {
    clearTimeout(this.retry);
    const order = ++this.order;
    let about: About;
    try {
      about = await askModel(this.requests);
    } catch (error) {
      if (order === this.order) this.fail(error as ApiError, {text: ''});
      return;
    }
    if (order !== this.order) return;
    if (this.about) this.about = about;
    else this.name(about);
    this.notice.clear();
    if (about.steps && !this.steps) {
      this.steps = stepsSlider(this.requests, about.steps, (model) => this.run({...this.wanted, model}));
      this.notice.element.before(this.steps.element);
    }
    const asked = this.read(this.showing.address).selection;
    if (asked && this.isElsewhere(asked)) await this.follow(asked);
    else await this.first(about);
  }

  /** Without a link: the text that this tab read last, or the one of the command line. */
  private async first(about: About): Promise<void> {
    const kept = about.picture ? null : this.transport.memory?.texts() ?? null;
    const input = toBegin(kept, givenTo(about), about.model.name);
    if (input === null) this.begin(about, {text: ''});
    else await this.run({...taken(about.model, input), ...about.steps && {model: modelOfLast(about.steps)}});
  }

  /** Whether a link names another model or text than those that are shown. */
  isElsewhere({model, text, second}: Selection): boolean {
    if (model === '' && text === '') return false;
    const {info} = this.showing;
    return !info || (model !== '' && model !== info.model)
      || (text !== '' && (text !== info.text || second !== (info.pair ?? info.target ?? '')));
  }

  /** Opens a link's text; without one, the shown text. */
  async follow(asked: Selection): Promise<void> {
    const shown = this.showing.info ?? this.transport.memory?.texts() ?? null;
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

  private name(about: About): void {
    if (about !== this.about) this.showing.name(this.about = about);
  }

  /** An empty page: what to type, or another model. */
  private begin(about: About, input: Input, why = ''): void {
    this.hasBegun = true;
    this.name(about);
    nothingYet(this.main, about, input, (typed) => void this.run(typed), this.models(() => input), why);
  }

  /** The list of models; the chosen one reads the typed text. */
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

  /** Opens a session; the old result is shown until the new one has loaded. */
  async run(input: Input, keep?: Keep): Promise<void> {
    const order = ++this.order;
    this.wanted = input;
    const late = setTimeout(() => this.notice.show(this.notice.isPassing, opening(input)), kQuietMilliseconds);
    try {
      const about = await this.aboutOf(input.model);
      const info = await open(this.requests, {...input, model: about.model.name}, this.inView(about), keep);
      if (order === this.order) this.take(about, info);
      else if (!isSameInput(input, this.wanted) && info.session !== this.showing.info?.session) void drop(this.requests, info);
    } catch (error) {
      if (order === this.order) this.fail(error as ApiError, input);
    } finally {
      clearTimeout(late);
    }
  }

  private take(about: About, info: SessionInfo): void {
    this.name(about);
    this.transport.memory?.keep({...inputOf(info), model: info.model, given: givenTo(about)});
    this.showing.take(info);
  }

  /** The default view without an address: for a model with two texts, the attention between them. */
  get usual(): Selection {
    const stacks = this.about?.model.stacks ?? [];
    const between = stacks.find(({stack}) => stack === 'cross')?.stack;
    const stack = (this.about?.stack ?? between) as Stack | undefined;
    const own = stacks.find((each) => each.stack === stack) ?? stacks[0];
    return {...kNothing, places: [{...stack && {stack}, layer: own ? layerNear(own, 0) : 0, head: 0}]};
  }

  /** An address without a head has the usual one until heed chooses. */
  read(address: string): Address { return parse(address, this.usual.places); }

  /** The place whose statistics should be computed first, in an existing layer. */
  private inView({model: {stacks}}: About): Place {
    const asked = (this.read(this.showing.address).selection ?? this.usual).places[0]!;
    const own = stacks.find(({stack}) => stack === asked.stack);
    return {...own && {stack: asked.stack!}, layer: layerNear(own ?? stacks[0]!, asked.layer), head: 0};
  }

  fail(error: ApiError, input: Input, isOfView = false): void {
    if (this.about?.picture) void deliverFailure(this.requests, error.message);
    const {info} = this.showing;
    if (!info && this.about && isEmpty(error)) {
      this.notice.clear();
      this.begin(this.about, input, 'The text is empty. Nothing was run.');
      return;
    }
    const remedies = {
      edit: () => this.edit(input),
      run: (other: Input) => void this.run(other),
      keep: (part: Keep) => void this.run(input, part),
      again: () => void this.connect(),
      restart: (this.about && this.transport.restart?.(this.about.model.name)) ?? 'heed serve',
      isOfView,
    };
    const isGone = error.code === 'unreachable';
    const shown = failure(error, this.about, remedies);
    if (info && !isOfView && !isGone) shown.append(html('p', {class: 'quiet'}, 'before the change'));
    if (this.about) this.notice.show(!isGone, shown);
    else this.main.replaceChildren(shown);
    clearTimeout(this.retry);
    // Opening a new run's printed address in another tab also revives this page, because tabs share the cookie.
    if (isGone || error.code === 'unauthorized') this.retry = setTimeout(() => void this.connect(), kRetryMilliseconds);
    if (!info && this.about) this.main.replaceChildren();
  }

  edit(input: Input = this.showing.info ?? {text: ''}): void {
    if (!this.showing.info) {
      this.notice.clear();
      this.begin(this.about!, input);
      return;
    }
    const field = textField(this.about!, input, (typed) => void this.run(typed), () => this.notice.clear());
    const offered = examples(this.about!, (typed) => void this.run(typed));
    const isEmptied = () => field.typed().text.trim() === '' && !this.about!.model.takes_target;
    offered.hidden = !isEmptied();
    field.element.addEventListener('input', () => { offered.hidden = !isEmptied(); });
    this.notice.show(false, field.element, offered, this.models(field.typed));
    field.focus();
  }
}
