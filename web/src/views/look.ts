// Look: who attends to whom, the matrix of a head, the next word.
import {html} from '../dom';
import {edgesPanel} from '../panels/edges';
import {matrixPanel} from '../panels/matrix';
import {nextPanel} from '../panels/next';
import type {View} from './view';

export const look: View = {
  name: 'look',
  label: 'Look',
  key: '1',
  needs: () => true,
  keys: [
    ['wheel, drag', 'zoom and move the matrix; over the queries: the rows'],
    ['Shift+drag', 'zooms the matrix to a box'],
    ['+ \u2212', 'zoom the matrix'],
    ['0', 'fits the matrix'],
    ['t', 'the matrix as a table, and back'],
  ],
  draw: (container, page) => {
    const part = (name: string, label: string) => html('section', {class: name, 'aria-label': label});
    const edges = part('edges', 'Who attends to whom');
    const place = part('matrix-part', 'Matrix');
    const side = part('side', 'Next word');
    container.append(html('div', {class: 'columns'}, edges, place, side));
    const matrix = matrixPanel(place, page);
    const panels = [matrix, edgesPanel(edges, page), nextPanel(side, page)];  // what is asked for first comes first
    return {
      keys: {0: () => matrix.fit(), t: () => void matrix.toggleTable()},
      update: () => panels.forEach((panel) => panel.update()),
      destroy: () => panels.forEach((panel) => panel.destroy()),
    };
  },
};
