// The layer, and a chip for each of its heads: a small matrix or offset profile, its name, two scores.
import {isSamePlace} from '../selection/address';
import {kUsualPair, pairShare} from '../attention/between';
import {button, html, svg} from '../drawing/dom';
import {score, shortWeight} from '../drawing/format';
import {holds, lackOfHead, layerAfter} from '../heads/held';
import {filterOf, passes} from '../panels/grid_scores';
import {others} from '../panels/key_column';
import type {MakePanel, Page, Panel} from '../panels/panel';
import {colourOf, primary} from '../panels/panel';
import {plainName} from '../heads/score_names';
import type {Place} from '../selection/selection';
import {kMostHeads, kNothing, nameOf} from '../selection/selection';
import {kvHeads} from '../attention/side';
import type {SelectionStore} from '../selection/store';
import {plain} from '../text/tokens';
import {HeadPictures, listenToHeads, roomFor} from './head_pictures';
import type {HeadScores, SessionApi} from '../transport/api';

export const kBest = kNothing.scores[0];  // as a chip's first score, shows the head's best one
const kMostChips = 16;  // with more heads, chips have name and one score, in two rows
const kPitch = 112;     // px between these
const kRows = 2;
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

/** A click chooses a head, with Shift it adds it or takes it out. */
export function choose(store: SelectionStore, place: Place, event: MouseEvent): void {
  const {places} = store.chosen;
  if (!event.shiftKey || event.detail > 1) {
    store.set({places: [place]});
  } else if (places.some((each) => isSamePlace(each, place))) {
    if (places.length > 1) store.set({places: places.filter((each) => !isSamePlace(each, place))});
  } else {
    store.set({places: [...places.slice(0, kMostHeads - 1), place]});
  }
}

/** What a head does most: the largest of its scores that are shares of weight. */
export function bestOf({about}: SessionApi, scores: HeadScores): {name: string; value: number} | null {
  const shares = about.scores.filter(({share, name, from}) => share && from === 'text' && typeof scores[name] === 'number').map(({name}) => ({name, value: scores[name] as number}));
  return shares.reduce<{name: string; value: number} | null>((most, each) => most && most.value >= each.value ? most : each, null);
}

/** `induction .74` */
function bestText(api: SessionApi, scores: HeadScores | undefined): string {
  const best = scores && bestOf(api, scores);
  return best ? `${plainName(best.name)} ${shortWeight(best.value)}` : 'best \u2013';
}

/** A missing score is a dash. */
function scoreText(api: SessionApi, scores: HeadScores | undefined, name: string): string {
  const {short} = api.about.scores.find((each) => each.name === name)!;
  return scores ? score(name, short, scores[name] as number) : `${short} \u2013`;
}

/** Name, a share with its bar, and the other columns between two texts. */
function shareOf(page: Page, place: Place, scores: HeadScores | undefined): {share: number | null; below: string[]} | null {
  const {side} = page;
  const told = (name: string, value: number | undefined) => `${name} ${value === undefined ? '\u2013' : shortWeight(value)}`;
  if (side.split !== null) {
    const first = side.queries[0]!;
    return {share: pairShare(page, place) ?? null, below: first.special ? [told(plain(first), scores?.shares?.to_first)] : []};
  }
  if (side.isSquare) return null;
  const order = scores?.order;
  return {share: order?.in_order ?? null, below: ['in order', told('peak', order?.peak)]};
}

function chipContent(page: Page, place: Place, scores: HeadScores | undefined, picture: HTMLElement | null): HTMLElement[] {
  const {store, api, side} = page;
  const isSmall = side.heads > kMostChips;
  const name = html('b', {}, `H${place.head}`);
  const between = shareOf(page, place, scores);
  const beside = (...text: HTMLElement[]) => picture ? [picture, html('span', {class: 'chip-text'}, ...text)] : text;
  if (!between) {
    const [own, other] = store.now.scores;
    const [first, second] = [own, other === kNothing.scores[1] && api.about.scores.some(({name}) => name === 'image') ? 'image' : other].map((each, at) => html('span', {}, at === 0 && each === kBest ? bestText(api, scores) : scoreText(api, scores, each)));
    return beside(html('span', {class: 'chip-name'}, name, isSmall || picture ? null : profile(scores)),
      html('span', {class: 'chip-scores'}, first, isSmall ? null : second));
  }
  const {share, below} = between;
  const bar = html('span', {class: 'chip-bar'});
  bar.style.setProperty('--share', String(share ?? 0));
  return beside(html('span', {class: 'chip-name share'}, name, html('span', {}, share === null ? '\u2013' : shortWeight(share))),
    ...picture ? [] : [html('span', {class: 'chip-bar-room'}, bar)],
    html('span', {class: 'chip-scores'}, ...below.map((each) => html('span', {}, each))));
}

