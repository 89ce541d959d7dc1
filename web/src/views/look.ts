// Look: one text, one layer; who attends to whom, the matrix of a head, the next word.
import {Ahead} from '../ahead';
import {html} from '../dom';
import {headAfter, layerAfter} from '../held';
import type {MakePanel, Panel} from '../panel';
import {chipsPanel} from '../panels/chips';
import {edgesPanel} from '../panels/edges';
import {footPanel} from '../panels/foot';
import {matrixPanel} from '../panels/matrix';
import {nextPanel} from '../panels/next';
import {progressPanel} from '../panels/progress';
import {textPanel} from '../panels/text';

export const kKeys: readonly [string, string][] = [
  ['hover', 'previews a token, an edge or a cell'],
  ['click', 'pins it'],
  ['drag over the text', 'takes a span of tokens'],
  ['Shift+click on a head', 'adds it, at most 16'],
  ['double click on a head', 'shows it alone'],
  ['Alt', 'turns from into to while it is held'],
  ['Esc', 'unpins'],
  ['[ ]', 'layer before, layer after'],
  [', .', 'head before, head after'],
  ['arrows', 'walk the text, the queries or the cells of the matrix'],
  ['Enter', 'pins what the arrows are at'],
  ['wheel, drag', 'zoom and move the matrix; over the queries: the rows'],
  ['Shift+drag', 'zooms the matrix to a box'],
  ['+ \u2212', 'zoom the matrix'],
  ['0', 'fits the matrix'],
  ['t', 'the matrix as a table, and back'],
  ['s', 'saves the view as svg'],
  ['1', 'Look'],
  ['Ctrl+Enter', 'runs an edited text'],
  ['?', 'this list'],
];

export const lookView: MakePanel = (container, store, api): Panel => {
  const part = (name: string, label: string) => html('section', {class: name, 'aria-label': label});
  const chips = part('heads', 'Layer and heads');
  const progress = html('div', {class: 'progress-place'});
  const text = part('text', 'Text');
  const edges = part('edges', 'Who attends to whom');
  const matrix = part('matrix-part', 'Matrix');
  const side = part('side', 'Next word');
  const line = html('footer', {class: 'foot'});
  container.append(chips, progress, text, html('div', {class: 'columns'}, edges, matrix, side), line);

  const theMatrix = matrixPanel(matrix, store, api);
  const foot = footPanel(line, store, api);
  const theText = textPanel(text, store, api);
  const ahead = new Ahead(store, api, () => theText.inSight());
  const panels: Panel[] = [  // what is asked for first comes first
    theMatrix, theText, edgesPanel(edges, store, api), nextPanel(side, store, api),
    chipsPanel(chips, store, api), progressPanel(progress, store, api), foot,
  ];
  const update = () => {
    panels.forEach((panel) => panel.update());
    ahead.update();
  };

  const stepHead = (by: 1 | -1) => store.set(headAfter(api.model, store.now, by));
  const stepLayer = (by: 1 | -1) => store.set(layerAfter(api.model, store.now, by));
  const unpin = () => {
    store.preview({});
    if (store.now.key !== null) store.set({key: null});
    else if (store.now.query !== null || store.now.range) store.set({query: null, range: null});
  };
  const actions: Record<string, () => void> = {
    '[': () => stepLayer(-1), ']': () => stepLayer(1), ',': () => stepHead(-1), '.': () => stepHead(1),
    '0': () => theMatrix.fit(), s: () => foot.save('svg'), t: () => void theMatrix.toggleTable(), Escape: unpin,
  };
  const key = (event: KeyboardEvent) => {
    const isTyping = event.target instanceof Element && event.target.closest('textarea, input, select, dialog');
    const action = actions[event.key];
    if (!action || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  };
  window.addEventListener('keydown', key);
  const unlisten = store.listen(update);
  const begin = ({layer, head}: {layer: number; head: number}) => {
    if (store.isFresh) store.set({layer, heads: [head]}, {replace: true});
  };
  const unfollow = api.follow(store.now.layer, update, begin);
  update();
  return {
    update,
    destroy: () => {
      window.removeEventListener('keydown', key);
      unlisten();
      unfollow();
      ahead.stop();
      panels.forEach((panel) => panel.destroy());
      container.replaceChildren();
    },
  };
};
