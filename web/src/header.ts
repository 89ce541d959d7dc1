// The header: the model and its shape, the text, the views, the keys.
import type {About, SessionInfo} from './api';
import {button, html} from './dom';
import {count} from './format';
import {graphemes} from './graphemes';
import {isSaved} from './held';
import type {SelectionStore} from './selection';
import {kViews} from './selection';
import {keysDialog} from './keys';

const kViewNames = {look: 'Look'};
const kWords = 5;         // of the text, in the header
const kCharacters = 40;

export interface Header { element: HTMLElement; show(info: SessionInfo | null): void }

export function makeHeader(about: About, store: SelectionStore, edit: () => void): Header {
  const {model} = about;
  const beginning = html('span', {class: 'beginning', dir: 'auto'});
  const tokens = html('span', {class: 'quiet'});
  const text = button({class: 'header-text', 'aria-label': 'Edit the text', disabled: isSaved(model)}, edit,
    beginning, tokens);
  const dialog = keysDialog(about.scores, store);
  const keys = button({class: 'header-keys', 'aria-label': 'Keys and settings', 'data-unsaved': true},
    () => dialog.showModal(), html('span', {class: 'wide'}, 'Keys ?'), html('span', {class: 'slim'}, '\u22ef'));
  const views = kViews.map((view) => button({class: 'option', 'data-view': view, 'aria-current': 'page'},
    () => store.set({view}), kViewNames[view]));
  const element = html('header', {class: 'header'},
    html('span', {class: 'wordmark'}, 'heed'),
    html('span', {class: 'model'}, html('b', {}, model.name), ' ',
      html('span', {class: 'quiet shape'}, `${model.title}, ${model.layers} layers \u00d7 ${model.heads} heads`)),
    text, html('nav', {'aria-label': 'Views'}, ...views), keys, dialog);
  window.addEventListener('keydown', (event) => {
    if (event.target instanceof Element && event.target.closest('textarea, input')) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === '?') dialog.open ? dialog.close() : dialog.showModal();
    const view = kViews[Number(event.key) - 1];
    if (view && !dialog.open) store.set({view});
  });
  const show = (info: SessionInfo | null) => {
    text.hidden = info === null;
    for (const view of views) view.hidden = info === null;
    if (!info) return;
    const words = info.text.trim().split(/\s+/);
    const start = graphemes(words.slice(0, kWords).join(' ')).slice(0, kCharacters).join('').trimEnd();
    beginning.textContent = `\u201c${start}${start.length < words.join(' ').length ? '\u2026' : ''}\u201d`;
    tokens.textContent = count(info.length, 'token');
    document.title = `${start} \u2013 heed`;
  };
  return {element, show};
}
