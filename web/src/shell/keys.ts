// Keys for one page among several: those pressed in it, and those pressed without a focus while the pointer is over it.

export function listenToKeys(root: HTMLElement, hear: (event: KeyboardEvent) => void): () => void {
  const stop = new AbortController();
  const {signal} = stop;
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
  return () => stop.abort();
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
