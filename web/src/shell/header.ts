// The header: the model and its shape, the text, the views, the keys.
import {button, html} from '../drawing/dom';
import {count, shapeOf} from '../drawing/format';
import {graphemes} from '../text/graphemes';
import {hasOnlyWeights, isSaved, lackOf} from '../heads/held';
import {languageOf} from '../text/language';
import type {SelectionStore} from '../selection/store';
import type {About, SessionApi, Token} from '../transport/api';
import {phrase} from '../text/tokens';
import {editsText} from '../selection/versus';
import {kViews} from '../views/list';
import {keysDialog} from './keys_list';
import {makeViewsNav} from './views_nav';

const kWords = 5;         // of the text, in the header
const kWordsOfTwo = 8;    // of each of two texts
const kCharacters = 40;
const kLeastText = 88;    // px of each text in the header

export interface Header {
  element: HTMLElement;
  show(api: SessionApi | null): void;
  press(key: string): boolean;  // whether the key belonged to the header
}

/** How a text begins, in a few words. */
function beginningOf(text: string, most = kWords): {start: string; isWhole: boolean} {
  const words = text.trim().split(/\s+/);
  const start = graphemes(words.slice(0, most).join(' ')).slice(0, kCharacters).join('').trimEnd();
  return {start, isWhole: start.length === words.join(' ').length};
}

function quoted(text: string, most = kWords): string {
  const {start, isWhole} = beginningOf(text, most);
  return `\u201c${start}${isWhole ? '' : '\u2026'}\u201d`;
}

/** Both texts of a session with two, by name; null if it has one. */
function bothOf({info}: SessionApi): [string, string][] | null {
  if (info.pair !== undefined) return [['A', info.text], ['B', info.pair]];
  if (!info.key_tokens) return null;
  const spelt = (tokens: Token[]) => phrase(tokens.filter(({special}) => !special), 0, Infinity);
  return [['source', info.text || spelt(info.key_tokens)], ['target', info.target ?? spelt(info.tokens)]];  // arrays have no text
}

export function makeHeader(
  about: About, store: SelectionStore, edit: () => void, onTitle: (title: string) => void, back: () => void, compare: () => void, guide: () => void
): Header {
  const {model} = about;
  const beginning = (text: string) => html('span', {class: 'beginning', dir: 'auto', lang: languageOf(text)}, text);
  const text = button({class: 'header-text', 'aria-label': 'Edit the text', disabled: isSaved(model)}, edit);
  const edits = button({class: 'header-edits accent', title: 'back to the text without edits', hidden: true}, back);
  const beside = button({
    class: 'header-compare', 'data-unsaved': true, hidden: true, 'aria-keyshortcuts': 'c',
    title: 'edit: ablate head, remove edge, hide token, swap word, limit distance; compare with: text, head, model',
  }, compare, html('span', {class: 'wide'}, 'edit, compare'), html('span', {class: 'slim'}, 'edit'));
  const looking = button({class: 'header-guide', 'data-unsaved': true, hidden: true, 'aria-keyshortcuts': 'g', title: 'five steps through this text, with its own numbers'}, guide,
    html('span', {class: 'wide'}, 'What am I looking at?'), html('span', {class: 'slim'}, 'guide'));
  const dialog = keysDialog(about.scores, store);
  const keys = button({class: 'header-keys', 'aria-label': 'Keys and settings', 'data-unsaved': true},
    () => dialog.showModal(), html('span', {class: 'wide'}, 'Keys ?'), html('span', {class: 'slim'}, '\u22ef'));
  const views = kViews.filter(({needs}) => needs(model));
  const nav = makeViewsNav(kViews.filter((view) => views.includes(view) || (view.ofScores && hasOnlyWeights(model))),
    store, (view) => views.includes(view) ? null : lackOf(model, view));
  const shape = html('span', {class: 'quiet shape'}, shapeOf(model));
  const element = html('header', {class: 'header'},
    html('span', {class: 'wordmark'}, 'heed'),
    button({class: 'model', title: isSaved(model) ? null : 'another model or text', disabled: isSaved(model)}, edit,
      html('b', {}, model.name), ' ', shape),
    text, edits, beside, looking, nav.element, keys, dialog);
  // The model's shape is there whole, and leaves the text its first words; or it is not there.
  const fit = () => {
    shape.hidden = false;
    shape.hidden = [...text.querySelectorAll('.beginning')].some(({clientWidth, scrollWidth}) => clientWidth < Math.min(kLeastText, scrollWidth));
  };
  new ResizeObserver(fit).observe(element);
  const press = (key: string) => {
    if (key === '?') {
      dialog.open ? dialog.close() : dialog.showModal();
      return true;
    }
    if (dialog.open) return true;  // it handles its own keys
    const view = views.find((each) => each.key === key);
    if (view) store.set({view: view.name, guide: 0});
    return view !== undefined;
  };
  const show = (api: SessionApi | null) => {
    text.hidden = beside.hidden = looking.hidden = api === null;
    nav.show(api !== null);
    edits.hidden = api?.info.edits === undefined;
    if (!api) return;
    if (api.info.edits !== undefined) edits.textContent = `${editsText(api.info.edits, api.info.tokens)} \u00d7`;
    const both = bothOf(api);
    const length = api.info.tokens.length + (api.info.key_tokens?.length ?? 0);
    const tokens = (classes: string) => html('span', {class: classes}, count(length, 'token'));
    if (both) text.replaceChildren(...both.flatMap(([name, each]) => [html('span', {class: 'quiet two'}, name), beginning(quoted(each, kWordsOfTwo))]), tokens('quiet slim'));
    else text.replaceChildren(beginning(quoted(api.info.images ? phrase(api.info.tokens, 0, Infinity) : api.info.text)), tokens('quiet'));
    fit();
    onTitle(`${beginningOf(api.info.text).start} \u2013 heed`);
  };
  return {element, show, press};
}
