// How far to trust a flow: each token's share compared with the real effect of hiding it.
import type {FlowTest} from '../answers';
import {logAxis} from '../drawing/axis';
import {html, svg} from '../drawing/dom';
import {count, shortWeight, weight} from '../drawing/format';
import type {FlowPage} from './flow_page';
import {keyNode, nodeIndex, nodeName} from './flow_page';
import {others as othersText} from './key_column';
import {Room} from './name_room';
import {saidWord} from './word';

const kWidth = 418;
const kHeight = 174;
const kLeast = 1e-4;
const kNamed = 4;       // named dots: the largest effects
const kLetter = 6.2;    // px, approximately
const kRows = 6;        // of the table

const byEffect = (a: {effect: number}, b: {effect: number}) => Math.abs(b.effect) - Math.abs(a.effect);

export function trust(page: FlowPage, test: FlowTest): Element[] {
  const unit = test.word ? 'effect, nats' : 'change of the state';
  const {hidden} = test;
  const most = Math.max(1, ...hidden.map(({effect}) => Math.abs(effect))) * 1.6;
  const shares = hidden.map(({share}) => share).filter((share) => share > 0);
  const least = Math.max(1e-6, Math.min(...shares, 0.01));
  const largest = Math.max(0.1, ...shares);
  const x = logAxis([least, largest], [52, kWidth - 12]);
  const y = logAxis([kLeast, most], [kHeight - 22, 14]);
  const ticks = [1, 0.1, 0.01, 0.001, 0.0001].filter((tick) => tick < most);
  const chosen = keyNode(page);
  const named = new Set([...hidden].sort(byEffect).slice(0, kNamed).map(({node}) => node));
  if (chosen !== null) named.add(chosen);
  const room = new Room(hidden.map(({share, effect}) => ({x: x(share), y: y(Math.abs(effect))})), kWidth - 20);
  room.take(kWidth, kHeight - 26, kLetter * 'share'.length, 'end');
  room.take(0, 8, kLetter * unit.length);
  const nameAt = new Map([...hidden].filter(({node}) => named.has(node)).sort(byEffect).sort((a, b) => Number(b.node === chosen) - Number(a.node === chosen)).map(({node, share, effect}) => {
    const name = `${nodeName(page, node)} ${nodeIndex(page, node)}`;
    const [left, base] = [x(share), y(Math.abs(effect))];
    const at = room.find(left, base, kLetter * name.length) ?? (node === chosen ? {x: left + 8, y: base + 4} : null);
    return [node, at ? svg('text', {...at, class: node === chosen ? 'flow-number' : 'trust-name'}, name) : null];
  }));
  const dots = [...hidden].sort((a, b) => Number(a.node === chosen) - Number(b.node === chosen)).map(({node, share, effect}) => {
    const [cx, cy] = [x(share), y(Math.abs(effect))];
    const classes = `trust-dot${test.word && effect > 0 ? ' raises' : ''}${node === chosen ? ' chosen' : ''}`;
    return svg('circle', {class: classes, cx, cy, r: node === chosen ? 4.5 : 2.75}, svg('title', {}, `${nodeName(page, node)} ${nodeIndex(page, node)}: share ${weight(share)}, effect ${effect.toPrecision(2)}`));
  });
  const drawing = svg('svg', {class: 'trust', width: kWidth, height: kHeight, viewBox: `0 0 ${kWidth} ${kHeight}`, role: 'img', 'aria-label': 'share and effect of each token'},
    ...ticks.flatMap((tick) => [svg('line', {class: 'grid-line', x1: 46, x2: kWidth, y1: y(tick), y2: y(tick)}),
      svg('text', {class: 'tick end', x: 40, y: y(tick) + 4}, tick === kLeast ? '\u2264.0001' : String(tick).replace(/^0/, ''))]),
    ...[0.0001, 0.001, 0.01, 0.1, 1].filter((tick) => tick >= least && tick <= largest).map((tick) => svg('text', {class: 'tick', x: x(tick), y: kHeight - 4}, String(tick).replace(/^0/, ''))),
    svg('text', {class: 'tick start', x: 0, y: 8}, unit), svg('text', {class: 'tick end', x: kWidth, y: kHeight - 26}, 'share'), ...dots, ...nameAt.values());
  const correlation = test.rank_correlation;
  return [html('div', {class: 'heading'}, html('h2', {}, 'How far to trust it'), html('span', {class: 'quiet words-switches'}, 'rank correlation ', html('b', {class: 'ink'}, correlation === null ? '\u2013' : shortWeight(correlation)))),
    html('p', {class: 'quiet trust-about'}, `Each dot is a token${test.word ? `. Open: hiding it makes \u201c${saidWord(test.word.text, page.side.queries)}\u201d likelier` : ''}.`), drawing];
}

/** The tokens whose hiding had the largest effect, and the rest. */
export function testTable(page: FlowPage, test: FlowTest, own: number, ownShare: number): Element[] {
  const {word, hidden} = test;
  const ranked = [...hidden].sort(byEffect);
  const chosen = keyNode(page);
  const said = word ? saidWord(word.text, page.side.queries) : '';
  const minus = (text: string) => text.replace('-', '\u2212');
  const row = (name: (Node | string)[], cells: string[], classes = '') =>
    html('tr', {class: classes}, html('th', {scope: 'row'}, ...name), ...cells.map((cell) => html('td', {}, cell)));
  const rows = ranked.slice(0, kRows).map(({node, share, effect, probability}) => row(
    [html('b', {}, nodeName(page, node)), ` ${nodeIndex(page, node)}`],
    [weight(share), `${effect > 0 ? '+' : ''}${minus(effect.toFixed(3))}`, ...probability === undefined ? [] : [weight(probability)]],
    `${node === chosen ? 'chosen' : ''}${probability !== undefined && word && Math.abs(probability - word.probability) > word.probability / 3 ? ' changed' : ''}`));
  const others = ranked.slice(kRows);
  const bound = Math.max(0, ...others.map(({effect}) => Math.abs(effect)));
  const sum = others.reduce((total, {share}) => total + share, 0);
  const body = [...rows,
    ...others.length > 0 ? [row([othersText(others.length)], [weight(sum), `each within ${(Math.ceil(bound * 1000) / 1000).toFixed(3)}`, ...word ? [''] : []], 'quiet')] : [],
    ...test.not_hidden > 0 ? [row([`${test.not_hidden.toLocaleString('en')} more`], ['', 'not tried', ...word ? [''] : []], 'quiet')] : [],
    row([`${nodeName(page, own)} itself`], [weight(ownShare), 'not hidden', ...word ? [''] : []], 'quiet')];
  const heads = ['', 'share', word ? `change in log-prob. of ${said}` : 'change of its state', ...word ? [said] : []];
  return [html('div', {class: 'heading'}, html('h2', {}, 'Test it'), html('span', {class: 'quiet'}, `${test.not_hidden > 0 ? `${hidden.length.toLocaleString('en')} of ${count(hidden.length + test.not_hidden, 'token')}` : 'each token'} hidden from all ${page.side.attention.causal ? 'later ones' : 'others'}${page.side.attention.attending ? ' in layers with attention' : ''}, run again`)),
    html('table', {class: 'flow-test'}, html('thead', {}, html('tr', {class: 'quiet'}, ...heads.map((name) => html('th', {scope: 'col'}, name)))), html('tbody', {}, ...body))];
}
