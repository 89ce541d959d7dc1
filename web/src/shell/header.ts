// The header: the model and its shape, the text, the views, the keys.
import {button, html} from '../dom';
import {count} from '../format';
import {graphemes} from '../graphemes';
import {isSaved} from '../held';
import type {SelectionStore} from '../store';
import type {About, SessionInfo} from '../transport/api';
import {kViews} from '../views/list';
import {keysDialog} from './keys_list';

const kWords = 5;         // of the text, in the header
const kCharacters = 40;

export interface Header {
  element: HTMLElement;
  show(info: SessionInfo | null): void;
  press(key: string): boolean;  // whether the key was one of the header's
}

/** How a text begins, in a few words. */
function beginningOf({text}: SessionInfo): {start: string; isWhole: boolean} {
  const words = text.trim().split(/\s+/);
  const start = graphemes(words.slice(0, kWords).join(' ')).slice(0, kCharacters).join('').trimEnd();
  return {start, isWhole: start.length === words.join(' ').length};
}

export function makeHeader(
  about: About, store: SelectionStore, edit: () => void, onTitle: (title: string) => void
): Header {
  const {model} = about;
  const beginning = html('span', {class: 'beginning', dir: 'auto'});
  const tokens = html('span', {class: 'quiet'});
  const text = button({class: 'header-text', 'aria-label': 'Edit the text', disabled: isSaved(model)}, edit,
    beginning, tokens);
  const dialog = keysDialog(about.scores, store);
  const keys = button({class: 'header-keys', 'aria-label': 'Keys and settings', 'data-unsaved': true},
    () => dialog.showModal(), html('span', {class: 'wide'}, 'Keys ?'), html('span', {class: 'slim'}, '\u22ef'));
  const views = kViews.filter(({needs}) => needs(model));
  const options = views.map(({name, label}) => button({class: 'option', 'data-view': name, 'aria-current': 'page'},
    () => store.set({view: name}), label));
  const element = html('header', {class: 'header'},
    html('span', {class: 'wordmark'}, 'heed'),
    html('span', {class: 'model'}, html('b', {}, model.name), ' ',
      html('span', {class: 'quiet shape'}, `${model.title}, ${model.layers} layers \u00d7 ${model.heads} heads`)),
    text, html('nav', {'aria-label': 'Views'}, ...options), keys, dialog);
  const press = (key: string) => {
    if (key === '?') {
      dialog.open ? dialog.close() : dialog.showModal();
      return true;
    }
    if (dialog.open) return true;  // its keys are its own
    const view = views.find((each) => each.key === key);
    if (view) store.set({view: view.name});
    return view !== undefined;
  };
  const show = (info: SessionInfo | null) => {
    text.hidden = info === null;
    for (const option of options) option.hidden = info === null;
    if (!info) return;
    const {start, isWhole} = beginningOf(info);
    beginning.textContent = `\u201c${start}${isWhole ? '' : '\u2026'}\u201d`;
    tokens.textContent = count(info.tokens.length, 'token');
    onTitle(`${start} \u2013 heed`);
  };
  return {element, show, press};
}
