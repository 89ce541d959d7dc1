// Where keys stand beside the queries.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {load} from './load.mjs';

const {slotsOf} = await load('panels/edge_slots');
const key = (index) => ({kind: 'key', key: index});
const fold = (begin, end) => ({kind: 'fold', begin, end});
const window = {first: 10, end: 20};

test('a key stands beside the same token', () => {
  assert.deepEqual(slotsOf([fold(0, 12), key(12), fold(13, 19), key(19)], window, 10, 19), [1, 2, 6, 9]);
  assert.deepEqual(slotsOf([key(10), key(11)], window, 10, null), [0, 1]);
});
test('where earlier keys need its row, a key stands lower, and the pinned one stays', () => {
  const many = [fold(0, 3), key(3), key(4), fold(5, 10), key(10), key(18)];
  assert.equal(slotsOf(many, window, 10, 18)[5], 8);
});
test('rows stand in order, each by itself, whatever the keys', () => {
  for (let seed = 1; seed < 400; ++seed) {
    const entries = [];
    for (let at = 0, token = 0; token < 20; ++at) {
      const step = 1 + (seed * (at + 3) * 7919) % 5;
      entries.push((seed + at) % 2 ? key(token) : fold(token, Math.min(20, token + step)));
      token += (seed + at) % 2 ? 1 : step;
    }
    const few = entries.slice(-10);
    const slots = slotsOf(few, window, 10, few.find(({kind}) => kind === 'key')?.key ?? null);
    assert.ok(slots.every((slot, at) => Number.isInteger(slot) && slot < 10 && slot >= (at === 0 ? 0 : slots[at - 1] + 1)), JSON.stringify([few, slots]));
  }
});
test('more keys than rows follow one another', () => {
  assert.deepEqual(slotsOf([key(1), key(2), key(3)], {first: 0, end: 2}, 2, null), [0, 1, 2]);
});
