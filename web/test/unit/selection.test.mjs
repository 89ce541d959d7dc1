// The selection: its address, by the vectors that the command line reads too, what a session has of it, and the data for it.
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {load, source} from './load.mjs';

const vectors = JSON.parse(readFileSync(join(source, '../../tests/vectors/addresses.json'), 'utf8'));
const address = await load('selection/address');
const fitting = await load('selection/fit');
const {SelectionStore} = await load('selection/store');
const {kNothing} = await load('selection/selection');
const {Slot, valueOf, latest} = await load('data/slot');

/** A selection as the vectors have it: what is as usual is left out. */
function written({view, places, query, key, range, to, unit, quantity, scale, pair, arcs, scores, temperature, topK, topP, line, by, sort, filter, zoom, ...heads}) {
  const unless = (value, usual, name) => JSON.stringify(value) === JSON.stringify(usual) ? {} : {[name]: value};
  return {
    view, places, ...unless(query, null, 'i'), ...unless(key, null, 'j'), ...unless(range, null, 'range'), ...unless(to, false, 'to'),
    ...unless(unit, kNothing.unit, 'units'), ...unless(quantity, kNothing.quantity, 'of'), ...unless(scale, kNothing.scale, 'scale'), ...unless(pair, null, 'pair'), ...unless(arcs, kNothing.arcs, 'arcs'), ...unless(scores, kNothing.scores, 'scores'),
    ...unless(temperature, 1, 't'), ...unless(topK, 0, 'k'), ...unless(topP, 1, 'p'), ...unless(line, kNothing.line, 'line'), ...unless(by, kNothing.by, 'by'),
    ...unless(sort, kNothing.sort, 'sort'), ...unless(filter, '', 'filter'), ...unless(zoom && [zoom.queries, zoom.keys], null, 'zoom'),
    ...unless(heads.versus, '', 'vs'), ...unless(heads.show, kNothing.show, 'show'), ...unless(heads.guide, 0, 'guide'),
    ...Object.entries({across: 'x', up: 'y', form: 'form', on: 'on', rotation: 'rotation', m: 'model', x: 'text', x2: 'second'})
      .reduce((all, [name, field]) => ({...all, ...unless(heads[field], kNothing[field], name)}), {}),
  };
}

for (const {address: asked, parsed, error, written: again = asked} of vectors) {
  test(`the address “${asked.slice(0, 60)}” ${parsed ? 'reads as the vectors say' : 'is told what is wrong with it'}`, () => {
    const {selection, wrong} = address.parse(`#${asked}`);
    assert.deepEqual(wrong.map(({found, expected}) => ({found, expected})), error ? [error] : []);
    if (!parsed) return;
    assert.deepEqual(written(selection), parsed);
    assert.equal(address.format(selection), again);
  });
}
for (const [part, why] of [
  ['units=pink', 'units= is token, character, word or sentence'], ['i=', 'i= is a number from 0'], ['i=1/j=-1', 'j= is a number from 0'],
  ['j=3', 'it needs i= beside it'], ['constructor=1', 'expected i=, j=, range=, to=, units=, of=, scale=, pair=, arcs=, scores=, t=, k=, p=, line=, by=, sort=, filter=, zoom=, across=, up=, form=, on=, rotation=, vs=, show=, guide=, m=, x= or x2='],
]) {
  test(`an address with ${part} says what it leaves out, and why`, () => {
    const asked = `#look/L1.H2/${part}/to=1`;
    const read = address.parse(asked);
    assert.deepEqual(address.remarks(asked, read), [`\u201c${part.split('/').at(-1)}\u201d is left out, ${why}.`]);
    assert.equal(address.format(read.selection), part.includes('/') ? 'look/L1.H2/i=1/to=1' : 'look/L1.H2/to=1');
  });
}
test('of an address that names no head it is said what one looks like', () => {
  const said = (asked) => address.remarks(asked, address.parse(asked));
  assert.deepEqual(said('#map/L0.H0'), ['\u201c#map/L0.H0\u201d names no head, expected an address as in #look/L2.H4/i=17.']);
  assert.deepEqual(said(''), []);
  assert.deepEqual(said('#'), []);
});
test('of too many heads the first sixteen are shown', () => {
  const many = Array.from({length: 20}, (_, head) => `H${head}`).join('+');
  const {selection: read, wrong} = address.parse(`#look/L0.${many}`);
  assert.equal(read.places.length, 16);
  assert.deepEqual(wrong.map(({said}) => said), ['Of 20 heads the first 16 are shown.']);
});

