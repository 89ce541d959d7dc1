// Look: the foot line, edited texts, brackets, frames, and the other direction.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {test} from 'node:test';
import {hash, kText, modelPath, quiet, ready, row, run, soon, textOf, token, tokenCount, withPages} from './harness.mjs';

const {state, blank, open} = withPages();
const written = (weight) => weight.toFixed(3).slice(1);

test('the foot line has the address and at most four keys', async () => {
  const page = await open('#look/L1.H3/i=60');
  await soon.equal(() => page.locator('.address').textContent(), '#look/L1.H3/i=60');
  await soon.ok(async () => await page.locator('.foot-keys > *').count() <= 4);
});

/** What `heed look` shows of a text where no head is named. */
function looked(text) {
  const {layer, head, chosen} = JSON.parse(execFileSync(process.env.HEED_PROGRAM, ['look', text, '--model', modelPath, '--format', 'json'], {maxBuffer: 1 << 26}));
  return {address: `#look/L${layer}.H${head}/i=${chosen.query}/j=${chosen.key}`, reason: `heed chose: ${chosen.reason.replace(/`([^`]*)`/g, '\u201c$1\u201d')}`};
}

test('without an address the page pins the head and the edge that heed look pins, of each new text', async () => {
  const page = await open();
  const first = looked(kText);
  await soon.equal(() => hash(page), first.address);
  await soon.equal(() => page.locator('.reason').textContent(), first.reason);
  const next = 'Tom and the old dog went to the park. Tom and the old dog';
  await run(page, next);
  await soon.equal(() => hash(page), looked(next).address);
  await page.locator('.token[data-index="3"]').click();  // of this text alone
  await run(page, `${next} ran`);
  await soon.equal(() => hash(page), looked(`${next} ran`).address);
});

test('an address says why heed chose its head, where it is the one that heed chose', async () => {
  const {address, reason} = looked(kText);
  const page = await open(address);
  await soon.equal(() => page.locator('.reason').textContent(), reason);
  await page.evaluate((other) => { location.hash = other; }, '#look/L1.H3/i=60');
  await soon.equal(() => page.locator('.reason').textContent(), '');
});

test('the text is edited from the header and run with Ctrl+Enter', async () => {
  const page = await open('#look/L1.H3/i=60');
  await run(page, 'Tom and the old dog');
  await soon.equal(() => textOf(page), 'Tom and the old dog');
  const last = await tokenCount(page) - 1;
  await soon.equal(() => hash(page), `#look/L1.H3/i=${last}`);
});

test('a text that scrolls shows whole lines, and what is pinned at every width', async () => {
  const page = await open('#look/L1.H3/i=190', {viewport: {width: 1000, height: 900}});
  for (const width of [1000, 760, 1000]) {
    await page.setViewportSize({width, height: 900});
    await page.waitForFunction(() => {
      const room = document.querySelector('.scroller').getBoundingClientRect();
      const box = document.querySelector('.token.pinned')?.getBoundingClientRect();
      return box && box.top >= room.top && box.bottom <= room.bottom;
    });
    await quiet(page);
    const {top, line} = await page.locator('.scroller').evaluate((scroller) => ({
      top: scroller.scrollTop, line: Number.parseFloat(getComputedStyle(scroller.firstChild).lineHeight),
    }));
    assert.ok(top > 0 && top % line === 0, `${width}: ${top}`);
  }
});

test('heads that share keys and values stand over a bracket that says so', async () => {
  const page = await blank();
  await page.route('**/api/v1/sessions', async (route) => {
    const response = await route.fetch();
    const session = await response.json();
    session.attentions[0].kv_heads = session.attentions[0].heads / 4;
    await route.fulfill({response, json: session});
  });
  await page.goto(state.server.address);
  await ready(page);
  await soon.deepEqual(() => page.locator('.bracket').allTextContents(), ['share kv 0', 'share kv 1']);
  await soon.equal(() => page.locator('.bracket').nth(1).getAttribute('title'),
    'heads 4 to 7 have their queries each, and share the keys and values of kv head 1');
  await soon.equal(() => page.locator('.layer-heads').getAttribute('title'),
    '2 heads of keys and values (kv), each shared by 4 heads of queries');
});

