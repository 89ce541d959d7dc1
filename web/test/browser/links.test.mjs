// Another model, another text, and links that somebody else opens.
import assert from 'node:assert/strict';
import {dirname, join} from 'node:path';
import {test} from 'node:test';
import {fileURLToPath} from 'node:url';
import {hash, ready, row, soon, withPages} from './harness.mjs';

process.env.HEED_MODELS = join(dirname(fileURLToPath(import.meta.url)), '../../../models');
const {open, blank, state} = withPages();
const kKing = 'The king had a daughter, and he loved her.';

const nameOf = (page) => page.locator('.model b').textContent();
const textOf = async (page) => (await page.locator('.header-text .beginning').textContent()).slice(1, 12);

test('the header changes the model, and the text stays', async () => {
  const page = await open('#look/L1.H3/i=20');
  const [model, text] = [await nameOf(page), await textOf(page)];
  await page.locator('button.model').click();
  const list = page.locator('.models-list');
  await list.locator('li').first().waitFor();
  await soon.equal(() => list.locator('[aria-current=true]').textContent(), model);
  await list.locator('button', {hasText: 'tales'}).click();
  await page.waitForFunction(() => document.querySelector('.model b').textContent === 'tales');
  await soon.equal(() => textOf(page), text);
  await page.waitForSelector('.key');
});

test('a link opens its model, its text and its view, and leaves the address short', async () => {
  const page = await blank();
  await page.goto(`${state.server.address}#look/L2.H4/i=7/m=tales/x=${encodeURIComponent(kKing)}`);
  await ready(page);
  await soon.equal(() => nameOf(page), 'tales');
  await soon.equal(() => textOf(page), 'The king ha');
  await soon.equal(() => page.locator('.token.pinned').getAttribute('data-index'), '7');
  await soon.match(() => page.locator('.foot .address').textContent(), /^(#look\/L2\.H4\/i=7)?$/);
});

test('a link that is pasted into an open page is followed', async () => {
  const page = await open('#look/L1.H3/i=20');
  await page.evaluate((text) => { location.hash = `#look/L0.H1/i=3/x=${encodeURIComponent(text)}`; }, kKing);
  await page.waitForFunction(() => document.querySelector('.header-text .beginning').textContent.includes('The king'));
  await soon.equal(() => page.locator('.token.pinned').getAttribute('data-index'), '3');
});

test('of a link to a model that this machine does not have that is said, with those that it has', async () => {
  const page = await blank();
  await page.goto(`${state.server.address}#look/L2.H4/i=7/m=gpt9/x=One%20day`);
  const failed = page.locator('.failed');
  await failed.waitFor();
  await soon.equal(() => failed.locator('h2').textContent(), 'This machine does not have the model');
  await soon.match(() => failed.textContent(), /"gpt9".*expected one of .*tales/);
});

test('the link of a view holds the model and the text', async () => {
  const page = await open('#look/L1.H3/i=20');
  await page.evaluate(() => {
    Object.defineProperty(navigator, 'clipboard', {value: {writeText: (text) => { window.copied = text; return Promise.resolve(); }}});
  });
  await page.locator('.foot-save button', {hasText: 'link'}).click();
  await page.waitForFunction(() => window.copied !== undefined);
  const link = await page.evaluate(() => window.copied);
  assert.match(link, /^http:\/\/127\.0\.0\.1:\d+\/#look\/L1\.H3\/i=20\/m=.+\/x=Once%20upon/);
  assert.ok(!link.includes('token='));
  await soon.equal(() => hash(page), '#look/L1.H3/i=20');
});

test('the weights of the text are there for those who do not see its colours', async () => {
  const page = await open('#look/L1.H3/i=60');
  const {weights} = await row(page, 1, 3, 60);
  const written = (weight) => weight === 0 ? '0' : weight < 0.0005 ? '<.001' : weight < 0.9995 ? weight.toFixed(3).slice(1) : '1.00';
  await page.mouse.move(700, 5);
  for (const index of [0, 20, 60]) {
    await page.waitForSelector(`.token[data-index="${index}"][aria-description="weight ${written(weights[index])}"]`);
  }
  await page.waitForSelector('.token[data-index="61"][aria-description="may not be seen"]');
});

test('in forced colours the page takes the reader\u2019s', async () => {
  const page = await open('#look/L1.H3/i=60', {forcedColors: 'active'});
  const colours = await page.evaluate(() => {
    const system = document.createElement('div');
    system.style.color = 'CanvasText';
    document.body.append(system);
    const own = getComputedStyle(document.querySelector('.heed'));
    return [own.getPropertyValue('--bg').trim(), own.color, getComputedStyle(system).color];
  });
  assert.equal(colours[0], 'Canvas');
  assert.equal(colours[1], colours[2]);
});

test('what a page shows is marked by its language where the script tells it', async () => {
  const page = await blank();
  await page.goto(`${state.server.address}#look/L0.H0/m=tales/x=${encodeURIComponent('日本語です')}`);
  await ready(page);
  await soon.equal(() => page.locator('.tokens').getAttribute('lang'), 'ja');
  await soon.equal(() => page.locator('.queries').getAttribute('lang'), 'ja');
});

test('bytes of a character stand under it, and the page begins with characters', async () => {
  const page = await blank();
  await page.goto(`${state.server.address}#look/L0.H0/m=tales/x=${encodeURIComponent('日本語です')}/units=character`);
  await ready(page);
  await page.waitForSelector('.query');
  await soon.deepEqual(() => page.locator('.query-token').allTextContents(), ['<s>', '日', '本', '語', 'で', 'す']);
  await page.locator('[data-option=token]').click();
  await page.waitForFunction(() => document.querySelectorAll('.query').length > 6);
  const [first, ...bytes] = await page.locator('.query-token').allTextContents();
  assert.equal(first, '<s>');
  assert.ok(bytes.every((name) => /^[日本語です] [0-9A-F]{2}$/.test(name)));
});
