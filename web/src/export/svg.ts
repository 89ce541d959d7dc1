// The drawn page as one self-contained SVG: text, boxes, arcs, and canvases as pictures.
import type {Box} from './boxes';
import {boxOf, decorations, snapped} from './boxes';
import {attributes, colour, escape, number} from './paint';
import type {Cut} from './runs';
import {drawLine, drawText, kRootText} from './runs';
import {drawPicture, drawShapes} from './shapes';

/** Parts only for readers of the page; `data-unsaved` marks further ones. */
const kLeftOut = '[data-unsaved], .spoken, .notice, dialog, noscript, script, style';

/** Controls, which are meaningless in a figure: switches with their names, menus, fields. */
const kControls = '.choice, .quiet:has(+ .choice), .menu, label:has(.menu), input, textarea';

/** Positioned elements are painted over the others around them, by z-index. */
interface Raised { z: number; drawn: string }

interface Around { clip: Box; cut: Cut | null; behind: string; raised: Raised[] }

function inOrder(raised: Raised[]): string {
  return [...raised].sort((a, b) => a.z - b.z).map(({drawn}) => drawn).join('');
}

function meet(a: Box, b: Box): Box {
  return {
    left: Math.max(a.left, b.left), top: Math.max(a.top, b.top),
    right: Math.min(a.right, b.right), bottom: Math.min(a.bottom, b.bottom),
  };
}

/** The visible part of an element's content; an element clipped only in width hides nothing above and below. */
function windowOf(style: CSSStyleDeclaration, own: Box): Box {
  const window = snapped(own);
  const margin = (overflow: string) =>
    overflow === 'visible' ? Infinity : overflow === 'clip' ? parseFloat(style.getPropertyValue('overflow-clip-margin')) || 0 : 0;
  const [x, y] = [margin(style.overflowX), margin(style.overflowY)];
  return {left: window.left - x, top: window.top - y, right: window.right + x, bottom: window.bottom + y};
}

class Drawing {
  private clips = 0;

  constructor(private readonly leftOut: string) {}

  /** The element and its descendants, in painting order. */
  element(element: Element, around: Around): string {
    const style = getComputedStyle(element);
    if (style.display === 'none' || style.visibility !== 'visible' || element.matches(this.leftOut)) return '';
    const own = boxOf(element.getBoundingClientRect());
    // Positioned elements may cover other marks, so their background is drawn.
    const behind = style.position === 'absolute' ? '' : around.behind;
    let drawn = decorations(element, style, behind) + this.content(element, style, own, around);
    if (drawn && style.opacity !== '1') drawn = `<g opacity="${style.opacity}">\n${drawn}</g>\n`;
    if (style.position === 'static') return drawn;
    around.raised.push({z: Number(style.zIndex) || 0, drawn});
    return '';
  }

  private content(element: Element, style: CSSStyleDeclaration, own: Box, around: Around): string {
    if (element instanceof HTMLCanvasElement || element instanceof HTMLImageElement) return drawPicture(element, own);
    if (element instanceof SVGSVGElement) return drawShapes(element, own);
    const inside = this.inside(element as HTMLElement, style, own, around);
    let drawn = '';
    for (const node of element.childNodes) {
      if (node instanceof Text) drawn += drawText(node, style, inside.clip, inside.cut);
      else if (node instanceof Element) drawn += this.element(node, inside);
    }
    if (inside.raised !== around.raised) drawn += inOrder(inside.raised);
    return inside.isClipped ? this.clipped(inside.clip, drawn) : drawn;
  }

  private inside(
    element: HTMLElement, style: CSSStyleDeclaration, own: Box, around: Around
  ): Around & {isClipped: boolean} {
    const background = colour(style.backgroundColor);
    const behind = background.alpha === 1 ? background.hex : around.behind;
    const isWider = element.scrollWidth > element.clientWidth + 1;
    const isHigher = element.scrollHeight > element.clientHeight + 1;
    const hidesWidth = style.overflowX !== 'visible' && style.display !== 'inline';
    const hidesHeight = style.overflowY !== 'visible' && style.display !== 'inline';
    const isClipped = (hidesWidth && isWider) || (hidesHeight && isHigher);
    const clip = isClipped ? meet(around.clip, windowOf(style, own)) : around.clip;
    const ends = hidesWidth && style.textOverflow === 'ellipsis' && element.scrollWidth > element.clientWidth;
    const left = own.left + parseFloat(style.paddingLeft) + parseFloat(style.borderLeftWidth);
    const right = own.right - parseFloat(style.paddingRight) - parseFloat(style.borderRightWidth);
    return {behind, isClipped, clip, raised: isClipped || style.position !== 'static' ? [] : around.raised, cut: ends ? {left, right, written: false} : around.cut};
  }

