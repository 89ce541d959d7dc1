// A head in the grid: its thumbnail, name and numbers.
import {isSamePlace} from '../selection/address';
import {button, html} from '../drawing/dom';
import {shortWeight} from '../drawing/format';
import {kvHeads} from '../attention/side';
import {holds, lackOfHead} from '../heads/held';
import type {Page} from './panel';
import {colourOf, primary} from './panel';
import type {Place} from '../selection/selection';
import {headText, kNothing} from '../selection/selection';
import type {Cut} from '../transport/atlas';
import type {GridLayout} from './grid_layout';
import type {Said} from './grid_scores';
import {fullText, numberText, shortText, storyOf} from './grid_scores';
import {differenceTable, rampOf, table} from './matrix_scale';

const kPixels = 2;  // per CSS pixel
const kNone = new Uint32Array(256);
const [kColours, kOfB] = [false, true].map((isB) => table('log', kNone, rampOf({isB})));
const kDifferences = differenceTable('log', kNone);

/** Draws into a canvas of the displayed size. */
export function drawThumbnail(
  canvas: HTMLCanvasElement, {rows, columns}: Cut, codes: Uint8Array, {pictureWidth, pictureHeight}: Pick<GridLayout, 'pictureWidth' | 'pictureHeight'>, {isDifference, isB}: Page['api']
): void {
  const colours = (isDifference ? kDifferences : isB ? kOfB : kColours)!;
  const pixels = Uint32Array.from(codes, (code) => colours[code]!);
  const cells = html('canvas', {width: columns, height: rows});  // one cell per pixel
  cells.getContext('2d')!.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), columns, rows), 0, 0);
  canvas.width = pictureWidth * kPixels;
  canvas.height = pictureHeight * kPixels;
  const context = canvas.getContext('2d')!;
  context.imageSmoothingEnabled = false;
  context.drawImage(cells, 0, 0, canvas.width, canvas.height);
}

/** `H5 kv 2`, `.38`, a bar, `self .23`. */
function numbers(page: Page, place: Place): HTMLElement {
  const {side: {attention}, store: {now}} = page;
  const groups = kvHeads(attention, place.layer);
  const group = Math.floor(place.head * groups / attention.heads);
  const name = html('span', {class: 'grid-name'}, html('b', {}, `H${place.head}`),
    groups === attention.heads ? null : html('span', {class: 'quiet'}, ` kv ${group}`));
  const story = storyOf(page, place);
  if (!story) return html('span', {class: 'grid-numbers'}, name, html('span', {class: 'grid-score'}, '\u2013'));
  const {first, then} = story;
  const isNamed = now.sort === kNothing.sort;  // otherwise the heading names it
  const bar = html('span', {class: 'grid-bar'});
  bar.style.setProperty('--share', String(Math.min(1, Math.max(0, first.value))));
  return html('span', {class: 'grid-numbers'}, name,
    html('span', {class: 'grid-score'}, isNamed ? html('span', {class: 'quiet'}, `${first.short} `) : null, html('b', {}, numberText(first))),
    first.isShare ? html('span', {class: 'grid-bar-room'}, bar) : null,
    then ? html('span', {class: 'quiet'}, `${then.short} ${shortWeight(then.value)}`) : null);
}

function labelOf(page: Page, place: Place, isHeld: boolean): string {
  const story = storyOf(page, place);
  const said = story ? `: ${[story.first, ...story.then ? [story.then] : []].map(fullText).join(', then ')}` : '';
  return `head ${headText(place)}${said}${isHeld ? '' : `; ${lackOfHead(page.side, place)}`}`;
}

/** The parts of a head's cell that can change, except by the pointer. */
export interface CellState { place: Place; isFiltered: boolean; canvas: HTMLCanvasElement }

export function headCell(page: Page, {place, isFiltered, canvas}: CellState, choose: (event: MouseEvent) => void): HTMLButtonElement {
  const {store: {now}, side} = page;
  const isPinned = !page.store.isFresh && now.places.some((each) => isSamePlace(each, place));
  const isHeld = holds(side, place);
  const classes = ['grid-head', ...isPinned ? ['pinned', colourOf(now, place)] : [], ...isFiltered ? ['filtered'] : []];
  return button({
    class: classes.join(' '), 'data-layer': place.layer, 'data-head': place.head, 'aria-pressed': String(isPinned), 'aria-disabled': isHeld ? null : 'true',
    'aria-label': labelOf(page, place, isHeld), tabindex: -1,
  }, (event) => {
    if (isHeld) choose(event);
  }, canvas, numbers(page, place));
}

/** The head whose cell this is in. */
export function placeOf({store}: Page, target: EventTarget | null): Place | null {
  const cell = target instanceof Element ? target.closest<HTMLElement>('.grid-head') : null;
  if (!cell) return null;
  const {stack} = primary(store.now);
  return {...stack !== undefined && {stack}, layer: Number(cell.dataset.layer), head: Number(cell.dataset.head)};
}

/** Everything known about a head, for the foot line. */
export function saidOf(page: Page, place: Place): Node[] {
  const name = html('b', {class: 'accent'}, headText(place));
  const story = storyOf(page, place);
  if (!story) return [name, document.createTextNode(' not scored yet')];
  const {first, then, others} = story;
  const lead = [first, ...then ? [then] : []].map(fullText).join(', then ');
  const isLate = ({name}: Said) => page.api.about.scores.find((each) => each.name === name)?.from !== 'text';
  const late = others.filter(isLate).map((each) => ` \u00b7 ${shortText(each)}`).join('');  // a file has none that only an earlier view asked for
  return [name, document.createTextNode(` ${[lead, ...others.filter((each) => !isLate(each)).map(shortText)].join(' \u00b7 ')}`), ...late === '' ? [] : [html('span', {'data-unsaved': true}, late)]];
}

/** Over the heads that share keys and values, within a line. */
export function bracketsOver({side}: Page, {left, pitch, cellWidth}: GridLayout, places: Place[]): HTMLElement[] {
  const {attention} = side;
  const groupOf = ({layer, head}: Place) => Math.floor(head * kvHeads(attention, layer) / attention.heads);
  const found = [...new Set(places.map(groupOf))];
  return found.map((group) => {
    const columns = places.flatMap((place, column) => groupOf(place) === group ? [column] : []);
    const title = `share the keys and values of kv head ${group}`;
    const bracket = html('div', {class: 'bracket', title}, html('span', {}, `kv ${group}`));
    bracket.style.left = `${left + columns[0]! * pitch}px`;
    bracket.style.width = `${(columns.length - 1) * pitch + cellWidth}px`;
    return bracket;
  });
}
