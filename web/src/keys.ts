// The list of all keys, and the one setting: which two scores the chips show.
import type {ScoreName} from './api';
import {button, choice, html} from './dom';
import type {SelectionStore} from './selection';
import {kKeys} from './views/look';

function scoresSetting(scores: ScoreName[], store: SelectionStore): HTMLElement {
  const options = scores.map(({name, short}) => ({name, label: short}));
  const choices = ['first', 'second'].map((which, place) => choice(`The ${which} score of a chip`, options, (name) => {
    const next: [string, string] = [...store.now.scores];
    next[place] = name;
    store.set({scores: next}, {fresh: store.isFresh});
  }));
  for (const {element} of choices) {
    for (const [index, each] of [...element.children].entries()) each.setAttribute('title', scores[index]!.about);
  }
  const show = () => choices.forEach(({show}, place) => show(store.now.scores[place]!));
  store.listen(show);
  show();
  return html('div', {class: 'setting'}, html('h2', {}, 'Scores on the chips'), ...choices.map(({element}) => element));
}

export function keysDialog(scores: ScoreName[], store: SelectionStore): HTMLDialogElement {
  const rows = kKeys.flatMap(([key, does]) => [html('dt', {}, key), html('dd', {}, does)]);
  const dialog = html('dialog', {class: 'keys-list', 'aria-label': 'Keys and settings'},
    html('h2', {}, 'Keys'), html('dl', {}, ...rows), scoresSetting(scores, store));
  dialog.append(button({class: 'link'}, () => dialog.close(), 'close'));
  dialog.addEventListener('click', (event) => event.target === dialog && dialog.close());
  return dialog;
}
