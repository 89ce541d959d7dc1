// The parts of the page that need no browser: numbers, the address, words, scales, what folds.
import assert from 'node:assert/strict';
import {dirname, join} from 'node:path';
import {test} from 'node:test';
import {fileURLToPath} from 'node:url';
import {build} from 'esbuild';

const source = join(dirname(fileURLToPath(import.meta.url)), '../../src');

async function load(name) {
  const {outputFiles} = await build({
    entryPoints: [join(source, `${name}.ts`)], bundle: true, format: 'esm', write: false, logLevel: 'error',
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);
}

const format = await load('format');
const selection = await load('selection');
const tokens = await load('tokens');
const scale = await load('panels/matrix_scale');
const column = await load('panels/key_column');
const colour = await load('colour');
const token = (text, more = {}) => ({index: 0, id: 0, text, begin: 0, end: 1, ...more});
const info = (...texts) => ({tokens: texts.map((text, index) => ({...token(text), index}))});

for (const [value, text] of [[0.172, '.172'], [1, '1.00'], [0, '0'], [0.0004, '<.001'], [0.0006, '.001'], [0.9999, '1.00']]) {
  test(`the weight ${value} is written ${text}`, () => assert.equal(format.weight(value), text));
}

test('the large number keeps its zero', () => assert.equal(format.largeWeight(0.172), '0.172'));
test('a minus is a minus sign, and zero has none', () => {
  assert.equal(format.distance(-1.25), '\u22121.3 back');
  assert.equal(format.distance(-0.01), '0.0 back');
});
test('a cell below half a hundredth is empty', () => {
  assert.equal(format.hundredths(0.0049), '');
  assert.equal(format.hundredths(0.172), '17');
});

test('an address reads as it is written', () => {
  const address = '#look/L5.H1+H3/i=17/j=3/range=2-9/to=1/units=word/scale=rank';
  assert.equal(selection.format(selection.parse(address)), address);
});
test('an address that names no head is none', () => {
  for (const address of ['', '#', '#look', '#grid/L0.H0', '#look/L0', '#look/H0', '#look/Lx.Hy']) {
    assert.equal(selection.parse(address), null);
  }
});
test('what an address does not know is left out', () => {
  assert.equal(selection.format(selection.parse('#look/L1.H2/i=x/j=-1/scale=pink/what=ever')), '#look/L1.H2');
});
test('at most four heads have a colour', () => {
  assert.deepEqual(selection.parse('#look/L0.H0+H1+H1+H2+H3+H4').heads, [0, 1, 2, 3]);
});
test('a selection is fitted to what the session has', () => {
  const fitted = selection.fit(selection.parse('#look/L9.H9/i=50/j=2/range=1-99'), {layers: 4, heads: 6, tokens: 20});
  assert.equal(selection.format(fitted), '#look/L3.H0');
});

test('one space before a token stands outside its mark', () => {
  assert.deepEqual(tokens.shown(token(' cat')), {gap: true, pieces: [{text: 'cat', hex: false}], breaks: 0});
  assert.equal(tokens.plain(token('  cat')), '\u00b7cat');
  assert.equal(tokens.plain(token(' ')), '\u00b7');
});
test('a line end is shown and breaks', () => {
  assert.deepEqual(tokens.shown(token('.\n')), {gap: false, pieces: [{text: '.\u23ce', hex: false}], breaks: 1});
});
test('bytes that are no text, and marks that would turn a text round, are hex', () => {
  assert.deepEqual(tokens.shown(token('<0xE3>', {bytes: 'e3'})).pieces, [{text: 'E3', hex: true}]);
  assert.deepEqual(tokens.shown(token('<0xE3>')).pieces, [{text: '<0xE3>', hex: false}]);
  assert.deepEqual(tokens.shown(token('\u202e')).pieces, [{text: 'U+202E', hex: true}]);
});
test('a word is its pieces, punctuation stands alone', () => {
  assert.deepEqual(tokens.words(info(' didn', "'t", ' n', 'amed', '.')).begins, [0, 0, 2, 2, 4]);
});
test('a sentence ends with what closes it', () => {
  assert.deepEqual(tokens.sentences(info('"', 'Go', '.', '"', ' She', ' ran')).begins, [0, 0, 0, 0, 4, 4]);
});

test('a byte of a tile gives its weight within half a step', () => {
  for (const weight of [1, 0.5, 0.172, 1e-3, 2 ** -23]) {
    const byte = 2 + Math.round(253 * (1 + Math.log2(weight) / 24));
    assert.ok(Math.abs(Math.log2(scale.weightOf(byte) / weight)) <= 12 / 253 + 1e-9);
  }
});
test('the logarithmic scale goes from 0.001 to 1', () => {
  assert.equal(scale.position(0.001, 'log'), 0);
  assert.equal(scale.position(1, 'log'), 1);
  assert.ok(Math.abs(scale.position(0.1, 'log') - 2 / 3) < 1e-12);
});
test('a masked cell has no colour, the least weight has one', () => {
  const colours = scale.table('log', new Uint32Array(256));
  assert.equal(colours[0], 0);
  assert.equal(colours[1] >>> 24, 255);
});
test('ranks are the share of cells below', () => {
  const histogram = new Uint32Array(256);
  histogram.set([9, 2, 2], 0);  // masked ones do not count
  assert.deepEqual([...scale.ranks(histogram).slice(1, 3)], [0.25, 0.75]);
});
test('cividis runs from dark to light', () => {
  assert.deepEqual(colour.cividis(0), [0, 32, 81]);
  assert.equal(colour.numberColour(colour.cividis(0)), '#fff');
  assert.equal(colour.numberColour(colour.cividis(1)), '#16181d');
});

test('keys without an edge fold, and unfold', () => {
  const keys = new Map([[2, 0.5], [3, 0.25]]);
  const fold = (begin, end) => ({kind: 'fold', begin, end});
  const key = (index, weight) => ({kind: 'key', key: index, weight});
  const folded = column.entriesOf(keys, 6, new Set());
  assert.deepEqual(folded, [fold(0, 2), key(2, 0.5), key(3, 0.25), fold(4, 6)]);
  assert.equal(column.entryIndex(folded, 5), 3);
  assert.deepEqual(column.entriesOf(keys, 6, new Set([0])).slice(0, 3), [key(0, null), key(1, null), key(2, 0.5)]);
});
test('the rest tells what is not listed', () => {
  const listed = [{kind: 'key', key: 0, weight: 0.5}];
  assert.equal(column.rest([0.5, 0.3, 0.2, null], listed), '+ .500 in 2 others');
  assert.equal(column.rest([0.5, null], listed), 'and no others');
});
