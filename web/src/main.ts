// Starts the page: asks for the model, opens a session for the text, shows the view of the address.
import type {About, Keep, SessionInfo} from './api';
import {ApiError, SessionApi, about as askModel, open} from './api';
import {html} from './dom';
import type {Header} from './header';
import {makeHeader} from './header';
import {deliver, deliverFailure} from './export/deliver';
import {heldOf, isSaved, missing} from './held';
import type {Panel} from './panel';
import type {Selection} from './selection';
import {SelectionStore, fit, kNothing, misfit, noHead, parse} from './selection';
import {openSaved} from './snapshot/open';
import {failure, nothingYet, opening, textField} from './states';
import {lookView} from './views/look';

const kText = 'heed.text';
const kModel = 'heed.model';
const kRetryMilliseconds = 2000;
const kQuietMilliseconds = 200;  // nothing is said about what takes less

class Page {
  private readonly store = new SelectionStore();
  private readonly notice = html('div', {class: 'notice'});
  private readonly main = html('main', {});
  private header: Header | null = null;
  private about: About | null = null;
  private api: SessionApi | null = null;
  private view: Panel | null = null;
  private opening = 0;
  private isPassing = false;  // what the notice says ends with the next choice
  private seen = this.store.now;
  private wasFresh = false;
  private retry: ReturnType<typeof setTimeout> | undefined;

  async start(): Promise<void> {
    document.body.append(this.main);
    this.store.listen(() => this.moveOn());
    window.addEventListener('popstate', () => this.followAddress());  // an edited address fires it, too
    await this.connect();
  }

  private async connect(): Promise<void> {
    clearTimeout(this.retry);
    try {
      this.about = await askModel();
    } catch (error) {
      this.fail(error as ApiError, '');
      return;
    }
    if (!this.header) {
      this.header = makeHeader(this.about, this.store, () => this.edit());
      document.body.prepend(this.header.element, this.notice);
      this.header.show(null);
    }
    this.notice.replaceChildren();
    const kept = isSaved(this.about.model) || this.about.picture ? null : sessionStorage.getItem(kText);
    const text = kept ?? this.about.text;
    if (text === null) nothingYet(this.main, this.about, '', (typed) => void this.run(typed));
    else await this.run(text);
  }

  /** Opens a session; the old result stays until the new one is there. */
  private async run(text: string, keep?: Keep): Promise<void> {
    const order = ++this.opening;
    const layer = Math.min(parse(location.hash)?.selection.layer ?? 0, this.about!.model.layers - 1);
    const late = setTimeout(() => this.notice.replaceChildren(opening(text)), kQuietMilliseconds);
    try {
      const info = await open(text, layer, keep);
      if (order === this.opening) this.take(info);
    } catch (error) {
      if (order === this.opening) this.fail(error as ApiError, text);
    } finally {
      clearTimeout(late);
    }
  }

  private take(info: SessionInfo): void {
    if (!isSaved(this.about!.model)) {
      sessionStorage.setItem(kText, info.text);
      sessionStorage.setItem(kModel, info.model);
    }
    const isSameText = this.api?.info.text === info.text;
    this.show(new SessionApi(this.about!, info), this.api === null || isSameText);
  }

  private show(api: SessionApi, keepSelection: boolean): void {
    this.view?.destroy();
    this.api?.stop();
    this.notice.replaceChildren();
    this.main.replaceChildren();
    this.api = api;
    api.lost = (error) => this.lose(api, error);
    const address = parse(location.hash);
    const last = {...(address?.selection ?? kNothing), query: api.length - 1, key: null, range: null};
    const selection = keepSelection && address ? address.selection : last;
    this.place(this.fitted(api, selection, address?.wrong ?? noHead(location.hash)), !address);
    this.header!.show(api.info);
    this.view = lookView(this.main, this.store, api);
    if (this.about!.picture) void deliver(this.about!.picture, this.store, api);
  }

  /** What of the selection can be shown; says what is `wrong` with it, and what is not there. */
  private fitted(api: SessionApi, selection: Selection, wrong: string[]): Selection {
    const fitting = fit(selection, api.size);
    const lost = missing(api.model, fitting);
    const said = [...wrong, ...misfit(selection, api.size), ...(lost === null ? [] : [lost])];
    if (said.length > 0) this.remark(said.join(' '));
    if (lost === null) return fitting;
    const held = heldOf(api.model, fitting);
    if (held.length > 0) return {...fitting, heads: held};
    const layer = api.model.held!.findIndex((each) => each.length > 0);
    return {...fitting, layer, heads: [api.model.held![layer]![0]!]};
  }

  private remark(text: string): void {
    this.notice.replaceChildren(html('p', {class: 'quiet', role: 'alert'}, text));
    this.isPassing = true;
  }

  /** What was said of a choice goes with the next one, which the choice of a first head is not. */
  private moveOn(): void {
    if (this.store.now === this.seen) return;
    this.seen = this.store.now;
    const isFirst = this.wasFresh;
    this.wasFresh = this.store.isFresh;
    if (isFirst) return;
    if (this.isPassing) this.notice.replaceChildren();
    this.isPassing = false;
  }

  /** The server does not know the session any more: the same text again, in the same view. */
  private lose(api: SessionApi, error: ApiError): void {
    if (api !== this.api) return;
    if (error.code === 'unknown_session') void this.run(api.info.text);
    else this.fail(error, api.info.text);
  }

  private fail(error: ApiError, text: string): void {
    if (this.about?.picture) void deliverFailure(error.message);
    const remedies = {
      edit: () => this.edit(text),
      keep: (part: Keep) => void this.run(text, part),
      again: () => void this.connect(),
    };
    const shown = failure(error, this.about, remedies);
    if (this.view && error.code !== 'unreachable') shown.append(html('p', {class: 'quiet'}, 'before the change'));
    this.isPassing = error.code !== 'unreachable';
    if (this.about) this.notice.replaceChildren(shown);
    else this.main.replaceChildren(shown);
    clearTimeout(this.retry);
    if (error.code === 'unreachable') this.retry = setTimeout(() => void this.connect(), kRetryMilliseconds);
    if (!this.view && this.about) this.main.replaceChildren();
  }

  private edit(text = this.api?.info.text ?? ''): void {
    const leave = () => this.notice.replaceChildren();
    if (!this.view) {
      this.notice.replaceChildren();
      nothingYet(this.main, this.about!, text, (typed) => void this.run(typed));
      return;
    }
    const field = textField(this.about!, text, (typed) => void this.run(typed), leave);
    this.isPassing = false;
    this.notice.replaceChildren(field.element);
    field.focus();
  }

  private followAddress(): void {
    if (!this.api) return;
    if (this.isPassing) this.notice.replaceChildren();
    this.isPassing = false;
    const address = parse(location.hash);
    if (address) this.place(this.fitted(this.api, address.selection, address.wrong), false);
    else if (location.hash) this.remark(noHead(location.hash).join(' '));
  }

  /** A selection that came with the address: what was said of it stays. */
  private place(selection: Selection, fresh: boolean): void {
    const said = this.isPassing;
    this.isPassing = false;
    this.store.set(selection, {replace: true, fresh});
    this.isPassing = said;
  }
}

openSaved();
void new Page().start();
