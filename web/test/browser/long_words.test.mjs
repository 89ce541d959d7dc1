// Words of a long text: shaded in a window, and the most surprising words in a list.
import assert from 'node:assert/strict';
import {join} from 'node:path';
import {test} from 'node:test';
import {answer, hash, kText, quiet, scratch, soon, withPages} from './harness.mjs';
import {writeModel} from './model.mjs';

const text = Array.from({length: 6}, () => kText).join('\n');
const folder = join(scratch, 'long');
writeModel(folder, text, 2048);
const {state, blank} = withPages({text, folder});

test('a long text is shaded by surprise, and its 20 most surprising words are listed', async () => {
  const page = await blank();
  await page.goto(`${state.server.address}#words/L0.H0/i=5`);
  const rows = page.locator('.surprises-row');
  await rows.first().waitFor();
  await quiet(page);
  assert.equal(await rows.count(), 20);
  const listed = await rows.evaluateAll((all) => all.map((row) => ({index: Number(row.dataset.index), bits: Number(row.querySelector('.value').textContent)})));
  const {tokens: words} = await answer(page, '/self/words');
  const {units: {words: starts}} = await answer(page, '');
  const bits = starts.map((first, at) => ({index: first, bits: words.filter(({token}) => token >= first && token < (starts[at + 1] ?? Infinity))
    .reduce((sum, {probability}) => sum - Math.log2(probability), 0)})).sort((a, b) => b.bits - a.bits);
  listed.forEach((each, at) => assert.ok(Math.abs(each.bits - bits[at].bits) < 0.06, `${each.index}: ${each.bits}, expected ${bits[at].bits}`));
  const shades = await page.locator('.words-text .tokens .token').evaluateAll((all) => all.map((each) => Number(each.style.getPropertyValue('--weight'))));
  assert.ok(Math.max(...shades) > 0 && Math.max(...shades) <= 1, String(Math.max(...shades)));
  await rows.nth(3).click();
  await soon.equal(() => hash(page), `#words/L0.H0/i=${listed[3].index - 1}`);
  await soon.ok(() => page.locator('.words-text .token.pinned').evaluate((pinned) => {
    const [box, room] = [pinned.getBoundingClientRect(), pinned.closest('.scroller').getBoundingClientRect()];
    return box.top >= room.top - 1 && box.bottom <= room.bottom + 1;
  }));
  const lines = await page.locator('.words-text .scroller').evaluate((scroller) =>
    scroller.clientHeight / Number.parseFloat(getComputedStyle(scroller.querySelector('.tokens')).lineHeight));
  assert.equal(lines, 10, 'the window ends with a line');
});
