// The line under a list that scrolls: how much of the list lies below the lower edge.
import {html, say} from '../drawing/dom';
import {count} from '../drawing/format';

const kLine = 24;  // px

export class MoreBelow {
  readonly element = html('div', {class: 'quiet more-below', 'data-unsaved': true});

  /** The height of a list in `room`: all of it, or so much that this line fits under it. */
  fit(height: number, room: number): number {
    this.element.hidden = height <= room;
    return this.element.hidden ? room : room - kLine;
  }

  get isNeeded(): boolean { return !this.element.hidden; }

  say(below: number, noun: string): void { say(this.element, below > 0 ? `\u2193 ${count(below, `more ${noun}`)}` : ''); }
}
