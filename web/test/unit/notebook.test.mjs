// A notebook's transport: requests and answers as messages of a widget; and the theme of the notebook around it.
import assert from 'node:assert/strict';
import {webcrypto} from 'node:crypto';
import {test} from 'node:test';
import {load} from './load.mjs';

globalThis.crypto ??= webcrypto;  // Node 18 has none

const {NotebookTransport} = await load('transport/notebook');
const {hostTheme} = await load('notebook/theme');

/** A widget's model, with what the page has sent. */
function widget() {
  const listeners = new Set();
  const sent = [];
  return {
    sent, listeners,
    send: (content, _, buffers = []) => sent.push({...content, buffers}),
    on: (_, listener) => listeners.add(listener),
    off: (_, listener) => listeners.delete(listener),
    tell: (message, ...bytes) => listeners.forEach((each) => each(message, bytes.map((one) => new DataView(new Uint8Array(one).buffer)))),
  };
}

const bytesOf = (text) => [...new TextEncoder().encode(text)];

test('a request is one message, and its answer has status, type and the bytes of the buffers', async () => {
  const model = widget();
  const asked = new NotebookTransport(model).request('/api/v1/models?x=1');
  await Promise.resolve();
  const [{ask, method, path, buffers}] = model.sent;
  assert.deepEqual([method, path, buffers], ['GET', '/api/v1/models?x=1', []]);
  model.tell({to: ask, status: 404, type: 'application/json', end: true}, bytesOf('{"a":'), bytesOf('1}'));
  const answer = await asked;
  assert.deepEqual([answer.status, answer.ok, answer.headers.get('content-type')], [404, false, 'application/json']);
  assert.deepEqual(await answer.json(), {a: 1});
});

test('a body goes along as a buffer', async () => {
  const model = widget();
  const asked = new NotebookTransport(model).request('/api', {method: 'POST', body: 'é'});
  await new Promise((resolve) => setTimeout(resolve));
  assert.deepEqual([model.sent[0].method, [...new Uint8Array(model.sent[0].buffers[0])]], ['POST', bytesOf('é')]);
  model.tell({to: model.sent[0].ask, status: 204, type: '', end: true});
  assert.equal((await asked).status, 204);
});

test('an answer comes in pieces, and one that is cut off is an error', async () => {
  const model = widget();
  const asked = new NotebookTransport(model).request('/api');
  await Promise.resolve();
  const to = model.sent[0].ask;
  model.tell({to, status: 200, type: 'application/octet-stream'}, [1, 2]);
  const answer = await asked;
  model.tell({to}, [3]);
  model.tell({to, end: true});
  assert.deepEqual([...new Uint8Array(await answer.arrayBuffer())], [1, 2, 3]);
  const cut = new NotebookTransport(model).request('/api');
  await Promise.resolve();
  model.tell({to: model.sent[1].ask, status: 200, type: ''}, [1]);
  const begun = await cut;
  model.tell({to: model.sent[1].ask, end: false});
  await assert.rejects(begun.arrayBuffer(), TypeError);
});

test('an answer that nobody gives is an error and no silence', async () => {
  const model = widget();
  const asked = new NotebookTransport(model).request('/api');
  await Promise.resolve();
  model.tell({to: model.sent[0].ask, end: false});
  await assert.rejects(asked, TypeError);
});

test('a request that is aborted is cancelled in the kernel, once, and what comes late is nobody\'s', async () => {
  const model = widget();
  const stop = new AbortController();
  const asked = new NotebookTransport(model).request('/api', {signal: stop.signal});
  await Promise.resolve();
  stop.abort();
  stop.abort();
  await assert.rejects(asked, {name: 'AbortError'});
  const [{ask}, ...rest] = model.sent;
  assert.deepEqual(rest.map(({cancel}) => cancel), [ask]);
  model.tell({to: ask, status: 200, type: '', end: true});
  await assert.rejects(new NotebookTransport(model).request('/api', {signal: stop.signal}), {name: 'AbortError'});
  assert.equal(model.sent.length, 2);
});

