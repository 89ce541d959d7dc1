// An encoder without words: what an edge is worth is how far its token and the vector of the text move.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {misfits, quiet, soon, withPages} from './harness.mjs';
import {tinyBert} from './tiny_bert.mjs';

const kText = 'time flies like an arrow';
const {state, blank} = withPages({text: kText, folder: tinyBert('encoder', kText, {hasWords: false})});

test('without an edge the output and the text\u2019s vector move, in short and in Why', async () => {
  const page = await blank();  // there are no next words to wait for
  await page.goto(`${state.server.address}#look/L1.H1/i=2/j=5`);
  const without = page.locator('.why-short .why-note', {hasText: 'moves by'});
  await without.waitFor();
  await soon.match(() => without.textContent(), /^without this edge the output at .+ moves by \d[\d.]* %, the text\u2019s vector by \d[\d.]* %$/);
  await page.keyboard.press('w');
  await page.locator('.why-row.test', {hasText: 'text\u2019s vector moved'}).waitFor();
});

test('the largest edges stand in one list: of a chosen row on the left, with no row chosen on the right', async () => {
  const page = await blank();
  await page.goto(`${state.server.address}#look/L1.H1/i=2`);
  await page.locator('.key').first().waitFor();
  await quiet(page);
  await soon.equal(() => page.locator('.side .next-row').count(), 0);
  await page.keyboard.press('Escape');
  await page.locator('.side .next-row').first().waitFor();
  await soon.equal(() => page.locator('.side h2').first().textContent(), 'Largest edges');
});

for (const [width, height] of [[1440, 900], [1280, 800], [1260, 780]]) {
  test(`the read-out below a matrix without a mask ends above the foot line: ${width} x ${height}`, async () => {
    const page = await blank({viewport: {width, height}});
    await page.goto(`${state.server.address}#look/L1.H1/i=2/j=5`);
    await page.locator('.key').first().waitFor();
    await quiet(page);
    await soon.deepEqual(() => misfits(page), []);
  });
}
