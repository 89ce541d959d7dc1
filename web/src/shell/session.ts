// One session on the page: layer and chips, progress, text, view, foot; its stream and its keys.
import {html} from '../drawing/dom';
import {headAfter, isSaved, layerAfter} from '../heads/held';
import {hasPatches} from '../text/images';
import type {Page, Panel} from '../panels/panel';
import {Ahead} from '../transport/ahead';
import {wantLate} from '../heads/late';
import type {Chosen} from '../transport/api';
import {pairAfter, stackAfter, stacksOf} from '../attention/sides';
import type {ViewName} from '../selection/selection';
import {viewOf} from '../views/list';
import type {Drawn} from '../views/view';
import {chipsPanel} from './chips';
import type {Comparison} from '../selection/comparison';
import {CompareBar, showAfter} from '../panels/compare_bar';
import type {Foot} from './foot';
import {footPanel} from './foot';
import {fontsMissing} from './fonts';
import {progressPanel} from './progress';
import {Guide} from './guide';
import {textPanel} from './text';

export interface Session extends Panel {
  page: Page;
  press(key: string): boolean;  // whether the key has an effect here
  compare(): void;              // opens or closes the form for edits and comparisons
  guide(): void;                // begins the guided tour
}

function unpin({store}: Page): void {
  store.preview({});
  const {query, key, range} = store.now;
  if (key !== null) store.set({query: store.pinnedToken, key: null});
  else if (query !== null || range) store.set({query: null, range: null});
}

/** Gives a row that the reader pins the head that looks from there to a distant word, as long as he chose no head. */
function headsForRows({store, api, side}: Page): () => void {
  let row = store.chosen.query;
  const isAsked = () => {
    const {view, query, key, to, range, versus, places} = store.chosen;
    return query === row && query !== null && key === null && !to && range === null && versus === '' && view === 'look' && places.length === 1
      && store.isHeadFresh && store.hasChoice;
  };
  return () => {
    if (store.chosen.query === row) return;
    row = store.chosen.query;
    if (store.byHeed || isSaved(api.model) || !isAsked()) return;
    const asked = row;
    api.ask<Chosen>(`${side.stack}/chosen?query=${row}`).get('chosen').then(({layer, head, reason}) => {
      if (row !== asked || !isAsked()) return;
      store.reason = reason;
      store.set({places: [{...store.chosen.places[0]!, layer, head}]}, {replace: true, byHeed: true});
    }, () => undefined);  // the row keeps its head
  };
}

/** The view of the selection, and what the shell draws around it. */
class Shown {
  readonly name: ViewName;
  readonly foot: Foot;
  readonly inSight: () => {first: number; end: number} | null;
  readonly hasChips: boolean;
  private readonly place = html('div', {class: 'view'});
  private readonly api: Page['api'];
  private readonly view: Drawn;
  readonly compare: CompareBar;
  readonly guide: Guide;
  private readonly panels: Panel[];

  constructor(container: HTMLElement, private readonly page: Page, comparison: Comparison) {
    const {store, side, api} = page;
    this.api = api;
    const view = viewOf(store.now.view);
    this.name = view.name;
    this.hasChips = view.parts.includes('chips');
    const part = (name: string, label: string, isThere: boolean) => html('section', {class: name, 'aria-label': label, hidden: !isThere});
    const chips = part('heads', 'Layer and heads', this.hasChips);
    const progress = html('div', {class: 'progress-place'});
    const hasText = (side.isSquare || hasPatches(side.keys)) && view.parts.includes('text');  // else both texts stand in the view
    const text = part('text', 'Text', hasText);
    const line = html('footer', {class: 'foot'});
    const compare = part('compare', 'Comparison', false);
    const written = [...api.info.tokens, ...api.info.key_tokens ?? []].map((token) => token.text).join('');
    const fonts = fontsMissing(api.info.text + written, getComputedStyle(page.stage.root).fontFamily);
    this.guide = new Guide(page);
    container.replaceChildren(this.guide.element, chips, compare, progress, ...fonts, text, this.place, line);
    this.compare = new CompareBar(compare, page, comparison);
    const theText = hasText ? textPanel(text, page) : null;
    this.view = view.draw(this.place, page);
    this.foot = footPanel(line, page, view, this.view);
    this.inSight = () => side.isSquare && theText ? theText.inSight() : null;
    this.panels = [this.compare, this.view, ...theText ? [theText] : [], ...this.hasChips ? [chipsPanel(chips, page)] : [], progressPanel(progress, page), this.foot, this.guide];
  }

