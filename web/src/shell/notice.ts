// The line above everything else: missing parts of a request, errors, and the text while it is edited.
import {html} from '../drawing/dom';

export class Notice {
  readonly element = html('div', {class: 'notice'});
  isPassing = false;  // it disappears with the next choice

  show(isPassing: boolean, ...content: HTMLElement[]): void {
    this.isPassing = isPassing;
    this.element.replaceChildren(...content);
  }

  /** A short message about the choice. */
  remark(text: string): void { this.show(true, html('p', {class: 'quiet', role: 'alert'}, text)); }

  clear(): void { this.show(false); }

  /** Called when another item is chosen. */
  moveOn(): void { if (this.isPassing) this.clear(); }
}
