// Flow: what flowed into one token through the layers, and how far to trust it.
import type {Flow, FlowTest} from '../answers';
import {latest, valueOf} from '../data/slot';
import {sessionPath} from '../data/lines';
import {button, choice, html, say} from '../drawing/dom';
import {weight} from '../drawing/format';
import type {Page} from '../panels/panel';
import {drawFlow} from '../panels/flow_graph';
import type {FlowPage} from '../panels/flow_page';
import {effectsName, flowName, flowPosition, frameOf, keyNode, nodeIndex, nodeName} from '../panels/flow_page';
import {testTable, trust} from '../panels/flow_trust';
import {FlowWait} from '../panels/flow_wait';
import {sideSwitch, stacksOf} from '../attention/sides';
import type {View} from './view';
import {saidWord} from '../panels/word';

const kFormats = ['graphml', 'dot', 'json'] as const;

/** Downloads the graph. */
async function exportGraph(page: Page, format: (typeof kFormats)[number]): Promise<void> {
  const {api, side, store} = page;
  const path = sessionPath(api.info.session, `${side.stack}/flow/graph?position=${flowPosition(page)}&by=${store.now.by}&format=${format}`);
  const answer = await api.requests.request(path);
  const link = document.createElement('a');
  link.href = URL.createObjectURL(await answer.blob());
  link.download = `heed-flow-${flowPosition(page)}.${format}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

function pathRows(page: FlowPage, {paths, others}: Flow): HTMLElement[] {
  const most = Math.max(...paths.map(({share}) => share), 1e-9);
  const rows = paths.map(({nodes, share}) => {
    const last = nodes.length - 1;
    const names = nodes.flatMap((node, at) => [at > 0 ? ' \u2192 ' : '', html(at === last ? 'b' : 'span', {}, nodeName(page, node)), html('span', {class: 'quiet'}, ` ${nodeIndex(page, node)}`)]);
    const bar = html('span', {class: 'bar of-head'});
    bar.style.setProperty('--share', String(share / most));
    return html('li', {class: 'flow-path'}, html('span', {class: 'word'}, ...names, last === 0 ? ' stays' : ''), html('span', {class: 'bar-room'}, bar), html('span', {class: 'value'}, weight(share)));
  });
  return [...rows, html('li', {class: 'flow-path quiet'}, html('span', {}, 'all others'), html('span', {}), html('span', {class: 'value'}, weight(Math.max(0, others))))];
}

/** The meaning of the shares, in words. */
function saidOf({side, store}: Page, flow: Flow | null, test: FlowTest | null): string {
  const heads = `the mean of ${side.heads} heads`;
  const layer = side.attention.attending ? 'layer with attention' : 'layer';
  const cross = side.isSquare ? `half of what each ${layer} passes on stays, half moves by` : 'half of each block stays: a quarter moves by self-attention, half by cross-attention, by';
  if (store.now.by === 'rollout') return `Rollout, an approximation: ${cross} ${heads}; values, MLPs${side.attention.attending ? ', the other layers' : ''} and signs are left out`;
  const of = test?.word ? `the log-probability of \u201c${saidWord(test.word.text, side.queries)}\u201d` : 'the token\u2019s last state';
  return `By effect, an approximation: what moves is spread by how much ${of} changes when the edge is removed from all heads of its layer${flow?.tried ? ` (the ${flow.tried} largest of the rollout)` : ''}; what no edge was tried for stays`;
}

export const flow: View = {
  name: 'flow',
  label: 'Flow',
  key: '8',
  needs: ({held, held_view: view}) => held === undefined || view === 'flow',
  parts: [],
  keys: [['\u2190 \u2192', 'the previous token, the next token'], ['b', 'edges by rollout, by effect'], ['S', 'saves the graph as graphml']],
  footKeys: [['click', 'a token: its path'], ['b', 'effect'], ['\u2190 \u2192', 'position'], ['S', 'saves the graph']],
  draw: (container, shared) => {
    const {api, store, side} = shared;
    const part = (name: string, label: string) => html('section', {class: name, 'aria-label': label});
    const [graph, paths, trusted, tested] = [part('flow-graph', 'Flow'), part('flow-part', 'Paths'), part('flow-part', 'How far to trust it'), part('flow-part', 'Test')];
    const title = html('span', {class: 'flow-title'});
    const about = html('span', {class: 'quiet'});
    const by = choice('Edges by', [{name: 'rollout', label: 'rollout'}, {name: 'effect', label: 'effect'}] as const, (name) => store.set({by: name}));
    const exports = kFormats.map((format) => button({class: 'option', 'aria-label': `export as ${format}`}, () => void exportGraph(page, format), format));
    const canvas = html('div', {class: 'flow-canvas'});
    const room = html('div', {class: 'flow-room'});
    const said = html('span', {class: 'quiet'});  // in the foot line
    const sides = stacksOf(api).length > 1 ? sideSwitch(shared) : null;
    graph.append(html('div', {class: 'heading'}, html('h2', {}, 'Flow'), title, about,
      html('span', {class: 'words-switches', 'data-unsaved': true}, sides?.element ?? null, ...exports, html('span', {class: 'quiet'}, 'edges by'), by.element)), room);
    container.append(graph, html('div', {class: 'flow-columns'}, paths, trusted, tested));
    const choose = (node: number) => {
      const key = nodeIndex(page, node);
      const position = flowPosition(page);
      store.set({query: position, key: store.now.key === key || node === position ? null : key, range: null, to: false});
    };
    const page: FlowPage = {...shared, choose};
    const canTest = api.model.runs || api.model.held_view === 'flow';  // otherwise there is no model to run again
    by.element.hidden = !canTest;
    const flows = new FlowWait<Flow>(page, 'flow', () => update());
    const tests = new FlowWait<FlowTest>(page, 'effects', () => update());
    room.append(flows.element, canvas);
    let kept: {of: string; flow: Flow} | null = null;  // used while another path through it is loading
    let drawn: unknown[] = [];
    const update = () => {
      by.show(store.now.by);
      sides?.show();
      if (!api.hasWeights) return;
      const asked = flows.show(flowName(page, canvas.clientWidth));
      const found = tests.show(canTest ? effectsName(page) : null);
      const [now, test] = [latest(asked), valueOf(found)];
      const state = [now, test, asked?.state, found?.state, canvas.clientWidth, keyNode(page)];
      if (state.every((each, at) => each === drawn[at]) && drawn.length > 0) return;
      drawn = state;
      const position = flowPosition(page);
      const of = `${position} ${store.now.by}`;
      const lead = api.model.fills_masks ? 'in its place' : `next word after ${nodeName(page, position)}`;
      title.replaceChildren('into ', html('b', {class: 'accent'}, nodeName(page, position)), ` ${position}`,
        ...test?.word ? [`; ${lead}: `, html('b', {}, saidWord(test.word.text, side.queries)), ` ${weight(test.word.probability)}`] : []);
      about.textContent = asked?.state === 'error' ? asked.error.message : saidOf(page, now, test);
      about.title = about.textContent;
      const why = found?.state === 'error' ? found.error.message : canTest ? '' : 'There is no model to run again with hidden tokens.';
      trusted.replaceChildren(...test ? trust(page, test) : [html('div', {class: 'heading'}, html('h2', {}, 'How far to trust it')), tests.element, html('p', {class: 'quiet'}, why)]);
      tested.replaceChildren(...test ? testTable(page, test, position, now?.shares[position] ?? 0) : []);
      if (!now) {
        if (asked?.state === 'error') canvas.replaceChildren();
        else if (kept?.of === of) drawFlow(canvas, page, {flow: {...kept.flow, way: []}, test, isComing: false});
        else drawFlow(canvas, page, {flow: frameOf(page, canvas.clientWidth), test: null, isComing: true});
        if (kept?.of !== of) paths.replaceChildren();
        return;
      }
      kept = {of, flow: now};
      say(said, `the shares of every layer sum to 1 within ${Math.max(1e-16, now.sum_error).toExponential(0)}`);
      drawFlow(canvas, page, {flow: now, test, isComing: false});
      paths.replaceChildren(html('div', {class: 'heading'}, html('h2', {}, 'Paths'), html('span', {class: 'quiet'}, 'each sums over the layers of its hops'), html('span', {class: 'quiet words-switches'}, 'share')), html('ol', {}, ...pathRows(page, now)));
    };
    const step = (by: number) => store.set({query: Math.max(0, Math.min(side.queries.length - 1, flowPosition(page) + by)), key: null, range: null, to: false});
    return {
      keys: {
        ArrowLeft: () => step(-1), ArrowRight: () => step(1), b: () => store.set({by: store.now.by === 'effect' ? 'rollout' : 'effect'}),
        S: () => void exportGraph(page, 'graphml'),
      },
      said: () => [said],
      update,
      destroy: () => {
        flows.destroy();
        tests.destroy();
      },
    };
  },
};
