// One session on the page: layer and chips, progress, the text, the view, the foot; its stream and its keys.
import {html} from '../dom';
import {headAfter, layerAfter} from '../held';
import type {Page, Panel} from '../panel';
import {Ahead} from '../transport/ahead';
import type {Chosen} from '../transport/api';
import {pairAfter, stackAfter, stacksOf} from '../sides';
import {viewOf} from '../views/list';
import {chipsPanel} from './chips';
import {footPanel} from './foot';
import {progressPanel} from './progress';
import {textPanel} from './text';

export interface Session extends Panel {
  page: Page;
  press(key: string): boolean;  // whether the key does something here
}

function unpin({store}: Page): void {
  store.preview({});
  const {query, key, range} = store.now;
  if (key !== null) store.set({query: store.pinnedToken, key: null});
  else if (query !== null || range) store.set({query: null, range: null});
}

export function showSession(container: HTMLElement, page: Page): Session {
  const {store, api, side, stage} = page;
  const part = (name: string, label: string) => html('section', {class: name, 'aria-label': label});
  const chips = part('heads', 'Layer and heads');
  const progress = html('div', {class: 'progress-place'});
  const text = part('text', 'Text');
  const place = html('div', {class: 'view'});
  const line = html('footer', {class: 'foot'});
  container.append(chips, progress, text, place, line);

  const theText = side.isSquare ? textPanel(text, page) : null;  // else both texts stand in the view
  text.hidden = theText === null;
  const view = viewOf(store.now.view).draw(place, page);
  const foot = footPanel(line, page);
  const panels: Panel[] = [view, ...theText ? [theText] : [], chipsPanel(chips, page), progressPanel(progress, page), foot];
  const ahead = new Ahead(page, () => theText?.inSight() ?? null);
  const update = () => {
    panels.forEach((panel) => panel.update());
    ahead.update();
  };
  const keys: Record<string, () => void> = {
    ...view.keys, Escape: () => unpin(page), s: () => foot.save('svg'),
    '[': () => store.set(layerAfter(side, store.now, -1)), ']': () => store.set(layerAfter(side, store.now, 1)),
    ',': () => store.set(headAfter(side, store.now, -1)), '.': () => store.set(headAfter(side, store.now, 1)),
    ...side.split !== null && {d: () => store.set({pair: pairAfter(store.now.pair)})},
    ...stacksOf(api).length > 1 && {e: () => store.set(stackAfter(page))},
  };
  const begin = ({stack, layer, head, reason}: Chosen) => {
    if (!store.isHeadFresh || stack !== side.stack) return;
    store.reason = reason;
    store.set({places: [{...store.now.places[0]!, layer, head}]}, {replace: true, byHeed: true});
  };
  const stops = [store.listen(update), stage.listen(update), api.follow(store.now.places[0]!, update, begin)];
  update();
  return {
    update,
    page,
    press: (key) => {
      keys[key]?.();
      return key in keys;
    },
    destroy: () => {
      stops.forEach((stop) => stop());
      ahead.stop();
      panels.forEach((panel) => panel.destroy());
      container.replaceChildren();
    },
  };
}
