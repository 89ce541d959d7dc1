// Backgrounds, borders and outlines of an element, painted on whole pixels like in a browser.
import {attributes, colour, painted} from './paint';

export interface Box { left: number; top: number; right: number; bottom: number }

export function boxOf(rect: DOMRect): Box {
  return {
    left: rect.left + scrollX, top: rect.top + scrollY, right: rect.right + scrollX, bottom: rect.bottom + scrollY,
  };
}

export function snapped({left, top, right, bottom}: Box): Box {
  return {left: Math.round(left), top: Math.round(top), right: Math.round(right), bottom: Math.round(bottom)};
}

function rect({left, top, right, bottom}: Box, fill: string): string {
  if (right <= left || bottom <= top) return '';
  return `<rect${attributes({x: left, y: top, width: right - left, height: bottom - top, ...painted('fill', fill)})}/>\n`;
}

type Side = 'Left' | 'Top' | 'Right' | 'Bottom';

function border(style: CSSStyleDeclaration, side: Side, {left, top, right, bottom}: Box): string {
  const width = parseFloat(style[`border${side}Width`]);
  const kind = style[`border${side}Style`];
  const stroke = style[`border${side}Color`];
  if (!(width > 0) || kind === 'none' || colour(stroke).alpha === 0) return '';
  const strip = {
    Left: {left, top, right: left + width, bottom}, Right: {left: right - width, top, right, bottom},
    Top: {left, top, right, bottom: top + width}, Bottom: {left, top: bottom - width, right, bottom},
  }[side];
  if (kind !== 'dotted' && kind !== 'dashed') return rect(strip, stroke);
  const upright = side === 'Left' || side === 'Right';
  const x = (strip.left + strip.right) / 2;
  const y = (strip.top + strip.bottom) / 2;
  return `<line${attributes({
    x1: upright ? x : left, y1: upright ? top : y, x2: upright ? x : right, y2: upright ? bottom : y,
    ...painted('stroke', stroke), 'stroke-width': width, 'stroke-dasharray': `${width} ${width}`,
  })}/>\n`;
}

function outline(style: CSSStyleDeclaration, box: Box): string {
  const width = parseFloat(style.outlineWidth);
  if (!(width > 0) || style.outlineStyle === 'none' || colour(style.outlineColor).alpha === 0) return '';
  const grow = parseFloat(style.outlineOffset) + width / 2;
  return `<rect${attributes({
    x: box.left - grow, y: box.top - grow, width: box.right - box.left + 2 * grow, height: box.bottom - box.top + 2 * grow,
    fill: 'none', ...painted('stroke', style.outlineColor), 'stroke-width': width,
  })}/>\n`;
}

/** `behind`: the colour below. */
export function decorations(element: Element, style: CSSStyleDeclaration, behind: string): string {
  const rects = [...element.getClientRects()];
  const background = colour(style.backgroundColor);
  const shows = background.alpha > 0 && !(background.alpha === 1 && background.hex === behind);
  return rects.map((each, place) => {
    const box = snapped(boxOf(each));
    let drawn = shows ? rect(box, style.backgroundColor) : '';
    drawn += border(style, 'Top', box) + border(style, 'Bottom', box);
    if (place === 0) drawn += border(style, 'Left', box);
    if (place === rects.length - 1) drawn += border(style, 'Right', box);
    return drawn + outline(style, box);
  }).join('');
}
