// Cuts a text into lines by measured widths, so that only the lines in sight need elements.
import type {Shown} from '../text/tokens';

export interface TextLine { begin: number; end: number; width: number }

// Scripts that write words without spaces: a line may end after any of their characters.
const kUnspaced =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;
const kCloses = /^[\p{Pe}\p{Pf}\p{Po}]/u;  // stays with what it closes

function textOf(token: Shown): string {
  return token.pieces.map((piece) => piece.text).join('');
}

/** Whether a line may end before `token`. */
function mayBreak(before: Shown, token: Shown): boolean {
  if (token.gap) return true;
  const [left, right] = [textOf(before), textOf(token)];
  if (/[ \u00b7-]$/.test(left)) return true;
  return (kUnspaced.test(left.slice(-2)) || kUnspaced.test(right.slice(0, 2))) && !kCloses.test(right);
}

/** Lines of at most `room`; a token with a line end ends its line; a word that is too long is cut between tokens. */
export function breakLines(tokens: Shown[], widths: ArrayLike<number>, gap: number, room: number): TextLine[] {
  const lines: TextLine[] = [];
  let line: TextLine = {begin: 0, end: 0, width: 0};
  const close = (at: number) => {
    if (at > line.begin) lines.push({...line, end: at});
    line = {begin: at, end: at, width: 0};
  };
  const widthOf = (index: number) => widths[index]! + (tokens[index]!.gap && index > line.begin ? gap : 0);
  for (let word = 0; word < tokens.length;) {
    let end = word + 1;
    while (end < tokens.length && tokens[end - 1]!.breaks === 0 && !mayBreak(tokens[end - 1]!, tokens[end]!)) ++end;
    let width = 0;
    for (let index = word; index < end; ++index) width += widthOf(index);
    if (line.width + width > room) close(word);
    for (let index = word; index < end; ++index) {
      if (line.width + widthOf(index) > room) close(index);
      line.width += widthOf(index);
    }
    if (tokens[end - 1]!.breaks > 0) close(end);
    word = end;
  }
  close(tokens.length);
  return lines;
}

const kHexRoom = 8;       // padding, frame and margin of a hex piece
const kSpecialRoom = 18;  // padding, frame and margin of a special token

/** Widths of tokens in the font of `element`: equal texts are measured once. */
export class Ruler {
  private readonly context = document.createElement('canvas').getContext('2d')!;
  private readonly known = new Map<string, number>();
  private digit = 0;
  private family = '';
  private size = 0;

  /** Takes the font of the element; true when that has changed. */
  follow(element: HTMLElement): boolean {
    const style = getComputedStyle(element);
    const size = Number.parseFloat(style.fontSize);
    if (style.fontFamily === this.family && size === this.size) return false;
    this.family = style.fontFamily;
    this.size = size;
    this.known.clear();
    const probe = document.createElement('span');  // a canvas has no tabular figures
    probe.textContent = '0'.repeat(10);
    probe.className = 'spoken';
    probe.style.width = 'auto';
    element.append(probe);
    this.digit = probe.getBoundingClientRect().width / 10;
    probe.remove();
    return true;
  }

  width(text: string, size = this.size): number {
    const name = `${size} ${text}`;
    let width = this.known.get(name);
    if (width === undefined) {
      this.context.font = `${size}px ${this.family}`;
      const figures = text.match(/\d/g)?.length ?? 0;
      const others = figures === 0 ? text : text.replace(/\d+/g, '');
      width = this.context.measureText(others).width + figures * this.digit * size / this.size;
      this.known.set(name, width);
    }
    return width;
  }

  token(token: Shown, special: boolean): number {
    if (special) return this.width(token.pieces.map((piece) => piece.text).join(''), 12) + kSpecialRoom;
    let width = 0;
    for (const {text, hex} of token.pieces) width += hex ? this.width(text, 11) + kHexRoom : this.width(text);
    return width;
  }
}
