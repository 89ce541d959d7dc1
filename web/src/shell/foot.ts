// The foot line: the view's address, the current check, buttons to save, the most used keys.
import {format} from '../selection/address';
import {Slot, valueOf} from '../data/slot';
import {button, html, menu, say} from '../drawing/dom';
import {linkOf, whyNoLink} from '../export/link';
import type {Format} from '../export/save';
import {kFormats, save} from '../export/save';
import {panelNames} from '../export/svg';
import {isSaved, lackOfFile} from '../heads/held';
import type {Page, Panel} from '../panels/panel';
import {primary} from '../panels/panel';
import {stacksOf} from '../attention/sides';
import type {Marginals} from '../transport/api';
import {kViews} from '../views/list';
import type {Drawn, KeyText, View} from '../views/view';

const kDrawnMilliseconds = 500;

/** At most four; a page's choices replace a key that many pages have. */
function keysOf({api, side}: Page): readonly KeyText[] {
  const own: KeyText = stacksOf(api).length > 1 ? ['e', 'next attention']
    : side.split !== null ? ['d', 'next filter'] : ['Esc', 'unpins'];
  return [['click', 'pins'], own, ['[ ]', 'layer'], [', .', 'head']];
}

/** `2e-7`, rounded up, so that the sentence stays true. */
function bound(error: number): string {
  if (error === 0) return '1e-8';
  const power = Math.floor(Math.log10(error));
  const digit = Math.ceil(error / 10 ** power);
  return digit === 10 ? `1e${power + 1}` : `${digit}e${power}`;
}

/** `save svg png html`, and what went wrong the last time. */
function saver(page: Page): {element: HTMLElement; save: (format: Format) => void} {
  const failed = html('span', {role: 'alert'});
  const saveNow = (format: Format, panel?: string) => {
    failed.textContent = '';
    save(format, page, panel).catch((error: unknown) => {
      failed.textContent = `not saved: ${error instanceof Error ? error.message : String(error)}`;
    });
  };
  const formats = kFormats.filter((format) => format !== 'html' || !isSaved(page.api.model));
  const linking = async (to: (address: string) => string) => {
    const why = whyNoLink(page);
    const link = to(linkOf(page));
    if (!why) await navigator.clipboard.writeText(link);
    failed.textContent = why ? `no link: ${why}` : 'copied: view, model and text';
  };
  // The available panels depend on the view: they are listed when the menu is about to open.
  const panels = html('span', {});
  let listed: string | null = null;
  const listPanels = () => {
    const names = panelNames(page.stage.root);
    // Replacing a menu under the pointer fires another enter event, and so would repeat forever.
    const all = names.join();
    if (all === listed) return;
    listed = all;
    panels.replaceChildren(menu('save a part as svg', names.map((name) => ({name, label: name})), '', (name) => saveNow('svg', name), 'part'));
  };
  panels.addEventListener('pointerenter', listPanels);
  listPanels();  // at once, so that pictures show the line's usual layout
  setTimeout(listPanels, kDrawnMilliseconds);  // for keyboard users
  const {link} = page.api.requests.transport;
  const buttons: Node[] = formats.map((format) =>
    button({class: 'option', 'aria-label': `save as ${format}`}, () => saveNow(format), format));
  if (link) buttons.unshift(button({class: 'option', 'aria-label': 'copy a link with the model and the text'}, () => {
    linking(link).catch(() => { failed.textContent = `not copied: ${link(linkOf(page))}`; });
  }, 'link'));
  const element = html('span', {class: 'foot-save', 'data-unsaved': true}, failed,
    html('span', {class: 'quiet'}, 'save'), ...buttons, panels);
  return {element, save: saveNow};
}

export interface Foot extends Panel { save(format: Format): void }

export function footPanel(container: HTMLElement, page: Page, view: View, {said}: Drawn): Foot {
  const {store, api} = page;
  const address = html('span', {class: 'address'});
  const reason = html('span', {class: 'quiet reason', 'data-unsaved': true});
  const lack = html('span', {class: 'quiet lacks', 'data-unsaved': true}, said ? null : lackOfFile(api.model, kViews));
  const check = html('span', {class: said ? 'check said' : 'quiet check'});
  const {footKeys: own} = view;
  const keys = html('span', {class: 'foot-keys', 'data-unsaved': true}, ...(typeof own === 'function' ? own(api.model) : own ?? keysOf(page)).map(([name, does]) =>
    html('span', {}, html('b', {}, name), ` ${does}`)));
  const saving = saver(page);
  const margins = new Slot<Marginals>('check', () => update());
  container.classList.toggle('one-line', said !== undefined);
  container.classList.toggle('all-scores', view.name === 'grid');
  container.append(address, reason, lack, check, saving.element, keys);
  const update = () => {
    say(address, store.isFresh ? '' : `#${format(store.chosen)}`);
    say(reason, store.reason && !said ? `heed chose: ${store.reason.replace(/`([^`]*)`/g, '\u201c$1\u201d')}` : '');
    reason.title = reason.textContent!;
    const found = valueOf(margins.show(api.hasWeights && !said ? api.marginals(primary(store.now)) : null));
    if (said) {
      check.replaceChildren(...said());
      check.title = check.textContent!;
    }
    else say(check, found ? [found.row_sum_error === null ? 'a row of this head is NaN' : `every row${api.isDifference ? ' of A and of B' : ''} sums to 1 within ${bound(found.row_sum_error)}`,
      ...found.largest === undefined ? [] : [`this file has the ${found.largest} largest weights of a row, and the mean of the others`]].join('; ') : '');
  };
  return {update, destroy: () => margins.stop(), save: saving.save};
}
