// Images among the tokens: the picture in the text with the pinned token's weights over it, cells as queries and keys.
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {PNG} from 'pngjs';
import {eventually, hash, quiet, ready, row, scratch, soon, token, withPages} from './harness.mjs';

const {state, blank} = withPages();
const written = (weight) => weight < 0.0005 ? '<.001' : weight.toFixed(3).slice(1);
const [kQuery, kHead] = [60, [1, 3]];

/** A PNG with a red disc on a grey ground. */
function picture(width, height) {
  const png = new PNG({width, height});
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      const isIn = Math.hypot(x / width - 0.5, y / height - 0.5) < 0.3;
      png.data.set(isIn ? [200, 40, 40, 255] : [120 + 100 * x / width, 180, 120 + 100 * y / height, 255], 4 * (y * width + x));
    }
  }
  return `data:image/png;base64,${PNG.sync.write(png).toString('base64')}`;
}

/** A grid over the tokens from `first` on. */
function image(first, rows, columns, more = {}) {
  return {of_queries: true, of_keys: true, rows, columns, tokens: Array.from({length: rows * columns}, (_, at) => first + at), name: 'image 0', ...more};
}

const kOne = [image(8, 4, 6, {picture: picture(120, 80)})];
const kTwo = [image(3, 4, 4, {picture: picture(64, 64)}), image(30, 3, 6, {name: 'frame 3'})];

/** The page on a session in which these tokens are cells of images; models that heed runs read none. */
async function openWith(images, hash, options = {}) {
  const page = await blank(options);
  await page.route(({pathname}) => /\/api\/v1\/sessions(\/[^/]+)?$/.test(pathname), async (route) => {
    const answer = await route.fetch();
    const session = await answer.json();
    for (const [index, {tokens, rows, columns}] of images.entries()) {
      for (const [at, cell] of tokens.entries()) {
        if (cell >= 0) session.tokens[cell].text = ` im${index}${rows > 1 ? ` r${Math.floor(at / columns)}` : ''} c${at % columns}`;
      }
    }
    await route.fulfill({response: answer, json: {...session, images}});
  });
  await page.goto(state.server.address + hash);
  await ready(page);
  await quiet(page);
  return page;
}

const at = `#look/L1.H3/i=${kQuery}`;
const opacities = (page) => page.locator('.patch').evaluateAll((all) => all.map((each) => Number(each.style.getPropertyValue('--weight') || 0)));

test('an image stands in the place of its tokens, as large as its grid says', async () => {
  const page = await openWith(kOne, at);
  await soon.equal(() => page.locator('.picture').count(), 1);
  await soon.equal(() => page.locator('.patch').count(), 24);
  const [before, own, after] = await Promise.all([token(page, 7), page.locator('.cells'), token(page, 32)].map((each) => each.boundingBox()));
  assert.ok(Math.abs(own.width / own.height - 6 / 4) < 0.02, `${own.width} x ${own.height}`);
  assert.ok(before.y <= own.y + own.height && after.y >= own.y, 'the image is not between its neighbours');
  const first = await token(page, 8).boundingBox();
  assert.ok(Math.abs(first.width - own.width / 6) < 1 && Math.abs(first.x - own.x) < 1);
  await soon.equal(() => page.locator('.cells img').evaluate(({complete, naturalWidth}) => complete && naturalWidth), 120);
  await soon.equal(() => page.locator('.tokens').evaluate((text) => /im0/.test(text.textContent)), false);
});

test('the weights of the pinned token lie over it, and the darkest cell is named', async () => {
  const page = await openWith(kOne, at);
  const {weights} = await row(page, ...kHead, kQuery);
  const own = weights.slice(8, 32);
  const darkest = Math.max(...own);
  await eventually(async () => {
    const found = await opacities(page);
    for (const [cell, weight] of own.entries()) assert.ok(Math.abs(found[cell] - Math.sqrt(weight / darkest)) < 0.002, `cell ${cell}`);
  });
  await soon.equal(() => page.locator('.picture-line .quiet').textContent(), `cells: darkest ${written(darkest)}`);
});

test('pointing at a cell tells its weight, and the pinned token stays', async () => {
  const page = await openWith(kOne, at);
  const {weights} = await row(page, ...kHead, kQuery);
  const cell = 8 + 6 * 2 + 5;
  await token(page, cell).hover();
  await soon.equal(() => page.locator('.large').textContent(), weights[cell] < 0.0005 ? '<0.001' : weights[cell].toFixed(3));
  await soon.match(() => page.locator('.picture-line .quiet').textContent(), new RegExp(`^row 2, column 5: ${written(weights[cell]).replace('.', '\\.')}, darkest `));
  await soon.equal(() => token(page, cell).getAttribute('title'), `image 0, row 2, column 5: ${written(weights[cell])}`);
  await soon.match(() => token(page, kQuery).getAttribute('class'), /pinned/);
  await soon.match(() => token(page, cell).getAttribute('class'), /hovered/);
  await token(page, cell).click();
  await soon.equal(() => hash(page), `#look/L1.H3/i=${cell}`);
});

