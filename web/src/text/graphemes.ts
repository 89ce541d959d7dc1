// Characters as readers see them: a letter with its marks, an emoji of several people.

const kSegmenter = new Intl.Segmenter(undefined, {granularity: 'grapheme'});

export function graphemes(text: string): string[] {
  return Array.from(kSegmenter.segment(text), ({segment}) => segment);
}

/** The longest beginning of the text that fits before an ellipsis. */
export function shortened(text: string, fits: (text: string) => boolean): string {
  const kept = graphemes(text);
  while (kept.length > 0 && !fits(`${kept.join('')}\u2026`)) kept.pop();
  return `${kept.join('')}\u2026`;
}

const kShaped = /[\u0590-\u08ff\u0900-\u109f\u1780-\u17ff]/;

/** Whether it has letters that change with their neighbours. */
export function isShaped(text: string): boolean { return kShaped.test(text); }
