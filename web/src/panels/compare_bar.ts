// Above the view: the compared sides, the largest changes, and which side is drawn.
import type {ChangedHead, Changes, Words} from '../answers';
import type {Comparison} from '../selection/comparison';
import {noDifference, ownName} from '../selection/comparison';
import {css, diverging} from '../drawing/colour';
import {latest, Slot} from '../data/slot';
import {button, choice, html, say} from '../drawing/dom';
import {count, fixed, nats, shortWeight, weight} from '../drawing/format';
import {isSaved} from '../heads/held';
import {chanceIn, kCompared} from './next';
import type {Page, Panel} from './panel';
import {primary} from './panel';
import type {Place, Selection, Show} from '../selection/selection';
import {headText, kShows, nameOf} from '../selection/selection';
import type {Next} from '../transport/api';
import {tokenOfB} from '../transport/difference';
import {readVersus} from '../selection/versus';
import {viewOf} from '../views/list';
import {CompareForm, group, link} from './compare_form';
import {kWithout} from './guide_steps';
import {kPaleText} from './matrix_scale';
import {wordsStack} from './words_page';
import {saidWord} from './word';

const kWords = 3;      // next words shown briefly
const kHeads = 6;      // most changed heads
const kLayers = 4;
const kOfOneHead: string[] = ['look', 'matrix'];  // views that are empty if their head does not change
const kLeast = 0.0005;  // smaller changes are shown as none

/** The key `c`: from A to B to their difference. */
export function showAfter({show}: Selection): Show { return kShows[(kShows.indexOf(show) + 1) % kShows.length]!; }

/** From the largest excess of B to the largest excess of A. */
function ramp(): HTMLCanvasElement {
  const canvas = html('canvas', {class: 'compare-ramp', width: 65, height: 1, role: 'img', 'aria-label': 'orange: B has more, blue: A has more'});
  const context = canvas.getContext('2d')!;
  for (let x = 0; x < 65; ++x) {
    context.fillStyle = css(diverging((x - 32) / 32));
    context.fillRect(x, 0, 1, 1);
  }
  return canvas;
}

function isAt(one: Pick<Place, 'layer' | 'head'>, other: Pick<Place, 'layer' | 'head'>): boolean { return one.layer === other.layer && one.head === other.head; }

/** Why the map of a head is the same on both sides, or nearly. */
function sameText(own: ChangedHead, ablated: ChangedHead | undefined): string {
  const map = `The map of ${headText(own)} is`;
  if (own === ablated) return `${map} the same in A and B: ablating a head zeroes what it writes, and its weights do not depend on that.`;
  return own.change === 0 ? `${map} the same in A and B: nothing that it reads is changed by the edit.`
    : `${map} nearly the same in A and B: less than .001 of a row\u2019s weight moves.`;
}

/** The mean change of each layer's heads, the most changed layer first. */
function layersOf(heads: ChangedHead[]): {layer: number; change: number}[] {
  const layers = new Map<number, number[]>();
  for (const {layer, change} of heads) layers.set(layer, [...layers.get(layer) ?? [], change]);
  return [...layers].map(([layer, all]) => ({layer, change: all.reduce((sum, each) => sum + each, 0) / all.length}))
    .sort((a, b) => b.change - a.change);
}

export class CompareBar implements Panel {
  private readonly about = html('span', {class: 'compare-about'});
  private readonly loss = html('span', {class: 'quiet compare-loss'});
  private readonly words = html('span', {class: 'quiet compare-words'});
  private readonly sides = choice('Shown', kShows.map((name) => ({name, label: name.replace('-', ' \u2212 ')})), (show) => this.page.store.set({show}, {replace: true}));
  private readonly legend = html('span', {class: 'compare-legend quiet'}, 'B more', ramp(), `A more, ${kPaleText}`);
  private readonly form: CompareForm;
  private readonly line = html('div', {class: 'compare-line'});
  private readonly changed = html('div', {class: 'compare-line compare-changes'});
  private readonly same = html('p', {class: 'compare-same'});
  private readonly slots: Slot<Next>[];
  private readonly losses: Slot<Words>[];
  private readonly changes = new Slot<Changes>('compare-changes', () => this.update());
  private shownChanges: unknown[] = [];

