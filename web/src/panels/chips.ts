// The layer, and a chip for each of its heads: name, offset profile, two scores.
import type {HeadScores, SessionApi} from '../api';
import {button, html, svg} from '../dom';
import {distance, shortWeight} from '../format';
import type {MakePanel, Panel} from '../panel';
import type {SelectionStore} from '../selection';
import {kMostHeads} from '../selection';

const kMostChips = 16;  // more: name and one score, wrapped
const kBarWidth = 4;
const kBarPitch = 5;
const kProfileHeight = 15;

/** Bars for the mean weight at 0 to 19 tokens back; 0.45 or more fills the height. */
function profile(scores: HeadScores | undefined): SVGSVGElement {
  const weights = scores?.profile ?? new Array<number>(20).fill(0);
  const bars = weights.map((weight, back) => {
    const height = Math.max(1, Math.min(kProfileHeight, kProfileHeight * weight / 0.45));
    return svg('rect', {x: back * kBarPitch, y: kProfileHeight - height, width: kBarWidth, height});
  });
  const label = scores
    ? `weight at 0 to 3 tokens back: ${weights.slice(0, 4).map(shortWeight).join(' ')}` : 'not scored yet';
  return svg('svg', {
    class: 'profile', viewBox: `0 0 ${20 * kBarPitch} ${kProfileHeight}`, width: 20 * kBarPitch,
    height: kProfileHeight, role: 'img', 'aria-label': label,
  }, svg('title', {}, label), ...bars);
}

function choose(store: SelectionStore, head: number, event: MouseEvent): void {
  const {heads} = store.now;
  if (!event.shiftKey || event.detail > 1) {
    store.set({heads: [head]});
  } else if (heads.includes(head)) {
    if (heads.length > 1) store.set({heads: heads.filter((each) => each !== head)});
  } else {
    store.set({heads: [...heads.slice(0, kMostHeads - 1), head]});
  }
}

function chip(store: SelectionStore, api: SessionApi, head: number): HTMLButtonElement {
  const scores = api.scores.get(store.now.layer)?.find((each) => each.head === head);
  const place = store.now.heads.indexOf(head);
  const isSmall = api.model.heads > kMostChips;
  const previous = html('span', {}, 'prev ', scores ? shortWeight(scores.previous) : '\u2013');
  const back = html('span', {class: 'back'}, scores ? distance(scores.distance) : '\u2013');
  const chosen = place >= 0 ? ` chosen head-${place + 1}` : '';
  return button({class: `chip${chosen}`, 'aria-pressed': String(place >= 0), 'data-head': head},
    (event) => choose(store, head, event),
    html('span', {class: 'chip-name'}, html('b', {}, `H${head}`), isSmall ? null : profile(scores)),
    html('span', {class: 'chip-scores'}, previous, isSmall ? null : back));
}

/** One bracket for the heads that share keys and values. */
function brackets(api: SessionApi): HTMLElement[] {
  const {heads, kv_heads: groups} = api.model;
  if (groups === heads || heads > kMostChips) return [];
  return Array.from({length: groups}, (_, group) => {
    const bracket = html('div', {class: 'bracket'}, html('span', {}, `kv ${group}`));
    bracket.style.gridColumn = `${group * (heads / groups) + 1} / span ${heads / groups}`;
    return bracket;
  });
}

export const chipsPanel: MakePanel = (container, store, api): Panel => {
  const {layers, heads, kv_heads: groups} = api.model;
  const step = (by: number) => store.set({layer: (store.now.layer + by + layers) % layers});
  const number = html('b', {class: 'layer-number'});
  const layer = html('div', {class: 'layer'},
    html('div', {class: 'layer-line'}, html('b', {}, 'Layer'),
      button({class: 'step', 'aria-label': 'previous layer'}, () => step(-1), '\u2039'), number,
      button({class: 'step', 'aria-label': 'next layer'}, () => step(1), '\u203a')),
    html('div', {class: 'quiet layer-heads'}, groups === heads ? `${heads} heads` : `${heads} heads on ${groups} kv`));
  const list = html('div', {class: heads > kMostChips ? 'chips wrapped' : 'chips', role: 'group', 'aria-label': 'Heads'});
  list.style.setProperty('--heads', String(heads));
  container.append(layer, list);
  let drawn = '';

  const update = () => {
    const state = `${store.now.layer}.${store.now.heads.join('+')}.${api.scores.has(store.now.layer)}`;
    if (state === drawn) return;
    drawn = state;
    number.textContent = String(store.now.layer);
    const focused = list.contains(document.activeElement)
      ? (document.activeElement as HTMLElement).dataset.head : undefined;
    const chips = Array.from({length: heads}, (_, head) => chip(store, api, head));
    list.replaceChildren(...chips, ...brackets(api));
    if (focused !== undefined) chips[Number(focused)]!.focus({preventScroll: true});
    const chosen = chips[store.now.heads[0]!];
    if (chosen && list.scrollWidth > list.clientWidth) {  // narrow: the chosen one in view
      list.scrollLeft = chosen.offsetLeft - (list.clientWidth - chosen.offsetWidth) / 2;
    }
  };
  return {update, destroy: () => undefined};
};