  get keys(): Record<string, () => void> { return this.view.keys; }

  update(): void {
    this.place.classList.toggle('reading', !this.api.hasWeights);  // there is nothing to show yet
    this.page.stage.root.classList.toggle('fits', viewOf(this.name).fits?.(this.page) ?? false);
    this.page.stage.root.classList.toggle('of-b', this.page.api.isB && this.page.store.now.places.length === 1);
    this.panels.forEach((panel) => panel.update());
  }

  destroy(): void {
    this.page.stage.root.classList.remove('fits', 'of-b');
    this.panels.forEach((panel) => panel.destroy());
  }
}

export function showSession(container: HTMLElement, page: Page, comparison: Comparison): Session {
  const {store, api, side, stage} = page;
  let shown = new Shown(container, page, comparison);
  const ahead = new Ahead(page, () => shown.inSight());
  const update = () => {
    wantLate(page);
    if (shown.name !== store.now.view) {
      shown.destroy();
      shown = new Shown(container, page, comparison);
    }
    shown.update();
    if (shown.hasChips) ahead.update();  // otherwise no single head is shown
  };
  const keys: Record<string, () => void> = {
    g: () => shown.guide.next(),
    Escape: () => shown.guide.isOn ? shown.guide.leave() : shown.compare.isShown ? shown.compare.close() : unpin(page),
    c: () => store.now.versus === '' ? shown.compare.toggle() : store.set({show: showAfter(store.now)}, {replace: true}), s: () => shown.foot.save('svg'),
    '[': () => store.set(layerAfter(side, store.chosen, -1)), ']': () => store.set(layerAfter(side, store.chosen, 1)),
    ',': () => store.set(headAfter(side, store.chosen, -1)), '.': () => store.set(headAfter(side, store.chosen, 1)),
    ...side.split !== null && {d: () => store.set({pair: pairAfter(store.now.pair)})},
    ...stacksOf(api).length > 1 && {e: () => store.set(stackAfter(page), {byHeed: store.isHeadFresh})},
  };
  const begin = ({stack, layer, head, query, key, reason}: Chosen): void => {
    if (stack !== side.stack) return;
    store.hasChoice = true;
    const {places: [place, another], query: pinned, key: other} = store.chosen;
    const isShown = !another && place!.layer === layer && place!.head === head && pinned === (query ?? null) && other === (key ?? null);
    if (store.isHeadFresh || isShown) store.reason = reason;  // already shown: by a saved page, or an address
    if (!store.isHeadFresh) return isShown ? update() : undefined;
    if (!store.isRowFresh && pinned !== null && !isSaved(api.model)) {
      const own: {query?: number; key?: number} = store.chosen.to ? {key: pinned} : {query: pinned, ...other !== null && {key: other}};
      if (query !== own.query || key !== own.key) {
        const asked = Object.entries(own).map(([name, at]) => `${name}=${at}`).join('&');
        api.ask<Chosen>(`${side.stack}/chosen?${asked}`).get('chosen').then((found) => begin({...found, query: undefined, key: undefined, ...own}), () => undefined);
        return;
      }
    }
    const edge = query !== undefined && store.isRowFresh ? {query, key: key ?? null} : {};
    store.set({places: [{...store.chosen.places[0]!, layer, head}], ...edge}, {replace: true, byHeed: true});
  };
  const stops = [store.listen(headsForRows(page)), store.listen(update), stage.listen(update), api.follow(store.now.places[0]!, update, begin)];
  update();
  return {
    update,
    page,
    press: (key) => {
      const press = shown.keys[key] ?? keys[key];
      press?.();
      return press !== undefined;
    },
    compare: () => shown.compare.toggle(),
    guide: () => shown.guide.begin(),
    destroy: () => {
      stops.forEach((stop) => stop());
      ahead.stop();
      shown.destroy();
      container.replaceChildren();
    },
  };
}
