// The steps of a head, recomputed with the model's settings and with others.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {load} from './load.mjs';

const {steps, kModelsOwn} = await load('panels/anatomy_steps');
const {pooled} = await load('panels/anatomy_parts');

const anatomy = {
  query_begin: 0, key_begin: 0, q: [[1, 2], [0, -1]], k: [[1, 0], [2, 1]], v: [[1, 0, 0], [0, 2, 0]],
  visible: [[1, 0], [1, 1]], bias: [], scale: 0.5, softcap: 0, lse: [0.5, Math.log(1 + Math.exp(-0.5))], gates: [],
};
const near = (got, expected) => assert.ok(Math.abs(got - expected) < 1e-9, `${got} is not ${expected}`);

test('the model\u2019s own settings give the model\u2019s weights, from the row\u2019s log-sum-exp', () => {
  const made = steps(anatomy, kModelsOwn, 1, 2);
  assert.deepEqual(made.scores, [[1, 4], [0, -1]].map((row) => row.map((value) => value + 0)));
  assert.deepEqual(made.scaled[0], [0.5, null]);
  near(made.weights[0][0], 1);
  near(made.weights[1][0] + made.weights[1][1], 1);
  near(made.output[1], 2 * made.weights[1][1]);
});

test('a gated head\u2019s values are multiplied by the row\u2019s gate', () => {
  const made = steps({...anatomy, gates: [[1, 1, 1], [0.5, 0.25, 1]]}, kModelsOwn, 1, 2);
  near(made.output[0], 0.5 * made.weights[1][0]);
  near(made.output[1], 0.25 * 2 * made.weights[1][1]);
});

test('a factor of 100 saturates, one of 0.01 makes weights alike', () => {
  near(steps(anatomy, {...kModelsOwn, factor: 100}, 1, 2).weights[1][0], 1);
  assert.ok(Math.abs(steps(anatomy, {...kModelsOwn, factor: 0.01}, 1, 2).weights[1][0] - 0.5) < 0.01);
});

test('without the mask every key is seen; without the scale scores are as they are', () => {
  const made = steps(anatomy, {...kModelsOwn, masked: false, scaled: false}, 0, 2);
  assert.deepEqual(made.scaled[0], [1, 4]);
  near(made.weights[0][0], 1 / (1 + Math.exp(3)));
});

test('every similarity and every normaliser is what its formula says', () => {
  near(steps(anatomy, {...kModelsOwn, similarity: 'cosine'}, 0, 2).scores[0][1], 4 / 5);
  near(steps(anatomy, {...kModelsOwn, similarity: 'distance'}, 0, 2).scores[0][1], -2);
  near(steps(anatomy, {...kModelsOwn, similarity: 'gaussian'}, 0, 2).scores[0][1], -2);
  near(steps(anatomy, {...kModelsOwn, normaliser: 'sigmoid'}, 0, 2).weights[0][0], 1 / (1 + Math.exp(-0.5)));
  const [own, other] = [2 * 1 + Math.exp(-1) * 1, 3 * 1 + 2 * Math.exp(-1)];
  near(steps(anatomy, {...kModelsOwn, normaliser: 'linear'}, 1, 2).weights[1][0], own / (own + other));
});

test('a wide row shows the largest of each block', () => {
  assert.deepEqual(pooled([1, -2, 3]), [1, -2, 3]);
  assert.deepEqual(pooled(Array.from({length: 128}, (_, at) => at === 5 ? -9 : 1)).slice(0, 4), [1, 1, -9, 1]);
});
