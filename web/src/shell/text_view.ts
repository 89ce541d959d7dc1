// The lines of the text that are in sight, and a few around them, as elements.
import {html} from '../drawing/dom';
import type {Extent} from '../text/images';
import {extentsOf, patchOf, Picture} from '../text/images';
import {directionOf, languageOf} from '../text/language';
import type {SessionImage} from '../answers';
import type {Page} from '../panels/panel';
import type {Shown} from '../text/tokens';
import {shown, whole} from '../text/tokens';
import type {Token} from '../transport/api';
import type {TextLine} from './text_lines';
import {breakLines, Ruler} from './text_lines';
import type {Mark, NumberPlace} from './text_numbers';
import {placeNumbers} from './text_numbers';
import {kUnmarked, markToken, tokenElement} from './text_token';

const kAround = 6;   // lines that are ready above and below those in sight
const kMarked = 1;   // of these, whose marks follow at once
const kSlack = 2;    // px that a line may be wider than measured

/** What the tokens spell: what was read, or what is written about it. */
function textOf({api: {info}, side}: Page): string {
  if (!info.key_tokens || side.queries !== info.tokens) return info.text;
  return info.target ?? info.tokens.filter(({special}) => !special).map(({text}) => text).join('');
}

const kNumberSize = 11;
const kUnder = 8;       // px of a number below its line
const kHair = 0.01;     // px
const kUnderLast = 1;   // the end of the text has room for them

export class TextView {
  readonly paragraph = html('div', {class: 'tokens', role: 'group', 'aria-label': 'The text, token by token'});
  readonly scroller = html('div', {class: 'scroller'}, this.paragraph);
  private shown: Shown[];
  private hasBytes = true;
  private readonly ruler = new Ruler();
  private readonly drawn = new Map<number, HTMLElement>();      // by line
  private readonly elements = new Map<number, HTMLElement>();   // by token
  private readonly marks = new Map<number, Mark>();
  private seen = {first: 0, last: -1, numbered: -1};  // lines in sight, and the last of them whose numbers are whole
  private lines: TextLine[] = [];
  private tops: number[] = [0];  // px of each line, and of the end
  private readonly pictures = new Map<number, Picture>();  // of images, by their first tokens
  private lineOf: Int32Array;
  private widths: number[] = [];
  private room = 0;
  private lineHeight = 35;
  private stop = 0;  // the one token that Tab reaches
  private readonly again = () => this.draw();
  private readonly forget: () => void;
  private readonly tokens: Token[];
  private readonly images: Extent[];

  /** The queries, or where the keys are other tokens these. `saidOf`: what stands over an image. */
  constructor(private readonly page: Page, private readonly markOf: (index: number) => Mark, private readonly saidOf?: (image: SessionImage) => string) {
    this.tokens = page.side.isSquare ? page.side.queries : page.side.keys;
    this.images = extentsOf(this.tokens);
    this.shown = this.tokens.map(shown);
    this.paragraph.dir = directionOf(textOf(page));
    this.paragraph.lang = languageOf(textOf(page));
    this.lineOf = new Int32Array(this.shown.length);
    document.addEventListener('scroll', this.again, {passive: true, capture: true});  // of the text, or of what it stands in
    this.forget = page.stage.listen(this.again);
  }

  destroy(): void {
    document.removeEventListener('scroll', this.again, {capture: true});
    this.forget();
  }

  get lineCount(): number { return this.lines.length; }

  get lastWidth(): number { return this.lines.at(-1)?.width ?? 0; }

  /** By its lines alone: a number under the last one must not move anything. */
  get overflows(): boolean {
    return this.tops.at(-1)! > Number.parseFloat(getComputedStyle(this.scroller).maxHeight);
  }

  /** What the largest image takes beyond a line of text. */
  get beyondLine(): number { return Math.max(0, ...[...this.pictures.values()].map(({height}) => height - this.lineHeight)); }

  element(index: number): HTMLElement | undefined { return this.elements.get(index); }

  /** Whether the bytes of a character stand behind it, or it alone; true where that changes the lines. */
  showBytes(on: boolean): boolean {
    if (on === this.hasBytes) return false;
    this.hasBytes = on;
    this.shown = this.tokens.map(on ? shown : whole);
    this.room = 0;
    return true;
  }

