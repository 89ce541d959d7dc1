// The list of all keys, and one setting: the two scores shown by chips.
import {button, choice, html} from '../drawing/dom';
import {briefName} from '../heads/score_names';
import type {SelectionStore} from '../selection/store';
import type {ScoreName} from '../transport/api';
import {kViews} from '../views/list';
import {kBest} from './chips';
import type {KeyText} from '../views/view';

const kKeys: readonly KeyText[] = [
  ['?', 'this list'],
  ...kViews.map(({key, label}) => [key, label] as const),
  ['[ ]', 'previous layer, next layer, and around'],
  [', .', 'previous head, next head'],
  ['e', 'of a model that reads and writes: encoder, decoder, cross'],
  ['d', 'of two texts: which text to which: all, A\u2192A, A\u2192B, B\u2192A, B\u2192B'],
  ['c', 'edits or compares; then switches between A, B and A \u2212 B'],
  ['g', 'a guided look at this text, then its next step'],
  ['Esc', 'ends the guided look or the comparison, unpins'],
  ['s', 'saves the view as svg'],
  ['Ctrl+Enter', 'runs an edited text'],
];

const kPointer: readonly KeyText[] = [
  ['hover', 'previews a token, an edge or a cell'],
  ['click', 'pins it'],
  ['drag over the text', 'takes a span of tokens'],
  ['Shift+click on a head', 'adds it, at most 16'],
  ['double click on a head', 'shows it alone'],
  ['Alt', 'hold: who attends to this token'],
  ['arrows', 'walk the text, the queries or the cells of the matrix'],
  ['Enter', 'pins the place of the arrows'],
];

const kGroups: readonly {title: string; keys: readonly KeyText[]}[] = [
  {title: 'Everywhere', keys: kKeys}, {title: 'Pointer and arrows', keys: kPointer},
  ...kViews.filter(({keys}) => keys.length > 0).map(({label, keys}) => ({title: label, keys})),
];

function scoresSetting(scores: ScoreName[], store: SelectionStore): HTMLElement {
  const choices = ['first', 'second'].map((which, place) => choice(`The ${which} score of a chip`, scores.map(({name, short}) => ({name, label: place === 0 && name === kBest ? 'best' : briefName({name, short})})), (name) => {
    const next: [string, string] = [...store.now.scores];
    next[place] = name;
    store.set({scores: next}, {fresh: store.isFresh});
  }));
  for (const {element} of choices) {
    for (const [index, each] of [...element.children].entries()) each.setAttribute('title', each.textContent === 'best' ? 'the head\u2019s largest score, by its name' : scores[index]!.about);
  }
  const show = () => choices.forEach(({show}, place) => show(store.now.scores[place]!));
  store.listen(show);
  show();
  return html('div', {class: 'setting'}, html('h2', {}, 'Scores on the chips'), ...choices.map(({element}, place) => html('div', {class: 'setting-line'}, html('span', {class: 'quiet'}, `${['first', 'second'][place]!} score`), element)));
}

export function keysDialog(scores: ScoreName[], store: SelectionStore): HTMLDialogElement {
  const groups = kGroups.map(({title, keys}) => html('section', {}, html('h3', {}, title),
    html('dl', {}, ...keys.flatMap(([key, does]) => [html('dt', {}, key), html('dd', {}, does)]))));
  // When a dialog opens, its first control gets the focus, and the focused element is scrolled into sight.
  const close = button({class: 'link'}, () => dialog.close(), 'close');
  const dialog: HTMLDialogElement = html('dialog', {class: 'keys-list', 'aria-label': 'Keys and settings'},
    html('div', {class: 'keys-head'}, html('h2', {}, 'Keys'), close), html('div', {class: 'keys-groups'}, ...groups), scoresSetting(scores, store));
  dialog.addEventListener('click', (event) => event.target === dialog && dialog.close());
  return dialog;
}
