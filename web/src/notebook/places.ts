// Where a widget's live page appears in a notebook: in each output whose html names the widget. The output contains the
// saved page, which is shown again when no kernel answers the live one.
import {html} from '../drawing/dom';
import type {Model} from './page';
import {NotebookPage} from './page';

const kGoneMilliseconds = 60_000;  // notebooks remove outputs that are scrolled out of sight from the document, and insert them again
const kLookMilliseconds = 2_000;   // between checks of the kernel
const kHostStyle = 'jp-RenderedHTMLCommon';  // the notebook's style of lists, tables and headings
const kLost = 'The kernel that answered this page has stopped. Run the cell again to see the live page.';

interface Place { page: NotebookPage; saved: Node[]; styled: Element | null; goneSince: number | null }

export class Places {
  private readonly pages = new Map<HTMLElement, Place>();
  private readonly addresses = new WeakMap<HTMLElement, string>();
  private readonly observer = new MutationObserver(() => this.lookSoon());
  private readonly looks = setInterval(() => this.lookAround(), kLookMilliseconds);
  private frame = 0;

  constructor(private readonly model: Model, private readonly name: string) {
    this.observer.observe(document.body, {childList: true, subtree: true});
    this.take();
  }

  /** The saved pages again, with a line that says why. */
  stop(why: string | null): void {
    this.observer.disconnect();
    clearInterval(this.looks);
    cancelAnimationFrame(this.frame);
    for (const element of [...this.pages.keys()]) {
      this.giveBack(element);
      if (why !== null) element.prepend(lost(why));
    }
  }

  private lookSoon(): void {
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.take());
  }

  private take(): void {
    this.frame = 0;
    for (const element of document.querySelectorAll<HTMLElement>(`[data-heed-page="${CSS.escape(this.name)}"]`)) {
      if (!this.pages.has(element)) this.open(element);
    }
  }

  private open(element: HTMLElement): void {
    const saved = [...element.childNodes];
    const styled = element.closest(`.${kHostStyle}`);
    styled?.classList.remove(kHostStyle);
    element.replaceChildren();
    const page = new NotebookPage(element, this.model, this.addresses.get(element) ?? element.dataset.heedAddress ?? '');
    this.pages.set(element, {page, saved, styled, goneSince: null});
  }

  private giveBack(element: HTMLElement): void {
    const {page, saved, styled} = this.pages.get(element)!;
    this.pages.delete(element);
    this.addresses.set(element, page.address);
    page.destroy();
    styled?.classList.add(kHostStyle);
    element.replaceChildren(...saved);
  }

  private lookAround(): void {
    const now = performance.now();
    for (const [element, place] of [...this.pages]) {
      place.goneSince = element.isConnected ? null : place.goneSince ?? now;
      if (place.goneSince !== null && now - place.goneSince > kGoneMilliseconds) this.giveBack(element);
    }
    if (isDead(this.model)) this.stop(kLost);
  }
}

/** A killed kernel sends no close message. */
function isDead({widget_manager: manager}: Model): boolean {
  try {
    return manager?.kernel?.status === 'dead';
  } catch {  // JupyterLab's manager no longer has a session
    return true;
  }
}

export function lost(why: string): HTMLElement {
  return html('p', {class: 'heed-lost', role: 'alert'}, why);
}

export {kLost};
