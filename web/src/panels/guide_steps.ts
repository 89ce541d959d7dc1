// The steps of the guided tour: each is a view of the current text, and two sentences with its numbers.
import type {Lens, Trial, Why} from '../answers';
import type {Line} from '../attention/arcs';
import type {Question} from '../data/slot';
import {html} from '../drawing/dom';
import {scored, shortWeight, signed, weight} from '../drawing/format';
import {answersRuns} from '../heads/held';
import {headsOf} from '../heads/late';
import type {Page} from './panel';
import {primary} from './panel';
import {plainName} from '../heads/score_names';
import type {Place, Selection, ViewName} from '../selection/selection';
import {headText, kNothing} from '../selection/selection';
import {readVersus} from '../selection/versus';
import {bestOf} from '../shell/chips';
import type {Side} from '../attention/side';
import type {HasTokens} from '../text/tokens';
import {isolated, phrase, plain} from '../text/tokens';
import type {Next} from '../transport/api';
import {tokenOfB} from '../transport/difference';
import {columnOf, valueOf} from './heads_scores';
import {backText, rankOf, rankText} from './read_out';
import type {WhyCell} from './why_cell';
import {percent} from './why_effect';
import {saidWord} from './word';

export const kWithout = 4;  // the step that runs the text without the head
const kTested = 1024;  // tokens up to which Why reruns the text unasked
const kWords = 64;     // as many as Look requests for both sides

type Said = (Node | string)[];

export interface Step {
  number: number;  // as in the address
  title: string;
  view: ViewName;
  isThere: boolean;                  // whether the model and the text support the step
  change: Partial<Selection>;        // besides the head, the row and the key
  ask: () => Question<unknown>[] | null;  // null: its inputs are still loading
  lead: string;
  say: (...answers: never[]) => Said | null;
}

function named({tokens}: HasTokens, at: number): Said { return [html('b', {}, `\u201c${isolated(plain(tokens[at]!))}\u201d`), ` (${at})`]; }

function word(text: string, {queries}: Side): HTMLElement { return html('b', {}, `\u201c${isolated(saidWord(text, queries))}\u201d`); }

/** Attention between tokens. */
function rowStep(page: Page, cell: WhyCell | null): Step {
  const {side, api} = page;
  const where = !side.isSquare ? 'Before each word that it writes, the model looks at the source: a head spreads a weight of 1 over all of it.'
    : `A head lets each token look at ${side.attention.causal ? 'itself and the tokens before it' : `every token of ${side.split === null ? 'the text' : 'both texts'}`}, and spreads a weight of 1 over them.`;
  return {
    number: 1, title: 'Who attends to whom', view: 'look', isThere: true, change: {}, lead: where,
    ask: () => cell && [api.line(cell.place, cell.query, cell.query + 1, false)],
    say: (line: Line) => {
      const {place, query, key} = cell!;
      const value = line.weights[key] ?? null;
      const next = side.isSquare ? undefined : side.queries[query + 1];
      const writes = next ? [', which writes ', html('b', {}, `\u201c${isolated(plain(next))}\u201d`), ','] : [];
      return ['From ', ...named({tokens: side.queries}, query), ...writes, ` head ${headText(place)} gives ${value === null ? 'nothing' : weight(value)} to `,
        ...named({tokens: side.keys}, key), side.isSquare ? `, ${backText(query, key)}` : '', value === null ? ', which the mask hides.' : `: the ${rankText(rankOf(line.weights, key), 'row')}.`];
    },
  };
}

/** The score in which a head ranks highest, and how many heads have more. */
function habitStep(page: Page): Step {
  const {api, store, side} = page;
  const place = primary(store.now);
  const scores = api.scoresOf(place)?.find(({head}) => head === place.head);
  const best = !scores ? null : side.isSquare ? bestOf(api, scores)?.name ?? null : 'in_order';
  return {
    number: 2, title: 'What the head does', view: 'heads', isThere: true, ask: () => best === null ? null : [],
    change: {sort: side.isSquare && best !== null ? best : kNothing.sort, on: 'text'},
    lead: '',
    say: () => {
      const column = columnOf(page, best!, null)!;
      const values = headsOf(page).map((each) => valueOf(page, each, column, null));
      const own = valueOf(page, place, column, null);
      if (own === undefined || values.includes(undefined)) return null;
      const more = values.filter((each) => each! > own).length;
      return [`Over the whole text, the strongest habit of head ${headText(place)} is `, html('b', {}, `${plainName(column.name)} ${shortWeight(own)}`), `, the ${column.about}. `,
        `${more === 0 ? 'None' : more} of the ${values.length} heads ${more === 1 ? 'has' : 'have'} more of it; `
        + `${answersRuns(api.model, 'heads') ? 'the evidence beside the table shows it row by row' : 'the table has the others'}.`];
    },
  };
}

/** A weight from its score. */
function whyStep(page: Page, cell: WhyCell | null): Step {
  const {api, side} = page;
  const view = api.model.held_view === 'look' ? 'look' : 'why';
  return {
    number: 3, title: 'Why this weight', view, isThere: answersRuns(api.model, view), change: {},
    lead: 'Each weight begins as a score: one token asks with a query, the other answers with a key, and their product says how well they match.',
    ask: () => cell && [api.ofHead<Why>(cell.place, cell.path)],
    say: ({query, key, visible, score, sum, weight: value}: Why) => [...named({tokens: side.queries}, query), ' and ', ...named({tokens: side.keys}, key),
      ` score ${scored(score)}${sum.terms.length > 1 ? ` (${sum.terms.map((term, at) => `${term.name} ${at === 0 ? scored(term.value) : signed(term.value)}`).join(', ')})` : ''}; `,
      visible ? `softmax turns the row\u2019s scores into weights that sum to 1, and this one into ${weight(value)}.` : 'but the mask hides this key.'],
  };
}

