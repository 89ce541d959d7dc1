// One line of work: its name, how many parts are done, and a hairline that fills.
import {html, say} from './dom';

export const kQuietMilliseconds = 200;  // shorter work is not reported

export interface ProgressLine { element: HTMLElement; show(what: string, count: string, share: number): void }

/** `actions` come after the count. */
export function progressLine(...actions: Node[]): ProgressLine {
  const what = html('span', {});
  const count = html('span', {class: 'quiet'});
  const fill = html('div', {class: 'progress-fill'});
  const element = html('div', {class: 'progress', role: 'status'}, what, html('span', {}, count, ...actions), html('div', {class: 'progress-room'}, fill));
  return {element, show: (said, of, share) => {
    say(what, said);
    say(count, of);
    fill.style.width = `${100 * share}%`;
  }};
}
