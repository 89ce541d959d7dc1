// Heads: a scatter and a table of scores, with the evidence for the ranking; search by example, comparison.
import {choice, html} from '../drawing/dom';
import {count} from '../drawing/format';
import {HeadsCompare} from '../panels/heads_compare';
import {HeadsEvidence} from '../panels/heads_evidence';
import {PatternField} from '../panels/heads_pattern';
import {HeadsScatter} from '../panels/heads_scatter';
import {columnsOf, openHeads, sortName, valueOf, valueText} from '../panels/heads_scores';
import {HeadsTable, nextName} from '../panels/heads_table';
import {primary} from '../panels/panel';
import {isSaved} from '../heads/held';
import {fullName, kAdjusted} from '../heads/score_names';
import {headText} from '../selection/selection';
import {sideSwitch} from '../attention/sides';
import {headsOf} from '../heads/late';
import type {View} from './view';

export const heads: View = {
  name: 'heads',
  label: 'Heads',
  key: '7',
  differs: true,
  needs: () => true,
  parts: [],
  keys: [
    ['o', 'orders by the next score'],
    ['x y', 'another score on the axis'],
    ['/', 'looks for heads like an example, as in L1.H3, 1 back or 199>165'],
  ],
  footKeys: [['click', 'pins'], ['o', 'orders by'], ['x y', 'axes'], ['/', 'pattern']],
  draw: (container, page) => {
    const {store, api} = page;
    openHeads(page);
    const update = () => panels.forEach((panel) => panel.update());
    const pattern = new PatternField(page, () => update());
    const alike = () => pattern.alike;
    const scatter = new HeadsScatter(page, alike);
    const table = new HeadsTable(page, alike);
    const evidence = new HeadsEvidence(page, alike);
    const compare = new HeadsCompare(page);
    const form = choice('score', [{name: 'raw', label: 'raw'}, {name: 'adjusted', label: 'sink-adjusted'}] as const, (name) => store.set({form: name}));
    const on = choice('on', [{name: 'probe', label: 'random tokens'}, {name: 'text', label: 'this text'}] as const, (name) => store.set({on: name}));
    const label = (text: string, ...nodes: Node[]) => html('span', {class: 'heads-switch'}, html('span', {class: 'quiet'}, text), ...nodes);
    const stacks = page.side.split === null ? sideSwitch(page) : null;
    const late = html('div', {class: 'heads-late quiet', role: 'status'});
    const probe = html('span', {class: 'quiet'}, 'random tokens are given twice; an induction head looks from a token of the second half to the token that followed its first occurrence');
    const adjusted = html('p', {class: 'quiet heads-adjusted', hidden: true}, kAdjusted);
    const sources = html('div', {class: 'heads-sources', hidden: !page.side.isSquare}, label('induction and duplicate on', on.element), probe);
    container.classList.add('heads-view');
    container.append(
      html('div', {class: 'heads-left'}, scatter.element, evidence.element),
      html('div', {class: 'heads-right'}, html('div', {class: 'heads-switches'}, pattern.element,
        ...stacks ? [stacks.element] : [], label('score', form.element), label('compare with', compare.switches)), late, compare.element, adjusted, sources, table.element));
    const progress = () => {
      late.textContent = api.late.kinds.filter(({done}) => done > 0 || !isSaved(api.model)).map(({from, done, of}) => `${from === 'probe' ? 'random tokens' : 'run without it'}: ${done} of ${count(of, 'head')}`).join(', ');
    };
    const panels = [
      scatter, table, evidence, compare,
      {update: () => { form.show(store.now.form); on.show(store.now.on); probe.hidden = store.now.on === 'text'; adjusted.hidden = store.now.form !== 'adjusted'; stacks?.show(); progress(); }},
    ];
    return {
      keys: {
        o: () => store.set({sort: nextName(page, sortName(page, null))}),
        x: () => scatter.walk('x'), y: () => scatter.walk('y'), '/': () => pattern.focus(),
      },
      said: () => {  // the shares, as many as fit: the table has all scores
        const place = {...store.hover.place ?? primary(store.now), stack: headsOf(page)[0]!.stack!};
        const values = columnsOf(page, alike()).filter(({unit, name}) => unit === 'share' && name !== 'normalised_entropy').map((column) => `${fullName(column.name)} ${valueText(column, valueOf(page, place, column, alike()))}`);
        return [html('b', {class: 'accent'}, headText(place)), document.createTextNode(` ${values.join(' \u00b7 ')}`)];
      },
      update,
      destroy: () => {
        container.classList.remove('heads-view');
        [scatter, table, evidence, compare].forEach((panel) => panel.destroy());
      },
    };
  },
};
