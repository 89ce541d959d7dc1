// Characters that no font on this machine has, and the Debian package of a font that has them.
import {html} from '../drawing/dom';

const kFonts = [
  {what: 'Chinese, Japanese or Korean', characters: /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]/u, name: 'fonts-noto-cjk'},
  {what: 'emoji', characters: /\p{Emoji_Presentation}/u, name: 'fonts-noto-color-emoji'},
] as const;
const kUnassigned = '\u0378';  // fonts show their glyph for missing characters
const kSide = 32;  // px

function pixelsOf(character: string, family: string): string {
  const canvas = html('canvas', {width: kSide, height: kSide});
  const context = canvas.getContext('2d', {willReadFrequently: true})!;
  context.font = `20px ${family}`;
  context.fillText(character, 2, 24);
  return String(context.getImageData(0, 0, kSide, kSide).data);
}

/** The package to install so that the text is readable; empty if it is. */
export function fontsMissing(text: string, family: string): HTMLElement[] {
  const missing = kFonts.filter(({characters}) => {
    const character = characters.exec(text)?.[0];
    return character !== undefined && pixelsOf(character, family) === pixelsOf(kUnassigned, family);
  });
  return missing.map(({what, name}) => html('p', {class: 'quiet fonts-missing'}, `This machine has no font for ${what}: install `, html('code', {}, name), '.'));
}
