// How much room the matrix has, and what stands in the corner that the mask leaves free.
import type {Page} from '../panel';
import {isBetween} from '../sides';
import {kUseWidth} from './matrix_margins';

const kLeastSide = 452;       // a comparison's line over four lines of text leaves it
const kLeastOpen = 420;       // of a matrix without a masked corner, whose read-out stands under it
const kToUse = 5;            // from the matrix to its margin
const kUseName = 80;         // the margin's name
const kReadOut = 151;        // in place of the margin, where two texts stand side by side
const kBelow = 32;           // the foot line and the space over it
const kReason = 22;          // the line over the foot line that says why heed chose the head
const kUnder = 68;           // the read-out, where no mask leaves a corner
const kLeastBetween = 330;   // the same two where other heads stand under it
const kBelowBetween = 330;
const kLeastCorner = 440;    // px a side, for the read-out to stand in the masked corner
const kToBeside = 96;        // from the matrix over its margin to what stands beside it

/** Whether the rows beside the read-out end before it begins. */
export function hasFreeCorner(length: number, side: number, isNarrow: boolean): boolean {
  const [height, left] = isNarrow ? [140, 0.48] : [150, 0.5];
  const bottom = 0.04 * side + height;
  return (Math.floor(bottom / side * length) + 1) / length <= left && (isNarrow || side >= kLeastCorner);
}

/** The width of a matrix whose plot begins at `top`, beside `lead` and over `band` pixels, where it fits whole. */
export function widthWith({stage, side, store, ...page}: Page, container: HTMLElement, top: number, lead: number, band: number, isFull: boolean): number {
  const {queries, keys} = side.attention;
  const isBeside = isBetween({stage, side, store, ...page}) && !isFull && !stage.isStacked;
  const use = isBeside ? kReadOut : stage.isTight ? kUseName : kUseWidth + 10;  // else it stands over the gutter
  const width = container.clientWidth - lead - (stage.isNarrow ? 0 : kToUse + use);
  const [least, below] = isBeside ? [kLeastBetween, kBelow + kBelowBetween] : side.attention.causal || isFull ? [kLeastSide, kBelow] : [kLeastOpen, kBelow + kUnder];
  const most = Math.max(least, stage.viewHeight - top - below - (store.reason ? kReason : 0) - band) * Math.min(1, keys / queries);
  return Math.floor(stage.isNarrow ? Math.min(width, width * keys / queries) : Math.min(width, most));
}

/** What stands beside a matrix at full size. */
export function widthBeside(container: HTMLElement, lead: number, width: number): number {
  return container.clientWidth - lead - width - kToBeside;
}
