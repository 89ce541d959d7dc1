// The evidence for the pinned head's ranking score: weight by distance compared with the runner-up's, every row, the worst
// three.
import type {Evidence} from '../answers';
import {latest, Slot} from '../data/slot';
import {html, svg} from '../drawing/dom';
import {shortWeight, weight} from '../drawing/format';
import type {Page, Panel} from './panel';
import {primary} from './panel';
import {fullName, plainName, sourceOf} from '../heads/score_names';
import {headText} from '../selection/selection';
import {isolated, plain} from '../text/tokens';
import type {Alike, Column} from './heads_scores';
import {headsOf} from '../heads/late';
import {columnOf, isKnown, isNumber, ranked, sortName, valueOf, valueText} from './heads_scores';

const kProfileHeight = 78;
const kRowsHeight = 52;
const kLine = 16;      // px of a number, and to the bar under it
const kNumbers = 170;  // px for the head's own number and the runner-up's

export class HeadsEvidence implements Panel {
  readonly element = html('section', {class: 'heads-evidence', 'aria-label': 'Evidence'});
  private readonly slot = new Slot<Evidence>('evidence', () => this.update());
  private drawn = '';

  constructor(private readonly page: Page, private readonly alike: () => Alike | null) {}

  destroy(): void { this.slot.stop(); }

  update(): void {
    const {page} = this;
    const column = columnOf(page, sortName(page, null), null)!;
    const place = primary(page.store.now);
    const own = {...place, stack: headsOf(page)[0]!.stack!};
    const value = valueOf(page, own, column, this.alike());
    const others = ranked(page, column, null).filter((each) => isNumber(each.value));
    const runner = others.find((each) => headText(each.place) !== headText(place));
    const isWhole = isKnown(page, column);
    const isAsked = page.api.hasWeights && isNumber(value);
    const data = this.slot.show(isAsked ? page.api.evidence(place, isWhole ? column.name : 'current', page.store.now.form, runner?.place ?? null) : null);
    const found = latest(data);
    const state = [headText(place), column.name, value, runner?.value, data?.state, found?.score, found?.head, found?.layer, page.store.now.form].join(' ');
    if (state === this.drawn) return;
    this.drawn = state;
    const heading = html('div', {class: 'heading'}, html('h2', {}, 'Evidence'),
      html('span', {class: 'quiet'}, `head ${headText(place)}, ${fullName(column.name)}`));
    this.element.replaceChildren(heading);
    if (Number.isNaN(value)) this.element.append(html('p', {class: 'quiet'}, 'some of the head\u2019s weights are NaN, and so is the score'));
    if (data?.state === 'error') this.element.append(html('p', {class: 'quiet'}, data.error.message));
    const role = runner === others[0] ? 'first head' : 'runner-up';  // the pinned head itself may be ranked after it
    const beside = runner ? {role, name: headText(runner.place), value: valueText(column, runner.value)} : null;
    const short = isNumber(value) && beside ? html('p', {class: 'quiet'}, `${valueText(column, value)}; the ${beside.role} is ${beside.name}, ${beside.value}`) : '';
    if (!found || !isNumber(value)) return;
    if (isWhole && found.first_of_row !== undefined && found.counted > 0) heading.append(html('span', {class: 'quiet first-of-row'}, `first of its row at ${found.first_of_row} of ${found.counted}`));
    if (found.profile.length > 0 && page.side.isSquare) this.element.append(...this.profile(found, column, beside));
    else this.element.append(short);
    if (isWhole) this.element.append(...this.rows(found, column, value), ...found.worst.length > 0 ? [this.worst(found, column)] : []);
  }

  private get width(): number { return this.element.clientWidth || 445; }

  private profile(found: Evidence, column: Column, runner: {role: string; name: string; value: string} | null): Node[] {
    const {profile_begin: begin, runner_up: other} = found;
    const profile = column.from === 'probe' ? found.profile : found.profile.slice(0, Math.max(1, this.page.side.keys.length - begin));  // no token of the text is further back
    const pitch = this.width / profile.length;
    const most = Math.max(...profile, ...other?.profile.slice(0, profile.length) ?? [], 1e-6);
    const tall = (value: number) => kProfileHeight * Math.min(1, value / most);
    const own = {previous: 1, current: 0, in_order: 0, probe_induction: begin + 8, probe_duplicate: begin + 8}[column.name];
    const base = kProfileHeight + 16;
    const parts = profile.flatMap((value, at) => {
      const isOwn = begin + at === own;
      const x = at * pitch;
      const top = base - tall(value);
      const tick = other ? base - tall(other.profile[at]!) : base;
      const under = tick < top && tick > top - kLine ? tick : top;  // the number stands over both where the tick would run through it
      return [
        svg('rect', {x, y: top, width: pitch - 4, height: Math.max(1, tall(value)), class: isOwn ? 'own' : ''}),
        other ? svg('path', {d: `M${x - 2} ${tick}h${pitch}`, class: 'runner'}) : null,
        value >= 0.05 && !isOwn ? svg('text', {x: x + pitch / 2 - 2, y: under - 4, 'text-anchor': 'middle'}, shortWeight(value)) : null,
        svg('text', {x: x + pitch / 2 - 2, y: base + 14, 'text-anchor': 'middle', class: isOwn ? 'own' : ''}, String(begin + at)),
      ].filter((each) => each !== null);
    });
    const ownAt = own === undefined ? 0 : own - begin;
    let isBeside = false;  // whether the runner-up's value is written beside the bar
    if (own !== undefined) {
      // Beside its bar, above the numbers of the following bars.
      const besides = profile.slice(ownAt + 1, ownAt + 1 + Math.ceil(kNumbers / pitch)).map((value, at) => Math.max(value, other?.profile[ownAt + 1 + at] ?? 0));
      const free = base - tall(Math.max(0, ...besides)) - (besides.some((value) => value >= 0.05) ? 18 : 4);
      const top = base - tall(profile[ownAt]!);
      const y = Math.min(top + 8, free);
      const hasRoom = y >= 10;
      parts.push(svg('text', hasRoom ? {x: (ownAt + 1) * pitch, y, class: 'own'} : {x: (ownAt + 0.5) * pitch - 2, y: base - Math.max(tall(profile[ownAt]!), tall(other?.profile[ownAt] ?? 0)) - 4, 'text-anchor': 'middle', class: 'own'}, shortWeight(profile[ownAt]!)));
      isBeside = begin === 0 && hasRoom;
      if (isBeside && runner) parts.push(svg('text', {x: (ownAt + 1) * pitch + 30, y, class: 'tick'}, `${runner.role} ${runner.name} ${runner.value}`));
    }
    const said = `mean weight by tokens back${runner ? `; the ${other ? `tick is the ${runner.role},` : `${runner.role} is`} ${runner.name}${isBeside ? '' : `, ${runner.value}`}` : ''}`;
    const label = `weight at ${begin} to ${begin + 3} tokens back: ${profile.slice(0, 4).map(shortWeight).join(' ')}`;
    return [html('p', {class: 'quiet'}, said), svg('svg', {class: 'evidence-profile', width: this.width, height: base + 20, role: 'img', 'aria-label': label}, ...parts)];
  }

