// The layer, and a chip for each of its heads: name, offset profile, two scores.
import type {HeadScores, SessionApi} from '../api';
import {button, html, svg} from '../dom';
import {score, shortWeight} from '../format';
import {holds, layerAfter} from '../held';
import type {MakePanel, Panel} from '../panel';
import {colourOf, isNarrow} from '../panel';
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

/** A score that is not there yet is a dash. */
function scoreText(api: SessionApi, scores: HeadScores | undefined, name: string): string {
  const {short} = api.about.scores.find((each) => each.name === name)!;
  return scores ? score(name, short, scores[name] as number) : `${short} \u2013`;
}

function chip(store: SelectionStore, api: SessionApi, head: number): HTMLButtonElement {
  const scores = api.scores.get(store.now.layer)?.find((each) => each.head === head);
  const place = store.now.heads.indexOf(head);
  const isSmall = api.model.heads > kMostChips;
  const [first, second] = store.now.scores.map((name) => html('span', {}, scoreText(api, scores, name)));
  const chosen = place >= 0 ? ` chosen ${colourOf(store.now, head)}` : '';
  const isHeld = holds(api.model, store.now.layer, head);
  return button({
    class: `chip${chosen}`, 'aria-pressed': String(place >= 0), 'data-head': head, disabled: !isHeld,
    title: isHeld ? null : 'this file does not hold the head',
  },
    (event) => choose(store, head, event),
    html('span', {class: 'chip-name'}, html('b', {}, `H${head}`), isSmall ? null : profile(scores)),
    html('span', {class: 'chip-scores'}, first, isSmall ? null : second));
}

/** One bracket for the heads that share keys and values. */
function brackets(api: SessionApi): HTMLElement[] {
  const {heads, kv_heads: groups} = api.model;
  if (groups === heads || heads > kMostChips) return [];
  const each = heads / groups;
  return Array.from({length: groups}, (_, group) => {
    const first = group * each;
    const title = `heads ${first} to ${first + each - 1} have their queries each, and share the keys and values of kv head ${group}`;
    const bracket = html('div', {class: 'bracket', title}, html('span', {}, `share kv ${group}`));
    bracket.style.gridColumn = `${first + 1} / span ${each}`;
    return bracket;
  });
}

function layerHeads(heads: number, groups: number): HTMLElement {
  if (groups === heads) return html('div', {class: 'quiet layer-heads'}, `${heads} heads`);
  const title = `${groups} heads of keys and values (kv), each shared by ${heads / groups} heads of queries`;
  return html('div', {class: 'quiet layer-heads', title}, `${heads} heads on ${groups} kv`);
}

export const chipsPanel: MakePanel = (container, store, api): Panel => {
  const {heads, kv_heads: groups} = api.model;
  const step = (by: 1 | -1) => store.set(layerAfter(api.model, store.now, by));
  const number = html('b', {class: 'layer-number'});
  const layer = html('div', {class: 'layer'},
    html('div', {class: 'layer-line'}, html('b', {}, 'Layer'),
      button({class: 'step', 'aria-label': 'previous layer'}, () => step(-1), '\u2039'), number,
      button({class: 'step', 'aria-label': 'next layer'}, () => step(1), '\u203a')),
    layerHeads(heads, groups));
  const shape = heads > kMostChips ? 'chips wrapped' : 'chips';
  const list = html('div', {class: shape, role: 'group', 'aria-label': 'Heads'});
  list.style.setProperty('--heads', String(heads));
  container.append(layer, list);
  let drawn = '';

  const update = () => {
    const {now} = store;
    const state = [now.layer, now.heads.join('+'), now.scores.join('+'), api.scores.has(now.layer)].join(' ');
    if (state === drawn) return;
    drawn = state;
    number.textContent = String(now.layer);
    const focused = list.contains(document.activeElement)
      ? (document.activeElement as HTMLElement).dataset.head : undefined;
    const chips = Array.from({length: heads}, (_, head) => chip(store, api, head));
    list.replaceChildren(...chips, ...brackets(api));
    if (focused !== undefined) chips[Number(focused)]!.focus({preventScroll: true});
    const chosen = chips[now.heads[0]!];
    if (chosen && isNarrow() && list.scrollWidth > list.clientWidth) {  // the chosen one in view
      list.scrollLeft = chosen.offsetLeft - (list.clientWidth - chosen.offsetWidth) / 2;
    }
  };
  return {update, destroy: () => undefined};
};
