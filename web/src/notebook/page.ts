// One live page in a notebook: in its own element, with a transport over the widget's messages.
import {html} from '../drawing/dom';
import {mount} from '../mount';
import type {Mounted} from '../shell/page';
import type {Channel} from '../transport/notebook';
import {NotebookTransport} from '../transport/notebook';
import {followTheme, hostTheme} from './theme';

/** The part of a widget's model needed by the page. */
export interface Model extends Omit<Channel, 'on' | 'off'> {
  on: Channel['on'] & ((event: string, listener: () => void) => void);
  off: Channel['off'] & ((event: string, listener: () => void) => void);
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  widget_manager?: {kernel?: {status?: string} | null};
}

let isTelling = false;  // a view sends its address: the other views of the widget do not move

const kHeight = '780px';  // enough for a first look

export class NotebookPage {
  private readonly root = html('div', {tabindex: '-1', 'data-lm-suppress-shortcuts': 'true'});
  private readonly transport: NotebookTransport;
  private readonly mounted: Mounted;
  private readonly stopTheme: () => void;
  private readonly moved = () => this.move();
  address: string;

  constructor(container: HTMLElement, private readonly model: Model, address: string) {
    this.address = address;
    this.root.style.setProperty('--heed-height', kHeight);
    this.root.style.outline = 'none';  // the focused element inside has its own frame
    container.append(this.root);
    this.keepKeys();
    this.transport = new NotebookTransport(model);
    this.mounted = mount(this.root, {
      transport: this.transport, address, theme: hostTheme(document), onAddress: (next) => this.tell(next),
    });
    this.stopTheme = followTheme((theme) => this.mounted.setTheme(theme));
    model.on('change:address', this.moved);
  }

  destroy(): void {
    this.model.off('change:address', this.moved);
    this.stopTheme();
    this.mounted.destroy();
    this.transport.close();
    this.root.remove();
  }

  /** A clicked page receives the keys instead of the notebook; otherwise the notebook receives all keys. */
  private keepKeys(): void {
    this.root.addEventListener('pointerdown', () => {
      if (!this.root.contains(document.activeElement)) this.root.focus({preventScroll: true});
    });
    this.root.addEventListener('keydown', (event) => event.stopPropagation());
  }

  private tell(address: string): void {
    this.address = address;
    isTelling = true;
    this.model.set('address', address);
    isTelling = false;
    this.model.save_changes();
  }

  /** The notebook's own code has set the address. */
  private move(): void {
    if (!isTelling) this.mounted.show(String(this.model.get('address')));
  }
}
