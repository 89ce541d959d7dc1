// The lines above and below a list that scrolls: how much of the list lies beyond each edge.
import {html, say} from '../drawing/dom';
import {count} from '../drawing/format';

const kLine = 24;  // px

export class MoreBelow {
  readonly above = html('div', {class: 'quiet more-above', 'data-unsaved': true, hidden: true});
  readonly element = html('div', {class: 'quiet more-below', 'data-unsaved': true});

  /** `hasAbove`: the line above the list, too, has room. */
  constructor(private readonly hasAbove = false) {}

  /** The height of a list in `room`: all of it, or so much that the lines fit beside it. */
  fit(height: number, room: number): number {
    this.element.hidden = height <= room;
    this.above.hidden = this.element.hidden || !this.hasAbove;
    return this.element.hidden ? room : room - (this.hasAbove ? 2 : 1) * kLine;
  }

  get isNeeded(): boolean { return !this.element.hidden; }

  say(below: number, noun: string, above = 0): void {
    say(this.element, below > 0 ? `\u2193 ${count(below, `more ${noun}`)}` : '');
    say(this.above, above > 0 ? `\u2191 ${count(above, `more ${noun}`)}` : '');
  }
}
