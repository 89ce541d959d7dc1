// The text, the next words, the keys, the address: every hover, click and key that the list of keys names.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {answer, eventually, hash, quiet, ready, row, run, soon, startServer, token, tokenCount, withPages} from './harness.mjs';

const {state, blank, open} = withPages();
const written = (weight) => weight.toFixed(3).slice(1);
const short = (weight) => weight >= 0.995 ? '1.0' : weight.toFixed(2).slice(1);

test('without an address the head and the edge that heed chose are shown', async () => {
  const page = await open();
  await page.waitForFunction(() => /^#look\/L\d+\.H\d+\/i=\d+\/j=\d+$/.test(location.hash));
  const [, query] = /i=(\d+)/.exec(await hash(page));
  await soon.match(() => token(page, query).getAttribute('class'), /pinned/);
});

test('the token of the address is gone after the first page', async () => {
  const page = await open();
  assert.ok(!page.url().includes('token='));
});

test('hovering a token shades the text by its row', async () => {
  const page = await open('#look/L1.H3');
  await token(page, 60).hover();
  await page.waitForSelector('.token .under');
  const {edges} = await row(page, 1, 3, 60);
  await soon.deepEqual(() => page.locator('.token:has(.under)').evaluateAll((all) => all.map((each) => Number(each.dataset.index))),
    edges.map((edge) => edge.key));
  await soon.deepEqual(() => page.locator('.under').allTextContents(), edges.map((edge) => short(edge.weight)));
  await soon.match(() => token(page, 60).getAttribute('class'), /hovered/);
  await soon.match(() => token(page, 61).getAttribute('class'), /unseen/);
});

test('leaving the text takes the preview back', async () => {
  const page = await open('#look/L1.H3');
  await token(page, 60).hover();
  await page.waitForSelector('.token .under');
  await page.locator('.wordmark').hover();
  await page.waitForFunction(() => !document.querySelector('.token .under'));
});

test('clicking a token pins it, Escape unpins it, Back pins it again', async () => {
  const page = await open('#look/L1.H3');
  await token(page, 60).click();
  await soon.equal(() => hash(page), '#look/L1.H3/i=60');
  await page.keyboard.press('Escape');
  await soon.equal(() => hash(page), '#look/L1.H3');
  await page.goBack();
  await soon.equal(() => hash(page), '#look/L1.H3/i=60');
  await page.waitForSelector('.token.pinned[data-index="60"]');
});

test('a click on a word takes the head that links it to a distant word, until the reader chooses a head', async () => {
  const server = await startServer(0, {text: 'The king had a daughter, and he loved her.', folder: 'tales'});
  try {
    const page = await blank();
    await page.goto(server.address);
    await soon.equal(() => hash(page), '#look/L4.H2/i=9/j=2');
    await token(page, 8).click();
    await soon.equal(() => hash(page), '#look/L1.H1/i=8');
    await soon.match(() => page.locator('.reason').textContent(), /^heed chose: \u201che\u201d looks back 6 tokens to \u201cking\u201d/);
    await page.goBack();
    await soon.equal(() => hash(page), '#look/L4.H2/i=9/j=2');
    await page.keyboard.press('.');
    await soon.equal(() => hash(page), '#look/L4.H3/i=9/j=2');
    await token(page, 8).click();
    await quiet(page);
    assert.equal(await hash(page), '#look/L4.H3/i=8');
    await page.context().close();  // before its server ends
  } finally {
    await server.stop();
  }
});

test('dragging over the text takes a span', async () => {
  const page = await open('#look/L1.H3');
  await token(page, 50).hover();
  await page.mouse.down();
  await token(page, 53).hover();
  await page.mouse.up();
  await soon.equal(() => hash(page), '#look/L1.H3/range=50-53');
  await soon.equal(() => page.locator('.token.pinned').count(), 4);
});

test('Alt turns from into to while it is held', async () => {
  const page = await open('#look/L1.H3/i=60');
  const pressed = () => page.locator('.switches .choice').first().locator('[aria-pressed=true]').getAttribute('data-option');
  await page.waitForFunction(() => document.querySelector('.under'));
  await soon.equal(() => pressed(), 'from');
  await page.keyboard.down('Alt');
  await soon.equal(() => pressed(), 'to');
  await page.waitForFunction(() => document.querySelector('.token.unseen[data-index="10"]'));
  await page.keyboard.up('Alt');
  await soon.equal(() => pressed(), 'from');
});

test('the switch to shows who attends to the token', async () => {
  const page = await open('#look/L1.H3/i=60');
  await page.locator('[data-option=to]').click();
  await soon.equal(() => hash(page), '#look/L1.H3/i=60/to=1');
  await page.waitForSelector('.token.unseen[data-index="10"]');
  const {edges} = await row(page, 1, 3, 60, 'column');
  await page.waitForFunction((count) =>  // beside each other there may be no room: then the title has it
    document.querySelectorAll('.token:has(.under), .token[title]').length === count, edges.length);
});

test('units sum over the keys of a word', async () => {
  const page = await open('#look/L1.H3/i=60/units=word');
  await page.waitForSelector('.token .under');
  const weight = (index) => token(page, index).evaluate((each) => each.style.getPropertyValue('--weight'));
  const second = await page.evaluate(() => {  // a piece that goes on with a word
    const letters = (token) => token.firstChild.nodeType === 3 && /^[a-z]+$/i.test(token.firstChild.data);
    const piece = [...document.querySelectorAll('.token')].find((token) =>
      letters(token) && token.previousSibling?.nodeType === 1 && letters(token.previousSibling));
    return Number(piece.dataset.index);
  });
  await eventually(async () => assert.equal(await weight(second), await weight(second - 1)));
});

test('arrows walk the text and Enter pins', async () => {
  const page = await open('#look/L1.H3/i=60');
  await token(page, 60).focus();
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('Enter');
  await soon.equal(() => hash(page), '#look/L1.H3/i=58');
});

test('brackets step the layer, comma and full stop the head', async () => {
  const page = await open('#look/L1.H3/i=60');
  await page.keyboard.press(']');
  await soon.equal(() => hash(page), '#look/L2.H3/i=60');
  await page.keyboard.press('[');
  await page.keyboard.press('[');
  await soon.equal(() => hash(page), '#look/L0.H3/i=60');
  await page.keyboard.press('.');
  await soon.equal(() => hash(page), '#look/L0.H4/i=60');
  await page.keyboard.press(',');
  await page.keyboard.press(',');
  await soon.equal(() => hash(page), '#look/L0.H2/i=60');
  await page.keyboard.press('[');
  await soon.equal(() => hash(page), '#look/L2.H2/i=60');
});

test('next words are those after the pinned token', async () => {
  const page = await open('#look/L1.H3/i=60');
  const {words} = await answer(page, '/self/next?position=60&top=5');
  await page.waitForFunction((first) => document.querySelector('.next-row .word')?.textContent === first,
    words[0].text.trim().replace(/<0x..>/g, '\u00b7'));
  await soon.deepEqual(() => page.locator('.next-row .value').allTextContents(), words.map((word) => written(word.probability)));
});

test('the question mark lists the keys and closes them again', async () => {
  const page = await open('#look/L1.H3');
  await page.keyboard.press('?');
  await soon.ok(() => page.locator('dialog').isVisible());
  await soon.match(() => page.locator('dialog').textContent(), /Esc.*unpins/);
  await page.keyboard.press('Escape');
  await soon.ok(async () => !await page.locator('dialog').isVisible());
});

test('1 shows Look', async () => {
  const page = await open('#look/L1.H3/i=60');
  await page.keyboard.press('1');
  await soon.equal(() => hash(page), '#look/L1.H3/i=60');
  await soon.equal(() => page.locator('nav [aria-current=page]').textContent(), 'Look');
});

test('an address reproduces the view', async () => {
  const page = await open('#look/L2.H1+H4/i=100/j=40/to=1/units=word/scale=sqrt');
  const again = await open(await hash(page));
  await soon.equal(() => hash(again), '#look/L2.H1+H4/i=100/j=40/to=1/units=word/scale=sqrt');
  await eventually(async () => assert.equal(await again.locator('.read-out').textContent(), await page.locator('.read-out').textContent()));
});

test('an address that asks for too much is cut to what there is', async () => {
  const page = await open('#look/L99.H99/i=99999/j=3');
  await soon.match(() => hash(page), /^#look\/L\d\.H0$/);
});

test('special tokens are framed, a line end is shown and ends its line', async () => {
  const page = await open('#look/L1.H3/i=60');
  const special = token(page, 0);
  await soon.equal(() => special.textContent(), '<s>');
  await soon.equal(() => special.evaluate((each) => getComputedStyle(each).outlineStyle), 'solid');
  const ends = await page.locator('.line').evaluateAll((lines) => lines.filter((line) =>
    [...line.querySelectorAll('.token')].some((each) => each.textContent.includes('\u23ce') && each !== line.lastElementChild)).length);
  assert.equal(ends, 0);
});

test('of a long text only the lines in sight have elements, and all can be reached', async () => {
  const page = await open('#look/L1.H3');
  await run(page, 'One day Lily saw a big red ball and wanted to play with it.\n'.repeat(25));
  const length = await tokenCount(page);
  await soon.ok(async () => await page.locator('.token').count() < length - 100);
  await page.waitForSelector('.token.pinned');  // what is pinned is in sight: the last word
  await soon.match(() => page.locator('.token.pinned').textContent(), /\w/);
  await page.locator('.token.pinned').focus();
  await page.keyboard.press('Home');
  await soon.equal(() => page.evaluate(() => document.activeElement.dataset.index), '0');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('End');
  await soon.equal(() => page.evaluate(() => Number(document.activeElement.dataset.index)), length - 1);
  const widths = await page.locator('.line').evaluateAll((lines) => lines.map((line) => line.scrollWidth - line.clientWidth));
  assert.ok(Math.max(...widths) <= 2, `a line is too wide: ${widths}`);
});

test('a newer question ends the older', async () => {
  const page = await blank();
  await page.route('**/rows?*', (route) => route.fulfill({status: 404, json: {}}));  // nothing comes ahead of the pointer
  await page.route('**/1/3/row/70', () => undefined);  // never answered
  await page.goto(`${state.server.address}#look/L1.H3/i=60`);
  await ready(page);
  const isOlder = (request) => request.url().endsWith('/1/3/row/70');
  const ended = page.waitForEvent('requestfailed', isOlder);
  await Promise.all([page.waitForRequest(isOlder), token(page, 70).hover()]);  // what a pointer passes is not asked for
  await token(page, 80).hover();
  const request = await ended;
  assert.match(request.failure().errorText, /ABORTED/);
  await page.waitForSelector('.token.hovered[data-index="80"]');
  await soon.deepEqual(() => page.locator('.failed').allTextContents(), []);
});

test('targets are at least 24 px high', async () => {
  const page = await open('#look/L1.H3/i=60/j=20');
  await page.waitForSelector('.key.pinned');
  const low = await page.locator('button:visible').evaluateAll((all) => all.filter((each) =>
    each.getBoundingClientRect().height < 23.99).map((each) => each.outerHTML.slice(0, 80)));
  assert.deepEqual(low, []);
});

test('nothing moves by itself', async () => {
  const page = await open('#look/L1.H3/i=60', {reducedMotion: 'reduce'});
  await page.locator('.chip[data-head="1"]').click();
  await soon.equal(() => page.evaluate(() => document.getAnimations().length), 0);
});
