// Markup stays text, no request leaves, nothing is out of reach for assistive technology.
import assert from 'node:assert/strict';
import {request} from 'node:http';
import {test} from 'node:test';
import {eventually, hash, quiet, run, soon, textOf, withPages} from './harness.mjs';

const {state, blank, open} = withPages();

test('markup in a text shows as text', async () => {
  const page = await open('#look/L1.H3');
  const text = '<script>window.broken = 1</script><img src=x onerror="window.broken = 2">&amp;';
  await run(page, text);
  await soon.equal(() => page.evaluate(() => window.broken), undefined);
  await soon.equal(() => page.locator('main script, main img').count(), 0);
  await soon.equal(async () => (await textOf(page)).replaceAll('\u00b7', ' '), text);  // a token that is a space shows as a dot
});

test('controls and bidirectional marks are shown in hex', async () => {
  const page = await open('#look/L1.H3');
  await run(page, 'a\u202Eb\u0007c');
  const hex = await page.locator('.tokens .hex').allTextContents();
  assert.ok(hex.length >= 2, `found ${hex}`);
});

test('a cut emoji shows its bytes', async () => {
  const page = await open('#look/L1.H3');
  await run(page, 'a \u{1F600} b');
  await soon.ok(async () => !(await page.locator('.tokens').textContent()).includes('\uFFFD'));
});

test('a foreign Host is refused', async () => {
  const {port} = state.server;
  const status = await new Promise((resolve, reject) => {
    request({host: '127.0.0.1', port, path: '/', headers: {Host: 'evil.example'}}, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on('error', reject).end();
  });
  assert.equal(status, 403);
});

test('Tab reaches every part', async () => {
  const page = await open('#look/L1.H3/i=60/j=20');
  const reached = new Set();
  await page.locator('body').press('Tab');
  for (let step = 0; step < 90; ++step) {
    const [part, name] = await page.evaluate(() => [
      document.activeElement?.closest('header, .heads, .text, .edges, .matrix-part')?.className, document.activeElement?.className ?? '']);
    reached.add(part).add(name.split(' ')[0]);
    await page.keyboard.press('Tab');
  }
  for (const part of ['header', 'heads', 'edges', 'matrix-part', 'token', 'chip', 'query', 'key', 'fold', 'matrix', 'option', 'step']) {
    assert.ok(reached.has(part), `${part} was not reached: ${[...reached]}`);
  }
});

test('the page is narrow enough for a phone', async () => {
  const page = await open('#look/L1.H3/i=60/j=20', {viewport: {width: 390, height: 844}});
  await soon.equal(() => page.evaluate(() => document.documentElement.scrollWidth), 390);
  await soon.ok(() => page.locator('.query.pinned').isVisible());
  await soon.ok(async () => !await page.locator('canvas.received').isVisible());
});

test('on a narrow page the views are a menu, and none scrolls sideways', async () => {
  const page = await open('#look/L1.H3/i=60/j=20', {viewport: {width: 390, height: 844}});
  const menu = page.getByRole('combobox', {name: 'View', exact: true});
  await soon.equal(() => page.locator('nav .option:visible').count(), 0);
  await soon.ok(async () => (await menu.boundingBox()).height >= 24);
  for (let steps = 0; steps < 6 && !await menu.evaluate((each) => each === document.activeElement); ++steps) await page.keyboard.press('Tab');
  await page.keyboard.press('g');  // as in every menu, its first letter
  await soon.equal(() => hash(page), '#grid/L1.H3/i=60/j=20');
  for (const view of await menu.locator('option').evaluateAll((all) => all.map((each) => each.value))) {
    await menu.selectOption(view);
    for (const width of [390, 320]) {
      await page.setViewportSize({width, height: 844});
      await quiet(page);
      await soon.equal(() => page.evaluate(() => document.documentElement.scrollWidth), width, view);
    }
  }
  await page.setViewportSize({width: 1000, height: 844});
  await quiet(page);
  await eventually(async () => assert.equal(await page.locator('nav .option:visible').count(), await page.locator('nav .option').count()));
  await soon.equal(() => menu.count(), 0);
});

test('the page without JavaScript says what to do', async () => {
  const page = await blank({javaScriptEnabled: false});
  await page.goto(state.server.address);
  await soon.match(() => page.locator('body').textContent(), /heed look shows the same in a terminal/);
});
