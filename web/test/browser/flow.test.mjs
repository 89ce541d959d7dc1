// Flow while its answers are computed: tokens and layers at once, how far the work is, and a way to stop it.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {soon, withPages} from './harness.mjs';

const {state, blank} = withPages();

/** A page whose flows and tests of flows wait until they are told on: `tell` and `end` of those that it has asked for. */
async function held(address = '#flow/L0.H0/i=30', options = {}) {
  const page = await blank(options);
  await page.addInitScript(() => {
    const real = window.fetch;
    window.asked = [];
    window.fetch = (path, init) => {
      const what = /\/self\/(flow|effects)\?.*progress=1/.exec(String(path))?.[1];
      if (!what) return real(path, init);
      let body;
      const stream = new ReadableStream({start: (controller) => { body = controller; }});
      const write = (text) => body.enqueue(new TextEncoder().encode(`${text}\n`));
      const one = {what, stopped: false, tell: (line) => write(JSON.stringify(line)), end: async () => {
        write(await (await real(path.replace('&progress=1', ''))).text());
        body.close();
      }};
      init.signal.addEventListener('abort', () => {
        one.stopped = true;
        body.error(init.signal.reason);
      });
      window.asked.push(one);
      return Promise.resolve(new Response(stream));
    };
  });
  await page.goto(state.server.address + address);
  for (const what of ['flow', 'effects']) await page.waitForFunction((name) => window.asked.some((each) => each.what === name), what);
  return {
    page,
    tell: (what, line) => page.evaluate(([name, said]) => window.asked.findLast((each) => each.what === name).tell(said), [what, line]),
    end: (what) => page.evaluate((name) => window.asked.findLast((each) => each.what === name).end(), what),
    asked: (what) => page.evaluate((name) => window.asked.filter((each) => each.what === name).map(({stopped}) => stopped), what),
  };
}

const texts = (page, name) => page.locator(name).allTextContents();
const filled = (page, part) => page.locator(`${part} .progress-fill`).evaluate((fill) => Math.round(100 * fill.clientWidth / fill.parentElement.clientWidth));

test('layers and the tokens before the chosen one are there before the answer, without numbers', async () => {
  const {page, end} = await held();
  await soon.deepEqual(() => texts(page, '.flow-layer'), ['layer 2', 'layer 1', 'layer 0']);
  const names = await texts(page, '.flow-foot .flow-name');
  assert.equal(names.at(-1), (await page.locator('.flow-title b').first().textContent()));
  assert.ok((await texts(page, '.flow-foot .flow-value')).every((value) => value === '\u2013'));
  assert.equal(await page.locator('.flow-node, .flow-edge').count(), 0);
  await end('flow');
  await page.waitForSelector('.flow-node');
  await soon.match(async () => (await texts(page, '.flow-foot .flow-value')).join(' '), /\.\d\d/);
});

test('one line says which layer and which token of how many, with a hairline that fills', async () => {
  const {page, tell, end} = await held();
  await tell('flow', {working: 'layers', done: 1, of: 3});
  await tell('effects', {working: 'hidden', done: 12, of: 30});
  await soon.equal(() => page.locator('.flow-room .progress').textContent(), 'Following the flowlayer 1 of 3stop');
  await soon.equal(() => page.locator('.flow-part .progress').textContent(), 'Hiding each token and running the text againtoken 12 of 30stop');
  await soon.equal(() => filled(page, '.flow-room'), 33);
  await soon.equal(() => filled(page, '.flow-part'), 40);
  await tell('flow', {working: 'edges', done: 2, of: 3});
  await soon.equal(() => page.locator('.flow-room .progress').textContent(), 'Summing the edgeslayer 2 of 3stop');
  await end('flow');
  await end('effects');
  await page.waitForSelector('.trust-dot');
  await soon.equal(() => page.locator('.flow-wait .progress').count(), 0);
});

test('stop ends the request, says how far it came, and the work can begin again', async () => {
  const {page, tell, end, asked} = await held();
  const before = (await asked('effects')).length;
  await tell('effects', {working: 'hidden', done: 5, of: 30});
  await page.locator('.flow-part .progress .link').click();
  await soon.equal(async () => (await asked('effects')).at(-1), true);
  await soon.equal(() => page.locator('.flow-part .flow-wait').textContent(), 'Stopped: 5 of 30 tokens tried. run it again');
  assert.equal((await asked('flow')).at(-1), false);
  await page.waitForSelector('.flow-part .flow-wait button:focus');
  await page.keyboard.press('Enter');
  await soon.equal(async () => (await asked('effects')).length, before + 1);
  await end('effects');
  await page.waitForSelector('.trust-dot');
});

test('another path keeps the graph while it is computed', async () => {
  const {page, tell, end, asked} = await held();
  await end('flow');
  await page.waitForSelector('.flow-node');
  const before = (await asked('flow')).length;
  await page.locator('button.flow-foot').nth(2).click();
  await soon.equal(async () => (await asked('flow')).length, before + 1);
  await tell('flow', {working: 'layers', done: 2, of: 3});
  await page.waitForSelector('.flow-room .progress');
  assert.ok(await page.locator('.flow-node').count() > 0);
  await end('flow');
  await page.waitForSelector('.flow-way', {state: 'attached'});
});

test('at 390 px the line stands beside the names of the layers', async () => {
  const {page, tell} = await held('#flow/L0.H0/i=30', {viewport: {width: 390, height: 800}});
  await tell('flow', {working: 'layers', done: 1, of: 3});
  await page.waitForSelector('.flow-room .progress');
  const [line, ...names] = await page.locator('.flow-room .progress, .flow-layer > div').evaluateAll((all) => all.map((each) => each.getBoundingClientRect().toJSON()));
  assert.ok(line.right <= 390, JSON.stringify(line));
  for (const name of names) assert.ok(name.right <= line.left || name.bottom <= line.top || name.top >= line.bottom, JSON.stringify([line, name]));
});
