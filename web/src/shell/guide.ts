// The guided tour: one or two lines above the view that explain it with its own numbers, and lead to the next step.
import {Slot, valueOf} from '../data/slot';
import {button, html, say} from '../drawing/dom';
import type {Page, Panel} from '../panels/panel';
import type {Step} from '../panels/guide_steps';
import {headOf, stepsOf} from '../panels/guide_steps';
import {ChosenCell} from '../panels/why_cell';
import {Block} from '../panels/why_parts';
import type {Selection} from '../selection/selection';
import {kNothing} from '../selection/selection';
import {lastWord} from '../attention/side';
import type {SelectionStore} from '../selection/store';

/** State kept between views: the reader's place before the tour, if it was begun here, and whether the tour has the focus. */
interface Kept { before?: Selection; text: string; hasFocus: boolean }

const kKept = new WeakMap<SelectionStore, Kept>();

export class Guide implements Panel {
  readonly element = html('section', {class: 'guide', 'aria-label': 'Guided look'});
  private readonly count = html('span', {class: 'quiet guide-count'});
  private readonly text = html('p', {'aria-live': 'polite'});
  private readonly block = new Block(this.text);
  private readonly back = button({class: 'link'}, () => this.go(-1), 'back');
  private readonly forward = button({class: 'link', 'aria-keyshortcuts': 'g'}, () => this.go(1), 'next');
  private readonly end = button({class: 'link', 'aria-keyshortcuts': 'Escape'}, () => this.leave(), 'end, Esc');
  private readonly cell: ChosenCell;
  private readonly slots = new Map<string, Slot<unknown>>();

  constructor(private readonly page: Page) {
    this.cell = new ChosenCell(page, () => this.update());
    this.element.append(this.count, this.text, html('span', {class: 'guide-steps', 'data-unsaved': true}, this.back, this.forward, this.end));
  }

  private get kept(): Kept {
    const {store, api: {info: {text}}} = this.page;
    const known = kKept.get(store);
    if (known?.text === text) return known;
    const fresh = {text, hasFocus: known?.hasFocus ?? false};
    kKept.set(store, fresh);
    return fresh;
  }

  get isOn(): boolean { return this.page.store.chosen.guide !== 0; }

  destroy(): void {
    this.kept.hasFocus ||= this.element.contains(document.activeElement);
    this.cell.stop();
    for (const slot of this.slots.values()) slot.stop();
  }

  /** Begins at the first step. */
  begin(): void {
    if (!this.isOn) this.kept.before = this.page.store.chosen;
    this.kept.hasFocus = true;
    this.show(this.steps[0]!);
  }

  /** The next step; after the last one, the end. */
  next(): void {
    if (this.isOn) this.go(1);
    else this.begin();
  }

  leave(): void {
    const {before} = this.kept;
    kKept.delete(this.page.store);
    this.set(before ?? {guide: 0, versus: ''});
  }

  private get steps(): Step[] {
    const {api} = this.page;
    const all = stepsOf(this.page, this.cell.now());
    return api.model.runs ? all : all.filter((step) => step.number < 3 || step.ask()?.every((_, at) => this.answer(step, at) !== null));  // a file knows what it was saved with
  }

  /** The shown step: the address's, or the last existing one before it. */
  private at(steps: Step[]): number { return Math.max(0, steps.filter(({number}) => number <= this.page.store.chosen.guide).length - 1); }

  private go(by: 1 | -1): void {
    const {steps} = this;
    const step = steps[this.at(steps) + by];
    if (step) this.show(step);
    else if (by === 1) this.leave();
  }

  private show({number, view, change}: Step): void {
    const {store, side} = this.page;
    const query = store.pinnedQuery;
    this.set({
      ...kNothing, scores: store.chosen.scores, places: [headOf(store.chosen)], query: query ?? lastWord(side), key: query === null ? null : store.pinnedKey,
      view, guide: number, ...change,
    });
  }

  /** One step for Back; settings that do not change keep their origin (reader or heed). */
  private set(to: Partial<Selection>): void {
    const {store} = this.page;
    const isOther = ([name, value]: [string, unknown]) => JSON.stringify(value) !== JSON.stringify(store.chosen[name as keyof Selection]);
    store.set(Object.fromEntries(Object.entries(to).filter(isOther)), {replace: false});
  }

  private answer(step: Step, at: number): unknown {
    const lane = `guide-${step.number}-${at}`;
    const slot = this.slots.get(lane) ?? new Slot(lane, () => this.update());
    this.slots.set(lane, slot);
    return valueOf(slot.show(step.ask()![at]!));
  }

  update(): void {
    const {isOn, page: {api}, kept} = this;
    this.element.hidden = !isOn;
    if (!isOn) {
      kept.hasFocus = false;
      return;
    }
    const {steps} = this;
    const at = this.at(steps);
    const step = steps[at]!;
    say(this.count, `${at + 1} of ${steps.length}`);
    const answers = step.ask()?.map((_, which) => this.answer(step, which)) ?? [null];
    const said = answers.includes(null) || !api.hasWeights ? null : step.say(...answers as never[]);
    const written = said?.map((each) => typeof each === 'string' ? each : each.textContent).join('') ?? null;
    this.block.show([step.number, step.lead, written], () => [html('b', {class: 'guide-title'}, step.title), html('span', {}, ` ${step.lead} `, ...said ?? ['\u2026'])]);
    this.back.disabled = at === 0;
    const isLast = at === steps.length - 1;
    this.forward.hidden = isLast;
    if (!kept.hasFocus) return;
    kept.hasFocus = false;
    (isLast ? this.end : this.forward).focus({preventScroll: true});
  }
}
