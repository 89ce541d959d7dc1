// What the page is drawn on: the reader's window, or the sheet of a saved picture, which is the same
// on every screen, so that an address and a width make one picture.

const kSheetRatio = 2;     // pixels of a canvas
const kSheetHeight = 900;  // as a window would have it; a long page is longer

let onSheet = false;
const listeners = new Set<() => void>();

export function pixelRatio(): number { return onSheet ? kSheetRatio : devicePixelRatio; }

export function viewHeight(): number { return onSheet ? kSheetHeight : innerHeight; }

/** The part of the page that can be seen, from the top of the window. */
export function sight(): {top: number; bottom: number} {
  return onSheet ? {top: -Infinity, bottom: Infinity} : {top: 0, bottom: innerHeight};
}

/** Called when the sheet takes the place of the window, and when it leaves it. */
export function listenSheet(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function drawOnSheet(on: boolean): void {
  onSheet = on;
  document.documentElement.classList.toggle('saving', on);
  for (const listener of listeners) listener();
}
