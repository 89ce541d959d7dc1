// Above the grid: the number of heads, the order, the filter, the legend.
import {choice, html, menu, say} from '../drawing/dom';
import type {FilterError} from '../heads/head_filter';
import type {Page} from './panel';
import {fullName} from '../heads/score_names';
import {kNothing} from '../selection/selection';
import type {Cut} from '../transport/atlas';
import {filterOf} from './grid_scores';
import {isOfSide} from './heads_scores';
import {legendRamp} from './read_out';

const kUsual = ['image', 'previous', 'current', 'sink', 'induction', 'distance', 'entropy'];  // side by side

export class GridHeading {
  readonly element = html('div', {class: 'heading grid-heading'});
  private readonly title = html('h2', {});
  private readonly field = html('input', {
    class: 'grid-filter', type: 'text', spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off', maxlength: 200,
    placeholder: 'previous>0.2 layer 0-2', 'aria-label': 'Filter of heads', 'aria-describedby': 'grid-count',
  });
  private readonly written = html('span', {class: 'grid-filter-written'});  // the same in a saved picture
  private readonly count = html('span', {class: 'quiet grid-count', id: 'grid-count', role: 'status'});
  private readonly block = html('span', {class: 'quiet'});
  private readonly sorts: ReturnType<typeof choice<string>>;
  private readonly others: {name: string; label: string; about: string}[];  // scores in a menu
  private readonly otherSort = html('span', {});
  private sorted: string | null = null;
  private wrong: FilterError | null = null;

  constructor(private readonly page: Page, leave: () => void) {
    const {api, store} = page;
    const scores = api.about.scores.filter(({name}) => isOfSide(page, name));
    const usual = [...kUsual.flatMap((name) => scores.filter((score) => score.name === name)), {name: kNothing.sort, about: 'as they are numbered'}];
    this.sorts = choice('Sort', usual.map(({name}) => ({name, label: fullName(name)})), (sort) => this.sort(sort));
    for (const [at, {about}] of usual.entries()) this.sorts.element.children[at]!.setAttribute('title', about);
    this.others = scores.filter((score) => !usual.some(({name}) => name === score.name)).map(({name, about}) => ({name, about, label: fullName(name)}));
    this.field.value = store.now.filter;
    this.field.addEventListener('input', () => this.read());
    this.field.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' && event.key !== 'Escape') return;
      event.preventDefault();
      event.stopPropagation();
      leave();
    });
    this.field.addEventListener('blur', () => this.show(null));
    this.element.append(this.title,
      html('div', {class: 'grid-sort'}, html('span', {class: 'quiet'}, 'each layer sorted by'), this.sorts.element, this.otherSort),
      html('label', {class: 'grid-filter-line'}, html('span', {class: 'quiet'}, '/ filter'), this.field, this.written), this.count,
      html('span', {class: 'grid-legend'}, html('span', {class: 'quiet'}, api.isDifference ? 'A \u2212 B' : 'weight'), legendRamp('grid-ramp', api), this.block));
  }

  focus(): void {
    this.field.focus();
    this.field.select();
  }

  private sort(sort: string): void { this.page.store.set({sort}, {replace: true}); }

  private showOthers(sort: string): void {
    if (sort === this.sorted || this.others.length === 0) return;
    this.sorted = sort;
    const chosen = this.others.some(({name}) => name === sort) ? sort : '';
    this.otherSort.replaceChildren(menu('Sort by another score', this.others, chosen, (name) => this.sort(name), 'other'));
  }

  /** The filter is the last typed text that parses. */
  private read(): void {
    const text = this.field.value.replace(/ +/g, ' ').trim();
    const read = filterOf(this.page, this.field.value);
    this.wrong = 'error' in read ? read.error : null;
    if (!this.wrong) this.page.store.set({filter: text}, {replace: true});
    else this.show(null);
  }

  /** `passed`: the heads that pass the filter; null: as before. */
  show(passed: {count: number; of: number} | null, cut?: Cut): void {
    const {side, store: {now}} = this.page;
    say(this.title, `All ${(side.numbers.length * side.heads).toLocaleString('en')} heads`);
    this.sorts.show(now.sort);
    this.showOthers(now.sort);
    if (document.activeElement !== this.field && !this.wrong) this.field.value = now.filter;
    say(this.written, now.filter);
    this.field.setAttribute('aria-invalid', String(this.wrong !== null));
    this.count.classList.toggle('wrong', this.wrong !== null);
    if (this.wrong) say(this.count, `\u201c${this.field.value.trim()}\u201d: ${this.wrong.found} at character ${this.wrong.at}: expected ${this.wrong.expected}`);
    else if (passed) say(this.count, now.filter === '' ? '' : `${passed.count.toLocaleString('en')} of ${passed.of.toLocaleString('en')}`);
    const range = this.page.api.isDifference ? '\u22121 to 1' : '.001 to 1';
    if (cut) say(this.block, cut.block === 1 ? range : `${range}, largest of ${cut.block} \u00d7 ${cut.block}`);
  }
}