/** The head that the guided look is about: in the step without it, another one is in view. */
export function headOf({places, guide, versus}: Selection): Place {
  const own = primary({places});
  const read = guide === kWithout ? readVersus(versus) : null;
  const [ablated] = read?.kind === 'edits' ? (read.edits as {ablate?: Place[]}).ablate ?? [] : [];
  return ablated ? {...own, layer: ablated.layer, head: ablated.head} : own;
}

/** The text run without the head: beside the words, or as Why tries it. */
function withoutStep(page: Page, cell: WhyCell | null): Step {
  const {api, side, store, compared} = page;
  const place = headOf(store.now);
  const query = store.pinnedQuery ?? side.queries.length - 1;
  const head = headText(place);
  const lead = 'To see what a head is for, run the text without it: ';
  const own = {number: kWithout, title: 'Without the head'};
  if (api.model.runs && side.isWritten) {
    const ask = () => compared && compared.unlike === '' ? [compared.a.next(query, kWords), compared.b.next(tokenOfB(compared, query), kWords)] : null;
    return {
      ...own, view: 'look', isThere: true, change: {versus: `ablate:${side.stack}.${head}`}, ask,
      lead: `${lead}in B, head ${head} writes nothing.`,
      say: (a: Next, b: Next) => {
        const least = b.words.at(-1)!.probability;
        const without = ({id}: {id: number}) => b.words.find((each) => each.id === id)?.probability;
        const lost = (each: {id: number; probability: number}) => each.probability - (without(each) ?? least);
        const most = a.words.reduce((one, each) => lost(each) > lost(one) ? each : one);
        const after = without(most);
        const [first] = a.words, [other] = b.words;
        return ['After ', html('b', {}, `\u201c${phrase(side.queries, Math.max(0, a.position - 1), a.position + 1)}\u201d`), ' the next word that loses most, ', word(most.text, side),
          `, has ${weight(most.probability)} with the head and ${after === undefined ? `under ${weight(Math.max(0.001, least))}` : weight(after)} without it; `,
          ...first!.id === other!.id ? ['the likeliest is ', word(first!.text, side), ' in both.'] : ['the likeliest was ', word(first!.text, side), ' and becomes ', word(other!.text, side), '.']];
      },
    };
  }
  return {
    ...own, view: 'why', isThere: answersRuns(api.model, 'why') && api.info.tokens.length <= kTested, change: {},
    lead: `${lead}below, \u201cablate head\u201d is the text with ${head} writing nothing.`,
    ask: () => cell && [api.ofHead<Trial>(cell.place, `${cell.path}/test?edit=ablate`)],
    say: ({words: [first], moved, text_moved: text}: Trial) => first
      ? ['The likeliest word there, ', word(first.text, side), `, goes from ${weight(first.as_it_is)} to ${weight(first.edited)}.`]
      : ['The output at ', ...named({tokens: side.queries}, query), ` moves by ${percent(moved)}${text === undefined ? '' : `, and the vector of the text by ${percent(text)}`}.`],
  };
}

/** The guess of each layer. */
function layersStep(page: Page): Step {
  const {api, side, store} = page;
  const at = store.pinnedQuery ?? side.queries.length - 1;
  const view = api.model.held_view === 'look' ? 'look' : 'words';
  return {
    number: 5, title: 'Layer by layer', view, isThere: side.isWritten && answersRuns(api.model, view), change: {},
    lead: 'The lens reads the model after each layer as if it were the last, so that one sees the guess form.',
    ask: () => [api.ask<Lens>(`${side.stack}/lens?begin=${at}&end=${at + 1}&at=${at}`)],
    say: ({levels, has_blocks: hasBlocks}: Lens) => {
      const layers = levels.filter(({layer}, place) => layer !== undefined && (!hasBlocks || levels[place + 1]?.layer !== layer));
      const [first, last] = [layers[0]!, layers.at(-1)!];
      const guess = ({cells}: Lens['levels'][number]) => cells[0]!;
      const isLast = (level: Lens['levels'][number]) => guess(level).id === guess(last).id;
      const begin = layers[layers.length - [...layers].reverse().findIndex((level) => !isLast(level))] ?? first;
      const told = (level: Lens['levels'][number]): Said => [word(guess(level).text, side), ` ${shortWeight(guess(level).probability)}`];
      const isWhole = layers.every(isLast);
      return ['After ', html('b', {}, `\u201c${phrase(side.queries, Math.max(0, at - 1), at + 1)}\u201d`), ` layer ${first.layer} would say `, ...told(first),
        ...isWhole ? ['; all layers agree'] : [begin === last ? '; only the last layer says ' : `; from layer ${begin.layer} on it is `, ...told(begin)],
        begin === last || first === last ? '.' : `, and ${shortWeight(guess(last).probability)} in the end.`];
    },
  };
}

/** The existing ones; `cell`: the pinned edge, or the largest of a pinned row. */
export function stepsOf(page: Page, cell: WhyCell | null): Step[] {
  return [rowStep(page, cell), habitStep(page), whyStep(page, cell), withoutStep(page, cell), layersStep(page)].filter(({isThere}) => isThere);
}
