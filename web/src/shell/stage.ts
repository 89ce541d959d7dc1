// The environment of a page: its root, size and theme; and the sheet of a saved picture, which is the same on every
// screen, so that an address and a width always give the same picture.
import {html} from '../drawing/dom';

export type Theme = 'light' | 'dark' | 'system';

const kSheetRatio = 2;     // pixels of a canvas per CSS pixel
const kSheetHeight = 900;  // like a window; a long page is longer

const kNarrow = 760;  // one column, for touch
const kStacked = 900;  // one column
const kBrief = 1180;  // the header is shorter
const kThree = 1240;  // three columns from here on
const kWide = 1434;   // with all the room they need

export class Stage {
  private readonly probe = html('div', {class: 'extent', 'aria-hidden': true});  // the root's width, and the height it may have
  private readonly sized = new ResizeObserver(() => this.resize());
  private readonly system = matchMedia('(prefers-color-scheme: dark)');
  private readonly listeners = new Set<() => void>();
  private readonly colours = new Map<string, string>();
  private readonly changed = () => this.tell();
  private onSheet = false;
  private width = 0;
  private height = 0;

  constructor(readonly root: HTMLElement, theme: Theme) {
    root.classList.add('heed');
    root.replaceChildren(this.probe);
    this.setTheme(theme);
    this.resize();
    this.sized.observe(this.probe);
    this.system.addEventListener('change', this.changed);
  }

  destroy(): void {
    this.sized.disconnect();
    this.system.removeEventListener('change', this.changed);
    this.root.replaceChildren();
    this.root.classList.remove('heed', 'narrow', 'stacked', 'brief', 'tight', 'two', 'fits');
    delete this.root.dataset.theme;
  }

  get isNarrow(): boolean { return this.width < kNarrow; }
  get isStacked(): boolean { return this.width < kStacked; }
  /** Fewer than three columns. */
  get isTwo(): boolean { return this.width < kThree; }

  get pixelRatio(): number { return this.onSheet ? kSheetRatio : devicePixelRatio; }

  /** The height within which the essentials of a page should be visible at first. */
  get viewHeight(): number { return this.onSheet ? kSheetHeight : this.height; }

  /** The visible part of the document, from the top of the window. */
  get sight(): {top: number; bottom: number} {
    return this.onSheet ? {top: -Infinity, bottom: Infinity} : {top: 0, bottom: document.documentElement.clientHeight};
  }

  setTheme(theme: Theme): void {
    this.root.dataset.theme = theme;
    this.tell();
  }

  /** A colour of the style sheet, by its role; read once a theme, as reading it lays the page out. */
  colour(role: `--${string}`): string {
    const known = this.colours.get(role) ?? getComputedStyle(this.root).getPropertyValue(role).trim();
    this.colours.set(role, known);
    return known;
  }

  /** Called when the size or the theme has changed, and when the sheet replaces the root or is removed. */
  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  drawOnSheet(on: boolean): void {
    this.onSheet = on;
    this.root.classList.toggle('saving', on);
    this.tell();
  }

  private resize(): void {
    const {width, height} = this.probe.getBoundingClientRect();
    if (width === this.width && height === this.height) return;
    this.width = width;
    this.height = height;
    const is = {narrow: this.isNarrow, stacked: this.isStacked, brief: width < kBrief, tight: width < kWide, two: this.isTwo};
    for (const [name, on] of Object.entries(is)) {
      this.root.classList.toggle(name, on);
    }
    this.tell();
  }

  private tell(): void {
    this.colours.clear();
    for (const listener of this.listeners) listener();
  }
}
