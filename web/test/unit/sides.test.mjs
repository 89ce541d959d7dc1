// Two texts: whose tokens are rows and columns, what lies between them, and what a saved page answers of it.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {load} from './load.mjs';

const side = await load('attention/side');
const sides = await load('attention/sides');
const {between} = await load('attention/between');
const {SnapshotTransport} = await load('snapshot/answers');
const {SessionApi} = await load('transport/api');
const {taken, toBegin} = await load('transport/inputs');
const {Requests} = await load('transport/requests');
const {shapeOf} = await load('drawing/format');
const {LooksReader} = await load('attention/looks');
const {passOf} = await load('shell/progress');
const {holds, headAfter, firstHeld, missing} = await load('heads/held');

const token = (text, index) => ({index, id: index, text, begin: 0, end: 1});
const attention = (stack, rows, columns, more = {}) => ({
  stack, layers: 2, heads: 2, kv_heads: 2, causal: stack === 'decoder', queries: rows.length, keys: columns.length,
  query_tokens: rows.list, key_tokens: columns.list, rectangular: rows.list !== columns.list, zooms: 1, tile: 256, ...more,
});
const written = Object.assign(['<s>', 'a', 't'].map(token), {list: 'tokens'});
const source = Object.assign(['x', 'y'].map(token), {list: 'key_tokens'});
const session = {
  session: '1', model: 'tiny', text: 'x y', state: 'ready', heads_done: 6, tokens: written, key_tokens: source,
  units: {words: [], sentences: []},
  attentions: [attention('encoder', source, source), attention('decoder', written, written), attention('cross', written, source)],
};
const model = {has_words: true};
const words = (tokens) => tokens.map(({text}) => text).join(' ');

for (const [stack, rows, columns, isSquare, isWritten] of [
  ['encoder', 'x y', 'x y', true, false], ['decoder', '<s> a t', '<s> a t', true, true], ['cross', '<s> a t', 'x y', false, true],
]) {
  test(`the rows of ${stack} are ${rows}, its columns ${columns}`, () => {
    const found = side.sideOf(session, model, stack);
    assert.deepEqual([words(found.queries), words(found.keys), found.isSquare, found.isWritten], [rows, columns, isSquare, isWritten]);
  });
}
test('a stack that there is not is the first', () => assert.equal(side.sideOf(session, model, 'self').stack, 'encoder'));

test('a filter for pairs is a block of the matrix', () => {
  const pair = {...side.sideOf(session, model, 'decoder'), split: 2};
  const of = (name) => Object.values(side.blockOf(pair, name)).map(({first, end}) => `${first}-${end}`).join(' ');
  assert.deepEqual([null, 'A-A', 'A-B', 'B-A', 'B-B'].map(of), ['0-3 0-3', '0-2 0-2', '0-2 2-3', '2-3 0-2', '2-3 2-3']);
});
test('the filters follow each other, and after the last is all', () => {
  let pair = null;
  const seen = Array.from({length: 6}, () => sides.pairName(pair = sides.pairAfter(pair)));
  assert.deepEqual(seen, ['A\u2192A', 'A\u2192B', 'B\u2192A', 'B\u2192B', 'all', 'A\u2192A']);
});

test('of each row its share of the block is told, and the arcs that make up nine tenths of that', () => {
  const cells = Float32Array.of(0.5, 0.4, 0.08, 0.02, 0.5, 0.3, 0.2, 0);  // two rows of four keys
  const keys = {first: 1, end: 4};
  const found = between(cells, 4, {queries: {first: 3, end: 5}, keys}, keys, 0.9);
  const rounded = (value) => Number(value.toFixed(3));
  assert.deepEqual(found.rows.map(({query, share}) => [query, rounded(share)]), [[3, 0.5], [4, 0.5]]);
  assert.deepEqual(found.means.map(rounded), [0.35, 0.14, 0.01]);
  assert.deepEqual(found.rows.map(({edges}) => edges.map(({key}) => key)), [[1, 2], [1, 2]]);
});
test('no arc is lighter than a hundredth, and a masked weight is none', () => {
  const found = between(Float32Array.of(0.991, 0.009, NaN), 3, {queries: {first: 0, end: 1}, keys: {first: 0, end: 3}}, {first: 0, end: 3}, 1);
  assert.deepEqual(found.rows[0].edges.map(({key}) => key), [0]);
  assert.equal(found.means[2], 0);
});

