// The grid: its filters, by the vectors that the command line reads too, where its heads stand, and how thumbnails are cut.
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {load, source} from './load.mjs';

const vectors = JSON.parse(readFileSync(join(source, '../../tests/vectors/filters.json'), 'utf8'));
const {readFilter, holdsFor, unknownScore} = await load('heads/head_filter');
const {layoutOf, lineTop, linesWithin} = await load('panels/grid_layout');
const {cutOf, thumbnailOf, readAtlas, writeAtlas} = await load('transport/atlas');

for (const {filter, terms, error} of vectors) {
  test(`the filter “${filter}” ${terms ? 'reads as the vectors say' : 'is told what is wrong with it, and where'}`, () => {
    const read = readFilter(filter);
    if (error) assert.deepEqual(read, {error});
    else assert.deepEqual(read.terms.map(({at, ...term}) => term), terms);
  });
}
test('a filter holds for a head where all of its terms do', () => {
  const head = {layer: 4, head: 2, previous: 0.5, sink: 0.25};
  const holds = (filter) => holdsFor(readFilter(filter).terms, (name) => head[name]);
  for (const filter of ['', 'previous>0.4', 'previous>=0.5', 'previous<=0.5 sink<.3', 'layer 4', 'layer 2-4 head 2-9']) assert.ok(holds(filter), filter);
  for (const filter of ['previous>0.5', 'previous<0.5', 'previous>0.4 sink>0.3', 'layer 3', 'layer 4 head 3', 'nobody>-1']) assert.ok(!holds(filter), filter);
});
test('a score that there is not is named, and where', () => {
  const scores = [{name: 'previous', short: 'prev'}, {name: 'sink', short: 'sink'}];
  const wrong = (filter) => unknownScore(filter, readFilter(filter).terms, scores);
  assert.equal(wrong('prev>1 layer 3 sink<2'), null);
  assert.deepEqual(wrong('sink<2  next>1'), {at: 9, found: '"next>1"', expected: 'previous, sink, layer or head'});
});

const shape = {width: 1392, heads: 8, layers: 5, queries: 201, keys: 201, isCausal: true, isNarrow: false, hasBrackets: false};
test('eight heads stand in one line, each of 67 cells of 2 px', () => {
  const {columns, lines, side, cells, left, pitch, pictureHeight} = layoutOf(shape);
  assert.deepEqual([columns, lines, side, cells, left, pictureHeight], [8, 1, 134, 67, 72, 134]);
  assert.ok(Math.abs(left + 7 * pitch + side - 1392) < 1e-6);
});
test('twelve heads stand in one line, smaller; more in lines of as many', () => {
  const of = (heads, more = {}) => {
    const {columns, lines, side} = layoutOf({...shape, heads, ...more});
    return [columns, lines, side];
  };
  assert.deepEqual(of(12), [12, 1, 96]);
  assert.deepEqual(of(16), [8, 2, 134]);
  assert.deepEqual(of(64), [8, 8, 134]);
  assert.deepEqual(of(12, {isCausal: false}), [6, 2, 134]);
  assert.deepEqual(of(8, {width: 358, isNarrow: true}), [3, 3, 110]);
});
test('a grid is as wide as it may be, whatever there is to show', () => {
  for (const width of [300, 358, 700, 1100, 1392, 2500]) {
    for (const heads of [1, 2, 3, 7, 8, 12, 13, 16, 25, 32, 64, 128]) {
      for (const isCausal of [true, false]) {
        const found = layoutOf({...shape, width, heads, isCausal, isNarrow: width < 700});
        assert.ok(found.columns * found.lines >= heads && found.columns * (found.lines - 1) < heads, `${width} ${heads}`);
        assert.ok(found.left + (found.columns - 1) * found.pitch + found.cellWidth <= Math.max(width, found.left + found.cellWidth) + 1e-6, `${width} ${heads}`);
        assert.ok(found.columns < 2 || found.pitch >= found.cellWidth + 8, `${width} ${heads} overlap`);
      }
    }
  }
});
test('the lines in sight are those that are drawn', () => {
  for (const isNarrow of [false, true]) {
    const layout = layoutOf({...shape, heads: 64, layers: 48, isNarrow, width: isNarrow ? 358 : 1392});
    for (const top of [0, 1, 500, 5000, layout.height - 700]) {
      const {first, end} = linesWithin(layout, 48, top, top + 700);
      assert.ok(lineTop(layout, first) <= top + layout.name + 1 || first === 0);
      assert.ok(end === 48 * layout.lines || lineTop(layout, end) > top + 700);
      assert.ok(end - first <= 700 / layout.lineHeight + 3);
    }
  }
});
test('a thumbnail holds the largest of each block', () => {
  const codes = Uint8Array.from({length: 201 * 201}, (_, at) => at * 7919 % 251);
  const cut = cutOf(201, 201, 1, 67);
  assert.deepEqual(cut, {block: 3, rows: 67, columns: 67});
  const cells = thumbnailOf(codes, 201, 201, 1, cut);
  const largest = (y, x) => Math.max(...[0, 1, 2].flatMap((i) => [0, 1, 2].map((j) => codes[(3 * y + i) * 201 + 3 * x + j])));
  for (let at = 0; at < cells.length; ++at) assert.equal(cells[at], largest(Math.floor(at / 67), at % 67));
});
test('thumbnails cut as the server cuts them', () => {
  assert.deepEqual([[201, 201, 1], [1024, 1024, 4], [4096, 4096, 16], [100000, 100000, 512], [12, 300, 2]].map(([queries, keys, unit]) => {
    const {block, rows, columns} = cutOf(queries, keys, unit, 67);
    return [block, rows, columns];
  }), [[3, 67, 67], [16, 64, 64], [64, 64, 64], [1536, 66, 66], [6, 2, 50]]);
});
test('an answer with thumbnails is read as it is written', () => {
  const atlas = {block: 3, rows: 2, columns: 3, codes: [Uint8Array.of(1, 2, 3, 4, 5, 6), Uint8Array.of(9, 8, 7, 6, 5, 4)]};
  assert.deepEqual(readAtlas(writeAtlas(atlas), 2), atlas);
});
