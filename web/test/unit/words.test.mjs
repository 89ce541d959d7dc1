// From logits to what may be drawn, as the command line's generation does it.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {load} from './load.mjs';

const {drawn, ranked, softmax} = await load('sampling');
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
