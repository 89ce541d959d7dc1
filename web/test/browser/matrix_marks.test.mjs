// The matrix: what is at its rows and columns, spans, late answers, the first look.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {answer, cell, frames, hash, quiet, row, run, settled, soon, token, withPages} from './harness.mjs';

const {open} = withPages();

test('tokens stand at the rows and columns of large cells, the chosen ones marked', async () => {
  const page = await open();
  await run(page, 'Lily saw a big ball. She was sad.');
  await page.evaluate(() => { location.hash = '#look/L1.H3/i=7/j=2'; });
  await settled(page);
  const names = await page.locator('.query-token').allTextContents();
  const rows = await page.locator('.row-token').evaluateAll((all) => all.map((each) => {
    const {top, height, right} = each.getBoundingClientRect();
    return {name: each.textContent, middle: top + height / 2, right, own: each.classList.contains('own')};
  }));
  const columns = await page.locator('.column-token').evaluateAll((all) => all.map((each) => {
    const {top, right} = each.getBoundingClientRect();
    return {name: each.textContent, top, right, own: each.classList.contains('accent')};
  }));
  assert.deepEqual(rows.map(({name}) => name), names);
  assert.deepEqual(columns.map(({name}) => name), names);
  const box = await page.locator('canvas.matrix').boundingBox();
  const size = box.width / names.length;
  for (let index = 0; index < names.length; ++index) {
    const at = await cell(page, index, index);
    assert.ok(Math.abs(rows[index].middle - at.y) < 2 && rows[index].right <= box.x);
    assert.ok(Math.abs(columns[index].right - at.x) < size / 2 && columns[index].top >= box.y + box.height);
  }
  assert.deepEqual([rows.findIndex(({own}) => own), columns.findIndex(({own}) => own)], [7, 2]);
});

test('positions stand at the rows and columns of small cells', async () => {
  const page = await open('#look/L1.H3');
  await settled(page);
  const columns = await page.locator('.column-index').evaluateAll((all) => all.map((each) => {
    const {left, width} = each.getBoundingClientRect();
    return [Number(each.textContent), left + width / 2];
  }));
  assert.deepEqual(columns.map(([index]) => String(index)), await page.locator('.row-ticks span').allTextContents());
  for (const [index, middle] of columns) await soon.ok(async () => Math.abs(middle - (await cell(page, 0, index)).x) < 1);
  const box = await page.locator('canvas.matrix').boundingBox();
  await page.mouse.move(box.x + 100, box.y + 200);
  await page.mouse.wheel(0, -2000);
  await page.waitForSelector('.row-token');
  await page.waitForSelector('.column-token');
  await soon.equal(async () => (await page.locator('canvas.matrix').boundingBox()).width, box.width);
});

test('the rows of a span are framed', async () => {
  const page = await open('#look/L1.H3/range=100-120');
  await settled(page);
  const accent = ([red, green, blue]) => red > 180 && green < 140 && blue < 60;
  const inside = await cell(page, 110, 50);
  const size = (await cell(page, 1, 0)).y - (await cell(page, 0, 0)).y;
  const lines = await page.evaluate(([x, from, to]) => {
    const canvas = document.querySelector('canvas.matrix');
    const box = canvas.getBoundingClientRect();
    const {data} = canvas.getContext('2d').getImageData(x - box.x, from - box.y, 1, to - from);
    return Array.from({length: data.length / 4}, (_, at) => [...data.slice(4 * at, 4 * at + 3)]);
  }, [Math.round(inside.x), Math.round(inside.y - 12 * size), Math.round(inside.y + 12 * size)]);
  const at = lines.flatMap((colour, place) => accent(colour) ? [place] : []);
  assert.equal(at.length, 2);
  assert.ok(Math.abs(at[1] - at[0] - 21 * size) <= 2, `${at} ${size}`);
});

test('the late answer of another head is never drawn', async () => {
  const page = await open('#look/L1.H0/i=150/j=20');
  await settled(page);
  let release;
  const held = new Promise((resolve) => { release = resolve; });
  await page.route(/\/1\/[45]\/row\/150/, async (route) => {
    if (/\/1\/5\//.test(route.request().url())) await route.fallback();
    else await held.then(() => route.fallback()).catch(() => undefined);
  });
  const ahead = page.waitForRequest(/\/1\/4\/row\/150/);  // the next head's row, before anybody looks at it
  await page.evaluate(() => { location.hash = '#look/L1.H3/i=150/j=20'; });
  await ahead;
  const [fourth, fifth] = await Promise.all([4, 5].map(async (head) => (await answer(page, `/self/1/${head}/cell/150/20`)).weight));
  const text = (weight) => weight > 0 && weight < 0.0005 ? '<0.001' : weight.toFixed(3);
  assert.notEqual(text(fourth), text(fifth));
  await page.keyboard.press('.');
  await page.keyboard.press('.');
  await page.waitForFunction((wanted) => document.querySelector('.large').textContent === wanted, text(fifth));
  release();
  await quiet(page);  // the late answer is there, too
  await soon.equal(() => page.locator('.large').textContent(), text(fifth));
  await soon.equal(() => hash(page), '#look/L1.H5/i=150/j=20');
});

test('read-out and legend stay in the first look while the wheel zooms', async () => {
  for (const height of [900, 1000]) {
    const page = await open('#look/L1.H3', {viewport: {width: 1440, height}});
    await settled(page);
    const before = await page.locator('.foot').boundingBox();
    const at = await cell(page, 100, 40);
    await page.mouse.move(at.x, at.y);
    for (const turn of [-300, -900]) {
      await page.mouse.wheel(0, turn);
      await page.waitForSelector('.matrix-frame.over');
      await frames(page);
      const foot = await page.locator('.foot').boundingBox();
      assert.ok(Math.abs(foot.y - before.y) < 1, `the foot moved from ${before.y} to ${foot.y}`);
      for (const name of ['.figure', '.rank', '.legend', '.ticks']) {
        const box = await page.locator(name).boundingBox();
        assert.ok(box.y + box.height <= foot.y + 1, `${name} ends at ${box.y + box.height}, the foot begins at ${foot.y}`);
      }
    }
    await page.keyboard.press('0');
    await page.waitForSelector('.matrix-frame:not(.over)');
    await page.context().close();
  }
});

for (const view of ['i=60/units=sentence', 'i=60/units=word', 'range=50-60', 'i=60/units=sentence/to=1']) {
  test(`an edge has one number in list and read-out: ${view}`, async () => {
    const page = await open(`#look/L1.H3/${view}`);
    const key = page.locator('.key').nth(1);
    await key.hover();
    await page.waitForFunction(() => document.querySelector('.key.hovered'));
    const value = await key.locator('.value').textContent();
    await page.waitForFunction((wanted) => document.querySelector('.large').textContent.replace(/^0/, '') === wanted, value);
    const many = await page.locator('.token.together, .token.pinned').count();
    await soon.match(() => page.locator('.rank').textContent(), many > 1 ? /^(mean of \d+ rows|sum of \d+ columns), / : /largest/);
  });
}
