// Comparison in a browser: a head, edits and texts beside what is shown; A, B and their difference in place.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {cpSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {eventually, modelPath, scratch, soon, withPages} from './harness.mjs';

// Two models to compare with: a copy, and one that cuts the text otherwise.
const models = join(scratch, 'models');
cpSync(modelPath, join(models, 'twin'), {recursive: true});
cpSync(join(dirname(fileURLToPath(import.meta.url)), '../../../models/tales'), join(models, 'other'), {recursive: true});
process.env.HEED_MODELS = models;

const {state, open, blank} = withPages();

const kRow = '#look/L0.H1/i=9/j=3';
const about = (page) => page.locator('.compare-about').innerText();
const numberOf = (text) => Number(text.replace('\u2212', '-').replace(/<0?\.001/, '0'));

/** The read-out of the matrix: the large number, and what A and B have. */
async function readOut(page) {
  const value = numberOf(await page.locator('.read-out .large').innerText());
  const both = /A (\S+), B (\S+)$/.exec(await page.locator('.read-out .rank').innerText());
  return {value, a: both && numberOf(both[1]), b: both && numberOf(both[2])};
}

/** The same of a difference, once it is that of A and B. */
function difference(page) {
  return eventually(async () => {
    const found = await readOut(page);
    assert.ok(found.b !== null && Math.abs(found.a - found.b - found.value) < 2e-3, JSON.stringify(found));
    return found;
  });
}

test('a head less another stands in place, with both under one cursor', async () => {
  const page = await open(`${kRow}/vs=L0.H0`);
  const {a} = await difference(page);
  await soon.equal(() => about(page), 'A: head L0.H1 \u00b7 B: head L0.H0');
  await page.keyboard.press('c');
  await page.waitForFunction(() => location.hash.endsWith('/show=A'));
  await soon.ok(async () => Math.abs((await readOut(page)).value - a) < 1e-3);
});

for (const colorScheme of ['light', 'dark']) {
  test(`B alone has the colour that the legend gives it: ${colorScheme}`, async () => {
    const page = await open(`${kRow}/vs=L0.H0/show=B`, {colorScheme});
    const drawn = (selector, property) => page.locator(selector).first().evaluate((each, name) => getComputedStyle(each)[name], property);
    await soon.equal(() => drawn('.arc.head-1', 'stroke'), 'rgb(230, 159, 0)');
    assert.equal(await drawn('.chip.chosen', 'borderTopColor'), 'rgb(230, 159, 0)');
    const coloured = () => page.locator('canvas.matrix').evaluate((canvas) => {
      const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      const found = {orange: 0, blue: 0};
      for (let at = 0; at < data.length; at += 4) {
        if (data[at + 3] !== 255) continue;
        if (data[at] > data[at + 2] + 40) ++found.orange;
        if (data[at + 2] > data[at] + 40) ++found.blue;
      }
      return found.orange > 0 && found.blue === 0;
    });
    await soon.ok(coloured);
    await page.locator('[aria-label=Shown] [data-option=A]').click();
    await soon.notEqual(() => drawn('.arc.head-1', 'stroke'), 'rgb(230, 159, 0)');
    await soon.ok(async () => !await coloured());
  });
}

test('a head that does not exist is said, and is not compared', async () => {
  const page = await open(kRow);
  await page.keyboard.press('c');
  const field = page.locator('.compare-field[aria-label="as L0.H2"]');
  await field.fill('L9.H9');
  await page.keyboard.press('Enter');
  await soon.equal(() => page.locator('.compare-form [role=alert]').textContent(), 'There is no head \u201cL9.H9\u201d.');
  assert.ok(page.url().endsWith(kRow), page.url());
  await field.fill('L0.H2');
  await page.keyboard.press('Enter');
  await soon.equal(() => about(page), 'A: head L0.H1 \u00b7 B: head L0.H2');
  const other = await open(`${kRow}/vs=L9.H9`);
  await soon.equal(() => about(other), 'Not compared: There is no head L9.H9.');
  await soon.equal(() => other.locator('[aria-label=Shown]').isVisible(), false);
});

test('in words a difference stands between words, of either sign', async () => {
  const page = await open(`${kRow}/units=word/vs=L0.H0`);
  await difference(page);
  await page.waitForFunction(() => document.querySelector('.arc.more') && document.querySelector('.arc.less'));
});

test('what is masked for a head shows as what it had, and Esc and Back lead to the text as it is', async () => {
  const page = await open(kRow);
  const before = numberOf(await page.locator('.read-out .large').innerText());
  await page.keyboard.press('c');
  await page.locator('.compare-form button', {hasText: '\u2192'}).click();
  await page.waitForFunction(() => /B masked$/.test(document.querySelector('.read-out .rank')?.textContent ?? ''));
  assert.match(page.url(), /vs=remove:self\.L0\.H1:9:3$/);
  await soon.ok(async () => Math.abs((await readOut(page)).value - before) < 1e-3);
  await page.keyboard.press('Escape');
  await page.locator('.compare').waitFor({state: 'hidden'});
  await page.goBack();
  await page.locator('.compare-about').waitFor();
  await soon.match(() => about(page), /B: without edge L0.H1 9 \u2192 3/);
});

test('texts of two lengths have no difference, which is said', async () => {
  const page = await open(`${kRow}/vs=text:Once%20upon`);
  await page.locator('.compare-about', {hasText: 'differ in length'}).waitFor();
  await page.locator('[aria-label=Shown] [data-option=B]').click();
  await page.waitForFunction(() => document.querySelectorAll('.tokens .token').length < 20);
});

test('an edit that the session has no place for is said, and the text stays', async () => {
  const page = await open(`${kRow}/vs=hide:tokens:99999`);
  await page.locator('.compare-about', {hasText: 'Not compared: '}).waitFor();
  await soon.ok(async () => numberOf(await page.locator('.read-out .large').innerText()) >= 0);
});

test('the grid and the full matrix draw the difference', async () => {
  const page = await blank();
  await page.goto(`${state.server.address}#grid/L0.H1/vs=L0.H0`);
  const hasColour = () => [...document.querySelectorAll('.grid-picture')].some((canvas) => {
    if (canvas.width === 0) return false;
    const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    for (let at = 0; at < data.length; at += 4) if (data[at + 3] === 255 && data[at + 2] < data[at] - 40) return true;  // orange
    return false;
  });
  await page.waitForFunction(hasColour);
  await page.keyboard.press('3');
  await page.locator('.matrix-full .legend', {hasText: 'A \u2212 B'}).waitFor();
});

test('another model of this machine stands beside this one: equal weights differ by nothing', async () => {
  const page = await open(kRow);
  await page.keyboard.press('c');
  await page.locator('.compare-field[aria-label="another model"]').fill('twin');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => location.hash.includes('/vs=model:twin'));
  const {value, a, b} = await difference(page);
  assert.equal(value, 0);
  assert.equal(a, b);
  await soon.match(() => about(page), /^A: \S+ \u00b7 B: twin$/);
});

test('of models that have no cells in common each is shown, and why there is no difference', async () => {
  const page = await open(`${kRow}/vs=model:other`);
  await page.waitForFunction(() => /The models differ in layers or heads: no head of B stands for one of A/.test(document.querySelector('.compare-about')?.textContent ?? ''));
  await page.goto(`${new URL(page.url()).origin}/#look/L0.H1/i=9/j=3/vs=model:nobody`);
  await page.waitForFunction(() => /^Not compared: /.test(document.querySelector('.compare-about')?.textContent ?? ''));
});