const self = {stack: 'self', layers: 4, heads: 6, queries: 20, keys: 20, rectangular: false};
const cross = {stack: 'cross', layers: 2, heads: 2, queries: 5, keys: 9, rectangular: true};
const size = {attentions: [self], isPair: false, scores: [{name: 'previous', short: 'prev'}, {name: 'distance', short: 'back'}, {name: 'sink', short: 'sink'}]};
const both = {...size, attentions: [self, cross]};
const fitted = (asked, to = size) => address.format(fitting.fit(address.parse(asked).selection, to));
test('a selection is fitted to what the session has', () => {
  assert.equal(fitted('#look/L9.H9/i=50/j=2/range=1-99/scores=sink+nonsense'), 'look/L3.H0');
  assert.equal(fitted('#look/L9.H1+L8.H1+L2.H5'), 'look/L3.H1+L2.H5');
  assert.equal(fitted('#look/L1.H2/scores=sink+distance'), 'look/L1.H2/scores=sink+distance');
  assert.equal(fitted('#look/cross.L1.H2'), 'look/L1.H2');
});
test('sort, filter and zoom are fitted, too, and what is left out is said', () => {
  const all = '#grid/L1.H2/sort=sink/filter=prev>.2+layer+0-9/zoom=0-19,3-9';
  assert.equal(fitted(all), all.slice(1));
  const wrong = '#grid/L1.H2/sort=nose/filter=sink>.5++nose<1/zoom=0-20,3-9';
  assert.equal(fitted(wrong), 'grid/L1.H2');
  assert.deepEqual(fitting.misfit(address.parse(wrong).selection, size), [
    'The zoom is beyond the matrix: all of it is shown.',
    'There is no score nose, expected previous, distance or sink: heads are sorted by number.',
    'The filter has "nose<1" at character 9, expected previous, distance, sink, layer or head: all heads are shown.']);
});
test('with several attentions the heads of the first one\u2019s are shown', () => {
  assert.equal(fitted('#look/L3.H5+cross.L0.H1+self.L2.H0', both), 'look/L3.H5+L2.H0');
  assert.equal(fitted('#look/cross.L3.H1+L0.H5', both), 'look/cross.L1.H1');
});
test('the tokens of a cross-attention are counted on their own sides', () => {
  assert.equal(fitted('#look/cross.L0.H0/i=4/j=8', both), 'look/cross.L0.H0/i=4/j=8');
  assert.equal(fitted('#look/cross.L0.H0/i=5/j=8', both), 'look/cross.L0.H0');
  assert.equal(fitted('#look/cross.L0.H0/i=8/to=1', both), 'look/cross.L0.H0/i=8/to=1');
  assert.equal(fitted('#look/cross.L0.H0/i=1/units=word', both), 'look/cross.L0.H0/i=1');
  const said = (asked) => fitting.misfit(address.parse(asked).selection, both);
  assert.deepEqual(said('#look/cross.L0.H0/i=5/j=9'), [
    'There is no query token 5, the last one is 4: it is not pinned.', 'There is no key token 9, the last one is 8: it is not pinned.']);
  assert.deepEqual(said('#look/cross.L0.H0+self.L0.H0'), ['Heads of one attention are shown at once: self is left out.']);
});
test('a filter for pairs needs a pair', () => {
  const read = '#look/L1.H2/pair=A-B';
  assert.equal(fitted(read, {...size, isPair: true}), 'look/L1.H2/pair=A-B');
  assert.equal(fitted(read), 'look/L1.H2');
  assert.deepEqual(fitting.misfit(address.parse(read).selection, size), ['One text was read, not a pair: all is shown.']);
});
test('what a session does not have is said', () => {
  const said = (asked) => fitting.misfit(address.parse(asked).selection, size);
  assert.deepEqual(said('#look/L1.H2/scores=sink+nonsense'),
    ['There is no score nonsense, expected previous, distance or sink: previous and distance are shown.']);
  assert.deepEqual(said('#look/cross.L1.H2'), ['There is no attention cross, expected self: self is shown.']);
  assert.deepEqual(said('#look/L9.H8'),
    ['There is no layer 9, the last one is 3: layer 3 is shown.', 'There is no head 8, the last one is 5: head 0 is shown.']);
  assert.deepEqual(said('#look/L1.H2/i=3'), []);
});
test('layers without attention keep their numbers', () => {
  const hybrid = {...size, attentions: size.attentions.map((each) => ({...each, attending: [1, 3]}))};
  assert.equal(fitted('#look/L3.H1+L1.H2', hybrid), 'look/L3.H1+L1.H2');
  assert.equal(fitted('#look/L2.H1', hybrid), 'look/L1.H1');
  assert.equal(fitted('#look/L0.H1', hybrid), 'look/L1.H1');
  assert.deepEqual(fitting.misfit(address.parse('#look/L2.H1').selection, hybrid),
    ['Layer 2 has no attention, layers 1, 3 have: layer 1 is shown.']);
});