test('a cell that is pinned shows its own attention, and cells that it may not see are pale', async () => {
  const page = await openWith(kOne, '#look/L1.H3/i=20');
  const {weights} = await row(page, ...kHead, 20);
  const darkest = Math.max(...weights.slice(8, 21));
  await eventually(async () => {
    const found = await opacities(page);
    assert.ok(Math.abs(found[10] - Math.sqrt(weights[18] / darkest)) < 0.002);
  });
  await soon.equal(() => page.locator('.patch.unseen').count(), 11);
  await page.locator('[data-option=to]').click();
  await soon.equal(() => page.locator('.patch.unseen').count(), 12);
});

test('arrows walk over the grid, and Enter pins', async () => {
  const page = await openWith(kOne, '#look/L1.H3/i=7');
  await token(page, 7).focus();
  for (const key of ['ArrowRight', 'ArrowRight', 'ArrowDown', 'ArrowDown', 'ArrowUp', 'ArrowDown']) await page.keyboard.press(key);
  await soon.equal(() => page.evaluate(() => document.activeElement.dataset.index), '21');
  await soon.equal(() => page.evaluate(() => document.activeElement.ariaLabel), 'image 0, row 2, column 1');
  await page.keyboard.press('Enter');
  await soon.equal(() => hash(page), '#look/L1.H3/i=21');
  for (let line = 0; line < 2; ++line) await page.keyboard.press('ArrowDown');
  await soon.notEqual(() => page.evaluate(() => document.activeElement.className.includes('patch')), true);
});

test('two images have their names, in the text and at the matrix; one without a picture shows its grid', async () => {
  const page = await openWith(kTwo, at);
  await soon.deepEqual(() => page.locator('.picture-line b').allTextContents(), ['image 0', 'frame 3']);
  await soon.equal(() => page.locator('.cells.ruled').count(), 1);
  await soon.deepEqual(() => page.locator('.image-columns title').evaluateAll((all) => all.map((each) => each.textContent)), ['image 0', 'frame 3']);
  const rows = await page.locator('.image-rows').evaluateAll((all) => all.map((each) => each.getBoundingClientRect().height));
  const box = await page.locator('canvas.matrix').boundingBox();
  const length = await page.evaluate(() => document.querySelectorAll('.token').length);
  assert.ok(length > 60);
  assert.ok(Math.abs(rows[0] / rows[1] - 16 / 18) < 0.02, String(rows));
  assert.ok(rows[0] < box.height);
});

test('lists of keys name cells, in short and in words', async () => {
  const page = await openWith(kOne, `${at}/j=9`);
  await soon.equal(() => page.locator('.key.pinned .context').textContent(), 'im0 r0 c1');
  await soon.equal(() => page.locator('.key.pinned b').getAttribute('title'), 'image 0, row 0, column 1');
});

test('the heat can be taken away, so that the picture is seen alone', async () => {
  const page = await openWith(kOne, at);
  const painted = () => page.locator('.patch:not(.pinned)').evaluateAll((all) => all.filter((each) => !/^rgba\(.*, 0\)$|transparent/.test(getComputedStyle(each).backgroundColor) && !/\/ 0\)$/.test(getComputedStyle(each).backgroundColor)).length);
  await eventually(async () => assert.ok(await painted() > 0));
  await page.locator('.picture-line .option').click();
  await soon.equal(painted, 0);
});

test('a narrow page holds the image within its width', async () => {
  const page = await openWith([image(8, 2, 12, {picture: picture(240, 40)})], at, {viewport: {width: 390, height: 844}});
  const {x, width} = await page.locator('.cells').boundingBox();
  assert.ok(x >= 0 && x + width <= 390, `${x} ${width}`);
  const ends = await page.locator('.token').evaluateAll((all) => all.map((each) => each.getBoundingClientRect().right));
  assert.ok(Math.max(...ends) <= 376, `a token ends at ${Math.max(...ends)}`);
  await soon.equal(() => page.evaluate(() => document.documentElement.scrollWidth), 390);
});

test('a saved picture holds the image and its weights', async () => {
  const page = await openWith(kOne, at);
  const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('s')]);
  const file = join(scratch, 'image.svg');
  await download.saveAs(file);
  const svg = readFileSync(file, 'utf8');
  assert.ok(svg.includes(`href="${kOne[0].picture}"`));
  assert.ok(svg.includes('cells: darkest'));
});

test('every view takes a session with images', async () => {
  const page = await openWith(kTwo, at);
  for (const view of ['grid', 'matrix', 'why', 'anatomy', 'heads', 'flow', 'look']) {
    await page.evaluate((name) => { location.hash = `#${name}/L1.H3/i=60/j=9`; }, view);
    await quiet(page);
    await soon.equal(() => page.locator('.notice').textContent(), '');
  }
});

test('Anatomy names cells by row and column, below the line above them', async () => {
  const page = await openWith(kTwo, at);
  await page.evaluate((hash) => { location.hash = hash; }, `#anatomy/L1.H3/i=${kQuery}/j=30`);
  const dots = page.locator('.anatomy-dots').first();
  await soon.equal(() => dots.locator('text', {hasText: /^r0 c0$/}).count(), 1);
  const [line, ...names] = await dots.evaluate((svg) => [svg.previousElementSibling, ...svg.querySelectorAll('text[transform]')]
    .map((each) => each.getBoundingClientRect().toJSON()));
  assert.ok(names.length > 8 && names.every(({top}) => top >= line.bottom - 1), `${line.bottom}, ${names.map(({top}) => Math.round(top))}`);
});
