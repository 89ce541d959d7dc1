// The room for the matrix, and the content of the corner that the mask leaves free.
import type {Attention} from '../answers';
import type {Page} from './panel';
import {isBetween} from '../attention/sides';
import {kUseWidth} from './matrix_margins';

const kLeastSide = 296;       // in lower windows the page scrolls
const kLeastAbove = 240;      // the same over a read-out
const kToUse = 5;            // from the matrix to its margin
const kUseName = 80;         // the margin's name
const kReadOut = 151;        // replaces the margin if two texts are side by side
const kBelow = 32;           // the foot line and the space above it
const kReason = 22;          // the line above the foot line with heed's reason for the head
const kUnder = 68;           // the read-out, if no mask leaves a corner free
const kLeastBetween = 310;   // the same two, if other heads are below it
const kBelowBetween = 330;
const kWraps = 440;          // px: below a matrix that is not wider, the parts of the read-out stand one below the other (look.css)
const kUnderWrapped = 140;   // the read-out there
const kSmall = 460;          // px per side: in smaller ones the read-out takes less room
const kReadOutFull = 300;    // the read-out beside a matrix at full size
const kToBeside = 96;        // from the matrix across its margin to the next column

export function isSmall(side: number): boolean { return side < kSmall; }

/** Whether there is a corner that the mask leaves free, and the rows beside the read-out in it end before it begins. */
export function hasFreeCorner({causal, keys}: Attention, side: number, isNarrow: boolean): boolean {
  const [height, left] = isNarrow ? [140, 0.48] : [150, isSmall(side) ? 0.56 : 0.5];
  const bottom = 0.04 * side + height;
  return causal && (Math.floor(bottom / side * keys) + 1) / keys <= left;
}

/** The width of a matrix whose plot begins at `top`, beside `lead` and over `band` pixels, where it fits whole. */
export function widthWith({stage, side, store, ...page}: Page, container: HTMLElement, top: number, lead: number, band: number, isFull: boolean): number {
  const {queries, keys} = side.attention;
  const isBeside = isBetween({stage, side, store, ...page}) && !isFull && !stage.isStacked;
  const use = isFull ? kToBeside + kReadOutFull : isBeside ? kReadOut : stage.isTwo ? kUseName : kUseWidth + 10;  // otherwise it covers the gutter
  const width = container.clientWidth - lead - (stage.isNarrow ? 0 : kToUse + use);
  if (stage.isNarrow) return Math.floor(Math.min(width, width * keys / queries));
  const within = (least: number, below: number) => Math.floor(Math.min(width,
    Math.max(least, stage.viewHeight - top - below - (store.reason ? kReason : 0) - band) * Math.min(1, keys / queries)));
  if (isBeside) return within(kLeastBetween, kBelow + kBelowBetween);
  const most = within(kLeastSide, kBelow);
  if (isFull || hasFreeCorner(side.attention, most, false)) return most;
  const above = within(kLeastAbove, kBelow + kUnder);
  return above > kWraps ? above : within(kLeastAbove, kBelow + kUnderWrapped);
}

/** The parts beside a matrix at full size. */
export function widthBeside(container: HTMLElement, lead: number, width: number): number {
  return container.clientWidth - lead - width - kToBeside;
}
