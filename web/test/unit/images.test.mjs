// Which token is which cell of an image.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {load} from './load.mjs';

const {cellName, extentsOf, hasPatches, noteImages, patchOf} = await load('text/images');
const tokens = (count) => Array.from({length: count}, (_, index) => ({index, id: 0, text: `#${index}`, begin: 0, end: 0}));

test('cells are named by their image, row and column, frames of sound by their column', () => {
  const list = tokens(6);
  noteImages({tokens: list, images: [
    {of_queries: true, of_keys: true, rows: 2, columns: 2, tokens: [1, 2, -1, 3], name: 'cat'},
    {of_queries: true, of_keys: true, rows: 1, columns: 2, tokens: [4, 5], name: 'image 1'},
  ]});
  assert.equal(cellName(patchOf(list[3])), 'cat, row 1, column 1');
  assert.equal(cellName(patchOf(list[5])), 'image 1, column 1');
  assert.equal(patchOf(list[0]), undefined);
  assert.deepEqual(extentsOf(list).map((each) => each.tokens), [[1, 2, 3], [4, 5]]);
});

test('an image of the keys leaves the queries alone', () => {
  const [queries, keys] = [tokens(3), tokens(4)];
  noteImages({tokens: queries, key_tokens: keys, images: [{of_queries: false, of_keys: true, rows: 1, columns: 2, tokens: [0, 1], name: ''}]});
  assert.ok(!hasPatches(queries));
  assert.ok(hasPatches(keys));
});
