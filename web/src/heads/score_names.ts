// The names of scores on the page. Induction and duplicates are measured both on the text and on random tokens: their
// names say which.
import type {Score} from '../answers';

/** Empty for a score with only one source. */
export function sourceOf(name: string): string {
  return name.startsWith('probe_') ? 'on random tokens' : name === 'induction' || name === 'duplicate' ? 'on this text' : '';
}

/** What the sink-adjusted form of a score is. */
export const kAdjusted = 'sink-adjusted: without the first token, where many heads rest; the other weights of a row are scaled to sum to 1';

/** `induction` for both sources, `same word`, `without it`. */
export function plainName(name: string): string { return name === 'without' ? 'without it' : name.replace(/^probe_/, '').replace(/_/g, ' '); }

/** `induction on random tokens`, `same word`. */
export function fullName(name: string): string { return `${plainName(name)} ${sourceOf(name)}`.trimEnd(); }

/** The short form, unless it omits the source. */
export function briefName({name, short}: Pick<Score, 'name' | 'short'>): string { return sourceOf(name) === '' ? short : fullName(name); }
