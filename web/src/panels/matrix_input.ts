// Pointer, touch and keys on the matrix; wheel and drag belong to the sight.
import type {SelectionStore} from '../selection/store';
import type {Box, Cell, Extent, MatrixSight} from './matrix_sight';

const kLeastBox = 4;  // px: anything smaller is a click

/** The events that the input sends to the matrix. */
export interface MatrixEvents {
  drawBox(box: Box | null): void;
  walk(cell: Cell): void;  // by an arrow key: announces the cell
}

function listenToTouch(element: HTMLCanvasElement, sight: MatrixSight, store: SelectionStore): void {
  element.addEventListener('touchend', (event) => {  // lifting the finger pins
    const touch = event.changedTouches[0];
    const cell = touch && sight.isFitted ? sight.cellAt(touch) : null;
    if (!cell) return;
    event.preventDefault();
    store.preview({});
    store.set({...cell, range: null});
  });
  const hold = (event: TouchEvent) => {  // a long touch keeps the cross-hair
    const touch = event.touches[0];
    if (!touch || !sight.isFitted || event.touches.length > 1) return;
    event.preventDefault();
    store.preview(sight.cellAt(touch) ?? {});
  };
  element.addEventListener('touchstart', hold, {passive: false});
  element.addEventListener('touchmove', hold, {passive: false});
}

/** Shift and a drag: a box, which then fills the plot. */
function listenToBox(element: HTMLCanvasElement, sight: MatrixSight, events: MatrixEvents): () => boolean {
  let box: Box | null = null;
  let drawing = false;
  element.addEventListener('pointerdown', (start) => {
    if (!start.shiftKey || start.button !== 0) return;
    const bounds = element.getBoundingClientRect();
    const [x0, y0] = [start.clientX - bounds.left, start.clientY - bounds.top];
    drawing = true;
    element.setPointerCapture(start.pointerId);
    const move = (event: PointerEvent) => {
      box = {x0, y0, x1: event.clientX - bounds.left, y1: event.clientY - bounds.top};
      events.drawBox(box);
    };
    const end = () => {
      element.removeEventListener('pointermove', move);
      if (box && Math.abs(box.x1 - box.x0) > kLeastBox) sight.zoomTo(box);
      box = null;
      drawing = false;
      events.drawBox(null);
    };
    element.addEventListener('pointermove', move);
    element.addEventListener('lostpointercapture', end, {once: true});
  });
  return () => drawing;
}

function listenToKeys(
  element: HTMLCanvasElement, sight: MatrixSight, store: SelectionStore,
  {rows, columns, causal}: Extent, events: MatrixEvents
): void {
  const steps: Record<string, [number, number]> =
    {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
  element.addEventListener('keydown', (event) => {
    const step = steps[event.key];
    const own = Math.min(rows - 1, store.markedQuery ?? store.query ?? 0);
    const now: Cell = {query: own, key: store.markedKey ?? Math.min(columns - 1, own)};
    if (step) {
      const query = Math.max(0, Math.min(rows - 1, now.query + step[0]));
      const key = Math.max(0, Math.min(causal ? query : columns - 1, now.key + step[1]));
      events.walk({query, key});
      sight.follow({query, key});
    } else if (event.key === 'Enter' && store.hover.query !== null) {
      store.set({...now, range: null});
    } else if (event.key === '+' || event.key === '=' || event.key === '-') {
      sight.zoomBy(event.key === '-' ? 0.5 : 2);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  });
}

export function listenToMatrix(
  element: HTMLCanvasElement, sight: MatrixSight, store: SelectionStore,
  size: Extent, events: MatrixEvents
): void {
  const isBoxing = listenToBox(element, sight, events);
  element.addEventListener('pointermove', (event) => {
    if (!isBoxing()) store.preview(sight.cellAt(event) ?? {});
  });
  element.addEventListener('pointerleave', () => store.preview({}));
  element.addEventListener('focusout', () => store.preview({}));
  element.addEventListener('click', (event) => {
    const cell = sight.cellAt(event);
    if (cell && !event.shiftKey) store.set({...cell, range: null});
  });
  listenToTouch(element, sight, store);
  listenToKeys(element, sight, store, size, events);
}
