// How many of the visible tiles have arrived: coarse tiles of a long text take a while.
import {html, say} from '../drawing/dom';
import {kQuietMilliseconds} from '../drawing/progress_line';

const kSecond = 1000;

export class MatrixWait {
  readonly element = html('span', {class: 'quiet', role: 'status'});
  private since = 0;
  private again: ReturnType<typeof setTimeout> | undefined;

  show({there, of}: {there: number; of: number}): void {
    clearTimeout(this.again);
    if (there === of) this.since = 0;
    else if (this.since === 0) this.since = performance.now();
    const waited = there === of ? 0 : performance.now() - this.since;
    say(this.element, waited < kQuietMilliseconds ? '' : `${there} of ${of} tiles${waited < 2 * kSecond ? '' : `, ${Math.round(waited / kSecond)} s`}`);
    if (there < of) this.again = setTimeout(() => this.show({there, of}), waited < kQuietMilliseconds ? kQuietMilliseconds : kSecond);
  }

  stop(): void { clearTimeout(this.again); }
}
