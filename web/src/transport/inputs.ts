// The texts that a page begins with, of a tab and of the command line.
import type {Model} from '../answers';
import type {Input} from './transport';

/** Of the texts those that the model takes: a tab keeps them, and another model may stand behind its address now. */
export function taken({takes_pair, takes_target}: Model, {text, pair, target}: Input): Input {
  return {text, ...takes_pair && pair !== undefined && {pair}, ...takes_target && target !== undefined && {target}};
}

/** What was read last in this tab; but of another model only where the server gives no text. */
export function toBegin(kept: (Input & {model: string}) | null, given: Input | null, model: string): Input | null {
  return kept && (given === null || kept.model === model) ? kept : given;
}

export function isSameInput(a: Input, b: Input): boolean {
  return a.text === b.text && a.pair === b.pair && a.target === b.target;
}
