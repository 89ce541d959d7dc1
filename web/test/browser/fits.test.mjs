// Views end with their window, whatever the text; the wheel over the matrix moves nothing but the matrix.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {cell, frames, hash, kText, misfits, quiet, run, soon, withPages} from './harness.mjs';

const {open} = withPages();
const kShort = 'Lily saw a big ball';
const kLong = Array.from({length: 2}, () => kText).join(' ');  // more lines than any window has for them
const kSizes = [[1440, 900], [1280, 800]];

/** A text of more lines than its box has says which tokens are in sight, and no other does. */
function saysWhatIsCut(page) {
  return page.evaluate(() => {
    const [box, text] = [document.querySelector('.scroller'), document.querySelector('.scroller > *')];
    const isCut = text.clientHeight > box.clientHeight;
    return isCut === /^tokens \d+ to \d+ of \d+/.test(document.querySelector('.in-sight').textContent);
  });
}

for (const [width, height] of kSizes) {
  for (const [name, text] of Object.entries({short: kShort, usual: kText, long: kLong})) {
    test(`Look ends with its window: ${width} x ${height}, ${name} text`, async () => {
      const page = await open('#look/L1.H3', {viewport: {width, height}});
      await run(page, text);
      await quiet(page);
      await soon.deepEqual(() => misfits(page), []);
      const lines = await page.locator('.scroller').evaluate((scroller) => scroller.clientHeight / 35);
      assert.ok(lines < 6.5, `${lines} lines`);
      const [matrix, side] = [await page.locator('.matrix-part').boundingBox(), await page.locator('.side').boundingBox()];
      assert.ok(side.x >= matrix.x + matrix.width && Math.abs(side.y - matrix.y) < 1, 'the side stands beside the matrix');
      await soon.equal(() => saysWhatIsCut(page), true);
      await page.locator('.key').first().click();
      await quiet(page);
      await soon.deepEqual(() => misfits(page), []);
      await soon.equal(() => page.locator('.side').evaluate((part) => part.scrollHeight <= part.clientHeight), true);
      await soon.deepEqual(() => page.locator('.read-out b').evaluateAll((all) => all.filter((name) => name.scrollWidth > name.clientWidth).map((name) => name.textContent)), []);
    });
  }
  test(`Look beside an edit ends with its window: ${width} x ${height}`, async () => {
    const page = await open('#look/L1.H3/i=60/j=20/vs=ablate:self.L1.H3', {viewport: {width, height}});
    await page.locator('.compare-same', {hasText: 'The map of L1.H3 is the same'}).waitFor();
    await quiet(page);
    await soon.deepEqual(() => misfits(page), []);
  });
  for (const view of ['grid', 'why', 'words']) {
    test(`${view} ends with its window: ${width} x ${height}`, async () => {
      const page = await open('#look/L1.H3/i=190/j=120', {viewport: {width, height}});
      await page.evaluate((name) => { location.hash = location.hash.replace('look', name); }, view);
      await quiet(page);
      await soon.deepEqual(() => misfits(page), []);
    });
  }
}

test('both ends of the pinned edge are in sight, or stand at the border of the text', async () => {
  const page = await open('#look/L1.H3');
  await run(page, kLong);
  await page.evaluate(() => { location.hash = '#look/L1.H3/i=380/j=4'; });
  await quiet(page);
  const inSight = (index) => page.evaluate((at) => {
    const [box, room] = [document.querySelector(`.token[data-index="${at}"]`)?.getBoundingClientRect(), document.querySelector('.scroller').getBoundingClientRect()];
    return box !== undefined && box.top >= room.top - 1 && box.bottom <= room.bottom + 1;
  }, index);
  await soon.equal(() => inSight(380), true);
  await soon.match(() => page.locator('.beyond').allTextContents().then(String), /^\u2191 .* 4$/);
  await page.locator('.beyond').click();
  await soon.equal(() => inSight(4), true);
  await soon.match(() => page.locator('.beyond').allTextContents().then(String), /^\u2193 .* 380$/);
  await page.evaluate(() => { location.hash = '#look/L1.H3/i=380/j=372'; });
  await soon.equal(() => inSight(380), true);
  await soon.equal(() => inSight(372), true);
  await soon.equal(() => page.locator('.beyond').count(), 0);
});

for (const [query, key] of [[100, 40], [190, 20], [192, 186]]) {
  test(`every notch of the wheel zooms about the pointer, and nothing else moves: cell ${query}, ${key}`, async () => {
    const page = await open('#look/L1.H3');
    const parts = ['canvas.matrix', '.plot', '.foot', '.side', '.edges-body', '.received-line'];
    const boxes = () => page.evaluate((names) => names.map((name) => {
      const {x, y, width, height} = document.querySelector(name).getBoundingClientRect();
      return [name, x, y, width, height];
    }), parts);
    const at = await cell(page, query, key);
    await page.mouse.move(at.x, at.y);
    const under = () => page.locator('.read-out .figure').innerText();
    await soon.match(under, new RegExp(` ${query}\\b[^]* ${key}\\b`));
    const before = await boxes();
    let seen = Infinity;
    for (let notch = 0; notch < 14; ++notch) {
      await page.mouse.wheel(0, -100);
      await soon.ok(async () => {
        const [, first, last] = /zoom=(\d+)-(\d+),/.exec(await hash(page)) ?? [];
        const rows = last - first;
        return rows < seen || (rows === seen && rows < 40);
      });
      const [, first, last] = /zoom=(\d+)-(\d+),/.exec(await hash(page));
      seen = last - first;
      await frames(page);
      await page.mouse.move(at.x + (notch % 2) / 2, at.y);
      await soon.match(under, new RegExp(` ${query}\\b[^]* ${key}\\b`));
      assert.deepEqual(await boxes(), before, `notch ${notch}`);
    }
    assert.ok(seen < 40, `${seen} rows`);
  });
}

test('the read-out over a zoomed matrix gives way to the pointer', async () => {
  const page = await open('#look/L1.H3/zoom=120-140,90-110');
  await page.waitForSelector('.matrix-frame.over');
  const box = await page.locator('.read-out').boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await soon.ok(async () => {
    const now = await page.locator('.read-out').boundingBox();
    return now.x > box.x + box.width || now.x + now.width < box.x || now.y > box.y + box.height;
  });
});

test('the read-out over a zoomed matrix names both tokens, and its legend stands inside of it', async () => {
  const page = await open('#look/L1.H3/zoom=45-75,12-40/i=60/j=16');
  await page.waitForSelector('.matrix-frame.over');
  await soon.match(() => page.locator('.read-out .figure').innerText(), / 60\b[^]* 16\b/);
  const {names, beyond} = await page.locator('.read-out').evaluate((readOut) => {
    const box = readOut.getBoundingClientRect();
    const isInside = ({left, right}) => left >= box.left && right <= box.right;
    return {
      names: [...readOut.querySelectorAll('b')].map((name) => name.clientWidth),
      beyond: [...readOut.querySelectorAll('.figure span, .ticks span')].filter((each) => !isInside(each.getBoundingClientRect())).map((each) => each.textContent),
    };
  });
  assert.ok(names.length === 2 && names.every((width) => width >= 8), `${names}`);
  assert.deepEqual(beyond, []);
});