for (const width of [1440, 1000, 800]) {
  test(`nothing moves where a token is pinned: ${width} px`, async () => {
    const page = await open('#look/L1.H3', {viewport: {width, height: 900}});
    for (const text of ['Lily saw a ball', 'Lily saw a big red ball. She wanted to play with it, but the ball was under the old tree in']) {
      await run(page, text);
      const top = async () => {
        await quiet(page);
        return (await page.locator('.columns').boundingBox()).y;
      };
      await page.keyboard.press('Escape');
      await page.locator('.wordmark').hover();
      const tops = new Set([await top()]);
      for (const index of [1, 3, await tokenCount(page) - 1]) {
        await token(page, index).click();
        tops.add(await top());
      }
      for (const unit of ['word', 'sentence']) {
        await page.locator(`[data-option=${unit}]`).click();
        tops.add(await top());
      }
      assert.equal(tops.size, 1, `${text}: ${[...tops]}`);
    }
  });
}

test('Escape leaves no frame around what was clicked', async () => {
  const page = await open('#look/L1.H3');
  const framed = () => page.evaluate(() => document.querySelectorAll(':focus-visible').length);
  for (const place of ['.token[data-index="20"]', 'canvas.matrix', '.query[data-index="5"]']) {
    await page.locator(place).click({position: {x: 5, y: 5}});
    await page.keyboard.press('Escape');
    await soon.equal(() => framed(), 0, place);
  }
  await token(page, 20).focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Escape');
  await soon.equal(() => framed(), 1, 'who came by keys stays where he is');
});

test('who attends to a token is one thing in text, list, arcs and read-out', async () => {
  const page = await open('#look/L1.H3/i=60/to=1');
  await page.waitForSelector('.key');
  const {edges, weights} = await row(page, 1, 3, 60, 'column');
  const shown = () => page.locator('.key').evaluateAll((all) => all.map((each) => Number(each.dataset.index)));
  await page.waitForFunction((count) => document.querySelectorAll('.key').length === count, edges.length);
  await soon.deepEqual(() => shown(), edges.map(({query}) => query));
  await soon.deepEqual(() => page.locator('.key .value').allTextContents(), edges.map(({weight}) => written(weight)));
  await soon.deepEqual(() => page.locator('.arc-target').evaluateAll((all) => all.map(({dataset}) => [Number(dataset.query), Number(dataset.key)])),
    edges.map(({query}) => [query, 60]));
  const rest = weights.filter((weight) => weight !== null).length - edges.length;
  await soon.match(() => page.locator('.keys .rest').textContent(), new RegExp(`^\\+ \\d?\\.\\d+ in ${rest} others$`));
  await soon.match(() => page.locator('.edges .heading .quiet').textContent(), /^head L1.H3, to .*, the 8 largest$/);
  await page.locator('.key').nth(1).click();
  await soon.equal(() => hash(page), `#look/L1.H3/i=${edges[1].query}/j=60/to=1`);
  await page.waitForFunction((text) => document.querySelector('.large').textContent === text, edges[1].weight.toFixed(3));
  await soon.deepEqual(() => shown(), edges.map(({query}) => query));
  await page.locator('.wordmark').hover();
  await page.keyboard.press('Escape');
  await soon.equal(() => hash(page), '#look/L1.H3/i=60/to=1');
});

test('while Alt is held the list turns with the text', async () => {
  const page = await open('#look/L1.H3/i=60');
  await page.waitForSelector('.key');
  const shown = () => page.locator('.key').evaluateAll((all) => all.map((each) => Number(each.dataset.index)).join());
  const before = await shown();
  const {edges} = await row(page, 1, 3, 60, 'column');
  await page.keyboard.down('Alt');
  await page.waitForFunction((wanted) => [...document.querySelectorAll('.key')].map((each) => each.dataset.index).join() === wanted,
    edges.map(({query}) => query).join());
  await page.keyboard.up('Alt');
  await page.waitForFunction((wanted) => [...document.querySelectorAll('.key')].map((each) => each.dataset.index).join() === wanted, before);
});
