// An answer with thumbnails: three numbers, then the cells of one head after another.

/** Cells of `block` entries a side, in the codes of a tile. */
export interface Cut { block: number; rows: number; columns: number }

export interface Atlas extends Cut { codes: Uint8Array[] }

export function readAtlas(body: ArrayBuffer, heads: number): Atlas {
  const [block = 1, rows = 0, columns = 0] = new Uint32Array(body, 0, 3);
  const codes = Array.from({length: heads}, (_, at) => new Uint8Array(body, 12 + at * rows * columns, rows * columns));
  return {block, rows, columns, codes};
}

export function writeAtlas({block, rows, columns, codes}: Atlas): ArrayBuffer {
  const body = new Uint8Array(12 + codes.length * rows * columns);
  new Uint32Array(body.buffer, 0, 3).set([block, rows, columns]);
  codes.forEach((each, at) => body.set(each, 12 + at * rows * columns));
  return body.buffer;
}

/** How thumbnails of at most `most` cells a side cut a matrix, whose zoom 0 has cells of `unit` entries a side. */
export function cutOf(queries: number, keys: number, unit: number, most: number): Cut {
  const block = Math.ceil(Math.ceil(Math.max(queries, keys) / most) / unit) * unit;
  return {block, rows: Math.ceil(queries / block), columns: Math.ceil(keys / block)};
}

/** The thumbnail from the codes of zoom 0, whose cells are of `unit` entries a side. */
export function thumbnailOf(codes: Uint8Array, queries: number, keys: number, unit: number, {block, rows, columns}: Cut): Uint8Array {
  const cells = new Uint8Array(rows * columns);
  const width = Math.ceil(keys / unit);
  const fold = block / unit;
  for (let y = 0; y < Math.ceil(queries / unit); ++y) {
    const row = Math.floor(y / fold) * columns;
    for (let x = 0; x < width; ++x) {
      const at = row + Math.floor(x / fold);
      cells[at] = Math.max(cells[at]!, codes[y * width + x]!);
    }
  }
  return cells;
}