function chip(page: Page, place: Place, picture: HTMLElement | null): HTMLButtonElement {
  const {store, api, side} = page;
  const {head} = place;
  const scores = api.scoresOf(place)?.find((each) => each.head === head);
  const isChosen = store.chosen.places.some((each) => isSamePlace(each, place));
  const chosen = isChosen ? ` chosen ${colourOf(store.chosen, place)}` : '';
  const isHeld = holds(side, place);
  return button({
    class: `chip${chosen}`, 'aria-pressed': String(isChosen), 'data-head': head, disabled: !isHeld,
    title: isHeld ? null : lackOfHead(side, place),
  }, (event) => choose(store, place, event), ...chipContent(page, place, scores, picture));
}

/** One bracket for the heads that share keys and values. */
function brackets({side: {attention}, store}: Page): HTMLElement[] {
  const {heads} = attention;
  const groups = kvHeads(attention, primary(store.chosen).layer);
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

/** What the chips of this attention show, and the source of their scores. */
function layerText({side, store}: Page): HTMLElement[] {
  if (side.split !== null) {
    const [from, to] = (store.now.pair ?? kUsualPair).split('-');
    return [html('div', {class: 'quiet layer-heads'}, `${from} to ${to}, share`)];
  }
  if (!side.isSquare) return [html('div', {class: 'quiet layer-heads'}, `${side.stack}, of ${side.numbers.length}`)];
  const isProbed = store.now.scores.some((name) => name.startsWith('probe_'));
  const source = (text: string) => html('div', {class: 'quiet layer-source'}, text);
  return [source('scores on this text'), isProbed ? source('p: on random tokens') : layerHeads(side.heads, kvHeads(side.attention, primary(store.chosen).layer))];
}

function layerHeads(heads: number, groups: number): HTMLElement {
  if (groups === heads) return html('div', {class: 'quiet layer-heads'}, `${heads} heads`);
  const title = `${groups} heads of keys and values (kv), each shared by ${heads / groups} heads of queries`;
  return html('div', {class: 'quiet layer-heads', title}, `${heads} heads on ${groups} kv`);
}

/** Scrolls to a chip; none is cut where the strip begins, not even at its end. */
function bringIntoView(list: HTMLElement, chips: HTMLElement[], head: number): void {
  const [first, second] = chips;
  const chosen = chips[head];
  if (!first || !second || !chosen) return;
  const pitch = second.offsetLeft - first.offsetLeft;
  list.style.paddingRight = `${(list.clientWidth + pitch - first.offsetWidth) % pitch}px`;
  const wanted = chosen.offsetLeft - (list.clientWidth - chosen.offsetWidth) / 2;
  const whole = chips.find(({offsetLeft}) => offsetLeft >= wanted) ?? chosen;
  list.scrollLeft = whole.offsetLeft - first.offsetLeft;
}

/** The heads of a layer by their chips' score, largest first; by number until it has loaded. */
function byScore({api, side, store}: Page): number[] {
  const heads = Array.from({length: side.heads}, (_, head) => head);
  const all = api.scoresOf(primary(store.now));
  const [name] = store.now.scores;
  if (!all) return heads;
  const valueOf = (head: number) => {
    const scores = all.find((each) => each.head === head);
    return (name === kBest ? scores && bestOf(api, scores)?.value : scores?.[name] as number | undefined) ?? -Infinity;
  };
  return heads.sort((a, b) => valueOf(b) - valueOf(a) || a - b);
}

/** Whether a head matches the search: by number, or by scores as in the grid. */
function isFound(page: Page, place: Place, text: string): boolean {
  const number = /^h?(\d+)$/i.exec(text)?.[1];
  if (text === '' || number !== undefined) return String(place.head).startsWith(number ?? '');
  const read = filterOf(page, text);
  return 'terms' in read && passes(page, read.terms, place) === true;
}

export const chipsPanel: MakePanel = (container, page): Panel => {
  const {store, api, side, stage} = page;
  const {heads} = side;
  const isMany = heads > kMostChips;
  const step = (by: 1 | -1) => store.set(layerAfter(side, store.chosen, by));
  const number = html('b', {class: 'layer-number'});
  const about = html('div', {});
  const search = html('input', {class: 'chip-search', size: 12, placeholder: 'H37, sink>.4', 'aria-label': 'Look for heads', autocomplete: 'off', spellcheck: 'false', hidden: !isMany, 'data-unsaved': true});
  const place = html('div', {class: 'layer'},
    html('div', {class: 'layer-line'}, html('b', {}, 'Layer'),
      button({class: 'step', 'aria-label': 'previous layer'}, () => step(-1), '\u2039'), number,
      button({class: 'step', 'aria-label': 'next layer'}, () => step(1), '\u203a')),
    isMany ? search : about);
  const list = html('div', {class: isMany ? 'chips wrapped' : 'chips', role: 'group', 'aria-label': 'Heads'});
  list.style.setProperty('--heads', String(heads));
  container.append(place, list);
  const pictures = new HeadPictures(page);
  const heard = listenToHeads(list, store);
  let room = roomFor(page, list.clientWidth);
  const forget = stage.listen(() => {
    room = roomFor(page, list.clientWidth);
    update();
  });
  search.addEventListener('input', () => update());
  search.addEventListener('keydown', ({key}) => {
    if (key === 'Escape') search.value = '';
    if (key === 'Enter') list.querySelector<HTMLElement>('.chip:not(:disabled)')?.click();
    if (key === 'Escape' || key === 'Enter') update();
  });
  let drawn = '';

  /** If there are many heads, shows those with the largest scores, in two rows; always including the chosen one. */
  const shown = (): {numbers: number[]; left: number} => {
    if (!isMany) return {numbers: Array.from({length: heads}, (_, head) => head), left: 0};
    const found = byScore(page).filter((head) => isFound(page, {...primary(store.now), head}, search.value.trim()));
    const most = stage.isNarrow ? found.length : Math.max(1, kRows * Math.floor((list.clientWidth || kPitch) / kPitch) - 1);
    const isChosen = (head: number) => store.chosen.places.some((each) => each.layer === primary(store.chosen).layer && each.head === head);
    const last = found.slice(most).filter(isChosen);
    return {numbers: [...found.slice(0, Math.max(0, most - last.length)), ...last], left: Math.max(0, found.length - most)};
  };
  const update = () => {
    const {places, scores, pair} = store.chosen;
    const first = primary(store.chosen);
    const {layer, head} = first;
    const state = [...places.map(nameOf), ...scores, pair, api.scoresOf(primary(store.now)) !== undefined, isMany && `${list.clientWidth} ${search.value}`, room && Object.values(room)].join(' ');
    if (room) pictures.want(first, room.side);
    if (state === drawn) return;
    drawn = state;
    number.textContent = String(layer);
    about.replaceChildren(...layerText(page));
    const focused = list.contains(document.activeElement)
      ? (document.activeElement as HTMLElement).dataset.head : undefined;
    const {numbers, left} = shown();
    list.classList.toggle('pictured', room !== null);
    list.classList.toggle('beside', room?.isBeside ?? false);
    list.classList.toggle('flowing', room?.isFlowing ?? false);
    if (room) list.style.setProperty('--lines', String(room.lines));
    const chips = numbers.map((each) => chip(page, {...first, head: each}, room && pictures.of({...first, head: each})));
    heard.whileReplacing(() => list.replaceChildren(...chips, ...brackets(page), ...left > 0 ? [html('span', {class: 'quiet chips-left'}, `+ ${others(left)}`)] : []));
    if (focused !== undefined) heard.whileReplacing(() => chips.find(({dataset}) => dataset.head === focused)?.focus({preventScroll: true}));
    list.style.paddingRight = '';
    if (stage.isNarrow && list.scrollWidth > list.clientWidth) bringIntoView(list, chips, numbers.indexOf(head));
  };
  return {
    update, destroy: () => {
      forget();
      heard.stop();
      pictures.stop();
    },
  };
};
