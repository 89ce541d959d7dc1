// A slow question about a flow: its progress, and a button to stop the server's work on it.
import type {FlowProgress} from '../answers';
import type {Data} from '../data/slot';
import {Slot} from '../data/slot';
import {button, html} from '../drawing/dom';
import {count} from '../drawing/format';
import type {Page} from './panel';
import type {ProgressLine} from '../drawing/progress_line';
import {kQuietMilliseconds, progressLine} from '../drawing/progress_line';

const kSaid: Record<string, [what: string, part: string]> = {
  layers: ['Following the flow', 'layer'], edges: ['Summing the edges', 'layer'],
  hidden: ['Hiding each token and running the text again', 'token'], removed: ['Removing each edge and running the text again', 'edge'],
};

const partOf = ({working}: FlowProgress) => kSaid[working]?.[1] ?? 'part';

function stoppedText(far: FlowProgress | undefined): string {
  if (!far) return 'Stopped.';
  const isTrial = far.working === 'hidden' || far.working === 'removed';
  return isTrial ? `Stopped: ${far.done} of ${count(far.of, partOf(far))} tried.` : `Stopped at ${partOf(far)} ${far.done} of ${far.of}.`;
}

export class FlowWait<Value extends object> {
  readonly element = html('div', {class: 'flow-wait'});
  private readonly line: ProgressLine;
  private readonly slot: Slot<Value>;
  private name = '';
  private isStopped = false;
  private isLate = false;
  private said = '';
  private late: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly page: Page, private readonly lane: string, private readonly changed: () => void) {
    this.slot = new Slot<Value>(lane, changed);
    this.line = progressLine(button({class: 'link', 'data-unsaved': true}, () => this.stop(), 'stop'));
  }

  /** The known progress of the question; null if there is none, or if the reader has stopped it. */
  show(name: string | null): Data<Value> | null {
    if ((name ?? '') !== this.name) {
      this.name = name ?? '';
      this.isStopped = this.isLate = false;
      clearTimeout(this.late);
      this.late = setTimeout(() => {
        this.isLate = true;
        this.changed();
      }, kQuietMilliseconds);
    }
    const {api} = this.page;
    const question = name === null || this.isStopped ? null : api.askLong<Value>(name);
    const data = this.slot.show(question);
    this.say(data);
    return data;
  }

  destroy(): void {
    clearTimeout(this.late);
    this.slot.stop();
  }

  private say(data: Data<Value> | null): void {
    const far = this.page.api.farOf(this.name);
    if (data?.state === 'loading' && this.isLate && far) {
      this.line.show(kSaid[far.working]?.[0] ?? '', `${partOf(far)} ${far.done} of ${far.of}`, far.done / far.of);
      this.put('working', () => this.line.element);
    } else if (this.isStopped) {
      this.put('stopped', () => html('p', {class: 'quiet'}, stoppedText(far), ' ', button({class: 'link', 'data-unsaved': true}, () => this.again(), 'run it again')));
    } else {
      this.put('', () => null);
    }
  }

  private put(said: string, make: () => HTMLElement | null): void {
    if (said === this.said) return;
    this.said = said;
    const made = make();
    this.element.replaceChildren(...made ? [made] : []);
  }

  private stop(): void {
    this.isStopped = true;
    this.page.api.end(this.lane);
    this.changed();
    this.element.querySelector('button')?.focus();
  }

  private again(): void {
    this.isStopped = false;
    this.changed();
  }
}