test('of a difference the arcs are the largest of either sign, and its share is the sum', () => {
  const found = between(Float32Array.of(0.1, -0.6, 0.3, -0.005), 4, {queries: {first: 0, end: 1}, keys: {first: 0, end: 4}}, {first: 0, end: 4}, 1);
  assert.deepEqual(found.rows[0].edges.map(({key, weight}) => [key, Number(weight.toFixed(3))]), [[0, 0.1], [1, -0.6], [2, 0.3]]);
  assert.equal(Number(found.rows[0].share.toFixed(3)), -0.205);
  assert.equal(Number(found.means[1].toFixed(3)), -0.6);
});

test('a share is of all keys of the text, also where a part of them is drawn', () => {
  const cells = Float32Array.of(0.1, 0.2, 0.3, 0.4, 0.1, NaN, 0.6, 0.3);  // two rows of four keys
  const found = between(cells, 4, {queries: {first: 0, end: 2}, keys: {first: 2, end: 3}}, {first: 1, end: 4}, 1);
  const rounded = (value) => Number(value.toFixed(3));
  assert.deepEqual(found.rows.map(({share}) => rounded(share)), [0.9, 0.9]);
  assert.deepEqual(found.means.map(rounded), [0.45]);
  assert.deepEqual(found.rows.map(({edges}) => edges.map(({key}) => key)), [[2], [2]]);
});

test('heads are held by attention', () => {
  const held = {held: [{stack: 'cross', layers: [[1], []]}]};
  const cross = side.sideOf(session, held, 'cross');
  assert.deepEqual([holds(cross, {layer: 0, head: 1}), holds(cross, {layer: 1, head: 1})], [true, false]);
  assert.deepEqual(headAfter(cross, {places: [{stack: 'cross', layer: 0, head: 1}]}, 1).places, [{stack: 'cross', layer: 0, head: 1}]);
  assert.match(missing(cross, {places: [{stack: 'cross', layer: 1, head: 0}]}), /does not hold head L1.H0:/);
});

test('of an attention of which nothing is held no head is the next, and none the first', () => {
  const none = side.sideOf(session, {held: [{stack: 'cross', layers: [[], [1]]}, {stack: 'decoder', layers: [[], []]}]}, 'decoder');
  const places = [{stack: 'decoder', layer: 1, head: 0}];
  for (const by of [1, -1]) assert.deepEqual(headAfter(none, {places}, by).places, places);
  assert.equal(firstHeld(none), null);
});
test('the switch goes to attentions that the file holds, and to heads of them that it holds', () => {
  const held = {held: [{stack: 'encoder', layers: [[], [1]]}, {stack: 'decoder', layers: [[], []]}, {stack: 'cross', layers: [[1], []]}]};
  const pageOf = (model, name) => ({
    api: {info: session, side: (stack) => side.sideOf(session, model, stack)}, side: side.sideOf(session, model, name),
    store: {chosen: {places: [{stack: name, layer: 0, head: 1}]}},
  });
  const cross = pageOf(held, 'cross');
  assert.deepEqual(sides.stacksOf(cross.api), ['encoder', 'cross']);
  assert.deepEqual(sides.stackAfter(cross).places, [{layer: 1, head: 1}]);
  assert.deepEqual(sides.stackAfter(pageOf(held, 'encoder')).places, [{stack: 'cross', layer: 0, head: 1}]);
  const alone = pageOf({held: [held.held[2]]}, 'cross');
  assert.deepEqual([sides.stacksOf(alone.api), sides.stackAfter(alone)], [['cross'], {}]);
  assert.deepEqual(sides.stacksOf(pageOf(model, 'cross').api), ['encoder', 'decoder', 'cross']);
});

