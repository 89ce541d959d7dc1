// A model with attention in some of its layers: the page has the model's own numbers, and nothing for the other layers.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {eventually, hash, quiet, soon, withPages} from './harness.mjs';

const {state, blank} = withPages();
const kAttending = [0, 2];

/** The page on a session whose layer 1 has no attention; every layer of models that heed runs has one. */
async function open(address) {
  const page = await blank();
  await page.route(({pathname}) => /\/api\/v1\/(models|sessions)(\/[^/]+)?$/.test(pathname), async (route) => {
    const response = await route.fetch();
    const json = await response.json();
    for (const stack of [...json.attentions ?? [], ...(json.models ?? []).flatMap(({stacks}) => stacks)]) stack.attending = kAttending;
    await route.fulfill({response, json});
  });
  await page.goto(state.server.address + address);
  await page.waitForSelector('.next-row, .key, .grid-head');
  await quiet(page);
  return page;
}

test('labels, keys and addresses have the numbers of the model', async () => {
  const page = await open('#look/L0.H3/i=60');
  await soon.match(() => page.locator('.model').textContent(), /3 layers, 2 with attention/);
  await page.keyboard.press(']');
  await soon.match(() => hash(page), /^#look\/L2\.H3\/i=60/);
  await page.keyboard.press(']');
  await soon.match(() => hash(page), /^#look\/L0\.H3\/i=60/);
  await page.keyboard.press('[');
  await soon.match(() => hash(page), /^#look\/L2\.H3\/i=60/);
});

test('the grid has a line for each layer with attention', async () => {
  const page = await open('#grid/L2.H0');
  await soon.deepEqual(() => page.locator('.grid-layer b').allTextContents(), ['Layer 0', 'Layer 2']);
  const heads = await page.locator('.grid-head').count();
  await soon.equal(() => page.locator('.grid-heading h2').textContent(), `All ${heads} heads`);
  await eventually(async () => assert.equal(await page.locator('.grid-head canvas').evaluateAll((all) => all.filter(({width}) => width > 0).length), heads));
  await page.evaluate(() => addEventListener('pointerover', ({screenX, screenY}) => { window.pointer = {screenX, screenY}; }, {capture: true}));
  const head = page.locator('.grid-head[data-layer="0"][data-head="2"]');
  await head.hover();
  await page.keyboard.press('ArrowDown');
  await soon.match(() => page.locator('.foot').textContent(), /L2\.H2/);
  // A browser says so again when the heads move below a pointer that rests.
  await head.evaluate((element) => element.dispatchEvent(new PointerEvent('pointerover', {bubbles: true, ...window.pointer})));
  assert.match(await page.locator('.foot').textContent(), /L2\.H2/);
});

test('an address of another layer shows the one before it, and says so', async () => {
  const page = await open('#look/L1.H3/i=60');
  await soon.match(() => page.locator('body').textContent(), /Layer 1 has no attention, layers 0, 2 have: layer 0 is shown\./);
  await soon.equal(() => page.locator('.chip.chosen').getAttribute('data-head'), '3');
});