  /** One column per row; if there are many, the mean of those that share a pixel. */
  private rows({rows, first_row: first, counted}: Evidence, column: Column, value: number): Node[] {
    const known = rows.flatMap((each, at) => each === null ? [] : [{each, at}]);
    if (known.length === 0) return [];
    const size = Math.ceil(known.length / this.width);
    const bins = Array.from({length: Math.ceil(known.length / size)}, (_, bin) => {
      const some = known.slice(bin * size, (bin + 1) * size);
      return some.reduce((sum, {each}) => sum + each, 0) / some.length;
    });
    const low = Math.min(0, ...bins);
    const high = column.unit === 'share' ? 1 : Math.max(...bins, value, 1e-9);
    const y = (each: number) => kRowsHeight * (1 - (each - low) / (high - low));
    const pitch = this.width / bins.length;
    const bars = bins.map((each, at) => `M${((at + 0.5) * pitch).toFixed(1)} ${y(0).toFixed(1)}V${y(each).toFixed(1)}`).join('');
    const last = first + known.at(-1)!.at;
    const begin = first + known[0]!.at;
    const what = counted === known.length ? `each of the ${counted} tokens` : `each of the ${known.length} tokens of the second half, the mean of ${counted / known.length} sequences`;
    const said = `at ${what}; the line is the mean of all, ${valueText(column, value)}`;
    return [html('p', {class: 'quiet'}, said), svg('svg', {class: 'evidence-rows', width: this.width, height: kRowsHeight + 16, role: 'img', 'aria-label': said},
      svg('path', {d: bars, 'stroke-width': Math.max(0.6, pitch * 0.7)}), svg('path', {d: `M0 ${y(value)}H${this.width}`, class: 'mean'}),
      svg('text', {x: 0, y: kRowsHeight + 13, class: 'tick'}, String(begin)), svg('text', {x: this.width, y: kRowsHeight + 13, 'text-anchor': 'end', class: 'tick'}, String(last)))];
  }

  private worst({worst, score, of_keys: isOfKeys}: Evidence, column: Column): HTMLElement {
    const {side, store} = this.page;
    const isOfText = column.from !== 'probe';
    const before: Record<string, string> = {previous: 'before it', current: 'itself', sink: 'first', next: 'after it'};
    const lines = worst.map(({row, value, key, weight: most}) => {
      const query = (isOfKeys ? side.keys : side.queries)[row];
      const where = isOfText && query ? html('span', {}, html('b', {}, isolated(plain(query))), ' ', html('span', {class: 'index'}, String(row))) : html('span', {}, `token ${row}`);
      const what = key === undefined ? null : key === row && side.isSquare ? html('span', {}, 'itself')
        : html('span', {}, isolated(plain(side.keys[key]!)), ' ', html('span', {class: 'index'}, String(key)));
      const line = html('li', {}, where, what ?? html('span', {}), html('span', {class: 'value'}, key === undefined ? '' : weight(most ?? 0)),
        html('span', {class: 'value'}, html('span', {class: 'quiet'}, column.from === 'run' ? 'loss ' : `${before[score] ?? (sourceOf(score) === '' ? column.short : plainName(score))} `), column.unit === 'share' ? weight(value) : valueText(column, value)));
      if (isOfText && key !== undefined) line.addEventListener('click', () => store.set({query: row, key}));
      return line;
    });
    const said = isOfKeys ? 'Source tokens that receive least' : column.from === 'run' ? 'Rows with the largest increase in loss' : column.from === 'probe' ? 'Tokens of the second half that fit least'
      : column.threshold !== undefined || before[score] !== undefined ? 'Rows that fit least, each with the key it attends to most' : 'Rows with the largest value, each with the key it attends to most';
    return html('div', {class: 'heads-worst'}, html('span', {class: 'quiet'}, said), html('ol', {}, ...lines));
  }
}