  /** Cuts the lines anew where the width or the font has changed; true where they are other ones. */
  layOut(): boolean {
    const room = this.paragraph.clientWidth - kSlack;
    const isNewFont = this.ruler.follow(this.paragraph);
    this.lineHeight = Number.parseFloat(getComputedStyle(this.paragraph).lineHeight);
    if (room <= 0 || (!isNewFont && room === this.room)) return false;
    this.room = room;
    this.drawn.clear();
    this.elements.clear();
    this.marks.clear();
    this.layImages(room);
    this.widths = this.shown.map((token, index) => this.pictures.get(index)?.width ?? this.ruler.token(token, this.tokens[index]!.special === true));
    this.lines = breakLines(this.shown, this.widths, this.ruler.width(' '), room);
    this.tops = [0];
    for (const [line, {begin, end}] of this.lines.entries()) {
      this.lineOf.fill(line, begin, end);
      const heights = [...this.pictures].map(([first, {height}]) => first >= begin && first < end ? height : 0);
      this.tops.push(this.tops[line]! + Math.max(this.lineHeight, ...heights));
    }
    for (const {tokens} of this.images) tokens.forEach((token) => { this.lineOf[token] = this.lineOf[tokens[0]!]!; });
    this.paragraph.style.height = `${this.tops.at(-1)!}px`;
    this.paragraph.replaceChildren();
    this.draw();
    return true;
  }

  /** An image stands at its first token; the others are as wide as nothing. */
  private layImages(room: number): void {
    this.pictures.clear();
    for (const extent of this.images) {
      for (const token of extent.tokens) this.shown[token] = {gap: token === extent.tokens[0], pieces: [], breaks: 0};
      this.pictures.set(extent.tokens[0]!, new Picture(extent, this.tokens, room, this.page.stage.viewHeight, (token) => {
        const cell = this.tokenElement(token);
        this.elements.set(token, cell);
        return cell;
      }));
    }
  }

  /** The line that begins last above `y`. */
  private lineAt(y: number): number {
    const next = this.tops.findIndex((top) => top > y);
    return (next < 0 ? this.lines.length : next) - 1;
  }

  /** The lines in sight of the scroller and of the window. */
  private look(): void {
    const text = this.paragraph.getBoundingClientRect();
    const room = this.scroller.getBoundingClientRect();
    const seen = this.page.stage.sight;
    const top = Math.max(room.top, seen.top) - text.top;
    const bottom = Math.min(room.bottom, seen.bottom) - text.top;
    const end = this.lines.length - 1;
    this.seen = {
      first: Math.max(0, Math.min(end, this.lineAt(top))),
      last: Math.max(0, Math.min(end, this.lineAt(bottom - kHair))),
      numbered: bottom + kUnderLast >= this.tops.at(-1)! ? end : this.lineAt(bottom - kUnder) - 1,
    };
  }

  /** The tokens of these lines. */
  get inSight(): {first: number; end: number} {
    return {first: this.lines[this.seen.first]?.begin ?? 0, end: this.lines[this.seen.last]?.end ?? 0};
  }

  draw(): void {
    this.look();
    const first = Math.max(0, this.seen.first - kAround);
    const last = Math.min(this.lines.length - 1, this.seen.last + kAround);
    for (const [line, element] of this.drawn) {
      if ((line >= first && line <= last) || element.contains(document.activeElement)) continue;
      element.remove();
      this.drawn.delete(line);
      const {begin, end} = this.lines[line]!;
      for (let index = begin; index < end; ++index) {
        if (patchOf(this.tokens[index])) continue;  // it stays with its image
        this.elements.delete(index);
        this.marks.delete(index);
      }
    }
    for (let line = first; line <= last; ++line) if (!this.drawn.has(line)) this.drawLine(line);
    this.mark();
  }

  private drawLine(line: number): void {
    const {begin, end} = this.lines[line]!;
    const element = html('div', {class: 'line'});
    element.style.top = `${this.tops[line]!}px`;
    for (let index = begin; index < end; ++index) {
      if (this.shown[index]!.gap && index > begin) element.append(' ');
      if (patchOf(this.tokens[index])) {
        element.append(this.pictures.get(index)?.element ?? '');
        continue;
      }
      const token = this.tokenElement(index);
      element.append(token);
      this.elements.set(index, token);
    }
    if (this.shown[end]?.gap) element.append(' ');  // the gap that the line end stands for
    this.drawn.set(line, element);
    const after = [...this.paragraph.children].find((each) =>
      Number.parseFloat((each as HTMLElement).style.top) > this.tops[line]!);
    this.paragraph.insertBefore(element, after ?? null);
  }

