// Keys for one page among several: those pressed in it, and those pressed without a focus while the pointer is over it.

export function listenToKeys(root: HTMLElement, signal: AbortSignal, hear: (event: KeyboardEvent) => void): void {
  let isOver = false;
  root.addEventListener('pointerenter', () => { isOver = true; }, {signal});
  root.addEventListener('pointerleave', () => { isOver = false; }, {signal});
  const nowhere = (event: KeyboardEvent) => {
    const isNowhere = event.target === document.body || event.target === document.documentElement;
    if (isOver && isNowhere && !root.contains(event.target as Node)) hear(event);
  };
  for (const kind of ['keydown', 'keyup'] as const) {
    root.addEventListener(kind, hear, {signal});
    document.addEventListener(kind, nowhere, {signal});
  }
}

/** Reports when Alt is pressed, and when it is released or the page loses the focus. */
export function altOf(changed: (held: boolean) => void): (event: KeyboardEvent) => void {
  const release = () => changed(false);
  return (event) => {
    if (event.key !== 'Alt') return;
    event.preventDefault();  // no menu
    changed(event.type === 'keydown');
    if (event.type === 'keydown') window.addEventListener('blur', release, {once: true});
    else window.removeEventListener('blur', release);
  };
}

/** Whether a key is typed into a field, not meant for the page. */
export function isTyped({target, ctrlKey, metaKey, altKey}: KeyboardEvent): boolean {
  return ctrlKey || metaKey || altKey || (target instanceof Element && target.closest('textarea, input, select') !== null);
}

/** Takes the focus from a clicked element, which would otherwise get a focus frame at Escape, as if reached by a key. */
export function leavesClicked(root: HTMLElement, signal: AbortSignal): () => void {
  let isPointed = false;  // the focus came from the pointer
  root.addEventListener('pointerdown', () => { isPointed = true; }, {signal});
  root.addEventListener('keydown', ({key}) => { isPointed &&= key === 'Escape'; }, {capture: true, signal});
  return () => {
    const focused = document.activeElement;
    if (isPointed && focused instanceof HTMLElement && focused !== root && !focused.closest('dialog')) focused.blur();
  };
}
