// The page's SVG, with the rules of its style sheet written into it; canvases as pictures.
import type {Box} from './boxes';
import {attributes, escape, painted} from './paint';

const kGeometry = ['x', 'y', 'width', 'height', 'd', 'x1', 'y1', 'x2', 'y2', 'cx', 'cy', 'r', 'points', 'transform'];

function unless(value: string, usual: string): string | null { return value === usual ? null : value; }

function shape(element: SVGElement): string {
  const style = getComputedStyle(element);
  if (style.display === 'none') return '';
  const children = [...element.children].map((child) => shape(child as SVGElement)).join('');
  const isText = element.localName === 'text';
  const given = Object.fromEntries(kGeometry.map((name) => [name, element.getAttribute(name)]));
  const stroke = painted('stroke', style.stroke);
  const hasStroke = stroke.stroke !== 'none';
  const all = attributes({
    ...given, ...painted('fill', style.fill), ...(hasStroke ? stroke : {}),
    'stroke-width': hasStroke ? parseFloat(style.strokeWidth) : null,
    'stroke-dasharray': hasStroke ? unless(style.strokeDasharray.replace(/px|,/g, ''), 'none') : null,
    opacity: unless(style.opacity, '1'),
    'paint-order': isText ? unless(style.paintOrder, 'normal') : null,
    'font-size': isText ? style.fontSize : null, 'font-weight': isText ? style.fontWeight : null,
    'text-anchor': isText ? unless(style.textAnchor, 'start') : null,
  });
  if (isText) return `<text${all}>${escape(element.textContent ?? '')}</text>\n`;
  if (element.localName === 'g') return children && `<g${all}>${children}</g>\n`;
  const isVisible = hasStroke || painted('fill', style.fill).fill !== 'none';
  return kDrawn.has(element.localName) && isVisible ? `<${element.localName}${all}/>\n` : '';
}

const kDrawn = new Set(['rect', 'path', 'line', 'circle', 'polyline', 'polygon']);

export function drawShapes(element: SVGSVGElement, {left, top, right, bottom}: Box): string {
  const inside = [...element.children].map((child) => shape(child as SVGElement)).join('');
  if (!inside || right <= left || bottom <= top) return '';
  const all = attributes({
    x: left, y: top, width: right - left, height: bottom - top, viewBox: element.getAttribute('viewBox'),
  });
  return `<svg${all}>\n${inside}</svg>\n`;
}

/** A canvas, or an image of the session. */
export function drawPicture(picture: HTMLCanvasElement | HTMLImageElement, {left, top, right, bottom}: Box): string {
  if (picture.width === 0 || picture.height === 0 || right <= left || bottom <= top) return '';
  const all = attributes({
    x: left, y: top, width: right - left, height: bottom - top, preserveAspectRatio: 'none',
    href: picture instanceof HTMLImageElement ? picture.src : picture.toDataURL('image/png'),
  });
  return `<image${all}/>\n`;
}
