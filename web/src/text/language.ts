// The language of a text and its direction, as far as its script shows: for voices, fonts and hyphens.

const kScripts: readonly [string, RegExp][] = [
  ['ja', /[\p{sc=Hiragana}\p{sc=Katakana}]/u], ['ko', /\p{sc=Hangul}/u], ['zh', /\p{sc=Han}/u], ['el', /\p{sc=Greek}/u], ['th', /\p{sc=Thai}/u],
  ['he', /\p{sc=Hebrew}/u], ['und-Arab', /\p{sc=Arabic}/u], ['und-Cyrl', /\p{sc=Cyrillic}/u], ['und-Deva', /\p{sc=Devanagari}/u],
];
const kSample = 2000;  // characters examined

/** For `lang`, where `''` means unknown: the page is in English, but its content need not be. */
export function languageOf(text: string): string {
  const sample = text.slice(0, kSample);
  const letters = sample.match(/\p{L}/gu)?.length ?? 0;
  const found = kScripts.find(([, script]) => {
    const own = sample.match(new RegExp(script, 'gu'))?.length ?? 0;
    return own > letters / 5;
  });
  return found?.[0] ?? '';
}

const kRightToLeft = /[\p{sc=Hebrew}\p{sc=Arabic}\p{sc=Syriac}\p{sc=Thaana}\p{sc=Nko}]/u;

/** By the first letter, as `dir=auto` has it, but of the whole text, because not every line has an element. */
export function directionOf(text: string): 'ltr' | 'rtl' {
  const letter = /\p{L}/u.exec(text)?.[0] ?? '';
  return kRightToLeft.test(letter) ? 'rtl' : 'ltr';
}
