// The images among a session's tokens: which token is which cell of a grid, and how large a grid is drawn.
import type {Session, SessionImage, Token} from '../answers';
import {button, html, say} from '../drawing/dom';

/** A token that is a cell; `at`: which one, row by row. */
export interface Patch { image: SessionImage; at: number }

const kPatches = new WeakMap<Token, Patch>();

const [kLeast, kMost] = [64, 320];  // px of a side
const kOfHeight = 0.2;              // of a window's height
const kLine = 300;                  // px of the line over a grid, where there is room
const kGap = 12;                    // px behind an image
const kRuled = 8;                   // px of a cell, from which on an image without a picture shows its grid
const kCaption = 30;                // px of the line over a grid, and of the space around both

/** Notes the cells of all images. */
export function noteImages({images, tokens, key_tokens: keys = tokens}: Session): void {
  for (const image of images ?? []) {
    for (const list of [...image.of_queries ? [tokens] : [], ...image.of_keys ? [keys] : []]) {
      image.tokens.forEach((token, at) => token >= 0 && kPatches.set(list[token]!, {image, at}));
    }
  }
}

export function patchOf(token: Token | undefined): Patch | undefined { return token && kPatches.get(token); }

export function hasPatches(tokens: Token[]): boolean { return tokens.some((token) => patchOf(token)); }

/** `row 2, column 5`; `column 5` of frames of sound. */
export function placeName({image: {rows, columns}, at}: Patch): string {
  return `${rows > 1 ? `row ${Math.floor(at / columns)}, ` : ''}column ${at % columns}`;
}

/** `r2 c5`, where there is room for seven letters; `c5` of frames of sound. */
export function shortPlaceName(patch: Patch): string { return placeName(patch).replace('row ', 'r').replace('column ', 'c').replace(',', ''); }

/** `image 0, row 2, column 5` */
export function cellName(patch: Patch): string { return `${patch.image.name}, ${placeName(patch)}`; }

/** The image's tokens of a list, in order. */
export interface Extent { image: SessionImage; tokens: number[] }

export function extentsOf(tokens: Token[]): Extent[] {
  const found = new Map<SessionImage, number[]>();
  for (const [at, token] of tokens.entries()) {
    const image = patchOf(token)?.image;
    if (!image) continue;
    if (!found.has(image)) found.set(image, []);
    found.get(image)!.push(at);
  }
  return [...found].map(([image, own]) => ({image, tokens: own}));
}

/** An image in the text: its name and what is said of it, over cells that lie on its picture. */
export class Picture {
  readonly element = html('span', {class: 'picture'});
  private readonly said = html('span', {class: 'quiet'});
  readonly width: number;
  readonly height: number;

  /** At most `room` wide, in a window of this height; `cells` are the elements of its tokens. */
  constructor(readonly extent: Extent, list: Token[], room: number, viewHeight: number, cells: (token: number) => HTMLElement) {
    const {image: {rows, columns, picture, name}, tokens} = extent;
    const most = Math.max(kLeast, Math.min(kMost, viewHeight * kOfHeight));
    const width = Math.min(room - kGap, Math.max(kLeast, most * columns / rows));
    const own = Math.min(room - kGap, Math.max(width, kLine));
    this.width = own + kGap;
    const tall = Math.max(kLeast, Math.min(most, width * rows / columns));
    this.height = tall + kCaption;
    const isRuled = picture === undefined && width / columns >= kRuled;
    const shown = picture === undefined ? null : html('img', {src: picture, alt: ''});
    shown?.addEventListener('load', () => {  // the pixels of a picture of few are what the model sees
      if (shown.naturalWidth * 2 <= width) shown.style.imageRendering = 'pixelated';
    });
    const grid = html('span', {class: isRuled ? 'cells ruled' : 'cells'}, shown);
    grid.style.cssText = `width: ${width}px; height: ${tall}px; grid-template: repeat(${rows}, 1fr) / repeat(${columns}, 1fr)`;
    for (const token of tokens) {
      const {at} = patchOf(list[token])!;
      const cell = cells(token);
      cell.style.gridArea = `${Math.floor(at / columns) + 1} / ${at % columns + 1}`;
      grid.append(cell);
    }
    this.element.style.width = `${own}px`;
    this.element.append(html('span', {class: 'picture-line'}, html('b', {}, name), this.said,
      picture === undefined ? null : button({class: 'option', 'data-unsaved': true, 'aria-pressed': true}, ({currentTarget}) => {
        (currentTarget as Element).ariaPressed = String(!this.element.classList.toggle('bare'));
      }, 'heat')), grid);
  }

  say(text: string): void { say(this.said, text); }
}
