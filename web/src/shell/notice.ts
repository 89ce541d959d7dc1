// The line over everything else: what was asked and is not there, what failed, the text while it is edited.
import {html} from '../dom';

export class Notice {
  readonly element = html('div', {class: 'notice'});
  isPassing = false;  // what it says ends with the next choice

  show(isPassing: boolean, ...content: HTMLElement[]): void {
    this.isPassing = isPassing;
    this.element.replaceChildren(...content);
  }

  /** A word on what was chosen. */
  remark(text: string): void { this.show(true, html('p', {class: 'quiet', role: 'alert'}, text)); }

  clear(): void { this.show(false); }

  /** Another choice was made. */
  moveOn(): void { if (this.isPassing) this.clear(); }
}
