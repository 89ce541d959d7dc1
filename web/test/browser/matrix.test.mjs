// The matrix: read-out, margins, scales, zoom, box, arrows, table, numbers.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {cell, frames, hash, quiet, row, settled, soon, token, told, withPages, withRowOfNan} from './harness.mjs';

const {state, blank, open} = withPages();
const pixel = (page, at) => page.evaluate(({x, y}) => {
  const canvas = document.querySelector('canvas.matrix');
  const box = canvas.getBoundingClientRect();
  const scale = canvas.width / box.width;
  return [...canvas.getContext('2d').getImageData((x - box.x) * scale, (y - box.y) * scale, 1, 1).data];
}, at);

test('the read-out tells the exact weight of the cell under the pointer', async () => {
  const page = await open('#look/L1.H3');
  const at = await cell(page, 150, 20);
  await page.mouse.move(at.x, at.y);
  const {weights} = await row(page, 1, 3, 150);
  const expected = weights[20] < 0.0005 ? '<0.001' : weights[20].toFixed(3);
  await page.waitForFunction((text) => document.querySelector('.large').textContent === text, expected);
  await soon.match(() => page.locator('.figure').textContent(), /from .* 150to .* 20, 130 back/);
  const rank = weights.filter((weight) => weight !== null && weight > weights[20]).length + 1;
  await soon.match(() => page.locator('.rank').textContent(),
    rank === 1 ? /^largest of the 151 in its row$/ : new RegExp(`^${rank}(st|nd|rd|th) largest of 151$`));
});

test('the foot line is in sight below the matrix and the line that says why', async () => {
  for (const [width, height] of [[1440, 900], [1280, 800]]) {
    const page = await open();
    await page.setViewportSize({width, height});
    await page.waitForSelector('.reason:not(:empty)', {state: 'attached'});
    await page.keyboard.press('3');
    await quiet(page);
    const bottom = () => page.evaluate(() => Math.round(document.querySelector('.foot').getBoundingClientRect().bottom));
    await soon.equal(() => page.locator('.reason').textContent().then((said) => said !== ''), true);
    await soon.equal(bottom, height);
    await page.keyboard.press('.');
    await soon.equal(() => page.locator('.reason').textContent(), '');
    await soon.equal(bottom, height);
  }
});

test('a click on a cell pins query and key', async () => {
  const page = await open('#look/L1.H3');
  const at = await cell(page, 150, 20);
  await page.mouse.click(at.x, at.y);
  await soon.equal(() => hash(page), '#look/L1.H3/i=150/j=20');
});

test('a cell that may not be seen can be neither pointed at nor pinned', async () => {
  const page = await open('#look/L1.H3');
  const at = await cell(page, 20, 150);
  await page.mouse.click(at.x, at.y);
  await soon.equal(() => hash(page), '#look/L1.H3');
  await soon.equal(async () => (await pixel(page, await cell(page, 80, 180)))[3], 0);
});

test('a change of scale needs no new tile', async () => {
  const page = await open('#look/L1.H3');
  await settled(page);
  const before = await pixel(page, await cell(page, 100, 60));
  state.requests.length = 0;
  for (const scale of ['linear', 'sqrt', 'rank']) {
    await page.locator(`[data-option=${scale}]`).click();
    await soon.equal(() => hash(page), `#look/L1.H3/scale=${scale}`);
  }
  await frames(page);
  assert.deepEqual(state.requests.filter((url) => url.includes('/tile/')), []);
  await soon.notDeepEqual(async () => await pixel(page, await cell(page, 100, 60)), before);
  await soon.deepEqual(() => page.locator('.ticks span').allTextContents(), ['lowest', 'half', 'highest']);
});

test('the wheel zooms, a drag moves, 0 fits again', async () => {
  const page = await open('#look/L1.H3');
  const ticks = () => page.locator('.row-ticks').textContent();
  const fitted = await ticks();
  const at = await cell(page, 150, 100);
  await page.mouse.move(at.x, at.y);
  await page.mouse.wheel(0, -600);
  await page.waitForFunction((old) => document.querySelector('.row-ticks').textContent !== old, fitted);
  const zoomed = await ticks();
  await page.mouse.down();
  await page.mouse.move(at.x, at.y + 150, {steps: 4});
  await page.mouse.up();
  await page.waitForFunction((old) => document.querySelector('.row-ticks').textContent !== old, zoomed);
  await page.keyboard.press('0');
  await page.waitForFunction((old) => document.querySelector('.row-ticks').textContent === old, fitted);
});

