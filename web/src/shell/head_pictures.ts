// Small matrices of a layer's heads, for their chips; and the head under the resting pointer, which is shown on trial.
import {isSamePlace} from '../selection/address';
import {html} from '../drawing/dom';
import {drawThumbnail} from '../panels/grid_cell';
import {pictureSize} from '../panels/grid_layout';
import {Thumbs} from '../panels/grid_thumbs';
import type {Page} from '../panels/panel';
import {primary} from '../panels/panel';
import type {Place} from '../selection/selection';
import type {SelectionStore} from '../selection/store';

const kMostHeads = 16;
const kGap = 12;               // px between two chips
const [kLarge, kSmall] = [52, 48];  // px of a picture's longer side
const kTall = 860;             // px height of a window with room for large ones
const kLeastTall = 720;        // px height of a window with room for any
const kLeast = 54;             // px of a chip
const kBeside = 79;            // px to the right of a picture, for its name and scores
const kApart = 84;             // px there so that each has a separate line
const kOneWord = 80;           // px of a chip whose name and score need two lines instead of three
const kRestMilliseconds = 80;  // the pointer must rest this long: heads it only passes are not tried

/** How chips show matrices: their longer side in px, whether the text is beside or below, its number of lines, and whether it is continuous. */
export interface Room { side: number; isBeside: boolean; lines: number; isFlowing: boolean }

/** Null where there is no room. */
export function roomFor({side: {heads}, stage}: Page, width: number): Room | null {
  const own = (width + kGap) / heads - kGap;
  if (heads > kMostHeads || stage.isNarrow || stage.viewHeight < kLeastTall || own < kLeast) return null;
  const largest = stage.viewHeight < kTall ? kSmall : kLarge;
  const beside = [largest, kSmall].find((side) => own >= side + kBeside);
  return beside === undefined ? {side: own < largest ? kSmall : largest, isBeside: false, lines: own < kOneWord ? 3 : 2, isFlowing: true}
    : {side: beside, isBeside: true, lines: 3, isFlowing: own < beside + kApart};
}

export class HeadPictures {
  private readonly thumbs: Thumbs;
  private readonly canvases = new Map<number, HTMLCanvasElement>();
  private side = kLarge;

  constructor(private readonly page: Page) {
    this.thumbs = new Thumbs(page, (heads) => heads.forEach((head) => this.draw(head)));
  }

  stop(): void { this.thumbs.stop(); }

  /** The heads of this head's layer, in pictures of this size. */
  want({layer}: Place, side: number): void {
    const {heads} = this.page.side;
    if (side !== this.side) this.canvases.clear();
    this.side = side;
    this.thumbs.resize(side);
    this.thumbs.want(Array.from({length: heads}, (_, head) => layer * heads + head), 0);
  }

  /** Its size is known before it is drawn. */
  of(place: Place): HTMLCanvasElement {
    const head = this.thumbs.indexOf(place);
    const known = this.canvases.get(head);
    if (known) return known;
    const {pictureWidth, pictureHeight} = this.size;
    const canvas = html('canvas', {class: 'chip-picture', 'aria-hidden': 'true', width: 0, height: 0});
    canvas.style.width = `${pictureWidth}px`;
    canvas.style.height = `${pictureHeight}px`;
    this.canvases.set(head, canvas);
    this.draw(head);
    return canvas;
  }

  private get size() {
    const {queries, keys} = this.page.side.attention;
    return pictureSize(this.side, queries, keys);
  }

  private draw(head: number): void {
    const canvas = this.canvases.get(head);
    const thumb = this.thumbs.codes(head);
    if (canvas && thumb) drawThumbnail(canvas, thumb.cut, thumb.codes, this.size, this.page.api);
    else canvas?.classList.toggle('missing', this.thumbs.isMissing(head));
  }
}

/** Shows the head whose chip is under the resting pointer or has the keyboard focus. */
export function listenToHeads(list: HTMLElement, store: SelectionStore): {whileReplacing: (change: () => void) => void; stop: () => void} {
  let resting: ReturnType<typeof setTimeout> | undefined;
  let last = '';
  let isReplacing = false;  // elements are being replaced: enter and leave are not the reader's
  const leave = () => {
    clearTimeout(resting);
    if (store.hover.tried) store.preview({});
  };
  const point = ({target}: Event) => {
    const chip = target instanceof Element ? target.closest<HTMLElement>('.chip') : null;
    if (!chip) return leave();
    const place = {...primary(store.chosen), head: Number(chip.dataset.head)};
    const tried = store.chosen.places.some((each) => isSamePlace(each, place)) ? null : place;
    clearTimeout(resting);
    resting = setTimeout(() => store.preview({tried}), kRestMilliseconds);
  };
  list.addEventListener('pointermove', (event) => {
    const at = `${event.clientX} ${event.clientY}`;
    if (event.pointerType === 'touch' || at === last) return;  // the chips have moved, not the pointer
    last = at;
    point(event);
  });
  list.addEventListener('pointerleave', leave);
  list.addEventListener('click', () => clearTimeout(resting));
  list.addEventListener('focusin', (event) => { if (!isReplacing && (event.target as Element).matches(':focus-visible')) point(event); });
  list.addEventListener('focusout', () => isReplacing || leave());
  return {
    whileReplacing: (change) => {
      isReplacing = true;
      change();
      isReplacing = false;
    },
    stop: leave,
  };
}