  constructor(private readonly container: HTMLElement, private readonly page: Page, private readonly comparison: Comparison) {
    this.slots = ['compare-next-a', 'compare-next-b'].map((lane) => new Slot<Next>(lane, () => this.update()));
    this.losses = ['compare-loss-a', 'compare-loss-b'].map((lane) => new Slot<Words>(lane, () => this.update()));
    this.form = new CompareForm(page);
    const close = button({class: 'link', 'aria-label': 'end the comparison', 'data-unsaved': true}, () => this.close(), 'end, Esc');
    this.line.append(this.about, this.sides.element, this.legend, this.loss, this.words, close);
    container.append(this.line, this.changed, this.same, this.form.element);
    this.update();
  }

  destroy(): void { [...this.slots, ...this.losses, this.changes].forEach((slot) => slot.stop()); }

  /** The form outlives a drawing of the session, and closes with the choice of another comparison. */
  private get isOpen(): boolean { return this.comparison.formAt === this.page.store.now.versus; }

  get isShown(): boolean { return this.isOpen || this.page.store.now.versus !== ''; }

  toggle(): void {
    this.comparison.formAt = this.isOpen ? null : this.page.store.now.versus;
    this.update();
    if (this.isOpen) this.form.element.querySelector<HTMLElement>('button, input')?.focus();
    this.page.store.set({}, {replace: true, fresh: this.page.store.isFresh});  // the parts below it make room
  }

  /** Back to A alone. */
  close(): void {
    this.comparison.formAt = null;
    const {before} = this.comparison;
    if (this.page.store.now.versus !== '') this.page.store.set({...before?.to === nameOf(primary(this.page.store.now)) && before.selection, versus: '', show: 'A-B'});
    else this.page.store.set({}, {replace: true, fresh: this.page.store.isFresh});
  }

  update(): void {
    const {store: {now}} = this.page;
    if (!this.isOpen) this.comparison.formAt = null;
    this.container.hidden = !this.isShown;
    if (!this.isShown) return;
    this.line.hidden = now.versus === '';
    this.form.element.hidden = !this.isOpen;
    if (this.isOpen) this.form.update();
    this.sayChanges();
    if (now.versus === '') return;
    const {compared, error, isWorking, name} = this.comparison;
    this.sides.element.hidden = error !== '';
    this.sides.show(!compared ? 'A' : compared.unlike !== '' && now.show === 'A-B' ? 'A' : now.show);
    this.legend.hidden = !this.page.api.isDifference || !viewOf(now.view).differs;
    say(this.about, error !== '' ? `Not compared: ${error}` : `A: ${this.ownName} \u00b7 B: ${name}${isWorking ? ', which is read\u2026' : ''}${this.remark}`);
    this.sayLoss();
    this.sayWords();
  }

  private get ownName(): string {
    const {layer, head} = primary(this.page.store.now);
    const {compared} = this.comparison;
    return compared && compared.a === compared.b ? `head ${headText({layer, head})}` : ownName(compared);
  }

  private get remark(): string {
    const {store: {now}, api} = this.page;
    const {compared} = this.comparison;
    if (compared && compared.unlike !== '') return `. ${noDifference(compared).slice(0, -1)}`;
    if (compared?.alignment?.said) return `. ${compared.alignment.said}`;
    return api.isDifference && !viewOf(now.view).differs ? '. This view shows A; B alone shows B' : '';
  }

  /** Its effect on the loss, formatted as in Heads. */
  private sayLoss(): void {
    const {compared} = this.comparison;
    const can = compared && compared.a !== compared.b && compared.unlike === '' && compared.a.hasWeights && viewOf('words').needs(compared.a.model) && !isSaved(compared.b.model);
    const ask = (api: Page['api']) => api.ask<Words>(`${wordsStack({api})}/words`);
    const [a, b] = this.losses.map((slot, at) => latest(slot.show(can ? ask(at === 0 ? compared.a : compared.b) : null)));
    if (!a || !b) return say(this.loss, '');
    say(this.loss, `loss ${nats(b.nats - a.nats)} nats per token (${fixed(a.nats, 3)} \u2192 ${fixed(b.nats, 3)})`);
  }

