// A page of heed inside an element. A document may have several: each has its own session, selection, size and theme,
// and receives keys only while it has the focus or the pointer.
import type {Mounted, MountOptions} from './shell/page';
import {PageShell} from './shell/page';

export function mount(root: HTMLElement, options: MountOptions): Mounted {
  return new PageShell(root, options);
}
