// The layer, and a chip for each of its heads: name, offset profile, two scores.
import {isSamePlace} from '../address';
import {button, html, svg} from '../dom';
import {score, shortWeight} from '../format';
import {holds, layerAfter} from '../held';
import type {MakePanel, Page, Panel} from '../panel';
import {colourOf, primary} from '../panel';
import type {Place} from '../selection';
import {kMostHeads, nameOf} from '../selection';
import type {SelectionStore} from '../store';
import type {HeadScores, SessionApi} from '../transport/api';

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

function choose(store: SelectionStore, place: Place, event: MouseEvent): void {
  const {places} = store.now;
  if (!event.shiftKey || event.detail > 1) {
    store.set({places: [place]});
  } else if (places.some((each) => isSamePlace(each, place))) {
    if (places.length > 1) store.set({places: places.filter((each) => !isSamePlace(each, place))});
  } else {
    store.set({places: [...places.slice(0, kMostHeads - 1), place]});
  }
}

/** A score that is not there yet is a dash. */
function scoreText(api: SessionApi, scores: HeadScores | undefined, name: string): string {
  const {short} = api.about.scores.find((each) => each.name === name)!;
  return scores ? score(name, short, scores[name] as number) : `${short} \u2013`;
}

function chip({store, api}: Page, head: number): HTMLButtonElement {
  const place = {...primary(store.now), head};
  const scores = api.scores.get(place.layer)?.find((each) => each.head === head);
  const isChosen = store.now.places.some((each) => isSamePlace(each, place));
  const isSmall = api.model.heads > kMostChips;
  const [first, second] = store.now.scores.map((name) => html('span', {}, scoreText(api, scores, name)));
  const chosen = isChosen ? ` chosen ${colourOf(store.now, place)}` : '';
  const isHeld = holds(api.model, place);
  return button({
    class: `chip${chosen}`, 'aria-pressed': String(isChosen), 'data-head': head, disabled: !isHeld,
    title: isHeld ? null : 'this file does not hold the head',
  },
    (event) => choose(store, place, event),
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

export const chipsPanel: MakePanel = (container, page): Panel => {
  const {store, api, stage} = page;
  const {heads, kv_heads: groups} = api.model;
  const step = (by: 1 | -1) => store.set(layerAfter(api.model, store.now, by));
  const number = html('b', {class: 'layer-number'});
  const place = html('div', {class: 'layer'},
    html('div', {class: 'layer-line'}, html('b', {}, 'Layer'),
      button({class: 'step', 'aria-label': 'previous layer'}, () => step(-1), '\u2039'), number,
      button({class: 'step', 'aria-label': 'next layer'}, () => step(1), '\u203a')),
    layerHeads(heads, groups));
  const shape = heads > kMostChips ? 'chips wrapped' : 'chips';
  const list = html('div', {class: shape, role: 'group', 'aria-label': 'Heads'});
  list.style.setProperty('--heads', String(heads));
  container.append(place, list);
  let drawn = '';

  const update = () => {
    const {places, scores} = store.now;
    const {layer, head} = primary(store.now);
    const state = [...places.map(nameOf), ...scores, api.scores.has(layer)].join(' ');
    if (state === drawn) return;
    drawn = state;
    number.textContent = String(layer);
    const focused = list.contains(document.activeElement)
      ? (document.activeElement as HTMLElement).dataset.head : undefined;
    const chips = Array.from({length: heads}, (_, each) => chip(page, each));
    list.replaceChildren(...chips, ...brackets(api));
    if (focused !== undefined) chips[Number(focused)]!.focus({preventScroll: true});
    const chosen = chips[head];
    if (chosen && stage.isNarrow && list.scrollWidth > list.clientWidth) {  // the chosen one in view
      list.scrollLeft = chosen.offsetLeft - (list.clientWidth - chosen.offsetWidth) / 2;
    }
  };
  return {update, destroy: () => undefined};
};