test('a head that is tried is shown, while the address keeps the one that is chosen', () => {
  const addresses = [];
  const store = new SelectionStore((address) => addresses.push(address));
  store.set({places: [{layer: 1, head: 3}], query: 9});
  store.preview({tried: {layer: 1, head: 5}});
  assert.deepEqual([store.now.places[0].head, store.chosen.places[0].head, store.now.query], [5, 3, 9]);
  store.set({query: 4});
  assert.deepEqual([store.now.places[0].head, store.now.query, addresses.at(-1)], [5, 4, '#look/L1.H3/i=4']);
  store.set({places: [{layer: 1, head: 4}]});
  assert.deepEqual([store.now.places[0].head, store.hover.tried], [4, null]);
  store.preview({tried: {layer: 1, head: 5}});
  store.preview({query: 2});
  assert.equal(store.now, store.chosen);
});
test('in the other direction an edge belongs to its key', () => {
  const store = new SelectionStore();
  store.set({query: 9, key: 4});
  assert.deepEqual([store.token, store.other], [9, 4]);
  store.set({to: true});
  assert.deepEqual([store.token, store.other, store.pinnedOther], [4, 9, 9]);
  store.preview({query: 7});
  assert.deepEqual([store.token, store.other, store.pinnedOther], [7, null, null]);
  store.turn(true);
  store.preview({});
  assert.deepEqual([store.token, store.other], [9, 4]);
});
test('the one token of a column is pinned as a key, and as no query', () => {
  const store = new SelectionStore();
  const marks = () => [store.pinnedQuery, store.pinnedKey, store.markedQuery, store.markedKey];
  store.set({...kNothing, query: 5});
  assert.deepEqual(marks(), [5, null, 5, null]);
  store.set({to: true});
  assert.deepEqual(marks(), [null, 5, null, 5]);
  store.preview({query: 2});
  assert.deepEqual(marks(), [null, 5, 2, null]);
  store.preview({});
  store.set({query: 3, key: 5});
  assert.deepEqual(marks(), [3, 5, 3, 5]);
});
test('each selection tells its own host, once a step', () => {
  const told = [];
  const store = new SelectionStore((asked, {replace}) => told.push([asked, replace]));
  new SelectionStore().set({query: 3});
  store.set({query: 5}, {fresh: true});
  store.set({query: 6}, {replace: true});
  store.set({key: 2});
  assert.deepEqual(told, [['#look/L0.H0/i=6', true], ['#look/L0.H0/i=6/j=2', false]]);
});
test('a head is pinned by whoever chooses one, and by nothing else', () => {
  const store = new SelectionStore();
  store.set({query: 5});
  assert.equal(store.isHeadFresh, true);
  store.reason = 'looks hard';
  store.set({places: [{layer: 1, head: 1}]}, {byHeed: true});
  assert.deepEqual([store.isHeadFresh, store.reason], [true, 'looks hard']);
  store.set({places: [{layer: 1, head: 2}]});
  assert.deepEqual([store.isHeadFresh, store.reason], [false, '']);
});