  /** Its effect on the next word. */
  private sayWords(): void {
    const {compared} = this.comparison;
    const {side, store} = this.page;
    const position = (side.isSquare ? store.now.query : store.pinnedQuery) ?? side.queries.length - 1;
    const can = compared && compared.a !== compared.b && compared.unlike === '' && side.isWritten && compared.a.hasWeights;
    const [a, b] = this.slots.map((slot, at) => latest(slot.show(can ? at === 0 ? compared.a.next(position, kCompared) : compared.b.next(tokenOfB(compared, position), kCompared) : null)));
    if (!a || !b) return say(this.words, '');
    const parts = a.words.slice(0, kWords).map(({id, text, probability}) => `\u201c${saidWord(text, side.queries)}\u201d ${weight(probability)} \u2192 ${chanceIn(b, id).written}`);
    say(this.words, `next: ${parts.join(', ')}`);
  }

  /** Which heads and layers differ most, and why the head in view may not. */
  private sayChanges(): void {
    const {compared} = this.comparison;
    const {side, store} = this.page;
    const can = store.now.versus !== '' && compared && compared.a !== compared.b && compared.unlike === '' && !isSaved(compared.b.model);
    const all = latest(this.changes.show(can ? compared.b.ask<Changes>(`${side.stack}/changes?from=${compared.a.info.session}`) : null));
    this.changed.hidden = this.same.hidden = all === null;
    if (all === null) return;
    const place = primary(store.now);
    if (this.shownChanges[0] === all && this.shownChanges[1] === nameOf(place)) return;
    this.shownChanges = [all, nameOf(place)];
    this.drawChanges(all, place);
    this.drawSame(all, place);
  }

  private go({layer, head}: Pick<Place, 'layer' | 'head'>, replace = false): void {
    const {stack} = primary(this.page.store.now);
    this.page.store.set({places: [{...stack && {stack}, layer, head}]}, {replace});
  }

  private drawChanges({heads, rows}: Changes, place: Place): void {
    const option = (label: string, change: number, to: ChangedHead, isHere: boolean) =>
      button({class: 'option', 'aria-pressed': String(isHere), 'data-change': change}, () => this.go(to), `${label} `, html('b', {}, shortWeight(change)));
    const most = heads.filter(({change}) => change >= kLeast);
    const layers = layersOf(heads).filter(({change}) => change >= kLeast);
    this.changed.title = `the share of a row\u2019s weight that moves to other keys, mean of ${count(rows, 'row')}`;
    this.changed.replaceChildren(...most.length === 0 ? [html('span', {class: 'quiet'}, 'no head\u2019s weights change')] : [
      group('changed most, share of a row: heads', ...most.slice(0, kHeads).map((each) => option(headText(each), each.change, each, isAt(each, place)))),
      group('layers', ...layers.slice(0, kLayers).map(({layer, change}) => option(`L${layer}`, change, most.find((each) => each.layer === layer)!, layer === place.layer)))]);
  }

  /** Why a head's map is the same on both sides, and the link to the changes, or back. */
  private drawSame({heads}: Changes, place: Place): void {
    const own = heads.find((each) => isAt(each, place));
    const ablated = this.ablated(heads, place);
    const first = heads[0] && heads[0].change >= kLeast ? heads[0] : null;
    const isSame = own !== undefined && own.change < kLeast;
    if (first && isSame && ablated === own && this.isToMove && kOfOneHead.includes(this.page.store.now.view)) {
      const {places, query, key, range} = this.page.store.chosen;
      this.comparison.isNew = false;
      this.comparison.before = {to: nameOf({...primary(this.page.store.now), layer: first.layer, head: first.head}), selection: {places, query, key, range}};
      return this.go(first, true);
    }
    const shown = isSame ? own : first && isAt(first, place) ? ablated : undefined;
    const to = isSame ? first : shown;
    this.same.replaceChildren(shown ? sameText(shown, ablated) : '',
      ...shown && to ? [' ', link(isSame ? `${headText(to)} changes most` : `show ${headText(to)}`, () => this.go(to))] : []);
  }

  /** Whether the page goes on to the head that changes most: once after an edit, and in the guided look's step without the head. */
  private get isToMove(): boolean { return this.comparison.isNew || (this.page.store.chosen.guide === kWithout && this.comparison.before === null); }

  /** The head that the edit ablates: the one in view before others. */
  private ablated(heads: ChangedHead[], place: Place): ChangedHead | undefined {
    const versus = readVersus(this.page.store.now.versus);
    const edits = versus?.kind === 'edits' ? versus.edits as {ablate?: Place[]} : {};
    const all = heads.filter((each) => edits.ablate?.some((one) => isAt(each, one) && (one.stack ?? each.stack) === each.stack));
    return all.find((each) => isAt(each, place)) ?? all[0];
  }
}
