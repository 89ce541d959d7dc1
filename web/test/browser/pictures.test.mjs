// Screenshots beside those in pictures/. HEED_UPDATE_PICTURES=1 writes them anew.
// Blocks of pixels are compared, so that another rasteriser or the last digit of a weight changes nothing.
import assert from 'node:assert/strict';
import {existsSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {test} from 'node:test';
import {fileURLToPath} from 'node:url';
import {PNG} from 'pngjs';
import {kText, ready, retype, settled, withPages} from './harness.mjs';

const kBlock = 4;            // pixels a side
const kDifference = 32;      // of 255, between the means of two blocks
const kMostBlocks = 0.004;   // share of blocks that may differ
const folder = join(dirname(fileURLToPath(import.meta.url)), 'pictures');
const update = process.env.HEED_UPDATE_PICTURES === '1';
const {state, blank, open} = withPages();
const kView = '#look/L1.H3/i=190';

/** The means of the blocks of a picture, channel after channel. */
function blocks({width, height, data}) {
  const columns = Math.ceil(width / kBlock);
  const sums = new Float64Array(columns * Math.ceil(height / kBlock) * 3);
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      const block = Math.floor(y / kBlock) * columns + Math.floor(x / kBlock);
      for (let channel = 0; channel < 3; ++channel) sums[3 * block + channel] += data[4 * (y * width + x) + channel];
    }
  }
  return sums.map((sum) => sum / kBlock ** 2);
}

function differing(left, right) {
  const [a, b] = [blocks(left), blocks(right)];
  let count = 0;
  for (let block = 0; block < a.length; block += 3) {
    const far = [0, 1, 2].some((channel) => Math.abs(a[block + channel] - b[block + channel]) > kDifference);
    if (far) ++count;
  }
  return count / (a.length / 3);
}

/** 32 levels a channel: fewer bytes, and no difference to the eye that looks for a moved line. */
function posterised(png) {
  for (let at = 0; at < png.data.length; ++at) {
    if (at % 4 !== 3) png.data[at] = Math.min(255, Math.round(png.data[at] / 8) * 8);
  }
  return png;
}

async function hasInter(page) {
  return page.evaluate(() => {
    const context = document.createElement('canvas').getContext('2d');
    const width = (font) => {
      context.font = `40px ${font}`;
      return context.measureText('Who attends to whom').width;
    };
    return width('Inter, monospace') !== width('monospace');
  });
}

async function compare(t, page, name, options = {}) {
  if (!await hasInter(page)) {
    t.skip('Inter is not installed: ./dev setup browser installs it');
    return;
  }
  const png = PNG.sync.read(await page.screenshot({animations: 'disabled', caret: 'hide', ...options}));
  const shot = PNG.sync.write(posterised(png), {colorType: 2, deflateLevel: 9, filterType: -1});
  const path = join(folder, `${name}.png`);
  if (update) {
    mkdirSync(folder, {recursive: true});
    writeFileSync(path, shot);
    return;
  }
  assert.ok(existsSync(path), `no picture ${path}: HEED_UPDATE_PICTURES=1 writes it`);
  const [found, expected] = [PNG.sync.read(shot), PNG.sync.read(readFileSync(path))];
  const kept = join(tmpdir(), `heed-${name}.png`);
  writeFileSync(kept, shot);
  assert.deepEqual([found.width, found.height], [expected.width, expected.height], `${name}: see ${kept}`);
  const share = differing(found, expected);
  assert.ok(share <= kMostBlocks, `${name}: ${(100 * share).toFixed(2)} % of the blocks differ, see ${kept} beside ${path}`);
}

/** One token pinned, one of its edges under the pointer. */
async function look(page) {
  await settled(page);
  await page.locator('.key').nth(1).hover();
  await page.waitForSelector('.arc-number', {state: 'attached'});
  await settled(page);
}

for (const colorScheme of ['light', 'dark']) {
  test(`Look, ${colorScheme}`, async (t) => {
    const page = await open(kView, {colorScheme});
    await look(page);
    await compare(t, page, `look-${colorScheme}`);
  });
}

test('Look, narrow', async (t) => {
  const page = await open(kView, {viewport: {width: 390, height: 844}});
  await settled(page);
  await compare(t, page, 'narrow', {fullPage: true});
});

test('Look, seven heads as small multiples', async (t) => {
  const page = await open('#look/L1.H0+H1+H2+H3+H4+H5+H6/i=190');
  await settled(page);
  await page.waitForFunction(() => document.querySelectorAll('.small .key').length > 7);
  await compare(t, page, 'multiples', {clip: {x: 0, y: 0, width: 480, height: 900}});
});

test('Nothing yet', async (t) => {
  const page = await blank();
  await page.route('**/api/v1/models', async (route) => {
    const answer = await (await route.fetch()).json();
    await route.fulfill({json: {...answer, text: null}});
  });
  await page.goto(state.server.address);
  await page.waitForSelector('textarea:focus');
  await page.waitForSelector('text=Or another model');
  await compare(t, page, 'nothing-yet', {clip: {x: 0, y: 0, width: 720, height: 400}});
});

test('Working', async (t) => {
  const page = await blank();
  await page.route('**/events*', (route) => route.fulfill({  // the pass has ended, no head is scored
    contentType: 'text/event-stream', body: 'retry: 600000\nevent: next\ndata: {}\n\n',
  }));
  await page.goto(`${state.server.address}${kView}`);
  await page.waitForSelector('.progress');
  await page.waitForSelector('.next-row');
  await page.waitForSelector('.under');
  await compare(t, page, 'working', {clip: {x: 0, y: 0, width: 1440, height: 330}});
});

test('Failed', async (t) => {
  const page = await open(kView);
  await retype(page, kText.repeat(4));
  await page.waitForSelector('.failed');
  await compare(t, page, 'failed', {clip: {x: 0, y: 0, width: 1440, height: 330}});
});

test('Stopped', async (t) => {
  const page = await open(kView);
  await page.route('**/api/v1/**', (route) => route.abort());
  await page.locator('.query').first().hover();
  await page.waitForSelector('.failed');
  await ready(page);
  await compare(t, page, 'stopped', {clip: {x: 0, y: 0, width: 720, height: 250}});
});
