// Pointer and keys over the text: hover previews, click pins, a drag takes a span, arrows walk.
import type {SelectionStore} from '../selection';
import type {TextView} from './text_view';

function indexOf(event: Event): number | null {
  const token = (event.target as Element).closest?.('.token');
  return token instanceof HTMLElement ? Number(token.dataset.index) : null;
}

function listenToPointer(paragraph: HTMLElement, store: SelectionStore): () => void {
  let pressed: number | null = null;
  let dragged = false;
  paragraph.addEventListener('pointerover', (event) => {
    const index = indexOf(event);
    if (index === null || event.pointerType === 'touch') return;
    if (pressed !== null && (dragged || index !== pressed)) {
      const range: [number, number] = [Math.min(pressed, index), Math.max(pressed, index)];
      store.preview({});
      store.set({range, query: null, key: null}, {replace: dragged});  // one step for Back, however far
      dragged = true;
    } else {
      store.preview({query: index});
    }
  });
  paragraph.addEventListener('pointerleave', () => pressed === null && store.preview({}));
  paragraph.addEventListener('pointerdown', (event) => {
    pressed = event.button === 0 ? indexOf(event) : null;
    dragged = false;
  });
  paragraph.addEventListener('click', (event) => {
    const index = indexOf(event);
    if (index !== null && !dragged) store.set({query: index, key: null, range: null});
    dragged = false;
  });
  const lift = () => { pressed = null; };
  window.addEventListener('pointerup', lift);
  window.addEventListener('pointercancel', lift);
  return () => {
    window.removeEventListener('pointerup', lift);
    window.removeEventListener('pointercancel', lift);
  };
}

function listenToKeys(view: TextView, length: number, store: SelectionStore): void {
  const {paragraph} = view;
  paragraph.addEventListener('focusin', (event) => {
    const index = indexOf(event);
    if (index !== null && view.element(index)?.matches(':focus-visible')) store.preview({query: index});
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
    else if (event.key === 'Enter' || event.key === ' ') store.set({query: index, key: null, range: null});
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

/** While Alt is held the text turns round. */
function followAlt(changed: (held: boolean) => void): () => void {
  const key = (event: KeyboardEvent) => {
    if (event.key !== 'Alt') return;
    event.preventDefault();  // no menu
    changed(event.type === 'keydown');
  };
  const release = () => changed(false);
  window.addEventListener('keydown', key);
  window.addEventListener('keyup', key);
  window.addEventListener('blur', release);
  return () => {
    window.removeEventListener('keydown', key);
    window.removeEventListener('keyup', key);
    window.removeEventListener('blur', release);
  };
}

/** Returns what ends the listening. */
export function listenToText(
  view: TextView, length: number, store: SelectionStore, alt: (held: boolean) => void
): () => void {
  const stops = [listenToPointer(view.paragraph, store), followAlt(alt)];
  listenToKeys(view, length, store);
  return () => stops.forEach((stop) => stop());
}
