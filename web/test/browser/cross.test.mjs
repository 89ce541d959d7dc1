// A model that reads one text and writes another: encoder, decoder, and the attention between them.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {test} from 'node:test';
import {eventually, hash, quiet, scratch, shared, soon, startServer, withPages} from './harness.mjs';

const folder = shared('models/aren-transliteration');
const kSource = '\u0622 \u062a \u0632 \u0645 \u0648 \u0646';  // atzmon
const kLetters = kSource.split(' ');
const {state, open, blank} = withPages({text: kSource, folder, more: ['--stack', 'cross']});
const texts = (page, name) => page.locator(name).allTextContents();

/** Until the likeliest word behind the last token is known. */
const drawn = (page) => page.waitForFunction(() => {
  const names = [...document.querySelectorAll('.written-token')];
  return names.length > 0 && names.at(-1).textContent === '</s>';
});

test('without an address the head that follows the source most closely is shown', async () => {
  const page = await open();
  await page.waitForFunction(() => location.hash.startsWith('#look/cross.L2.H1'));
  await soon.match(() => page.locator('.chip.chosen').textContent(), /^H1\.79in order/);
});

test('rows are a token and what it writes, columns the source', async () => {
  const page = await open('#look/cross.L2.H1/i=3/j=3');
  await drawn(page);
  await quiet(page);
  await soon.deepEqual(() => texts(page, '.asker-token'), ['<s>', 'a', 't', 'z', 'm', 'o', 'n']);
  await soon.deepEqual(() => texts(page, '.written-token'), ['a', 't', 'z', 'm', 'o', 'n', '</s>']);
  await soon.deepEqual(() => texts(page, '.read-token'), kLetters);
  await soon.deepEqual(() => texts(page, '.row-token'),
    ['<s> \u2192 a', 'a \u2192 t', 't \u2192 z', 'z \u2192 m', 'm \u2192 o', 'o \u2192 n', 'n \u2192 </s>']);
  await soon.equal(() => page.locator('.large').textContent(), '0.830');
  await soon.equal(() => page.locator('.arc-number').textContent(), '.830');
  await soon.deepEqual(() => texts(page, '.figure b'), ['z', kLetters[3]]);
  await soon.equal(() => page.locator('.rank').textContent(), 'largest of 6');
  await soon.match(() => page.locator('.chip.chosen').textContent(), /^H1\.79in orderpeak \.82$/);
});

test('beside it stands what hiding each source token does to the word', async () => {
  const page = await open('#look/cross.L2.H1/i=3/j=3');
  const rows = () => page.locator('.side .flow-test tbody tr').evaluateAll((all) => all.map((each) => [...each.children].map((cell) => cell.textContent)));
  await soon.deepEqual(async () => (await rows()).map(([name]) => name), [...kLetters, 'as it is']);
  await soon.deepEqual(async () => (await rows())[3].slice(1), ['.830', '\u221212.72', '<.001']);
  await soon.equal(async () => (await rows())[6][3], '.639');
});

test('the matrix has as many rows as tokens are written, and columns as are read', async () => {
  const page = await open('#look/cross.L2.H1');
  await drawn(page);
  await quiet(page);
  const box = await page.locator('canvas.matrix').boundingBox();
  assert.ok(Math.abs(box.height / box.width - 7 / 6) < 0.01, `${box.width} x ${box.height}`);
  await page.mouse.click(box.x + box.width * 5.5 / 6, box.y + box.height * 6.5 / 7);
  await soon.equal(() => hash(page), '#look/cross.L2.H1/i=6/j=5');
  await page.locator('canvas.matrix').focus();
  for (const key of ['ArrowDown', 'ArrowRight', 'ArrowUp', 'Enter']) await page.keyboard.press(key);
  await soon.equal(() => hash(page), '#look/cross.L2.H1/i=5/j=5');
});

test('e and the switch go from one attention to the next', async () => {
  const page = await open('#look/cross.L2.H1/i=3');
  const chosen = () => page.locator('.edges .option[aria-pressed=true]:visible').textContent();
  await soon.equal(() => chosen(), 'cross');
  await page.keyboard.press('e');
  await soon.equal(() => chosen(), 'encoder');
  await soon.equal(() => hash(page), '#look/L2.H1/i=5');
  await page.waitForSelector('.token');
  await soon.deepEqual(async () => (await texts(page, '.token')).map((each) => each[0]), kLetters);
  await page.locator('.edges .option', {hasText: 'decoder'}).click();
  await soon.equal(() => hash(page), '#look/decoder.L2.H1/i=6');
  await page.waitForSelector('.next-row');
  await soon.equal(() => page.locator('.side h2').first().textContent(), 'Next word');
  await page.goBack();
  await soon.equal(() => chosen(), 'encoder');
});

