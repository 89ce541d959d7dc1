// The head under the pointer, or with the focus, in a grid whose cells come and go. Cells that move or are replaced under
// a resting pointer, or under the focus, are not the reader's doing.
import type {Place} from '../selection/selection';
import type {Page} from './panel';
import {placeOf} from './grid_cell';

export class GridPointer {
  private isReplacing = false;

  constructor(
    scroller: HTMLElement, private readonly sheet: HTMLElement, private readonly page: Page,
    private readonly cellOf: (place: Place) => HTMLElement | null
  ) {
    const point = ({target}: Event) => this.isReplacing || page.store.preview({place: placeOf(page, target)});
    let pointer = '', passed = '';  // where the pointer is, and where it was when the focus last moved
    scroller.addEventListener('pointerover', (event) => {
      pointer = `${event.screenX} ${event.screenY}`;
      if (pointer === passed) return;  // the heads have moved, not the pointer
      passed = '';
      point(event);
    });
    scroller.addEventListener('focusin', (event) => {
      if (!this.isReplacing) passed = pointer;
      point(event);
    });
    const leave = () => this.isReplacing || page.store.preview({});
    for (const leaving of ['pointerleave', 'focusout']) scroller.addEventListener(leaving, leave);
  }

  /** A head keeps the focus when its cell is recreated. */
  keepingFocus(change: () => void): void {
    const focused = this.sheet.contains(document.activeElement) ? placeOf(this.page, document.activeElement) : null;
    change();
    if (focused && !this.sheet.contains(document.activeElement)) this.replace(() => this.cellOf(focused)?.focus({preventScroll: true}));
  }

  /** Removing a focused head does not count as the reader leaving it. */
  replace(change: () => void): void {
    this.isReplacing = true;
    change();
    this.isReplacing = false;
  }
}
