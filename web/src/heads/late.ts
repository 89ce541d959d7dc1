// Which of the scores that need passes of the model a page shows.
import type {Score} from '../answers';
import type {Page} from '../panels/panel';
import type {Place, Stack} from '../selection/selection';
import type {LateFrom} from '../transport/late';

/** The kinds of late scores among those that are named. */
function lateOf(scores: readonly Score[], names: readonly string[]): LateFrom[] {
  const from = scores.filter(({name, short}) => names.includes(name) || names.includes(short)).map((score) => score.from);
  return [...new Set(from)].filter((each): each is LateFrom => each !== 'text');
}

/** Every head of the shown attention. */
export function headsOf({side}: Page): Required<Place>[] {
  const stack = side.stack as Stack;
  return side.numbers.flatMap((layer) => Array.from({length: side.heads}, (_, head) => ({stack, layer, head})));
}

/** B's same score, if it needs passes of the model; null if none is shown. */
export function wantBeside(page: Page, name: string | null): void {
  const {compared, api: {about: {scores}}, store: {now}, side} = page;
  if (compared && compared.a !== compared.b) compared.b.late.want(name === null ? [] : lateOf(scores, [name]), {...now.places[0]!, stack: side.stack as Stack}, () => headsOf(page));
}

/** Requests the scores that the page shows: all in the heads view, else those named by chips, order and filter. */
export function wantLate(page: Page): void {
  const {api, side, store: {now}} = page;
  if (!api.hasWeights) return;
  const all = now.view === 'heads' ? api.about.scores.map(({name}) => name) : [];
  const names = [...now.scores, now.sort, ...now.filter.match(/[a-z_]+/g) ?? [], ...all];
  api.late.want(lateOf(api.about.scores, names), {...now.places[0]!, stack: side.stack as Stack}, () => headsOf(page));
}
