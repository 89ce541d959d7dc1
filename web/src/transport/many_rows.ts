// Rows of a head as numbers, as many at once as the server allows.
import type {Looks, LooksReader} from '../attention/looks';

const kMostWeights = 1 << 21;  // per answer with rows
const kMostKeptRows = 64;      // that a drawing also shows

/** Whole rows from `first` on, concatenated; masked cells are NaN. */
export type Take = (cells: Float32Array, first: number) => void;
/** Asks for rows [begin, end). */
export type AskMany = (begin: number, end: number) => Promise<Float32Array>;

export async function readRows(begin: number, end: number, keys: number, ask: AskMany, take: Take): Promise<void> {
  const most = Math.max(1, Math.floor(kMostWeights / keys));
  for (let first = begin; first < end; first += most) take(await ask(first, Math.min(end, first + most)), first);
}

export async function wholeRows(begin: number, end: number, keys: number, ask: AskMany): Promise<Float32Array> {
  const all = new Float32Array((end - begin) * keys);
  await readRows(begin, end, keys, ask, (cells, first) => all.set(cells, (first - begin) * keys));
  return all;
}

/** The result computed from rows; `kept`: few rows, which a drawing also needs. */
export async function looksOf(
  reader: LooksReader, begin: number, end: number, keys: number, ask: AskMany, kept: () => Promise<Float32Array>
): Promise<Looks> {
  if (end - begin <= kMostKeptRows) reader.add(await kept(), begin);
  else await readRows(begin, end, keys, ask, (cells, first) => reader.add(cells, first));
  return reader.looks;
}

