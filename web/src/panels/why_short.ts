// Why in short, beside Look: the sum of the chosen edge, its dimensions, and the next word without it.
import type {Trial, Why} from '../answers';
import {latest, Slot} from '../data/slot';
import {button, html} from '../drawing/dom';
import {count, scored, signed, weight} from '../drawing/format';
import {answersRuns, isSaved} from '../heads/held';
import type {MakePanel, Panel} from './panel';
import {isBetween} from '../attention/sides';
import {isolated, plain} from '../text/tokens';
import {ChosenCell} from './why_cell';
import {percent, writtenAfter} from './why_effect';
import {Block, note, quiet, row} from './why_parts';
import {saidWord} from './word';

const kMost = 8;       // dimensions drawn: each has a number above it
const kTested = 1024;  // tokens up to which the edge is removed unasked

function columns({against_mean: {terms}}: Why): HTMLElement {
  const first = [...terms].map((term, at) => ({...term, at})).sort((a, b) => Math.abs(b.value) - Math.abs(a.value)).slice(0, kMost).sort((a, b) => a.at - b.at);
  const largest = Math.max(1e-9, ...first.map(({value}) => Math.abs(value)));
  return html('div', {class: 'why-columns'}, ...first.map(({name, value}) => {
    const bar = html('i', {class: value < 0 ? 'negative' : ''});
    bar.style.height = `${Math.max(1, Math.round(40 * Math.abs(value) / largest))}px`;
    return html('span', {}, Math.abs(value) >= 0.05 * largest ? html('em', {}, signed(value)) : null, bar, quiet(name));
  }));
}

export const whyShort: MakePanel = (container, page): Panel => {
  const {store, api, side} = page;
  const about = html('span', {class: 'quiet'});
  const heading = html('div', {class: 'heading'}, html('h2', {}, button({'aria-label': 'open Why', 'aria-keyshortcuts': 'w'}, () => store.set({view: 'why'}), 'Why')), about);
  const body = html('div');
  const block = new Block(body);
  const why = new Slot<Why>('why-short', () => update());
  const trial = new Slot<Trial>('why-short-test', () => update());
  const cell = new ChosenCell(page, () => update());
  container.append(heading, body);
  const after = (query: number, trial: Trial): Node[] => {
    const word = trial.words[0];
    if (!word) return [note(`without this edge the output at ${isolated(plain(side.queries[query]!))} moves by `, html('b', {}, percent(trial.moved)),
      trial.text_moved === undefined ? '' : `, the text\u2019s vector by ${percent(trial.text_moved)}`)];
    const written = writtenAfter(page, trial);
    return [note(`without this edge \u201c${saidWord(word.text, api.info.tokens)}\u201d${written === null ? '' : `, written after \u201c${written}\u201d,`} goes from ${weight(word.as_it_is)} to `, html('b', {}, weight(word.edited)))];
  };
  const rows = (of: Why, without: Trial | string) => {
    const runner = of.runner_up === undefined ? null : side.keys[of.runner_up];
    const other = of.keys.find(({key}) => key === of.runner_up);
    return [
      ...of.sum.terms.map(({name, value}, at) => row('short', quiet(name === 'position' ? `position, ${count(Math.abs(of.query - of.key), 'token')} back` : name), at === 0 ? scored(value) : signed(value))),
      row('short summed', 'score', html('b', {}, scored(of.score))), row('short', quiet('row log-sum-exp'), scored(-of.lse)),
      row('short summed', html('span', {}, 'weight, exp of ', scored(of.score - of.lse)), html('b', {}, weight(of.weight))),
      ...runner && other ? [row('short', quiet(`strongest other key, ${isolated(plain(runner))} ${of.runner_up}`), weight(other.weight))] : [],
      ...typeof without === 'string' ? [note(without)] : after(of.query, without),
      html('div', {class: 'if-room'}, note('by dimension, against the mean key'), columns(of)),
    ];
  };
  /** The text without the edge, or why there is no number yet. */
  const tried = (place: Parameters<typeof api.ofHead>[0], path: string): Trial | string => {
    if (store.hover.tried) return 'without this edge\u2026';  // the pointer is passing over a head
    if (!answersRuns(api.model, 'look')) return 'without this edge: unknown, as there is no model to run again';
    if (api.info.tokens.length > kTested) return `without this edge: for more than ${kTested} tokens press r in Why`;
    const asked = trial.show(api.ofHead<Trial>(place, `${path}/test?edit=remove&top=1`));
    return asked?.state === 'error' ? `without this edge: ${asked.error.message}` : latest(asked) ?? 'without this edge\u2026';
  };
  const update = () => {
    const chosen = store.pinnedQuery !== null && store.pinnedKey !== null && (!isSaved(api.model) || answersRuns(api.model, 'look')) && (!isBetween(page) || page.stage.isStacked) ? cell.now() : null;  // no room if other heads are below it
    container.hidden = chosen === null;
    if (!chosen) return;
    const {place, query, key, path} = chosen;
    const asked = why.show(api.ofHead<Why>(place, path));
    if (asked?.state === 'error' && isSaved(api.model)) {  // it has only one edge's
      container.hidden = true;
      return;
    }
    const found = latest(asked);
    const without = tried(place, path);
    about.replaceChildren(plain(side.queries[query]!), ' \u2192 ', html('b', {class: 'accent'}, isolated(plain(side.keys[key]!))), ` ${key}`);
    if (asked?.state === 'error') block.show([asked.error], () => [note(asked.error.message)]);
    else if (found && found.visible) block.show([found, without], () => rows(found, without));
    else if (found) block.show([found], () => [note(key > query ? 'A query cannot see a later key: the mask hides it, and its weight is 0.' : 'The mask hides this key from this query, and its weight is 0.')]);
    tighten();
  };
  const around = container.parentElement!;  // it scrolls: bars that would be cut are left to Why
  const tighten = () => {
    container.classList.remove('tight');
    container.classList.toggle('tight', around.scrollHeight > around.clientHeight);
  };
  const resized = new ResizeObserver(tighten);
  resized.observe(around);
  return {
    update, destroy: () => {
      why.stop();
      trial.stop();
      cell.stop();
      resized.disconnect();
    },
  };
};