  private tokenElement(index: number): HTMLElement {
    return tokenElement(this.tokens[index]!, this.shown[index]!, index, index === this.stop);
  }

  /** Marks what is in sight, or nearly, and all images; touches only what has changed. */
  mark(): void {
    for (const picture of this.pictures.values()) {
      const {image, tokens} = picture.extent;
      for (const index of tokens) this.markToken(index, {...this.markOf(index), number: ''}, this.elements.get(index)!);
      picture.say(this.saidOf?.(image) ?? '');
    }
    const last = Math.min(this.lines.length - 1, this.seen.last + kMarked);
    for (let line = Math.max(0, this.seen.first - kMarked); line <= last; ++line) {
      if (!this.drawn.has(line)) continue;
      const {begin, end} = this.lines[line]!;
      const marks = this.marksOf(begin, end, line >= this.seen.first && line <= this.seen.numbered);
      for (let index = begin; index < end; ++index) {
        if (!patchOf(this.tokens[index])) this.markToken(index, marks[index - begin]!, this.elements.get(index)!);
      }
    }
  }

  /** Of one line: of numbers that would touch, the heavier ones stand; those of lines at the edges would be cut. */
  private marksOf(begin: number, end: number, hasNumbers: boolean): Mark[] {
    const marks: Mark[] = [];
    const wanted: NumberPlace[] = [];
    let x = 0;
    for (let index = begin; index < end; ++index) {
      const mark = this.markOf(index);
      if (!hasNumbers || patchOf(this.tokens[index])) mark.number = '';
      if (this.shown[index]!.gap && index > begin) x += this.ruler.width(' ');
      const width = this.widths[index]!;
      if (mark.number) wanted.push({mark, middle: x + width / 2, width: this.ruler.width(mark.number, kNumberSize)});
      x += width;
      marks.push(mark);
    }
    if (wanted.length > 0) placeNumbers(wanted, this.room);
    return marks;
  }

  private markToken(index: number, mark: Mark, element: HTMLElement): void {
    markToken(element, this.tokens[index]!, mark, this.marks.get(index) ?? kUnmarked, this.paragraph.dir === 'rtl');
    this.marks.set(index, mark);
  }

  /** Scrolls the text, never the page, until the token is in sight. */
  reveal(index: number): void {
    const [top, bottom] = this.bounds(index);
    const {scrollTop, clientHeight} = this.scroller;
    if (top < scrollTop) this.scroller.scrollTop = top;
    else if (bottom > scrollTop + clientHeight) {  // whole lines
      this.scroller.scrollTop = Math.min(top, this.tops.find((each) => each >= bottom - clientHeight)!);
    }
    this.draw();
  }

  /** Where the token's line begins and ends. */
  private bounds(index: number): [number, number] {
    const line = this.lineOf[index]!;
    return [this.tops[line]!, this.tops[line + 1]!];
  }

  /** Where the token's line is: above the window (-1), in it (0), below it (1). */
  beyond(index: number): -1 | 0 | 1 {
    const [top, bottom] = this.bounds(index);
    const {scrollTop, clientHeight} = this.scroller;
    return top < scrollTop - 1 ? -1 : bottom > scrollTop + clientHeight + 1 ? 1 : 0;
  }

  /** The token that Tab reaches. */
  makeStop(index: number): void {
    this.elements.get(this.stop)?.setAttribute('tabindex', '-1');
    this.stop = index;
    this.elements.get(index)?.setAttribute('tabindex', '0');
  }

  focus(index: number): void {
    this.makeStop(index);
    this.reveal(index);
    if (!this.elements.get(index)?.isConnected) {  // narrow: the page scrolls, not the text
      const line = this.lineOf[index]!;
      if (!this.drawn.has(line)) this.drawLine(line);
    }
    this.elements.get(index)?.focus();
  }

  /** The first token of the line `by` lines away, at about the same place; in an image the cell in that row. */
  lineAway(index: number, by: number): number {
    const patch = patchOf(this.tokens[index]);
    const other = patch ? patch.image.tokens[patch.at + by * patch.image.columns] ?? -1 : -1;
    if (other >= 0) return other;
    const line = this.lineOf[index]!;
    const next = this.lines[line + by];
    if (!next) return index;
    return Math.min(next.end - 1, next.begin + index - this.lines[line]!.begin);
  }
}
