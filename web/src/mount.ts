// A page of heed inside of an element. Several may stand in one document: each has its own session,
// selection, size and theme, and hears keys only while it has the focus or the pointer.
import type {Mounted, MountOptions} from './shell/page';
import {PageShell} from './shell/page';

export function mount(root: HTMLElement, options: MountOptions): Mounted {
  return new PageShell(root, options);
}