test('events are told as they come, wherever the messages cut them', () => {
  const model = widget();
  const told = [];
  const events = new NotebookTransport(model).events('/events');
  events.addEventListener('heads', ({data}) => told.push(data));
  events.addEventListener('done', () => told.push('done'));
  const to = model.sent[0].ask;
  const bytes = bytesOf('event: heads\ndata: {"é":1}\n\n: still there\n\nevent: heads\ndata: 2\n\nevent: done\ndata: {}\n\n');
  const middle = bytes.indexOf(0xc3) + 1;  // inside of a letter
  model.tell({to, status: 200, type: 'text/event-stream'}, bytes.slice(0, middle));
  assert.deepEqual(told, []);
  model.tell({to}, bytes.slice(middle, middle + 20));
  assert.deepEqual(told, ['{"é":1}']);
  model.tell({to}, bytes.slice(middle + 20));
  assert.deepEqual(told, ['{"é":1}', '2', 'done']);
  events.close();
  events.close();
  assert.deepEqual(model.sent.slice(1).map(({cancel}) => cancel), [to]);
});

test('two pages of one widget hear their own answers alone, and a closed one cancels what it waits for', async () => {
  const model = widget();
  const [one, other] = [new NotebookTransport(model), new NotebookTransport(model)];
  const asked = [one.request('/1'), other.request('/2')];
  await Promise.resolve();
  assert.notEqual(model.sent[0].ask, model.sent[1].ask);
  model.tell({to: model.sent[1].ask, status: 200, type: '', end: true}, [2]);
  assert.deepEqual([...new Uint8Array(await (await asked[1]).arrayBuffer())], [2]);
  one.close();
  assert.deepEqual(model.sent.slice(2).map(({cancel}) => cancel), [model.sent[0].ask]);
  assert.equal(model.listeners.size, 1);
});

test('the theme is that of the notebook, or the system\'s where it says none', () => {
  const host = (dataset, classes = [], theme = null) => hostTheme({
    body: {dataset, classList: {contains: (name) => classes.includes(name)}}, documentElement: {getAttribute: () => theme},
  });
  assert.equal(host({jpThemeLight: 'true'}), 'light');
  assert.equal(host({jpThemeLight: 'false'}), 'dark');
  assert.equal(host({vscodeThemeKind: 'vscode-light'}), 'light');
  assert.equal(host({vscodeThemeKind: 'vscode-high-contrast'}), 'dark');
  assert.equal(host({vscodeThemeKind: 'vscode-high-contrast-light'}), 'light');
  assert.equal(host({}, ['vscode-dark']), 'dark');
  assert.equal(host({}, [], 'dark'), 'dark');
  assert.equal(host({}), 'system');
});

test('where a document does not say its theme, what is painted behind everything does', () => {
  const seen = (body, root, colorScheme = 'normal', content = '') => {
    const elements = [{dataset: {}, classList: {contains: () => false}, colour: body}, {getAttribute: () => null, colour: root}];
    return hostTheme({
      body: elements[0], documentElement: elements[1], querySelector: () => ({content}),
      defaultView: {getComputedStyle: ({colour}) => ({backgroundColor: colour, colorScheme})},
    });
  };
  const kClear = 'rgba(0, 0, 0, 0)';
  assert.equal(seen('rgb(18, 18, 18)', kClear), 'dark');
  assert.equal(seen(kClear, 'rgb(250, 250, 245)'), 'light');
  assert.equal(seen('rgba(0, 0, 0, 0.1)', 'rgba(20, 20, 30, 0.95)'), 'dark');
  assert.equal(seen(kClear, kClear), 'light');
  assert.equal(seen(kClear, kClear, 'light dark'), 'system');
  assert.equal(seen(kClear, kClear, 'normal', 'light dark'), 'system');
  assert.equal(seen('oklch(0.2 0.01 250)', kClear), 'system');
});