test('without an edge of the encoder what is written changes, and beside it stands where', async () => {
  const page = await blank();  // there are no next words to wait for
  await page.goto(`${state.server.address}#look/L2.H1/i=5/j=2`);
  const without = page.locator('.why-short .why-note', {hasText: 'goes from'});
  await without.waitFor();
  await soon.match(() => without.textContent(), /^without this edge \u201c.+\u201d, written after \u201c.+\u201d, goes from \S+ to \S+$/);
  await page.keyboard.press('w');
  await page.locator('.why-row.test .value').first().waitFor();
  await soon.match(() => page.locator('.heading', {hasText: 'Test it'}).innerText(), /what is written after .+, where it changes most/);
});

test('it begins with the attention that was asked for, and says what of an address is not there', async () => {
  const page = await open();
  await page.waitForSelector('.asker');
  await soon.match(() => hash(page), /^(#look\/cross\.L\d\.H\d\/i=\d(\/j=\d)?)?$/);
  const wrong = await open('#look/cross.L2.H1+decoder.L0.H0/i=7/j=6');
  await soon.equal(() => wrong.locator('.notice').textContent(),
    'Heads of one attention are shown at once: decoder is left out. There is no query token 7, the last one is 6: it is not pinned. '
    + 'There is no key token 6, the last one is 5: it is not pinned.');
});

test('all heads stand below, and a click shows one', async () => {
  const page = await open('#look/cross.L2.H1/i=3');
  await page.waitForFunction(() => document.querySelectorAll('.below canvas').length === 48);
  await soon.equal(() => page.locator('.below .most').textContent(), 'most L2.H1 .79, then L3.H1 .78');
  await page.locator('.all-head').nth(25).click();
  await soon.equal(() => hash(page), '#look/cross.L3.H1/i=3');
});

test('a target of one\u2019s own is read, and without one the model writes', async () => {
  const page = await open('#look/cross.L2.H1');
  await page.locator('.header-text').click();
  await page.getByLabel('Target').fill('a t s');
  await page.keyboard.press('Control+Enter');
  await page.waitForFunction(() => document.querySelectorAll('.asker').length === 4);
  await soon.deepEqual(() => texts(page, '.asker-token'), ['<s>', 'a', 't', 's']);
});

test('a target that is too long can be edited, and no part of the source is offered', async () => {
  const page = await open('#look/cross.L2.H1');
  await page.locator('.header-text').click();
  await page.getByLabel('Target').fill('a t '.repeat(2000));
  await page.keyboard.press('Control+Enter');
  await page.waitForSelector('.failed');
  await soon.match(() => page.locator('.failed').textContent(), /^The target is too long.*Nothing was run\.edit the targetbefore the change$/);
});

test('in the other direction the number is of a source token, and a target token turns back', async () => {
  const page = await open('#look/cross.L2.H1/i=4/to=1');
  await drawn(page);
  const pinned = (name) => page.locator(`${name}.pinned`).evaluateAll((all) => all.map(({dataset}) => dataset.index));
  await soon.deepEqual(async () => [await pinned('.asker'), await pinned('.read-row')], [[], ['4']]);
  await page.locator('.read-row').nth(2).click();
  await soon.equal(() => hash(page), '#look/cross.L2.H1/i=2/to=1');
  await page.locator('.asker').nth(6).click();
  await soon.equal(() => hash(page), '#look/cross.L2.H1/i=6');
  await soon.deepEqual(async () => [await pinned('.asker'), await pinned('.read-row')], [['6'], []]);
});

test('the bar of the row under the pointer stands out, and the focus stays in its row', async () => {
  const page = await open('#look/cross.L2.H1/i=3');
  await drawn(page);
  await quiet(page);
  const shown = () => page.locator('.asker.shown').evaluateAll((all) => all.map(({dataset}) => dataset.index));
  await soon.deepEqual(() => shown(), ['3']);
  await page.locator('.asker').nth(5).hover();
  await soon.deepEqual(() => shown(), ['5']);
  await page.locator('.asker').nth(3).focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press(']');
  await quiet(page);
  await soon.equal(() => page.evaluate(() => document.activeElement.dataset.index), '4');
});

test('of long texts a part is drawn, which the heading says and the arrow keys leave', async () => {
  const page = await open('#look/cross.L2.H1');
  await page.locator('.header-text').click();
  await page.getByRole('textbox', {name: 'Text'}).fill('\u0622 '.repeat(70));
  await page.getByLabel('Target').fill('a t '.repeat(50));
  await page.keyboard.press('Control+Enter');
  await page.waitForFunction(() => document.querySelectorAll('.asker').length === 64);
  await soon.match(() => page.locator('.edges .heading .quiet').first().textContent(), /, 64 of 101 rows, 64 of 70 keys, every edge/);
  await page.locator('.asker').first().click();
  await quiet(page);
  const first = Number(await page.locator('.asker').first().getAttribute('data-index'));
  await page.locator('.asker').first().focus();
  for (let step = 0; step < 3; ++step) await page.keyboard.press('ArrowUp');
  await quiet(page);
  await soon.equal(() => page.evaluate(() => document.activeElement.dataset.index), String(Math.max(0, first - 3)));
});

test('saved, it shows the same, and as svg from the command line', async () => {
  const page = await open('#look/cross.L2.H1/i=3/j=3');
  await drawn(page);
  const file = join(scratch, 'cross.html');
  execFileSync(process.env.HEED_PROGRAM, ['look', kSource, '--model', folder, '--view', 'look/cross.L2.H1/i=3/j=3', '-o', file]);
  const saved = await blank();
  await saved.goto(pathToFileURL(file).href);
  await drawn(saved);
  for (const one of [page, saved]) await quiet(one);
  for (const name of ['.asker', '.read-row', '.chip', '.row-token', '.large', '.next-row']) {
    await eventually(async () => assert.deepEqual(await texts(saved, name), await texts(page, name), name));
  }
});

test('a narrow page does not scroll sideways', async () => {
  const page = await open('#look/cross.L2.H1/i=3/j=3', {viewport: {width: 390, height: 844}});
  await drawn(page);
  await soon.equal(() => page.evaluate(() => document.documentElement.scrollWidth), 390);
});

for (const address of ['look/cross.L2.H1/i=3/j=3', 'why/cross.L2.H1/i=3/j=3', 'words/decoder.L2.H1', 'flow/cross.L2.H1/i=3']) {
  test(`all of it is in a window of 900 px: ${address}`, async () => {
    const page = await open();
    await page.evaluate((to) => { location.hash = `#${to}`; }, address);
    await page.waitForSelector({look: '.between-line, .flow-test', why: '.why-row.test .value', words: '.branch .branch-end b', flow: '.flow-node'}[address.split('/')[0]]);
    await quiet(page);
    await soon.equal(() => page.evaluate(() => document.documentElement.scrollHeight), 900);
    const cut = await page.locator('main .heading .quiet').evaluateAll((all) => all.filter((each) => each.checkVisibility() && each.scrollWidth > each.clientWidth + 1).map((each) => each.textContent));
    assert.deepEqual(cut, []);
  });
}

test('Heads ranks between two texts by their order', async () => {
  const page = await open();
  await page.evaluate(() => { location.hash = '#heads/cross.L2.H1'; });
  await page.waitForFunction(() => document.querySelector('.heads-names [aria-pressed=true]')?.textContent === 'in order');
  await quiet(page);
  await soon.match(() => page.locator('.heads-sheet [role=row]').first().textContent(), /^L2.H1\.79/);
  await soon.match(() => page.locator('.heads-evidence').textContent(), /head L2.H1, in order.*runner-up is L3.H1/);
  await page.locator('.heads-names button', {hasText: 'confidence'}).click();
  await soon.match(() => hash(page), /sort=confidence$/);
  await page.locator('.heads-names button', {hasText: 'in order'}).click();
  await soon.equal(() => hash(page), '#heads/cross.L2.H1');
});

test('without a choice the page begins between the two texts', async () => {
  const server = await startServer(0, {text: kSource, folder});
  const page = await blank();
  await page.goto(server.address);
  await page.waitForFunction(() => location.hash.startsWith('#look/cross.'));
  await page.locator('.written-token', {hasText: /^m$/}).click();
  await soon.equal(() => page.locator('.figure b').first().textContent(), 'z');
  await server.stop();
});

test('between two texts Heads has no score of tokens back or of the previous token', async () => {
  const page = await blank();
  await page.goto(`${state.server.address}#heads/cross.L2.H1`);
  await page.waitForSelector('.heads-sheet [role=row]');
  await soon.deepEqual(() => page.locator('.heads-names [role=columnheader] button').allTextContents(), ['in order', 'confidence', 'coverage', 'entropy', 'without it']);
});
