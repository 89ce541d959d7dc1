// The page's initial texts, from the tab and the command line.
import type {Model, Models} from '../answers';
import type {Selection} from '../selection/selection';
import type {Input, Kept} from './transport';

/** The texts of a session. */
export function inputOf({text, pair, target, model}: Input): Input {
  return {text, ...pair !== undefined && {pair}, ...target !== undefined && {target}, ...model !== undefined && {model}};
}

/** Only the texts that the model accepts: a tab stores them, and its address may now serve another model. A session without a model has all of its texts. */
export function taken({runs, takes_pair, takes_target}: Model, {text, pair, target}: Input): Input {
  return {text, ...(takes_pair || !runs) && pair !== undefined && {pair}, ...(takes_target || !runs) && target !== undefined && {target}};
}

/** The texts that the server was started with. */
export function givenTo({text, pair, target}: Pick<Models, 'text' | 'pair' | 'target'>): Input | null {
  return text === null ? null : inputOf({text, pair, target});
}

/** The texts that this tab read last, unless the server has a text and has since been started with another text or model. */
export function toBegin(kept: Kept | null, given: Input | null, model: string): Input | null {
  if (given === null || kept === null) return kept ?? given;
  return kept.model === model && kept.given !== null && isSameInput(kept.given, given) ? kept : given;
}

/** Which texts a link names; the second one is what the model takes. */
export function linked({takes_pair, takes_target}: Model, {text, second, model}: Pick<Selection, 'text' | 'second' | 'model'>): Input {
  return {text, ...model !== '' && {model}, ...second !== '' && takes_pair && {pair: second}, ...second !== '' && takes_target && {target: second}};
}

export function isSameInput(a: Input, b: Input): boolean {
  return (a.model === undefined || b.model === undefined || a.model === b.model) && a.text === b.text && a.pair === b.pair && a.target === b.target;
}
