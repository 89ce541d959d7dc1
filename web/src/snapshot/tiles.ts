// Tiles of the matrix at every zoom: the largest weight of each cell.
import type {HeldHead} from './file';
import {byteOf} from './weights';

const kTile = 256;
const kSliceMilliseconds = 8;  // then lets the page draw

export interface TileOf { z: number; y: number; x: number }

/** Size of a matrix by its longer side. */
export function zoomLevels(length: number): number {
  let levels = 1;
  while (kTile * 2 ** (levels - 1) < length) ++levels;
  return levels;
}

/** Cells of B x B entries; NaN if the whole cell is masked. Null if there is no such tile. */
export async function tile(head: HeldHead, {z, y, x}: TileOf, signal?: AbortSignal | null): Promise<Float32Array | null> {
  const levels = zoomLevels(Math.max(head.queries, head.keys));
  const block = 2 ** (levels - 1 - z);
  const extent = kTile * block;
  if (z < 0 || z >= levels || y < 0 || x < 0 || y * extent >= head.queries || x * extent >= head.keys) return null;
  const rowEnd = Math.min((y + 1) * extent, head.queries);
  const keyEnd = Math.min((x + 1) * extent, head.keys);
  const width = Math.ceil((keyEnd - x * extent) / block);
  const cells = new Float32Array(Math.ceil((rowEnd - y * extent) / block) * width).fill(NaN);
  let begun = performance.now();
  for (let query = y * extent; query < rowEnd; ++query) {
    const row = Math.floor((query - y * extent) / block) * width;
    head.weights(query, x * extent, keyEnd, (key, weight) => {
      const at = row + Math.floor((key - x * extent) / block);
      if (!(cells[at]! >= weight)) cells[at] = weight;  // true also if the cell is NaN
    });
    if (performance.now() - begun < kSliceMilliseconds) continue;
    await new Promise((resolve) => setTimeout(resolve));
    signal?.throwIfAborted();
    begun = performance.now();
  }
  return cells;
}

export function encode(cells: Float32Array, as: 'u8' | 'f32'): ArrayBuffer {
  return as === 'f32' ? cells.buffer as ArrayBuffer : Uint8Array.from(cells, byteOf).buffer;
}
