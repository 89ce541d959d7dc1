// The score of a cell as a sum, and its row.
import type {Why} from '../answers';
import {button, html} from '../drawing/dom';
import {count, scored, signed, weight} from '../drawing/format';
import type {Page} from './panel';
import {gapBefore, isolated, plain} from '../text/tokens';
import {others} from './key_column';
import {bar, heading, note, quiet, residual, row} from './why_parts';

const kAbout: Record<string, string> = {
  'position': 'rotated by', 'soft cap': 'cap \u00b7 tanh(score / cap)', 'bias': 'by distance, learned', 'slope': 'by distance',
};

/** `\u221a8`, or the number that the model has. */
export function scaleName({scale}: Pick<Why, 'scale'>): string {
  const root = 1 / scale ** 2;
  return Math.abs(root - Math.round(root)) < 1e-3 * root ? `/ \u221a${Math.round(root)}` : `\u00d7 ${scored(scale, 3)}`;
}

export function sumBlock(why: Why): Node[] {
  const rows = why.sum.terms.map(({name, value}, at) => {
    const turned = why.bands.length > 0;
    const back = Math.abs(why.query - why.key);
    const about = name === 'content' ? `q\u00b7k ${why.scale === 1 ? '' : scaleName(why)}${turned ? ' without rotation' : ''}`
      : name === 'position' ? `${kAbout[name]} ${count(back, 'token')}` : kAbout[name] ?? '';
    return row('sum', name, quiet(about), at === 0 ? scored(value) : signed(value));
  });
  if (!why.sum.terms.some(({name}) => name === 'bias' || name === 'slope')) rows.push(row('sum', 'bias', quiet('none in this model'), '0'));
  const end = why.visible ? [
    row('sum', 'row log-sum-exp', quiet(`over ${count(why.of, 'key')}`), scored(-why.lse)),
    row('sum summed', '', '', scored(why.score - why.lse, 3)),
    row('sum', html('b', {}, 'weight'), quiet('exp of the sum'), html('b', {}, weight(why.weight))),
  ] : [row('sum', html('b', {}, 'weight'), quiet('the mask hides this key'), html('b', {}, '0'))];
  return [
    heading('The sum', 'all terms of the score'), ...rows,
    row('sum summed', html('b', {}, 'score'), '', html('b', {}, scored(why.score))), ...end,
    note(`terms sum to the score, ${residual(why.sum.residual)}`),
  ];
}

/** `1.5`, `21`, `3,400`: two significant digits. */
function times(factor: number): string { return Number(factor.toPrecision(2)).toLocaleString('en', {maximumSignificantDigits: 2}); }

/** A key between its neighbours; a click explains its weight. */
export function keyName({side: {keys}, store}: Page, query: number, key: number, own: boolean): HTMLElement {
  const context = (at: number) => keys[at] ? plain(keys[at]!) : '';
  return button({class: own ? 'why-key own' : 'why-key', 'aria-label': `explain key ${key}`}, () => store.set({query, key}),
    quiet(context(key - 1) + gapBefore(keys, key)), html('b', {}, context(key)), quiet(gapBefore(keys, key + 1) + context(key + 1)));
}

/** The largest weights of the row, and by how much the second falls short. */
export function rowBlock(why: Why, page: Page): Node[] {
  const {side} = page;
  const context = (at: number) => side.keys[at] ? plain(side.keys[at]!) : '';
  const rows = why.keys.map(({key, score, weight: value}) => {
    const own = key === why.key;
    return row('whom', html('span', {class: 'index'}, String(key)), keyName(page, why.query, key, own), bar(value, 1, 0, undefined, own ? 'own' : ''), scored(score),
      own ? html('b', {}, weight(value)) : weight(value));
  });
  if (why.rest.count > 0) rows.push(row('whom', '', quiet(others(why.rest.count)), bar(why.rest.weight, 1, 0, undefined, 'rest'), '', weight(why.rest.weight)));
  const other = why.keys.find(({key}) => key === why.runner_up);
  const gap = other ? why.score - other.score : 0;
  const name = other?.key === why.query && side.isSquare ? 'the query\u2019s own token' : other ? isolated(`\u201c${context(other.key)}\u201d`) + ` ${other.key}` : '';
  const verdict = !other || !why.visible ? [] : [note(`strongest other key: ${name}, ${scored(Math.abs(gap))} ${gap >= 0 ? 'lower' : 'higher'}: about ${times(Math.exp(Math.abs(gap)))} times ${gap >= 0 ? 'smaller' : 'larger'}`)];
  return [
    heading('Competing keys', `the ${why.keys.length} largest of ${why.of}`),
    row('whom head', '', '', '', quiet('score'), quiet('weight')), ...rows, ...verdict,
  ];
}
