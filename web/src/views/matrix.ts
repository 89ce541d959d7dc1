// Matrix: one head at full size, from the whole to single cells with their numbers.
import {button, html, say} from '../drawing/dom';
import type {Page} from '../panels/panel';
import {matrixPanel} from '../panels/matrix';
import {sideSwitch} from '../attention/sides';
import type {View} from './view';

/** `queries 180 to 200, keys 160 to 180`, and the size of a cell of the picture. */
function sightText({store, side}: Page, block: number): string {
  const {zoom} = store.now;
  const [queries, keys] = [side.queries.length, side.keys.length].map((length) => length.toLocaleString('en'));
  const what = zoom ? `queries ${zoom.queries.join(' to ')}, keys ${zoom.keys.join(' to ')}` : `all ${queries} \u00d7 ${keys}`;
  return block === 1 ? what : `${what}, a dot is the largest of ${block} \u00d7 ${block}`;
}

export const matrix: View = {
  name: 'matrix',
  label: 'Matrix',
  key: '3',
  differs: true,
  needs: () => true,
  parts: ['chips'],
  keys: [],  // those of the matrix in Look
  footKeys: [['wheel, drag', 'zoom, move'], ['Shift+drag', 'box'], ['0', 'fits'], ['t', 'table']],
  draw: (container, page) => {
    const place = html('section', {class: 'matrix-part matrix-full', 'aria-label': 'Matrix'});
    container.append(place);
    const panel = matrixPanel(place, page, {isFull: true});
    const sight = html('span', {class: 'quiet matrix-sight'});
    const zooms = html('div', {class: 'choice matrix-zooms', role: 'group', 'aria-label': 'Zoom', 'data-unsaved': true},
      html('span', {class: 'quiet'}, 'zoom'),
      button({class: 'option', 'aria-label': 'zoom in'}, () => panel.zoomBy(2), '+'),
      button({class: 'option', 'aria-label': 'zoom out'}, () => panel.zoomBy(0.5), '\u2212'),
      button({class: 'option', 'aria-label': 'fit the matrix'}, () => panel.fit(), 'all'));
    const switches = sideSwitch(page);
    place.querySelector('.heading .choice')!.before(sight, ...switches ? [switches.element] : [], zooms);
    return {
      keys: {0: () => panel.fit(), t: () => void panel.toggleTable(), '+': () => panel.zoomBy(2), '-': () => panel.zoomBy(0.5)},
      update: () => {
        panel.update();
        switches?.show();
        say(sight, sightText(page, panel.block));
      },
      destroy: () => panel.destroy(),
    };
  },
};
