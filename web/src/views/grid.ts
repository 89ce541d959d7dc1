// Grid: every layer and head as a thumbnail, sorted and filtered by scores.
import {GridPanel} from '../panels/grid';
import {sideSwitch} from '../attention/sides';
import type {View} from './view';

export const grid: View = {
  name: 'grid',
  label: 'Grid',
  key: '2',
  differs: true,
  fits: ({stage}) => !stage.isNarrow,
  needs: () => true,
  parts: [],
  keys: [
    ['arrows', 'move from head to head'],
    ['/', 'looks for heads by their scores, as in induction>0.4 sink<0.5 layer 4-8'],
  ],
  footKeys: [['click', 'pins'], ['Shift', 'adds'], ['arrows', 'move'], ['/', 'filters']],
  draw: (container, page) => {
    const panel = new GridPanel(container, page);
    const stacks = page.side.split === null ? sideSwitch(page) : null;
    if (stacks) container.querySelector('.heading h2')!.after(stacks.element);
    return {
      keys: {
        ArrowLeft: () => panel.move(-1, 0), ArrowRight: () => panel.move(1, 0), ArrowUp: () => panel.move(0, -1), ArrowDown: () => panel.move(0, 1),
        '/': () => panel.focusFilter(),
      },
      said: () => panel.said,
      update: () => {
        panel.update();
        stacks?.show();
      },
      destroy: () => panel.destroy(),
    };
  },
};