test('a drag moves and does not pin', async () => {
  const page = await open('#look/L1.H3');
  const at = await cell(page, 150, 100);
  await page.mouse.move(at.x, at.y);
  await page.mouse.wheel(0, -600);
  await page.waitForSelector('.matrix-frame.over');
  await page.mouse.down();
  await page.mouse.move(at.x - 40, at.y - 60, {steps: 4});
  await page.mouse.up();
  await page.waitForFunction(() => location.hash.includes('zoom='));
  await soon.match(() => hash(page), /^#look\/L1\.H3\/zoom=\d+-\d+,\d+-\d+$/);
});

test('the zoom stands in the address: a link brings the same cells in sight, another head keeps them, 0 ends it', async () => {
  const page = await open('#look/L1.H3/zoom=120-140,90-110');
  const names = () => page.locator('.row-ticks').textContent();
  const first = await names();
  await soon.ok(async () => (await page.locator('.row-ticks span').count()) > 15, 'no tokens stand at the rows');
  await page.keyboard.press('.');
  await soon.equal(() => hash(page), '#look/L1.H4/zoom=120-140,90-110');
  await soon.equal(() => names(), first);
  const at = await page.locator('canvas.matrix').boundingBox();
  await page.mouse.click(at.x + 40, at.y + 40);
  await soon.match(() => hash(page), /^#look\/L1\.H4\/i=\d+\/j=\d+\/zoom=120-140,90-110$/, 'a click moved the matrix');
  await page.keyboard.press('0');
  await page.waitForFunction(() => !location.hash.includes('zoom='));
});

test('the Matrix view is large, zooms by its buttons, and says what is in sight', async () => {
  const page = await blank();
  await page.goto(`${state.server.address}#matrix/L1.H3/i=150/j=140`);
  await page.waitForFunction(() => /\d/.test(document.querySelector('.large')?.textContent ?? ''));
  await soon.ok(async () => (await page.locator('canvas.matrix').boundingBox()).width > 580);
  await soon.equal(() => page.locator('.tokens').count(), 0);
  await soon.match(() => page.locator('.matrix-sight').textContent(), /^all (\d+) \u00d7 \1$/);
  await page.locator('.matrix-zooms .option', {hasText: '+'}).click();
  await page.waitForFunction(() => location.hash.includes('zoom='));
  const [, first, last] = /zoom=(\d+)-(\d+),/.exec(await hash(page)).map(Number);
  assert.ok(last - first < 130, 'not zoomed');
  await page.waitForFunction(([first, last]) => document.querySelector('.matrix-sight').textContent.startsWith(`queries ${first} to ${last}`), [first, last]);
  await page.locator('.matrix-zooms .option', {hasText: 'all'}).click();
  await page.waitForFunction(() => !location.hash.includes('zoom='));
});

test('Shift and a drag zoom to a box, large cells carry their numbers', async () => {
  const page = await open('#look/L1.H3');
  const begin = await cell(page, 120, 100);
  const end = await cell(page, 128, 108);
  await page.mouse.move(begin.x, begin.y);
  await page.keyboard.down('Shift');
  await page.mouse.down();
  await page.mouse.move(end.x, end.y, {steps: 4});
  const [request] = await Promise.all([
    page.waitForRequest((each) => each.url().includes('as=f32')), page.mouse.up()]);
  await page.keyboard.up('Shift');
  assert.match(request.url(), /\/1\/3\/tile\/\d+\/0\/0\?as=f32$/);
});

test('arrows move a cell and the cell is spoken', async () => {
  const page = await open('#look/L1.H3/i=150/j=20');
  await page.locator('canvas.matrix').focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowUp');
  const {weights} = await row(page, 1, 3, 149);
  await page.waitForFunction((value) => [...document.querySelectorAll('[aria-live=polite]')].some((each) => each.textContent.endsWith(value)),
    weights[21] < 0.0005 ? '<0.001' : weights[21].toFixed(3));
  await page.keyboard.press('Enter');
  await soon.equal(() => hash(page), '#look/L1.H3/i=149/j=21');
});

test('t gives a table of the cells around the chosen one', async () => {
  const page = await open('#look/L1.H3/i=150/j=20');
  await page.keyboard.press('t');
  await page.waitForSelector('.table table');
  const {weights} = await row(page, 1, 3, 150);
  const line = page.locator('.table tbody tr', {has: page.locator('th', {hasText: / 150$/})});
  const values = line.locator('td');
  await soon.equal(() => values.count(), 12);
  await soon.equal(() => values.nth(6).textContent(), weights[20] < 0.0005 ? '<.001' : weights[20].toFixed(3).slice(1));
  await page.keyboard.press('t');
  await soon.ok(() => page.locator('canvas.matrix').isVisible());
});

test('the foot line tells the check that holds', async () => {
  const page = await open('#look/L1.H3');
  await soon.match(() => page.locator('.check').textContent(), /^every row sums to 1 within \de-\d$/);
});

test('the margins have a bar for each key and each query', async () => {
  const page = await open('#look/L1.H3');
  await settled(page);
  const inked = (name) => page.locator(`canvas.${name}`).evaluate((canvas) =>
    canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value > 0));
  await soon.ok(() => inked('received'));
  await soon.ok(() => inked('use'));
});

test('plus and minus zoom, and the read-out stays over the matrix while it is zoomed', async () => {
  const page = await open('#look/L1.H3/i=150/j=20');
  await settled(page);
  const under = () => page.evaluate(() => document.querySelector('.read-out').getBoundingClientRect().top
    >= document.querySelector('canvas.matrix').getBoundingClientRect().bottom);
  await soon.equal(() => under(), false);
  await page.locator('canvas.matrix').focus();
  await page.keyboard.press('+');
  await page.waitForSelector('.matrix-frame.over');
  await soon.equal(() => under(), false);
  await page.keyboard.press('-');
  await page.waitForSelector('.matrix-frame:not(.over)');
});

test('the cross-hair runs only over data', async () => {
  const page = await open('#look/L1.H3/i=150/j=40');
  await settled(page);
  const accent = ([red, green, blue]) => red > 180 && green < 140 && blue < 60;
  await soon.ok(async () => accent(await pixel(page, await cell(page, 90, 40))), 'down the column, from the mask to the cell');
  await soon.ok(async () => accent(await pixel(page, await cell(page, 150, 100))), 'along the row');
  for (const [query, key] of [[20, 40], [150, 170], [180, 40], [150, 10]]) {
    await soon.ok(async () => !accent(await pixel(page, await cell(page, query, key))), `${query} ${key}`);
  }
});

test('a hovered token draws its row', async () => {
  const page = await open('#look/L1.H3');
  await settled(page);
  const at = await cell(page, 100, 50);
  const before = await pixel(page, at);
  await token(page, 100).hover();
  await page.waitForFunction(() => document.querySelector('.token.hovered'));
  await frames(page);
  await soon.notDeepEqual(() => pixel(page, at), before);
});

test('the legend tells the scale', async () => {
  const page = await open('#look/L1.H3');
  await soon.deepEqual(() => page.locator('.ticks span').allTextContents(), ['0.001', '0.01', '0.1', '1']);
});

test('a touch holds the cross-hair, lifting pins', async () => {
  const page = await open('#look/L1.H3', {viewport: {width: 390, height: 844}, hasTouch: true});
  await page.locator('canvas.matrix').scrollIntoViewIfNeeded();
  await settled(page);
  const at = await cell(page, 150, 60);
  const touch = (type, points) => page.evaluate(([type, points]) => {
    const target = document.querySelector('canvas.matrix');
    const touches = points.map(({x, y}) => new Touch({identifier: 1, target, clientX: x, clientY: y}));
    const ended = type === 'touchend';
    target.dispatchEvent(new TouchEvent(type, {bubbles: true, cancelable: true, touches: ended ? [] : touches, changedTouches: touches}));
  }, [type, points]);
  await touch('touchstart', [at]);
  await page.waitForFunction(() => /150/.test(document.querySelector('.figure').textContent));
  await soon.equal(() => hash(page), '#look/L1.H3');
  await touch('touchend', [at]);
  await soon.equal(() => hash(page), '#look/L1.H3/i=150/j=60');
});

test('beside the full matrix stand the largest of the row and of the column', async () => {
  const page = await open('#matrix/L1.H3/i=60/j=20');
  await page.waitForFunction(() => document.querySelectorAll('.matrix-lists section:not([hidden]) .next-row').length > 20);
  await quiet(page);
  const lists = await page.locator('.matrix-lists section').evaluateAll((all) => all.map((each) => ({
    title: each.querySelector('h2').textContent, first: Number(each.querySelector('.index').textContent),
    rest: each.querySelector('.rest').textContent,
  })));
  const {weights} = await row(page, 1, 3, 60);
  const largest = weights.indexOf(Math.max(...weights));
  assert.match(lists[0].title, /^From .+ 60$/);
  assert.match(lists[1].title, /^To .+ 20$/);
  assert.equal(lists[0].first, largest);
  assert.match(lists[0].rest, /^\+ \S+ in \d+ others$/);
  await page.locator('.matrix-lists section').first().locator('.next-row').first().click();
  await page.waitForFunction((key) => location.hash === `#matrix/L1.H3/i=60/j=${key}`, largest);
});

test('tiles that take a while are counted', async () => {
  const page = await blank();
  let release = () => undefined;
  const held = new Promise((resolve) => { release = resolve; });
  await page.route(/\/tile\//, async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(`${state.server.address}#matrix/L1.H3/i=60/j=20`);
  await page.waitForFunction(() => /^0 of \d+ tiles$/.test(document.querySelector('.matrix-full .heading [role=status]')?.textContent ?? ''));
  release();
  await page.waitForFunction(() => document.querySelector('.matrix-full .heading [role=status]').textContent === '');
});

test('at 390 px the lists of row and column stand under the whole matrix', async () => {
  const page = await blank({viewport: {width: 390, height: 844}});
  await page.goto(`${state.server.address}#matrix/L1.H3/i=60/j=20`);
  await page.waitForSelector('.matrix-lists .next-row');
  await quiet(page);
  const [list, below] = await page.evaluate(() => [document.querySelector('.matrix-lists .next-row'), document.querySelector('canvas.matrix')]
    .map((each) => each.getBoundingClientRect()).map(({top, bottom}) => ({top, bottom})));
  assert.ok(list.top > below.bottom, `${list.top} under ${below.bottom}`);
  await soon.equal(() => page.evaluate(() => document.documentElement.scrollWidth), 390);
});

test('the legend names what the cells are', async () => {
  const page = await blank();
  await page.goto(`${state.server.address}#matrix/L1.H3/i=60/j=20/of=carried`);
  await page.waitForFunction(() => document.querySelector('.legend .quiet')?.textContent === 'carried');
});

test('text and margin say that shares are shown, and weights again', async () => {
  const page = await blank();
  const labels = () => page.evaluate(() => ['.shaded-by', '.received-line .quiet', 'canvas.received']
    .map((name) => document.querySelector(name)).map((each) => each.ariaLabel ?? each.textContent));
  await page.goto(`${state.server.address}#look/L1.H3/i=60/j=20/of=carried`);
  await page.waitForFunction(() => document.querySelector('.legend .quiet')?.textContent === 'carried');
  await soon.deepEqual(() => labels(), ['shaded by carried', 'share received', 'share received by each key']);
  await page.evaluate(() => { location.hash = '#look/L1.H3/i=60/j=20'; });
  await page.waitForFunction(() => document.querySelector('.legend .quiet')?.textContent === 'weight');
  await soon.deepEqual(() => labels(), ['shaded by weight', 'weight received', 'weight received by each key']);
});

test('tokens at the rows of a part of the matrix are whole where the page has one column', async () => {
  const page = await blank({viewport: {width: 800, height: 900}});
  await page.goto(`${state.server.address}#look/L1.H3/i=25/zoom=20-32,20-32`);
  await page.waitForSelector('.row-token');
  await quiet(page);
  const rows = await page.locator('.row-token').evaluateAll((all) => all.map((each) => ({text: each.textContent, cut: each.scrollWidth > each.clientWidth, left: each.getBoundingClientRect().left})));
  assert.ok(rows.some(({text}) => text.length > 2));
  assert.deepEqual(rows.filter(({text, cut, left}) => (text.length <= 5 && cut) || left < 0), []);
});

test('a weight that is NaN is said to be, and a masked one of its row is not', async () => {
  const page = await blank();
  await withRowOfNan(page, 5);
  await page.goto(`${state.server.address}#matrix/L1.H3/i=5/j=2`);
  await told(page);
  const said = () => page.locator('.read-out').innerText();
  for (const [query, key, expected] of [[5, 2, /NaN[^]*its weight is NaN/], [5, 7, /\u2013[^]*may not be seen/], [6, 2, /\d of the 7|largest of 7/]]) {
    await page.evaluate((hash) => { location.hash = hash; }, `#matrix/L1.H3/i=${query}/j=${key}`);
    await soon.match(said, expected);
  }
});
