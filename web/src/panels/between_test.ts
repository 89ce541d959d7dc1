// Beside a cross-attention: the effect of hiding each source token on the generated word, by running the model.
import type {FlowTest} from '../answers';
import type {Line} from '../attention/arcs';
import {latest, Slot, valueOf} from '../data/slot';
import {html} from '../drawing/dom';
import {signed, weight} from '../drawing/format';
import {answersRuns} from '../heads/held';
import type {MakePanel, Panel} from './panel';
import {headName, primary} from './panel';
import {isolated, plain} from '../text/tokens';
import {effectsName} from './flow_page';
import {saidWord} from './word';

const kMost = 16;   // source tokens: for a longer text, Flow shows those with the largest effect
const kMoved = 3;   // a probability that changed by more than this factor is marked

export const betweenTest: MakePanel = (container, page): Panel => {
  const {api, side, store} = page;
  const about = html('span', {class: 'quiet'});
  const body = html('tbody', {});
  const heads = html('tr', {class: 'quiet'});
  container.append(html('div', {class: 'heading'}, html('h2', {}, 'Test it'), about),
    html('table', {class: 'flow-test'}, html('thead', {}, heads), body));
  const test = new Slot<FlowTest>('between-test', () => update());
  const line = new Slot<Line>('between-test-row', () => update());
  const row = (name: Node | string, cells: string[], classes = '') =>
    html('tr', {class: classes}, html('th', {scope: 'row'}, name), ...cells.map((cell) => html('td', {}, cell)));
  const update = () => {
    const query = store.pinnedQuery;
    const isThere = side.stack === 'cross' && query !== null && side.keys.length <= kMost && answersRuns(api.model, 'look') && api.hasWeights && !page.stage.isStacked;
    container.hidden = !isThere;
    const asked = test.show(isThere ? api.ask<FlowTest>(effectsName(page)) : null);
    if (asked?.state === 'error') container.hidden = true;  // a saved page has only one word's
    const found = latest(asked);
    const weights = valueOf(line.show(isThere ? api.line(primary(store.now), query, query + 1, false) : null))?.weights;
    if (!isThere || !found?.word) return;
    const {word, hidden} = found;
    const said = isolated(saidWord(word.text, page.side.queries));
    about.textContent = `each hidden, effect on ${said}`;
    heads.replaceChildren(...['', headName(store.now), 'change in log-prob.', said].map((name) => html('th', {scope: 'col'}, name)));
    const rows = side.keys.flatMap((token, key) => {
      const own = hidden.find(({node}) => node === side.queries.length + key);
      if (!own) return [];
      const after = own.probability ?? 0;
      const isMoved = Math.abs(after - word.probability) > word.probability / kMoved;
      return [row(html('b', {}, plain(token)), [weights ? weight(weights[key] ?? 0) : '', signed(own.effect), weight(after)],
        `${key === store.pinnedKey ? 'chosen' : ''}${isMoved ? ' changed' : ''}`)];
    });
    body.replaceChildren(...rows, row('as it is', ['', '', weight(word.probability)], 'quiet'));
  };
  return {
    update, destroy: () => {
      test.stop();
      line.stop();
    },
  };
};
