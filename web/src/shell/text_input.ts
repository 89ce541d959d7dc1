// Pointer and keys over the text: hover previews, click pins, a drag takes a span, arrows walk.
import type {Selection} from '../selection/selection';
import type {Hover, SelectionStore} from '../selection/store';
import type {TextView} from './text_view';

/** What pointing at a token shows, and what a click on it pins; whether a drag takes a span. */
export interface TextPlaces { hasSpans: boolean; over(index: number): Partial<Hover>; at(index: number): Partial<Selection> }

function indexOf(event: Event): number | null {
  const token = (event.target as Element).closest?.('.token');
  return token instanceof HTMLElement ? Number(token.dataset.index) : null;
}

function listenToPointer(paragraph: HTMLElement, store: SelectionStore, places: TextPlaces): void {
  let pressed: number | null = null;
  let dragged = false;
  paragraph.addEventListener('pointerover', (event) => {
    const index = indexOf(event);
    if (index === null || event.pointerType === 'touch') return;
    if (places.hasSpans && pressed !== null && (dragged || index !== pressed)) {
      const range: [number, number] = [Math.min(pressed, index), Math.max(pressed, index)];
      store.preview({});
      store.set({range, query: null, key: null}, {replace: dragged});  // one step for Back, however far
      dragged = true;
    } else {
      store.previewSoon(places.over(index));
    }
  });
  paragraph.addEventListener('pointerleave', () => pressed === null && store.preview({}));
  paragraph.addEventListener('pointerdown', (event) => {
    pressed = event.button === 0 ? indexOf(event) : null;
    dragged = false;
    if (pressed === null) return;
    const lifted = new AbortController();  // wherever in the document
    for (const name of ['pointerup', 'pointercancel'] as const) {
      document.addEventListener(name, () => {
        pressed = null;
        lifted.abort();
      }, {signal: lifted.signal});
    }
  });
  paragraph.addEventListener('click', (event) => {
    const index = indexOf(event);
    if (index !== null && !dragged) store.set(places.at(index));
    dragged = false;
  });
}

function listenToKeys(view: TextView, length: number, store: SelectionStore, places: TextPlaces): void {
  const {paragraph} = view;
  paragraph.addEventListener('focusin', (event) => {
    const index = indexOf(event);
    if (index !== null && view.element(index)?.matches(':focus-visible')) store.preview(places.over(index));
  });
  paragraph.addEventListener('focusout', () => store.preview({}));
  paragraph.addEventListener('keydown', (event) => {
    const index = indexOf(event);
    if (index === null || event.altKey || event.ctrlKey || event.metaKey) return;
    const targets: Record<string, () => number> = {
      ArrowRight: () => index + 1, ArrowLeft: () => index - 1,
      ArrowUp: () => view.lineAway(index, -1), ArrowDown: () => view.lineAway(index, 1),
      Home: () => 0, End: () => length - 1,
    };
    const target = targets[event.key];
    if (target) view.focus(Math.max(0, Math.min(length - 1, target())));
    else if (event.key === 'Enter' || event.key === ' ') store.set(places.at(index));
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

export function listenToText(view: TextView, length: number, store: SelectionStore, places: TextPlaces): void {
  listenToPointer(view.paragraph, store, places);
  listenToKeys(view, length, store, places);
}