test('of the texts that a tab keeps those go to a model that it takes', () => {
  const kept = {text: 'x', pair: 'y', target: 'z'};
  const of = (takes_pair, takes_target) => taken({runs: true, takes_pair, takes_target}, kept);
  assert.deepEqual([of(false, false), of(true, false), of(false, true)], [{text: 'x'}, {text: 'x', pair: 'y'}, {text: 'x', target: 'z'}]);
  assert.deepEqual(taken({runs: true, takes_pair: true, takes_target: false}, {text: 'x'}), {text: 'x'});
  assert.deepEqual(taken({runs: false, takes_pair: false, takes_target: false}, kept), kept);  // a session without a model has its texts
});
test('the heads that are scored are counted, however many each attention has', () => {
  const stacks = {...session, attentions: [attention('encoder', source, source), attention('decoder', written, written, {heads: 5})]};
  const events = new EventTarget();
  const api = new SessionApi({model}, stacks, {events: () => events});
  api.follow({layer: 0, head: 0}, () => undefined, () => undefined);
  assert.deepEqual(api.scored, {done: 0, of: 14});
  const heads = Array.from({length: 5}, (_, head) => ({head}));
  events.dispatchEvent(new MessageEvent('heads', {data: JSON.stringify({stack: 'decoder', layer: 1, heads})}));
  assert.deepEqual(api.scored, {done: 5, of: 14});
});
test('a model\u2019s shape is that of its encoder and of its decoder', () => {
  const stack = (name, layers, heads) => ({stack: name, layers, heads});
  const of = (...stacks) => shapeOf({title: 'T', stacks});
  assert.equal(of(stack('self', 4, 6)), 'T, 4 layers \u00d7 6 heads');
  assert.equal(of(stack('encoder', 6, 8), stack('decoder', 3, 8), stack('cross', 3, 8)), 'T, 6 + 3 layers \u00d7 8 heads');
  assert.equal(of(stack('encoder', 6, 8), stack('decoder', 2, 4), stack('cross', 2, 4)),
    'T, 6 layers \u00d7 8 heads + 2 layers \u00d7 4 heads');
  assert.equal(of({...stack('self', 8, 4), attending: [3, 7]}), 'T, 8 layers, 2 with attention, \u00d7 4 heads');
});

const kNames = ['[CLS]', 'a', '[SEP]', 'b', 'c', '[SEP]'];
const both = {
  ...session, split: 3, tokens: kNames.map((text, index) => ({...token(text, index), ...text.startsWith('[') && {special: true}})),
  units: {words: [], sentences: []},
  attentions: [attention('self', {length: 6, list: 'tokens'}, {length: 6, list: 'tokens'})],
};
const kCells = Float32Array.of(
  0.1, 0.1, 0.2, 0.3, 0.2, 0.1,
  0.2, 0.1, 0, 0.25, 0.05, 0.4,
  0, 0, 0.5, NaN, 0.5, 0);
test('of the rows of a text it is told what they look at, and the largest from word to word', () => {
  const reader = new LooksReader(side.sideOf(both, model, 'self'), 'A-B');
  reader.add(kCells.subarray(0, 6), 0);
  reader.add(kCells.subarray(6), 1);
  assert.deepEqual(reader.looks.edges.map(({query, key}) => [query, key]), [[1, 3], [1, 4]]);
  assert.deepEqual(reader.looks.parts.map(({name, isInside, share}) => [name, isInside, share.toFixed(3)]), [
    ['[CLS]', false, '0.100'], ['words of A', false, '0.067'], ['[SEP] of A', false, '0.233'],
    ['words of B', true, '0.433'], ['[SEP] of B', true, '0.167'],
  ]);
});
test('of a difference the largest are of either sign, and a share may be negative', () => {
  const reader = new LooksReader(side.sideOf(both, model, 'self'), 'A-B');
  reader.add(Float32Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0.1, -0.4, 0.3), 0);
  assert.deepEqual(reader.looks.edges.map(({query, key, weight}) => [query, key, weight.toFixed(1)]), [[1, 4, '-0.4'], [1, 3, '0.1']]);
  assert.equal(reader.looks.parts.find(({name}) => name === 'words of B').share.toFixed(3), '-0.100');
});
test('rows are asked for in parts that the server gives, and of one text at once', async () => {
  const length = 5000;
  const asked = [];
  const requests = new Requests({
    request: async (path) => {
      const {searchParams} = new URL(path, 'http://server');
      const [begin, end] = ['begin', 'end'].map((name) => Number(searchParams.get(name)));
      asked.push([begin, end]);
      return new Response(new Float32Array((end - begin) * length).fill(1 / length).buffer);
    },
  });
  const tokens = Array.from({length}, (_, index) => token('a', index));
  const long = {...session, split: 1000, tokens, attentions: [attention('self', {length, list: 'tokens'}, {length, list: 'tokens'})]};
  const api = new SessionApi({model}, long, requests);
  const place = {layer: 0, head: 0};
  const make = () => new LooksReader(api.side(), 'A-B');
  const question = api.looks(place, 0, 1000, 'A-B', make);
  const looks = await question.get('side');
  assert.deepEqual(asked, [[0, 419], [419, 838], [838, 1000]]);
  assert.deepEqual(looks.parts.map(({share}) => share.toFixed(3)), ['0.200', '0.800']);
  assert.equal(question.now(), looks);
  const short = api.matrix(place, 0, 64);
  await Promise.all([short.get('rows'), api.looks(place, 0, 64, 'short', make).get('side')]);
  assert.deepEqual(asked.slice(3), [[0, 64]]);
});

