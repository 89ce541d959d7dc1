// Thumbnails in a saved page: from the weights of its heads; for other heads as saved.
import type {Stack} from '../selection/selection';
import {cutOf, thumbnailOf, writeAtlas} from '../transport/atlas';
import type {HeldHeads, Snapshot} from './file';
import {bytesOf} from './file';
import {encode, tile, zoomLevels} from './tiles';

/** Null if one of the heads is neither stored nor drawn in the file. */
export async function thumbnails(
  {session, atlas}: Snapshot, held: HeldHeads, stack: string, heads: number[], most: number
): Promise<ArrayBuffer | null> {
  const {queries, keys, heads: each} = session.attentions.find((one) => one.stack === stack)!;
  const saved = atlas.find((one) => one.stack === stack);
  const unit = 2 ** (zoomLevels(Math.max(queries, keys)) - 1);
  const cut = saved ?? cutOf(queries, keys, unit, most);  // all in a file have the same size
  const codes: Uint8Array[] = [];
  for (const head of heads) {
    const place = {stack: stack as Stack, layer: Math.floor(head / each), head: head % each};
    const own = held.find(place);
    const packed = saved?.heads[head];
    if (own) {
      const whole = own.overview ?? new Uint8Array(encode((await tile(own, {z: 0, y: 0, x: 0}))!, 'u8'));
      codes.push(thumbnailOf(whole, queries, keys, unit, cut));
    } else if (packed !== undefined) {
      codes.push(new Uint8Array(bytesOf(packed)));
    } else {
      return null;
    }
  }
  return writeAtlas({...cut, codes});
}
