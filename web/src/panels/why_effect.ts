// The effect of a value on the next word, and the result without its edge.
import type {Effect, Trial} from '../answers';
import {button, html} from '../drawing/dom';
import {scored, signed, weight} from '../drawing/format';
import type {Page} from './panel';
import {phrase} from '../text/tokens';
import {bar, heading, note, quiet, row} from './why_parts';
import {saidWord} from './word';

const kShown = 0.005;  // smaller numbers are written as 0.00

export function effectBlock(effect: Effect, query: number, {info: {tokens}}: Page['api']): Node[] {
  const largest = Math.max(1e-9, ...[...effect.raised, ...effect.lowered].map(({change}) => Math.abs(change)));
  const digits = largest < 0.1 ? 3 : 2;
  const rows = effect.raised.map((word, at) => {
    const other = effect.lowered[at];
    return row('effect', html('span', {class: 'word'}, saidWord(word.text, tokens)), bar(word.change, largest), signed(word.change, digits),
      html('span', {class: 'word'}, other ? saidWord(other.text, tokens) : '\u00b7'), bar(Math.abs(other?.change ?? 0), largest, 0, undefined, 'negative'), signed(other?.change ?? 0, digits));
  });
  return [
    heading('Effect on the logits', effect.no_words ? `no direct effect on logits: ${effect.no_words}` : `of the value through W\u2092, at ${query}`),
    ...effect.no_words ? [] : largest < kShown ? [note('no logit moves by .005 or more')] : [row('effect head', quiet('raised'), '', '', quiet('lowered'), '', ''), ...rows],
    note(`length of the output ${scored(effect.length)} of the head\u2019s ${scored(effect.head_length)}, cosine ${scored(effect.cosine, 3)}`),
  ];
}

/** `3 %`, and one digit more where it is small. */
export function percent(share: number): string { return `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`; }

/** The output token after which a source's edge was tried; null: the words are the query's. */
export function writtenAfter({side, api}: Page, {position}: Trial): string | null {
  return side.isWritten || !api.info.key_tokens ? null : phrase(api.info.tokens, Math.max(0, position - 1), position + 1);
}

export interface Column { name: string; label: string; trial: Trial | null }

/** Words without an edit, and one column per test. */
export function testBlock(columns: Column[], page: Page, query: number, run: (name: string) => void, swap: (text: string) => void, said: string): Node[] {
  const {side, api} = page;
  const first = columns.find(({trial}) => trial)?.trial;
  const changed = (from: number, to: number) => Math.abs(to - from) > from / 3 ? 'value changed' : 'value';
  const rows = (first?.words ?? []).map((word, at) => row('test', html('span', {class: 'word'}, saidWord(word.text, api.info.tokens)), html('span', {class: 'value'}, weight(word.as_it_is)),
    ...columns.map(({trial}) => {
      const edited = trial?.words[at]?.edited;
      return html('span', {class: edited === undefined ? 'value' : changed(word.as_it_is, edited)}, edited === undefined ? '\u2013' : weight(edited));
    })));
  const moved = row('test', quiet('output moved'), '', ...columns.map(({trial}) => html('span', {class: 'value'}, trial ? percent(trial.moved) : '\u2013')));
  const texts = first?.text_moved === undefined ? [] : [row('test', quiet('text\u2019s vector moved'), '', ...columns.map(({trial}) => html('span', {class: 'value'}, trial?.text_moved === undefined ? '\u2013' : percent(trial.text_moved))))];
  const field = html('input', {class: 'why-swap', placeholder: 'Swap a token\u2026', 'aria-label': 'Another token in the key\u2019s place', size: 14, 'data-unsaved': true});
  field.addEventListener('keydown', (event) => { if (event.key === 'Enter' && field.value !== '') swap(field.value); });
  const written = first ? writtenAfter(page, first) : null;
  const after = written ?? phrase(side.queries, Math.max(0, query - 1), query + 1);
  return [
    heading('Test it', side.isWritten ? `next word after \u201c${after}\u201d` : written !== null ? `what is written after \u201c${after}\u201d, where it changes most` : 'what the output becomes'),
    row('test head', '', quiet('as it is'), ...columns.map(({name, label, trial}) => button({class: trial ? 'why-run' : 'why-run link', title: 'opens the session without it'}, () => run(name), label))),
    ...rows, moved, ...texts, note('removed: the edge is masked, the row renormalised, the model run again. ', ...api.model.held === undefined ? [field] : [], ...said ? [html('span', {role: 'alert'}, ` ${said}`)] : []),
  ];
}