test('a row is pinned by the reader who chooses one, and by nothing else', () => {
  const store = new SelectionStore();
  store.set({query: 5}, {fresh: true});
  store.set({places: [{layer: 1, head: 1}], query: 3, key: 1}, {byHeed: true});
  store.set({places: [{layer: 1, head: 2}]});
  assert.equal(store.isRowFresh, true);
  store.set({query: 4});
  assert.equal(store.isRowFresh, false);
});

/** A question whose answer is given by hand. */
function questionOf(name) {
  const asked = {name, count: 0, now: () => asked.known};
  const answer = new Promise((resolve, reject) => Object.assign(asked, {resolve, reject}));
  asked.get = () => {
    ++asked.count;
    return answer;
  };
  return asked;
}
const turn = () => new Promise((resolve) => setTimeout(resolve));
test('the late answer to another question is never shown', async () => {
  let told = 0;
  const slot = new Slot('text', () => { ++told; });
  const [first, second] = [questionOf('first'), questionOf('second')];
  assert.deepEqual(slot.show(first), {state: 'loading'});
  assert.deepEqual(slot.show(second), {state: 'loading'});
  first.resolve(1);
  await turn();
  assert.deepEqual([slot.show(second).state, told], ['loading', 0]);
  second.resolve(2);
  await turn();
  assert.deepEqual([valueOf(slot.show(second)), told, second.count], [2, 1, 1]);
});
test('there and back again, quickly, shows the answer to the question that is asked now', async () => {
  const slot = new Slot('text', () => undefined);
  const [first, second, again] = [questionOf('first'), questionOf('second'), questionOf('first')];
  slot.show(first);
  slot.show(second);
  slot.show(again);
  second.resolve(2);
  await turn();
  assert.equal(slot.show(again).state, 'loading');
  again.resolve(1);
  await turn();
  assert.equal(valueOf(slot.show(again)), 1);
});
test('an answer is stale as soon as another question is asked, and is gone soon', async () => {
  const slot = new Slot('text', () => undefined);
  const [first, second] = [questionOf('first'), questionOf('second')];
  first.known = 1;
  slot.show(first);
  const found = slot.show(second);
  assert.deepEqual([found.state, latest(found), valueOf(found)], ['stale', 1, null]);
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.deepEqual(slot.show(second), {state: 'loading'});
});
test('a question that failed says so, and is not asked again by itself', async () => {
  let told = 0;
  const slot = new Slot('text', () => { ++told; });
  const [first, second] = [questionOf('first'), questionOf('second')];
  first.known = 1;
  slot.show(first);
  slot.show(second);
  second.reject(new Error('heed cannot be reached'));
  await turn();
  const found = slot.show(second);
  assert.deepEqual([found.state, found.error.message, latest(found), told, second.count], ['error', 'heed cannot be reached', null, 1, 1]);
});
test('with no question nothing is shown, and what was on its way is not either', async () => {
  let told = 0;
  const slot = new Slot('text', () => { ++told; });
  const asked = questionOf('first');
  slot.show(asked);
  assert.equal(slot.show(null), null);
  asked.resolve(1);
  await turn();
  assert.equal(told, 0);
});

test('a head that is chosen while a text loads is chosen for this text alone', () => {
  const places = [{layer: 2, head: 1}];
  const store = new SelectionStore();
  store.set({places});
  assert.equal(store.isHeadEarly, true);
  store.hasChoice = true;
  store.set({places});
  assert.equal(store.isHeadEarly, false);
});

test('an address that another program has percent-encoded is read', async () => {
  const {readVersus} = await load('selection/versus');
  assert.deepEqual(readVersus('text%3AA%20dog.'), readVersus('text:A%20dog.'));
  assert.equal(readVersus('text%3AA%20dog.').text, 'A dog.');
});
