// From logits to what may be drawn, as the command line's generation does it.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {load} from './load.mjs';

const {drawn, ranked, softmax} = await load('text/sampling');
const logits = Float32Array.from([1, 3, 2, 3, 0]);
const order = ranked(logits);
const close = (a, b) => assert.ok(Math.abs(a - b) < 1e-12, `${a} is not ${b}`);

test('words are ranked by their logits, equal ones by their number', () => {
  assert.deepEqual([...order], [1, 3, 2, 0, 4]);
});
test('at temperature 1 without filters the words are drawn with their probability', () => {
  const own = softmax(logits);
  const {shares, left} = drawn(logits, order, {temperature: 1, topK: 0, topP: 1});
  assert.equal(left, 5);
  own.forEach((share, id) => close(shares[id], share));
});
test('a lower temperature divides the logits', () => {
  const {shares} = drawn(logits, order, {temperature: 0.5, topK: 0, topP: 1});
  close(shares[1] / shares[2], Math.exp(2));
});
test('top-k cuts all but the first and what is left is drawn in the same proportions', () => {
  const {shares, left} = drawn(logits, order, {temperature: 1, topK: 3, topP: 1});
  assert.equal(left, 3);
  assert.equal(shares[0], 0);
  close(shares.reduce((sum, each) => sum + each, 0), 1);
  close(shares[1] / shares[2], Math.exp(1));
});
test('top-p keeps the words that together reach it, of what top-k has left', () => {
  const own = softmax(logits);
  assert.equal(drawn(logits, order, {temperature: 1, topK: 0, topP: own[1] + own[3] - 1e-9}).left, 2);
  assert.equal(drawn(logits, order, {temperature: 1, topK: 0, topP: own[1] + own[3] + 1e-9}).left, 3);
  assert.equal(drawn(logits, order, {temperature: 1, topK: 2, topP: 0.6}).left, 2);
  assert.equal(drawn(logits, order, {temperature: 1, topK: 0, topP: 0.0001}).left, 1);
});

const {heldAnswer} = await load('snapshot/held_answers');
const lens = {stack: 'self', begin: 2, end: 6, answers: [], has_blocks: true, judged_all: true,
  levels: [{name: 'embedding', right: 0, of: 4, ranks: [], cells: [2, 3, 4, 5].map((id) => ({id, text: '', probability: 1}))}]};
const file = {answers: [
  {question: 'self/lens', answer: JSON.stringify(lens)},
  {question: 'self/flow?position=3&by=rollout', answer: '{"position":3}'},
  {question: 'self/branch?position=3&token=7&most=27', answer: '{"id":7}\n'},
  {question: 'self/logits?position=3', answer: Buffer.from(Float32Array.from([1, 2]).buffer).toString('base64')},
]};
const held = (path, query) => heldAnswer(file, path, new URLSearchParams(query));

test('a saved page gives the part of the lens that is in sight, and none that it does not hold', () => {
  assert.deepEqual(held('self/lens', 'begin=3&end=5&at=3&view=x').levels[0].cells.map(({id}) => id), [3, 4]);
  assert.equal(held('self/lens', 'begin=0&end=4'), null);
});
test('a saved page answers a flow whatever is named, and a branch as its lines', () => {
  assert.deepEqual(held('self/flow', 'position=3&named=12&view=x'), {position: 3});
  assert.equal(held('self/flow', 'position=4'), null);
  assert.equal(held('self/branch', 'position=3&token=7&most=27'), '{"id":7}\n');
  assert.deepEqual([...new Float32Array(held('self/logits', 'position=3'))], [1, 2]);
});
test('a word without a space is marked although no word of the list has one: the text shows that words have', async () => {
  const {areSpaced} = await load('panels/word');
  assert.equal(areSpaced([{text: 'at'}, {text: 'ry'}], [{text: 'She'}, {text: ' was'}]), true);
  assert.equal(areSpaced([{text: '\u3059'}], [{text: '\u79c1'}]), false);
});
test('within a line a byte of a character is a dot', async () => {
  const {wordText} = await load('panels/word');
  assert.deepEqual([' tree', '<0x97>', '\n'].map(wordText), ['tree', '\u00b7', '\u23ce']);
});