/** As a file has it: numbers as bytes in base64. */
const packed = (numbers) => Buffer.from(numbers.buffer).toString('base64');
const saved = new SnapshotTransport({
  about: {}, session, view: '', chosen: {}, scores: [], next: [],
  held: [{
    stack: 'cross', layer: 1, dim: 1, begins: packed(Int32Array.of(0, 0, 0)), ends: packed(Int32Array.of(2, 2, 2)),
    keys: {0: packed(Float32Array.of(0, Math.log(3)))},
    heads: [{
      head: 0, group: 0, scale: 1, q: packed(Float32Array.of(0, 1, 2)), lse: packed(Float64Array.of(Math.log(2), Math.log(4), Math.log(10))),
      received: packed(Float32Array.of(1, 2)), keys_in_use: packed(Float32Array.of(2, 1, 1)), row_sum_error: 0,
    }],
  }],
});
const ask = async (path) => saved.request(`/api/v1/sessions/1/cross/1/0/${path}`);
test('a saved page answers of a matrix that is not square', async () => {
  const near = (found, wanted) => found.forEach((value, at) => assert.ok(Math.abs(value - wanted[at]) < 1e-6, `${found}`));
  near((await (await ask('row/1')).json()).weights, [0.25, 0.75]);
  near((await (await ask('column/1')).json()).weights, [0.5, 0.75, 0.9]);
  near([...new Float32Array(await (await ask('rows?begin=1&end=3')).arrayBuffer())], [0.25, 0.75, 0.1, 0.9]);
  near([...new Float32Array(await (await ask('tile/0/0/0?as=f32')).arrayBuffer())], [0.5, 0.5, 0.25, 0.75, 0.1, 0.9]);
  assert.equal((await ask('row/3')).status, 404);
  assert.equal((await ask('column/2')).status, 404);
});

test('a text that another model read gives way to the one of the command line', () => {
  const given = {text: 'new'};
  const kept = {text: 'old', model: 'other', given};
  assert.equal(toBegin(kept, given, 'tiny').text, 'new');
  assert.equal(toBegin({...kept, model: 'tiny'}, given, 'tiny').text, 'old');
  assert.equal(toBegin(kept, null, 'tiny').text, 'old');
  assert.equal(toBegin(null, given, 'tiny').text, 'new');
  assert.equal(toBegin(null, null, 'tiny'), null);
});
test('a text that was read under another start text gives way to that of the command line', () => {
  const kept = {text: 'old', model: 'tiny', given: {text: 'first'}};
  assert.equal(toBegin(kept, {text: 'first'}, 'tiny').text, 'old');
  assert.equal(toBegin(kept, {text: 'second'}, 'tiny').text, 'second');
  assert.equal(toBegin(kept, {text: 'first', pair: 'another'}, 'tiny').pair, 'another');
  assert.equal(toBegin({...kept, given: null}, {text: 'first'}, 'tiny').text, 'first');
});
test('the pass of an encoder-decoder is that of both texts through the layers of both', () => {
  assert.equal(passOf(session), '5 tokens through 4 layers');
  assert.equal(passOf({tokens: written, attentions: [attention('self', written, written)]}), '3 tokens through 2 layers');
});

test('heads of layers without attention cannot be looked at', () => {
  const hybrid = side.sideOf({...session, attentions: [attention('self', written, written, {layers: 4, attending: [1, 3]})]}, model, 'self');
  assert.deepEqual([hybrid.layers, hybrid.numbers, hybrid.held.map((heads) => heads.length)], [4, [1, 3], [0, 2, 0, 2]]);
  assert.deepEqual(firstHeld(hybrid), {layer: 1, head: 0});
  assert.deepEqual(headAfter(hybrid, {places: [{layer: 1, head: 1}]}, 1).places, [{layer: 3, head: 0}]);
  assert.equal(missing(hybrid, {places: [{layer: 3, head: 0}]}), null);
});
