// The language of a text, as far as its script shows: for voices, fonts and hyphens; nothing if unclear.

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
