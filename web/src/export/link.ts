// A link for other people: the address with the model and the text.
import {format, kMostLinked} from '../selection/address';
import type {Page} from '../panels/panel';

/** A sentence why there is none; else null. */
export function whyNoLink({api: {info}}: Page): string | null {
  if (info.edits !== undefined) return 'a link does not hold edits: save html instead';
  const second = info.pair ?? info.target ?? '';
  if (info.text === '') return 'there is no text to link to';
  if ([info.text, second].some((text) => [...text].length > kMostLinked)) {
    return `the text is longer than the ${kMostLinked.toLocaleString('en')} characters that a link holds: save html instead`;
  }
  return null;
}

/** The address of the view, with the model and its text. */
export function linkOf({api: {info}, store: {chosen}}: Page): string {
  return `#${format({...chosen, model: info.model, text: info.text, second: info.pair ?? info.target ?? ''})}`;
}
