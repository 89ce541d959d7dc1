// The page's text: one run per line of each text node, shortened where it has an ellipsis.
import {graphemes, isShaped, shortened} from '../text/graphemes';
import type {Box} from './boxes';
import {boxOf} from './boxes';
import {attributes, escape, painted} from './paint';

interface Run { text: string; box: Box }

const kMeasure = document.createElement('canvas').getContext('2d')!;

export function fontOf(style: CSSStyleDeclaration): string {
  return `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
}

/** The distance of the text's line from the top of its box; browsers round it. */
function ascent(style: CSSStyleDeclaration): number {
  kMeasure.font = fontOf(style);
  return Math.round(kMeasure.measureText('x').fontBoundingBoxAscent);
}

function rangeOf(node: Text, begin: number, end: number): Range {
  const range = document.createRange();
  range.setStart(node, begin);
  range.setEnd(node, end);
  return range;
}

function isNextTo(a: Box, b: Box): boolean {
  return Math.abs(a.top - b.top) < 1 && (Math.abs(a.right - b.left) < 1 || Math.abs(b.right - a.left) < 1);
}

/** Splits a node with several lines or writing directions into contiguous parts. */
function pieces(node: Text, begin: number, end: number): Run[] {
  const runs: Run[] = [];
  let last: Box | null = null;
  let at = begin;
  for (const character of graphemes(node.data.slice(begin, end))) {
    const rect = rangeOf(node, at, at + character.length).getClientRects()[0];
    at += character.length;
    if (!rect) continue;  // a space removed at the end of a line
    const box = boxOf(rect);
    const run = runs.at(-1);
    if (run && last && isNextTo(last, box)) {
      run.text += character;
      run.box = {...run.box, left: Math.min(run.box.left, box.left), right: Math.max(run.box.right, box.right)};
    } else {
      runs.push({text: character, box});
    }
    last = box;
  }
  return runs;
}

/** A node's runs, without the space around them. */
function runsOf(node: Text, style: CSSStyleDeclaration): Run[] {
  const begin = node.data.search(/\S/);
  if (begin < 0) return [];
  const end = node.data.trimEnd().length;
  const rects = rangeOf(node, begin, end).getClientRects();
  if (rects.length === 0) return [];
  const found = rects.length === 1
    ? [{text: node.data.slice(begin, end), box: boxOf(rects[0]!)}] : pieces(node, begin, end);
  const collapse = !style.whiteSpace.startsWith('pre');
  return found.map(({text, box}) => ({text: (collapse ? text.replace(/\s+/g, ' ') : text).trimEnd(), box}));
}

/** The edges of a line that ends with an ellipsis, and whether it has been written. */
export interface Cut { left: number; right: number; written: boolean }

/** As many characters as fit before the ellipsis. */
function beforeCut(run: Run, style: CSSStyleDeclaration, cut: Cut): Run | null {
  if (cut.written) return null;
  const isLeftwards = style.direction === 'rtl';
  if (isLeftwards ? run.box.left >= cut.left - 0.5 : run.box.right <= cut.right + 0.5) return run;
  cut.written = true;
  kMeasure.font = fontOf(style);
  const room = isLeftwards ? run.box.right - cut.left : cut.right - run.box.left;
  const text = shortened(run.text, (each) => kMeasure.measureText(each).width <= room);
  const {width} = kMeasure.measureText(text);
  return {text, box: {...run.box, ...isLeftwards ? {left: run.box.right - width} : {right: run.box.left + width}}};
}

/** Properties of the root are not repeated. */
export const kRootText = {family: 'Inter, system-ui, sans-serif', size: '13px', weight: '400'};

/** The edge of a run that is fixed if another font changes the run's length. */
function anchorOf(style: CSSStyleDeclaration, {left, right}: Box): Record<string, number | string | null> {
  if (style.textAlign === 'right' || style.textAlign === 'end') return {x: right, 'text-anchor': 'end'};
  const isCentred = style.textAlign === 'center' || new DOMMatrix(style.transform).m41 !== 0;  // moved by half its width
  if (isCentred) return {x: (left + right) / 2, 'text-anchor': 'middle'};
  return style.direction === 'rtl' ? {x: right, direction: 'rtl'} : {x: left};
}

/** One line outside the page, cut to fit. */
export function drawLine(line: string, {x, y, width}: {x: number; y: number; width: number}, size: number, fill: string): string {
  kMeasure.font = `${kRootText.weight} ${size}px ${kRootText.family}`;
  const wide = (each: string) => kMeasure.measureText(each).width;
  const text = wide(line) <= width ? line : shortened(line, (each) => wide(each) <= width);
  const textLength = isShaped(text) ? null : wide(text);
  return `<text${attributes({x, y, fill, 'font-size': `${size}px`, textLength})}>${escape(text)}</text>\n`;
}

export function drawText(node: Text, style: CSSStyleDeclaration, clip: Box, cut: Cut | null): string {
  let drawn = '';
  for (const whole of runsOf(node, style)) {
    const run = cut ? beforeCut(whole, style, cut) : whole;
    if (!run) continue;
    const {left, top, right, bottom} = run.box;
    if (right <= clip.left || left >= clip.right || bottom <= clip.top || top >= clip.bottom) continue;
    const isPlain = [...run.text].length > 1 && !isShaped(run.text);
    drawn += `<text${attributes({
      ...anchorOf(style, run.box), y: top + ascent(style), ...painted('fill', style.color),
      'font-family': style.fontFamily === kRootText.family ? null : style.fontFamily,
      'font-size': style.fontSize === kRootText.size ? null : style.fontSize,
      'font-weight': style.fontWeight === kRootText.weight ? null : style.fontWeight,
      textLength: isPlain ? right - left : null,  // another font takes the same room
      'xml:space': / {2}/.test(run.text) ? 'preserve' : null,
    })}>${escape(run.text)}</text>\n`;
  }
  return drawn;
}
