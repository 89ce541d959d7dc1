// The Heads view: examples that are searched for, scores that come one by one.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {load} from './load.mjs';

const {readExample} = await load('panels/heads_pattern');
const {Late} = await load('transport/late');

test('an example is a head, an offset, or rows that somebody writes', () => {
  assert.deepEqual(readExample('L1.H3'), {layer: 1, head: 3});
  assert.deepEqual(readExample('like L1.H3'), {layer: 1, head: 3});
  assert.deepEqual(readExample('1 back'), {back: 1});
  assert.deepEqual(readExample('199>165:.6,67:.4 200>166'), {rows: [{query: 199, keys: [165, 67], weights: [0.6, 0.4]}, {query: 200, keys: [166]}]});
  for (const wrong of ['', 'back', '199>', '199>a', '199>1:.5,2', 'L1']) assert.equal(readExample(wrong), null, wrong);
});

const place = (head) => ({stack: 'self', layer: 0, head});
const turns = () => new Promise((resolve) => setTimeout(resolve, 5));

test('late scores come one by one, the head in view first, and what is there is not asked for again', async () => {
  const asked = [];
  const told = [];
  let redrawn = null;  // how many heads were told when the page was drawn last
  const late = new Late(async ({head}, from) => {
    asked.push(`${from} ${head}`);
    return {stack: 'self', layer: 0, head, without: head / 10};
  }, ({head}, scores) => told.push([head, scores]), () => { redrawn = told.length; });
  late.want(['run', 'probe'], place(2), () => [0, 1, 2].map(place));
  await turns();
  assert.deepEqual(asked, ['probe 2', 'probe 0', 'probe 1', 'run 2', 'run 0', 'run 1']);
  assert.deepEqual(told.at(-1), [1, {without: 0.1}]);
  assert.equal(redrawn, 6);
  assert.deepEqual(late.of(place(2)), {without: 0.2});
  late.want(['run'], place(0), () => [0, 1, 2].map(place));
  await turns();
  assert.equal(asked.length, 6);
  assert.equal(late.progress, null);
});

test('late scores that a head arrives with count as found', async () => {
  const asked = [];
  const late = new Late(async ({head}) => {
    asked.push(head);
    return {stack: 'self', layer: 0, head, without: 0};
  }, () => {}, () => {}, [{name: 'without', from: 'run'}, {name: 'probe_induction', from: 'probe'}]);
  late.merge(place(1), {previous: 0.5, without: 0.1});
  late.merge(place(0), {previous: 0.5});
  late.want(['run'], place(0), () => [0, 1].map(place));
  assert.deepEqual(late.kinds, [{from: 'run', done: 1, of: 2}]);
  await turns();
  assert.deepEqual(asked, [0]);
  assert.deepEqual(late.of(place(1)), {without: 0.1});
});

test('late scores that nobody wants any more are not asked for', async () => {
  const asked = [];
  let answer;
  const late = new Late(({head}) => new Promise((resolve) => {
    asked.push(head);
    answer = () => resolve({stack: 'self', layer: 0, head, without: 0});
  }), () => undefined, () => undefined);
  late.want(['run'], place(0), () => [0, 1, 2].map(place));
  await turns();
  assert.deepEqual(late.progress, {done: 0, of: 3});
  late.want([], place(0), () => []);
  answer();
  await turns();
  assert.deepEqual(asked, [0]);
});

test('where the answer is an error the scores stay dashes, and it is not asked again and again', async () => {
  let asked = 0;
  const late = new Late(async () => {
    ++asked;
    throw new Error('no model');
  }, () => assert.fail('nothing came'), () => assert.fail('nothing to draw'));
  late.want(['run'], place(0), () => [place(0)]);
  await turns();
  late.want(['run', 'probe'], place(0), () => [place(0)]);
  await turns();
  assert.equal(asked, 1);
});
