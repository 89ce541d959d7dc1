// The views in the header: a row of words, or a menu if there is no room.
import {button, html, say} from '../drawing/dom';
import type {SelectionStore} from '../selection/store';
import type {View} from '../views/view';

export interface ViewsNav {
  element: HTMLElement;
  show(on: boolean): void;
}

/** `lack`: why a view cannot be chosen; null where it can. */
export function makeViewsNav(views: readonly View[], store: SelectionStore, lack: (view: View) => string | null): ViewsNav {
  const options = views.map((view) => button({class: 'option', 'data-view': view.name, disabled: lack(view) !== null, title: lack(view)},
    () => store.set({view: view.name, guide: 0}), view.label));
  const select = html('select', {'aria-label': 'View'}, ...views.map((view) => html('option', {value: view.name, disabled: lack(view) !== null}, view.label)));
  const name = html('span', {});
  const label = html('span', {'aria-hidden': true}, name, ' ', html('span', {class: 'quiet'}, '\u25be'));
  const menu = html('div', {class: 'views-menu'}, select, label);
  let isPointed = false;
  select.addEventListener('pointerdown', () => { isPointed = true; });
  select.addEventListener('keydown', () => { isPointed = false; });
  select.addEventListener('change', () => {
    store.set({view: views[select.selectedIndex]!.name, guide: 0});
    if (isPointed) select.blur();  // the next key is for the page
  });
  const mark = () => {
    const chosen = views.findIndex(({name}) => name === store.now.view);
    options.forEach((option, at) => option.setAttribute('aria-current', at === chosen ? 'page' : 'false'));
    select.selectedIndex = chosen;
    say(name, views[chosen]?.label ?? 'Views');
  };
  store.listen(mark);
  mark();
  const show = (on: boolean) => {
    for (const each of [...options, menu]) each.hidden = !on;
  };
  return {element: html('nav', {'aria-label': 'Views'}, ...options, menu), show};
}
