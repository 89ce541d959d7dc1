// Beside a filter for pairs: the largest weights between words, and where the rows of the text look.
import type {Edge} from '../attention/arcs';
import {Slot, valueOf} from '../data/slot';
import {html, say} from '../drawing/dom';
import {shortWeight, weight} from '../drawing/format';
import type {Looks} from '../attention/looks';
import {LooksReader} from '../attention/looks';
import type {MakePanel, Panel} from './panel';
import {barOf, largestName, primary} from './panel';
import {blockOf} from '../attention/side';
import {plain} from '../text/tokens';

interface Row { element: HTMLElement; bar: HTMLElement }

function row(name: (HTMLElement | string)[], share: number, text: string, classes: string): Row {
  const bar = html('span', {class: `bar ${classes}`});
  bar.style.setProperty('--share', String(share));
  const element = html('li', {class: 'next-row between-line'}, html('span', {class: 'word'}, ...name), html('span', {class: 'bar-room'}, bar),
    html('span', {class: 'value'}, text));
  return {element, bar};
}

export const betweenSide: MakePanel = (container, page): Panel => {
  const {api, side, store} = page;
  const largest = html('ol', {class: 'next largest'});
  const looks = html('h2', {});
  const mean = html('span', {class: 'quiet'});
  const where = html('ol', {class: 'next where'});
  container.append(html('div', {class: 'heading'}, html('h2', {}, `${largestName(api)}, word to word`)), largest,
    html('div', {class: 'heading second'}, looks, mean), where);
  const slot = new Slot<Looks>('between-side', () => update());
  let drawn: Looks | null = null;
  let marks: ((isShown: boolean) => void)[] = [];  // by edge

  const edgeRow = (edge: Edge, most: number) => {
    const kind = barOf(edge.weight);
    const [own, other] = [html('span', {}, plain(side.queries[edge.query]!)), html('span', {}, plain(side.keys[edge.key]!))];
    const {element, bar} = row([own, ' \u2192 ', other], Math.abs(edge.weight) / most, weight(edge.weight), kind);
    const mark = (isShown: boolean) => {
      own.classList.toggle('own', isShown);
      other.classList.toggle('accent', isShown);
      bar.className = isShown ? 'bar chosen' : `bar ${kind}`;
    };
    return {element, mark};
  };
  const draw = ({edges, parts}: Looks) => {
    const rows = edges.map((edge) => edgeRow(edge, Math.abs(edges[0]!.weight)));
    marks = rows.map(({mark}) => mark);
    largest.replaceChildren(...rows.map(({element}) => element));
    const widest = Math.max(...parts.map(({share}) => Math.abs(share)), 1e-9);
    where.replaceChildren(...parts.map(({name, share, isInside}) =>
      row([html('span', {class: isInside ? null : 'second'}, name)], Math.abs(share) / widest, shortWeight(share), isInside ? barOf(share) : '').element));
  };
  const update = () => {
    const {pair} = store.now;
    const {queries} = blockOf(side, pair);
    say(looks, `Where ${pair?.[0]} looks`);
    say(mean, `${api.isDifference ? 'A \u2212 B, ' : ''}mean of ${queries.end - queries.first} rows`);
    const asked = api.hasWeights
      ? api.looks(primary(store.now), queries.first, queries.end, `${pair}`, () => new LooksReader(side, pair)) : null;
    const found = valueOf(slot.show(asked));
    if (found && found !== drawn) draw(drawn = found);
    // The pointer only changes classes: everything else is as it was read.
    for (const [at, mark] of marks.entries()) {
      const edge = drawn!.edges[at]!;
      mark(edge.query === store.query && edge.key === store.key);
    }
  };
  return {update, destroy: () => slot.stop()};
};
