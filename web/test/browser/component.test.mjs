// The page as a component: two of them in one document, each with its own text, address, theme, size and keys.
import assert from 'node:assert/strict';
import {dirname, join} from 'node:path';
import {test} from 'node:test';
import {fileURLToPath} from 'node:url';
import {build} from 'esbuild';
import {quiet, soon, withPages} from './harness.mjs';

const {state, blank} = withPages();
const source = join(dirname(fileURLToPath(import.meta.url)), '../../src');
const kDocument = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A notebook</title><link rel="stylesheet" href="/app.css"></head>
<body><h1>A notebook</h1><p id="host">Its own text</p>
<div style="display: flex; gap: 40px"><div id="left" style="width: 700px"></div><div id="right" style="width: 1000px"></div></div></body></html>`;
const kViews = {left: '#look/L1.H3/i=60', right: '#look/L2.H1/i=100'};

const {outputFiles: [bundle]} = await build({
  stdin: {
    contents: `import {mount} from './mount';\nimport {serverTransport} from './transport/server';\nObject.assign(window, {mount, serverTransport});`,
    resolveDir: source, loader: 'ts',
  },
  bundle: true, format: 'esm', write: false, logLevel: 'error',
});

/** A document with two pages, the left one light, the right one dark. */
async function two() {
  const page = await blank({viewport: {width: 1800, height: 1000}, colorScheme: 'light'});
  await page.route('**/notebook', (route) => route.fulfill({contentType: 'text/html', body: kDocument}));
  await page.request.get(state.server.address);  // for the cookie: requests of a page that is left may be told late, and never end
  await page.goto(new URL('/notebook', state.server.address).href);
  await page.addScriptTag({type: 'module', content: bundle.text});
  await page.waitForFunction(() => window.mount);
  await page.evaluate((views) => {
    window.told = {left: [], right: []};
    window.pages = Object.fromEntries(Object.entries(views).map(([side, address]) => [side, window.mount(document.getElementById(side), {
      transport: window.serverTransport(), address, theme: side === 'right' ? 'dark' : 'light',
      onAddress: (next) => { if (next !== window.told[side].at(-1)) window.told[side].push(next); },
    })]));
  }, kViews);
  for (const side of ['left', 'right']) {
    await page.waitForSelector(`#${side} .next-row`);
    await page.waitForSelector(`#${side} .under`);
  }
  await quiet(page);
  return page;
}

const address = (page, side) => page.evaluate((name) => window.told[name].at(-1), side);
const token = (page, side, index) => page.locator(`#${side} .token[data-index="${index}"]`);

test('two pages in one document show a view each, one of them dark', async () => {
  const page = await two();
  for (const [side, view] of Object.entries(kViews)) {
    await soon.equal(() => page.locator(`#${side} .address`).textContent(), view);
    await soon.ok(() => page.locator(`#${side} canvas.matrix`).isVisible());
  }
  const ground = (side) => page.locator(`#${side}`).evaluate((root) => getComputedStyle(root).backgroundColor);
  await soon.deepEqual(async () => [await ground('left'), await ground('right')], ['rgb(253, 253, 251)', 'rgb(20, 22, 26)']);
  await page.evaluate(() => window.pages.left.setTheme('dark'));
  await soon.equal(() => ground('left'), 'rgb(20, 22, 26)');
  if (process.env.HEED_KEEP_PICTURE) await page.screenshot({path: process.env.HEED_KEEP_PICTURE, fullPage: true});
});

test('a click in one page changes its address alone, and none of the document', async () => {
  const page = await two();
  await token(page, 'left', 40).click();
  await soon.deepEqual(async () => [await address(page, 'left'), await address(page, 'right')], ['#look/L1.H3/i=40', kViews.right]);
  await token(page, 'right', 90).click();
  await soon.deepEqual(async () => [await address(page, 'left'), await address(page, 'right')], ['#look/L1.H3/i=40', '#look/L2.H1/i=90']);
  await soon.deepEqual(() => page.evaluate(() => [location.hash, document.title]), ['', 'A notebook']);
  await page.evaluate(() => window.pages.left.show('#look/L0.H5/i=7'));
  await page.waitForSelector('#left .token.pinned[data-index="7"]');
});

test('keys are heard by the page under the pointer or with the focus, and by no other', async () => {
  const page = await two();
  await page.locator('#right .wordmark').hover();
  await page.keyboard.press('.');
  await soon.deepEqual(async () => [await address(page, 'left'), await address(page, 'right')], [kViews.left, '#look/L2.H2/i=100']);
  await page.locator('#left .chip[data-head="3"]').focus();  // the focus counts more than the pointer
  await page.keyboard.press(']');
  await soon.deepEqual(async () => [await address(page, 'left'), await address(page, 'right')], ['#look/L2.H3/i=60', '#look/L2.H2/i=100']);
  await page.evaluate(() => document.activeElement.blur());
  await page.locator('h1').hover();
  await page.keyboard.press('.');
  await soon.deepEqual(async () => [await address(page, 'left'), await address(page, 'right')], ['#look/L2.H3/i=60', '#look/L2.H2/i=100']);
});

test('each page has the size of its root, and follows it', async () => {
  const page = await two();
  const shape = (side) => page.locator(`#${side}`).evaluate((root) => ({
    narrow: root.classList.contains('narrow'), side: root.querySelector('canvas.matrix').getBoundingClientRect().width,
    within: root.querySelector('.columns').getBoundingClientRect().right <= root.getBoundingClientRect().right,
  }));
  const [left, right] = [await shape('left'), await shape('right')];
  assert.deepEqual([left.narrow, right.narrow, left.within, right.within], [true, false, true, true]);
  await page.locator('#left').evaluate((root) => { root.style.width = '390px'; });
  await page.waitForFunction((old) => document.querySelector('#left canvas.matrix').getBoundingClientRect().width < old - 200, left.side);
  await soon.equal(async () => (await shape('right')).side, right.side);
});

test('the style of the page stays inside of its root', async () => {
  const page = await two();
  const host = await page.locator('#host').evaluate((each) => {
    const {fontSize, marginTop, color} = getComputedStyle(each);
    return {fontSize, marginTop, color, body: getComputedStyle(document.body).backgroundColor};
  });
  assert.deepEqual(host, {fontSize: '16px', marginTop: '16px', color: 'rgb(0, 0, 0)', body: 'rgba(0, 0, 0, 0)'});
});

test('a page that is taken away leaves its root as it was, and the other one working', async () => {
  const page = await two();
  await page.evaluate(() => window.pages.right.destroy());
  await soon.deepEqual(() => page.locator('#right').evaluate((root) => [root.childNodes.length, root.className, root.dataset.theme]), [0, '', undefined]);
  await page.locator('#right').hover({force: true}).catch(() => undefined);
  await token(page, 'left', 50).click();
  await page.keyboard.press('.');
  await soon.deepEqual(async () => [await address(page, 'left'), await address(page, 'right')], ['#look/L1.H4/i=50', kViews.right]);
});
