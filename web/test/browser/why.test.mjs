// Why and Anatomy in a browser: the weight in parts, tests of its edge, a session without it, and a head step by step.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {soon, startServer, withPages} from './harness.mjs';

const {state, blank} = withPages();

/** A view that is none of the first one's. */
async function open(address, first) {
  const page = await blank();
  await page.goto(state.server.address + address);
  await page.locator(first).first().waitFor();
  return page;
}

const text = (page, selector) => page.locator(selector).first().innerText();

test('w opens Why for the pinned edge, whose sums say what they leave over', async () => {
  const page = await open('#look/L0.H1/i=9/j=3', '.why-short .why-row');
  await page.keyboard.press('w');
  await page.locator('.why-title .large').waitFor();
  assert.match(page.url(), /#why\/L0\.H1\/i=9\/j=3/);
  await soon.match(() => text(page, '.why-note'), /terms sum to the score, residual/);
  await page.locator('.why-origins tbody tr').first().waitFor();
  await soon.ok(async () => await page.locator('.why-row.dim').count() >= 2);
});

test('links where Why begins lead to the parts below the fold', async () => {
  const page = await open('#why/L0.H1/i=9/j=3', '.why-plane');
  await page.setViewportSize({width: 1440, height: 600});
  for (const name of ['Queries and keys in a plane', 'All keys by dimension']) {
    const isInSight = () => page.locator(`section[aria-label="${name}"] h2`).evaluate((title) => {
      const {left, top, bottom} = title.getBoundingClientRect();
      return top >= 0 && bottom <= innerHeight && document.elementFromPoint(left + 2, (top + bottom) / 2) === title;
    });
    await page.locator('.why-title').evaluate((title) => title.scrollIntoView());
    await soon.equal(isInSight, false);
    await page.locator('.why-below button', {hasText: name.toLowerCase()}).click();
    await soon.equal(isInSight, true);
  }
});

test('arrows go to the next key, and v changes what it is held against', async () => {
  const page = await open('#why/L0.H1/i=9/j=3', '.why-title .large');
  await page.keyboard.press('ArrowRight');
  await page.waitForFunction(() => location.hash.endsWith('j=4'));
  await page.keyboard.press('v');
  await page.locator('.choice [data-option=runner_up][aria-pressed=true]').waitFor();
});

test('of a masked cell the short Why says that the mask hides it', async () => {
  const page = await open('#look/L0.H1/i=3/j=9', '.why-short');
  await soon.match(() => text(page, '.why-short'), /A query cannot see a later key/);
});

test('x runs the text without the edge beside it, and Esc leads back', async () => {
  const page = await open('#why/L0.H1/i=9/j=3', '.why-title .large');
  await page.locator('.why-row.test .value').first().waitFor();
  await page.keyboard.press('r');
  await page.locator('.why-where', {hasText: 'masked'}).waitFor();
  await soon.match(() => text(page, '.compare-about'), /B: without edge L0.H1 9 \u2192 3/);
  assert.match(page.url(), /vs=remove:self\.L0\.H1:9:3\/show=B$/);
  await page.keyboard.press('Escape');
  await page.locator('.compare').waitFor({state: 'hidden'});
  assert.doesNotMatch(page.url(), /vs=/);
});

test('a switch recomputes what stands behind it, and a dot picks a cell', async () => {
  const page = await open('#anatomy/L0.H1/i=9/j=3', '.anatomy-dots');
  const before = await text(page, '.anatomy-line');
  await page.locator('[data-option="100"]').click();
  await soon.notEqual(() => text(page, '.anatomy-line'), before);
  await page.keyboard.press('ArrowUp');
  await page.waitForFunction(() => location.hash.includes('i=8'));
});

test('in a layer that reads tokens alone a sentence stands in place of a table of one cell', async () => {
  const server = await startServer(0, {folder: 'tales'});
  try {
    const page = await blank();
    await page.goto(`${server.address}#why/L0.H1/i=40/j=30`);
    await soon.match(() => page.locator('.why-grid-of-parts').textContent(), /Nothing stands before this layer but the tokens/);
    await soon.equal(() => page.locator('.why-origins').count(), 0);
  } finally {
    await server.stop();
  }
});
