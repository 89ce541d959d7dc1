// A saved page answers what the server answers: the same numbers, from Q, K and lse alone.
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {after, before, test} from 'node:test';
import {fileURLToPath} from 'node:url';
import {build} from 'esbuild';
import {writeModel} from '../browser/model.mjs';

const kText = 'Lily saw a big red ball. She wanted the ball, but the ball was too high. Lily was sad. '.repeat(3);
const kClose = 1e-5;
const source = join(dirname(fileURLToPath(import.meta.url)), '../../src/snapshot');

async function load(name) {
  const {outputFiles} = await build({
    entryPoints: [join(source, `${name}.ts`)], bundle: true, format: 'esm', write: false, logLevel: 'error',
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);
}

const {SnapshotTransport} = await load('answers');
const {tile, encode, zoomLevels} = await load('tiles');
const {HeldHeads} = await load('file');
const {byteOf} = await load('weights');

const folder = mkdtempSync(join(tmpdir(), 'heed-saved-'));
let child, saved, path, get;

before(async () => {
  writeModel(join(folder, 'tiny'), kText);
  child = spawn(process.env.HEED_PROGRAM, ['serve', '--port', '0', '--model', join(folder, 'tiny')],
    {stdio: ['ignore', 'pipe', 'inherit'], env: {...process.env, XDG_STATE_HOME: folder}});
  const address = await new Promise((resolve, reject) => {
    child.stdout.on('data', (data) => resolve(new URL(String(data).trim())));
    child.on('exit', (status) => reject(new Error(`heed serve ended with status ${status}`)));
  });
  const headers = {Authorization: `Bearer ${address.searchParams.get('token')}`};
  get = (name) => fetch(address.origin + name, {headers});
  const posted = await fetch(`${address.origin}/api/v1/sessions`, {
    method: 'POST', headers: {...headers, 'Content-Type': 'application/json'}, body: JSON.stringify({text: kText}),
  });
  path = `/api/v1/sessions/${(await posted.json()).session}`;
  let file = await get(`${path}/export?format=html&view=look/L1.H3/i%3D20`);
  while (file.status === 409) file = await get(`${path}/export?format=html&view=look/L1.H3/i%3D20`);
  if (!file.ok) throw new Error(await file.text());
  const data = /<script type="application\/json" id="heed-snapshot">(.*?)<\/script>/s.exec(await file.text());
  saved = new SnapshotTransport(JSON.parse(data[1]));
});

after(() => {
  child?.kill('SIGINT');
  rmSync(folder, {recursive: true, force: true});
});

/** The same shape, and every number within 1e-5 of the other, or of its size where it is above 1. */
function assertClose(found, wanted, where) {
  if (typeof wanted === 'number' && typeof found === 'number') {
    const room = kClose * Math.max(1, Math.abs(wanted));
    assert.ok(Math.abs(found - wanted) <= room, `${where}: found ${found}, the server has ${wanted}`);
  } else if (wanted !== null && typeof wanted === 'object') {
    assert.deepEqual(Object.keys(found).sort(), Object.keys(wanted).sort(), where);
    for (const name of Object.keys(wanted)) assertClose(found[name], wanted[name], `${where}.${name}`);
  } else {
    assert.equal(found, wanted, where);
  }
}

for (const what of [
  '1/3/row/20', '0/0/row/0', '2/7/row/40?end=44', '1/3/row/30?top_p=0.5&at_most=3', '1/3/column/5', '0/2/column/7?end=9',
  '1/edges?heads=3,5&begin=10&end=34', '1/3/marginals', '2/0/marginals', 'next?position=12&top=5', 'next?top=6',
]) {
  test(`${what} is as the server has it`, async () => {
    const [own, server] = await Promise.all([saved.request(`${path}/self/${what}`), get(`${path}/self/${what}`)]);
    assert.equal(own.status, 200);
    assertClose(await own.json(), await server.json(), what);
  });
}

test('exact tiles are as the server has them, masked cells too', async () => {
  for (const head of ['0/0', '1/3', '2/7']) {
    const name = `${path}/self/${head}/tile/0/0/0?as=f32`;
    const [own, server] = await Promise.all([saved.request(name), get(name)]);
    const found = new Float32Array(await own.arrayBuffer());
    const wanted = new Float32Array(await server.arrayBuffer());
    assert.equal(found.length, wanted.length);
    for (const [at, weight] of wanted.entries()) {
      assert.ok(Object.is(found[at], weight) || Math.abs(found[at] - weight) <= kClose, `${head} at ${at}: ${found[at]}, ${weight}`);
    }
  }
});

test('bytes of tiles are as the server has them, to a step', async () => {
  const name = `${path}/self/1/3/tile/0/0/0?as=u8`;
  const [own, server] = await Promise.all([saved.request(name), get(name)]);
  const found = new Uint8Array(await own.arrayBuffer());
  for (const [at, byte] of new Uint8Array(await server.arrayBuffer()).entries()) {
    assert.ok(Math.abs(found[at] - byte) <= 1 && (found[at] === 0) === (byte === 0), `${at}: ${found[at]}, ${byte}`);
  }
});

test('what a file does not hold is an error that says so', async () => {
  for (const [name, message] of [
    ['1/99/row/3', 'this file does not hold layer 1, head 99'],
    ['1/3/row/9999', /^query 9999 does not exist, the text has tokens 0 to \d+$/],
    ['1/3/tile/7/0/0?as=u8', 'tile: 7/0/0 does not exist'],
    ['1/3/why/2/1', 'why: a saved page does not answer it'],
  ]) {
    const answer = await saved.request(`${path}/self/${name}`);
    assert.equal(answer.status, 404, name);
    const {error} = await answer.json();
    if (message instanceof RegExp) assert.match(error.message, message);
    else assert.equal(error.message, message);
  }
});

test('all is told at once', async () => {
  const events = saved.events();
  const told = [];
  const done = new Promise((resolve) => events.addEventListener('done', resolve));
  for (const name of ['tokens', 'next', 'heads', 'chosen']) events.addEventListener(name, () => told.push(name));
  await done;
  assert.deepEqual([...new Set(told)], ['tokens', 'next', 'heads', 'chosen']);
});

/** A head of a long text, whose numbers are made up. */
function longHead(length) {
  let state = 1;
  const next = () => (state = state * 48271 % 2147483647) / 2147483647 - 0.5;
  const numbers = Array.from({length: length * (length + 1) / 2}, () => next() + 0.5);
  const weightOf = (query, key) => numbers[query * (query + 1) / 2 + key];
  const weights = (query, begin, end, visit) => {
    for (let key = begin; key < Math.min(end, query + 1); ++key) visit(key, weightOf(query, key));
  };
  return {queries: length, keys: length, weights, weightOf};
}

test('a coarse tile holds the largest weight of each cell, ragged edges too', async () => {
  const head = longHead(601);
  assert.equal(zoomLevels(601), 3);
  const found = await tile(head, {z: 1, y: 1, x: 0});  // cells of 2 x 2: rows 512 to 600
  assert.equal(found.length, 45 * 256);
  for (const [y, x] of [[0, 0], [10, 255], [44, 3]]) {
    let most = 0;
    for (let query = 512 + 2 * y; query < Math.min(601, 514 + 2 * y); ++query) {
      for (let key = 2 * x; key < 2 * x + 2; ++key) most = Math.max(most, head.weightOf(query, key));
    }
    assert.equal(found[y * 256 + x], Math.fround(most));
  }
});

test('a row has its largest weights, and the mean of those that are not listed', () => {
  const packed = (...numbers) => Buffer.from(Uint16Array.from(numbers).buffer).toString('base64');
  const weights = {
    largest: 1, counts: packed(2, 1), begins: packed(0, 1), ends: packed(0, 4),
    rests: Buffer.from(Float32Array.of(0, 0.25).buffer).toString('base64'),
    keys: packed(1, 3, 2), codes: packed(65535 - 2730.625 * 1, 65535, 0),
  };
  const none = packed();
  const held = new HeldHeads({
    session: {attentions: [{stack: 'self', queries: 2, keys: 5}]},
    held: [{stack: 'self', layer: 0, heads: [{head: 0, received: none, keys_in_use: none, row_sum_error: 0, weights}]}],
  }).find({stack: 'self', layer: 0, head: 0});
  const row = (query, begin = 0, end = 5) => {
    const seen = {};
    held.weights(query, begin, end, (key, weight) => { seen[key] = Math.round(weight * 1000) / 1000; });
    return seen;
  };
  assert.deepEqual(row(0), {1: 0.5, 3: 1});
  assert.deepEqual(row(1), {1: 0.125, 2: 0, 3: 0.125});
  assert.deepEqual([row(0, 2), row(1, 0, 2), row(1, 3)], [{3: 1}, {1: 0.125}, {3: 0.125}]);
});

test('a tile behind the mask is all masked', async () => {
  const cells = await tile(longHead(601), {z: 2, y: 0, x: 1});
  assert.ok(cells.every(Number.isNaN));
  assert.ok(new Uint8Array(encode(cells, 'u8')).every((byte) => byte === 0));
});

test('a byte is the logarithm of a weight', () => {
  assert.deepEqual([NaN, 0, 2 ** -25, 2 ** -24, 1].map(byteOf), [0, 1, 1, 2, 255]);
});