  private clipped({left, top, right, bottom}: Box, drawn: string): string {
    if (!drawn || right <= left || bottom <= top) return '';
    const id = `clip-${++this.clips}`;
    const rect = attributes({x: left, y: top, width: right - left, height: bottom - top});
    return `<clipPath id="${id}"><rect${rect}/></clipPath>\n<g clip-path="url(#${id})">\n${drawn}</g>\n`;
  }
}

export interface Picture { svg: string; width: number; height: number }

const kMargin = 16;  // around a part drawn alone: ticks and numbers may be beside it

/** The name of a part of the page for `--panel`. */
function nameOf(part: Element): string { return part.getAttribute('aria-label')!.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-'); }

function partsOf(root: HTMLElement): Element[] {
  return [...root.querySelectorAll('section[aria-label]')].filter((part) => part.getBoundingClientRect().height > 0);
}

/** The parts that can be drawn alone. */
export function panelNames(root: HTMLElement): string[] { return [...new Set(partsOf(root).map(nameOf))]; }

/** The requested panel is not part of the view. */
export class NoPanel extends Error {}

/** The part of the view with that name; the error lists the available ones. */
function partOf(root: HTMLElement, name: string): Element {
  const found = partsOf(root).find((part) => nameOf(part) === name);
  if (found) return found;
  throw new NoPanel(`this view has no panel ${name}, expected one of ${panelNames(root).join(', ')}`);
}

/** The extent of a part's marks: labels extend beyond its sides, and below may be room that its neighbours made. */
function extentOf(part: Element, leftOut: string, {left, top, right, bottom}: Box): Box {
  const hasMarks = (each: Element) => each instanceof HTMLCanvasElement || (each instanceof SVGElement && !(each instanceof SVGSVGElement))
    || [...each.childNodes].some((node) => node instanceof Text && node.data.trim() !== '');
  const marks = [...part.querySelectorAll('*')].filter((each) => hasMarks(each) && each.checkVisibility() && !each.closest(leftOut));
  const boxes = marks.map((each) => boxOf(each.getBoundingClientRect()));
  return {
    left: Math.min(left, ...boxes.map((box) => box.left)), top, right: Math.max(right, left + part.scrollWidth),
    bottom: Math.min(bottom, Math.max(top, ...boxes.map((box) => box.bottom))),
  };
}

const kCaption = {size: 11, line: 16, above: 8};  // px

/** The lines under a part that is drawn alone. */
function drawCaption(root: HTMLElement, caption: string[], {left, right, bottom}: Box): string {
  const fill = getComputedStyle(root).getPropertyValue('--second').trim();
  return caption.map((line, at) => drawLine(line, {x: left, y: bottom + kCaption.above + (at + 1) * kCaption.line - 4, width: right - left}, kCaption.size, fill)).join('');
}

/** `about` is the picture's title, for those who do not see it. `panel`: of this part alone, with a `caption` under it. */
export function drawPage(root: HTMLElement, about: string, panel?: string, caption: string[] = []): Picture {
  const part = panel === undefined ? root : partOf(root, panel);
  const isWhole = part === root;
  const leftOut = isWhole ? kLeftOut : `${kLeftOut}, ${kControls}`;
  const box = boxOf(part.getBoundingClientRect());
  const {left, top, right, bottom} = isWhole ? box : extentOf(part, leftOut, box);
  const margin = isWhole ? 0 : kMargin;
  const own = {left: left - margin, top: top - margin};
  const width = isWhole ? root.clientWidth : Math.ceil(right - left) + 2 * margin;
  const height = Math.ceil(bottom - top) + 2 * margin + (isWhole ? 0 : kCaption.above + caption.length * kCaption.line);
  const background = colour(getComputedStyle(root).backgroundColor).hex;
  const all = {left: own.left, top: own.top, right: own.left + width, bottom: own.top + height};
  const raised: Raised[] = [];
  const content = new Drawing(leftOut).element(part, {clip: all, cut: null, behind: background, raised})
    + inOrder(raised) + (isWhole ? '' : drawCaption(root, caption, {left, top, right, bottom}));
  const head = attributes({
    xmlns: 'http://www.w3.org/2000/svg', width, height, viewBox: `${[own.left, own.top, width, height].map(number).join(' ')}`,
    'font-family': kRootText.family, 'font-size': kRootText.size, style: 'font-variant-numeric: tabular-nums',
  });
  const svg = `<svg${head}>\n<title>${escape(about)}</title>\n`
    + `<rect${attributes({x: own.left, y: own.top, width, height, fill: background})}/>\n${content}</svg>\n`;
  return {svg, width, height};
}
