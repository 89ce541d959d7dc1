// Look: attention between tokens, the matrix of a head, the next word.
import {html} from '../drawing/dom';
import {hasPatches} from '../text/images';
import {betweenPanel} from '../panels/between';
import {betweenSide} from '../panels/between_side';
import {betweenTest} from '../panels/between_test';
import {edgesPanel} from '../panels/edges';
import {matrixPanel} from '../panels/matrix';
import {nextPanel} from '../panels/next';
import {allHeads, everyLayer} from '../panels/under';
import {rearrange} from '../panels/together';
import {whyShort} from '../panels/why_short';
import type {MakePanel, Page, Panel} from '../panels/panel';
import {isBetween, sideSwitch} from '../attention/sides';
import type {View} from './view';

const nothing: MakePanel = () => ({update: () => undefined, destroy: () => undefined});

/** Whether the columns end with the window: below the guided look, and what it compares, where it is high enough; below images never. */
function hasRoom({stage, side, store: {chosen: {guide, versus}}}: Page): boolean { return !hasPatches(side.keys) && (guide === 0 || stage.viewHeight >= (versus === '' ? 860 : 880)); }

/** The part below the columns. */
function underOf({side, store}: Page): MakePanel {
  return !side.isSquare ? allHeads : store.now.pair !== null ? everyLayer : nothing;
}

/** The panel that `pick` returns, replaced whenever it returns another one. */
function switching(container: HTMLElement, page: Page, pick: () => MakePanel, drawn: () => void): Panel {
  let made = pick();
  let panel = made(container, page);
  drawn();
  return {
    update: () => {
      if (pick() !== made) {
        panel.destroy();
        container.replaceChildren();
        made = pick();
        panel = made(container, page);
        drawn();
      }
      panel.update();
    },
    destroy: () => panel.destroy(),
  };
}

export const look: View = {
  name: 'look',
  label: 'Look',
  key: '1',
  differs: true,
  fits: (page) => !page.stage.isTwo && underOf(page) === nothing && hasRoom(page),  // other heads under the columns, a column under others, or images over them may be longer
  needs: () => true,
  parts: ['chips', 'text'],
  keys: [
    ['wheel, drag', 'zoom and move the matrix, here and in Matrix; over the queries: the rows'],
    ['Shift+drag', 'zooms the matrix to a box'],
    ['+ \u2212', 'zoom the matrix'],
    ['0', 'fits the matrix'],
    ['t', 'the matrix as a table, and back'],
    ['a', 'of two to four heads: their arcs apart or together'],
    ['w', 'opens Why, and leaves it'],
  ],
  draw: (container, page) => {
    const part = (name: string, label: string) => html('section', {class: name, 'aria-label': label});
    const edges = part('edges', 'Who attends to whom');
    const place = part('matrix-part', 'Matrix');
    const side = part('side', 'Next word');
    const under = part('below', 'Other heads');
    const columns = html('div', {class: 'columns'}, edges, place, side);
    container.append(columns, under);
    columns.classList.toggle('between', isBetween(page));
    const matrix = matrixPanel(place, page);
    const switches = sideSwitch(page);
    const edgesPart = switching(edges, page, () => isBetween(page) ? betweenPanel : edgesPanel, () => {
      columns.classList.toggle('between', isBetween(page));
      if (switches) edges.querySelector('.heading')!.append(switches.element);
    });
    const [first, short, test] = [html('div'), html('div', {class: 'why-short'}), html('div')];
    side.append(first, short, test);
    const sidePart = switching(first, page, () => page.store.now.pair === null ? nextPanel : betweenSide, () => undefined);
    const underPart = switching(under, page, () => underOf(page), () => { under.hidden = underOf(page) === nothing; });
    const panels: Panel[] = [matrix, edgesPart, sidePart, whyShort(short, page), underPart, betweenTest(test, page)];  // requested in this order
    if (switches) panels.push({update: () => switches.show(), destroy: () => undefined});
    return {
      keys: {a: () => rearrange(page), 0: () => matrix.fit(), t: () => void matrix.toggleTable(), w: () => page.store.set({view: 'why'})},
      update: () => panels.forEach((panel) => panel.update()),
      destroy: () => panels.forEach((panel) => panel.destroy()),
    };
  },
};
