// Back and Forward restore what was read, and keys that follow each other are one step.
import {test} from 'node:test';
import {hash, quiet, ready, run, soon, textOf, withPages} from './harness.mjs';

const {open} = withPages();
const kOther = 'Tom and the old dog';

for (const address of ['#look/L1.H3/i=60', '']) {
  test(`Back and Forward restore the text and what was looked at: ${address || 'without an address'}`, async () => {
    const page = await open(address);
    const first = await hash(page);
    const text = await textOf(page);
    await run(page, kOther);
    const second = await hash(page);
    await page.goBack();
    await soon.equal(() => textOf(page), text);
    await soon.equal(() => hash(page), first);
    await page.goForward();
    await soon.equal(() => textOf(page), kOther);
    await soon.equal(() => hash(page), second);
    await page.reload();
    await ready(page);
    await soon.equal(() => textOf(page), kOther);
  });
}

test('Back leads from a text that a word was added to, and from a swap', async () => {
  const page = await open('#look/L1.H3/i=3');
  const text = await textOf(page);
  await page.keyboard.press('6');
  await page.locator('.words-row[data-id]').first().click();
  const on = page.locator('button', {hasText: 'go on'}).first();
  await on.waitFor();
  await on.click();
  await soon.notEqual(() => page.evaluate(() => sessionStorage.getItem('heed.text')), null);
  await soon.ok(() => page.evaluate((whole) => sessionStorage.getItem('heed.text').length < whole, text.length));
  await quiet(page);
  await page.goBack();
  await soon.ok(() => page.evaluate((whole) => sessionStorage.getItem('heed.text').length >= whole, text.length));
  await soon.match(() => hash(page), /^#words\/L1\.H3\/i=3$/);
  await page.goBack();
  await soon.match(() => hash(page), /^#look\/L1\.H3\/i=3$/);
  await page.keyboard.press('c');
  await page.locator('.compare-form .compare-field[aria-label="swap for"]').fill('Tom');
  await page.keyboard.press('Enter');
  await page.locator('.compare-about').waitFor();
  await page.goBack();
  await page.locator('.compare-about').waitFor({state: 'hidden'});
  await soon.match(() => hash(page), /^#look\/L1\.H3\/i=3$/);
});

test('keys that follow each other within half a second are one step', async () => {
  const page = await open('#look/L1.H0/i=60');
  const now = Date.now();
  await page.clock.setFixedTime(now);
  const before = await page.evaluate(() => history.length);
  for (const head of [1, 2, 3, 4]) {
    await page.keyboard.press('.');
    await soon.equal(() => hash(page), `#look/L1.H${head}/i=60`);
  }
  await soon.equal(() => page.evaluate(() => history.length), before + 1);
  await page.clock.setFixedTime(now + 1000);
  await page.keyboard.press('.');
  await soon.equal(() => page.evaluate(() => history.length), before + 2);
  await page.goBack();
  await soon.equal(() => hash(page), '#look/L1.H4/i=60');
  await page.goBack();
  await soon.equal(() => hash(page), '#look/L1.H0/i=60');
});
