// The grid of all heads: order, filter, pointer and keys, what leaves the page; and the way from view to view.
import assert from 'node:assert/strict';
import {execFile} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {test} from 'node:test';
import {promisify} from 'node:util';
import {assertAccessibleEverywhere, browserPath, eventually, frames, hash, headScores, kText, modelPath, quiet, scratch as folder, soon, withPages} from './harness.mjs';

const {state, blank} = withPages();

/** Until every head in sight has its thumbnail and its scores. */
async function drawn(page) {
  await page.waitForFunction(() => {
    const heads = [...document.querySelectorAll('.grid-head')];
    return heads.length > 0 && heads.every((head) => head.querySelector('canvas').width > 0 && !head.textContent.includes('\u2013'));
  });
  await quiet(page);
}

/** Until the read-out of the Matrix view has its number. */
async function matrixDrawn(page) {
  await page.waitForFunction(() => /\d/.test(document.querySelector('.matrix-full .large')?.textContent ?? '')
    && ![...document.querySelectorAll('.chip-scores')].some(({textContent}) => textContent.includes('\u2013')));
  await quiet(page);
}

async function open(address = '#grid/L1.H3', options = {}) {
  const page = await blank(options);
  await page.goto(state.server.address + address);
  await drawn(page);
  return page;
}

const head = (page, layer, index) => page.locator(`.grid-head[data-layer="${layer}"][data-head="${index}"]`);

const written = (value) => value >= 0.995 ? '1.0' : value.toFixed(2).slice(1);

test('every head is there, by number, with its largest share', async () => {
  const page = await open();
  const all = await headScores(page);
  await soon.equal(() => page.locator('.grid-heading h2').textContent(), `All ${all.length} heads`);
  for (const {layer, head: index, previous, current, sink, duplicate, induction, delimiter, same_word: word} of all.slice(0, 8)) {
    const text = await head(page, layer, index).locator('.grid-score b').textContent();
    assert.equal(text, written(Math.max(previous, current, sink, duplicate ?? 0, induction ?? 0, delimiter ?? 0, word ?? 0)), `${layer} ${index}`);
  }
  const order = await page.locator('.grid-line').first().locator('.grid-head').evaluateAll((heads) => heads.map((each) => Number(each.dataset.head)));
  assert.deepEqual(order, [...order].sort((a, b) => a - b));
});

test('a choice sorts the heads of each layer', async () => {
  const page = await open();
  await page.locator('.grid-sort [data-option=sink]').click();
  await page.waitForFunction(() => location.hash.endsWith('/sort=sink'));
  await drawn(page);
  const all = await headScores(page);
  const line = await page.locator('.grid-line').first().locator('.grid-head').evaluateAll((heads) =>
    heads.map(({dataset, textContent}) => ({layer: Number(dataset.layer), head: Number(dataset.head), text: textContent})));
  const own = all.filter(({layer}) => layer === line[0].layer).sort((a, b) => b.sink - a.sink).slice(0, line.length);
  assert.deepEqual(line.map(({head: index}) => index), own.map(({head: index}) => index));
  assert.ok(line[0].text.includes(written(own[0].sink)));
  const mean = all.filter(({layer}) => layer === 0).reduce((sum, {sink}, _, {length}) => sum + sink / length, 0);
  await soon.equal(() => page.locator('.grid-layer .quiet').first().textContent(), ` mean ${written(mean)}`);
});

test('a score that is measured twice says on which tokens', async () => {
  const page = await open('#grid/L1.H3/sort=probe_induction');
  await soon.equal(() => page.locator('.grid-sort [data-option=induction]').textContent(), 'induction on this text');
  await soon.equal(() => page.locator('.grid-sort .menu-face').textContent(), 'induction on random tokens');
  const names = await page.locator('.grid-sort option').allTextContents();
  for (const name of ['duplicate on this text', 'duplicate on random tokens']) assert.ok(names.includes(name), names.join());
  await soon.match(() => page.locator('.said').textContent(), /^L1\.H3 induction on random tokens /);
});

test('a filter fades the others, which keep their places, and stands in the address', async () => {
  const page = await open();
  const all = await headScores(page);
  const before = await head(page, 0, 0).boundingBox();
  const bound = [...all].sort((a, b) => b.previous - a.previous)[3].previous.toFixed(3);
  const passing = all.filter(({previous, layer}) => previous > Number(bound) && layer <= 1).length;
  await page.keyboard.press('/');
  await page.keyboard.type(`prev>${bound}  layer 0-1`);
  await page.waitForFunction((text) => document.querySelector('.grid-count').textContent === text, `${passing} of ${all.length}`);
  await soon.equal(async () => decodeURIComponent(await hash(page)), `#grid/L1.H3/filter=prev>${bound}+layer+0-1`);
  const {layer, head: index} = all.find(({previous}) => previous <= Number(bound));
  await soon.match(() => head(page, layer, index).getAttribute('class'), /filtered/);
  const pinned = all.find((each) => each.layer === 1 && each.head === 3);
  await soon.equal(async () => /filtered/.test(await head(page, 1, 3).getAttribute('class')), !(pinned.previous > Number(bound)));
  await soon.deepEqual(() => head(page, 0, 0).boundingBox(), before);
});

test('where a lower layer is scrolled to, no head is cut at the top', async () => {
  const page = await open('#grid/L2.H3', {viewport: {width: 1440, height: 560}});
  await soon.ok(() => page.locator('.grid-scroller').evaluate((scroller) => scroller.scrollTop > 0));
  await soon.deepEqual(() => page.locator('.grid-scroller').evaluate((scroller) => {
    const {top} = scroller.getBoundingClientRect();
    return [...scroller.querySelectorAll('.grid-head')].filter((each) => {
      const box = each.getBoundingClientRect();
      return box.top < top && box.bottom > top;
    }).map(({dataset: {layer, head}}) => `L${layer}.H${head}`);
  }), []);
});

test('of a filter that does not parse it is said what, and where', async () => {
  const page = await open('#grid/L1.H3/filter=sink<2');
  const says = async (typed, said) => {
    await page.locator('.grid-filter').fill(typed);
    await soon.equal(() => page.locator('.grid-count').textContent(), `\u201c${typed}\u201d: ${said}`);
    await soon.equal(() => page.locator('.grid-filter').getAttribute('aria-invalid'), 'true');
    await soon.equal(async () => decodeURIComponent(await hash(page)), '#grid/L1.H3/filter=sink<2');
  };
  await says('sink<2 prev', 'the end at character 12: expected >, >=, < or <=');
  await says('sink<2 nose>1', '"nose>1" at character 8: expected previous, current, sink, distance, entropy, elsewhere, normalised_entropy, confidence, local, duplicate, induction, delimiter, same_word, value_weighted, value_sink, probe_induction, probe_duplicate, without, direct, layer or head'
    .replace('previous, current', await page.evaluate(async () => (await (await fetch('/api/v1/models')).json()).scores.map(({name}) => name).join(', '))
      .then((names) => names.split(', sink')[0])));
  await page.locator('.grid-filter').fill('');
  await soon.equal(() => page.locator('.grid-count').textContent(), '');
  await soon.equal(() => hash(page), '#grid/L1.H3');
});

test('a link with a filter is read as it is written, and Back leads from view to view', async () => {
  const page = await open('#grid/L1.H3/sort=previous/filter=previous%3E.01+layer+1');
  const address = await page.locator('.address').textContent();
  assert.equal(address, '#grid/L1.H3/sort=previous/filter=previous>.01+layer+1');
  const steps = await page.evaluate(() => history.length);
  await head(page, 1, 2).click();
  await page.waitForFunction(() => location.hash.includes('L1.H2'));
  await page.keyboard.press('1');
  await page.waitForSelector('canvas.matrix');
  await soon.ok(async () => (await hash(page)).startsWith('#look/L1.H2'));
  await soon.equal(() => page.evaluate(() => history.length), steps + 2);
  await page.goBack();
  await drawn(page);
  await soon.equal(() => page.locator('.tokens').count(), 0);
  await soon.equal(() => page.locator('nav [aria-current=page]').textContent(), 'Grid');
});

test('hovering fills the foot line, a click pins, Shift adds', async () => {
  const page = await open();
  const {current} = (await headScores(page)).find(({layer, head: index}) => layer === 1 && index === 1);
  await head(page, 1, 1).hover();
  await page.waitForFunction(() => document.querySelector('.said').textContent.startsWith('L1.H1 '));
  await soon.ok(async () => (await page.locator('.said').textContent()).includes(`current ${written(current)}`));
  for (const width of [1440, 1280]) {  // all scores are in sight, in two lines at most
    await page.setViewportSize({width, height: 900});
    await soon.deepEqual(() => page.locator('.said').evaluate((said) => [said.scrollWidth <= said.clientWidth, said.scrollHeight]), [true, 40]);
  }
  await soon.equal(() => page.locator('.grid-head.hovered').count(), 1);
  await head(page, 1, 1).click();
  await soon.equal(() => hash(page), '#grid/L1.H1');
  await head(page, 0, 2).click({modifiers: ['Shift']});
  await soon.equal(() => hash(page), '#grid/L1.H1+L0.H2');
  await soon.deepEqual(() => page.locator('.grid-head.pinned').evaluateAll((all) => all.map((each) => each.className.match(/head-\d/)[0]).sort()), ['head-1', 'head-2']);
});

test('arrows move from head to head, Enter pins', async () => {
  const page = await open('#grid/L1.H1');
  const focused = () => page.evaluate(() => [document.activeElement.dataset.layer, document.activeElement.dataset.head].join('.'));
  await page.keyboard.press('ArrowRight');
  await soon.equal(() => focused(), '1.2');
  await page.keyboard.press('ArrowUp');
  await soon.equal(() => focused(), '0.2');
  await page.keyboard.press('ArrowUp');
  await soon.equal(() => focused(), '0.2');
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('Enter');
  await soon.equal(() => hash(page), '#grid/L0.H1');
  await soon.equal(() => focused(), '0.1', 'a head that was pinned lost the focus');
  await page.setViewportSize({width: 1000, height: 700});
  await drawn(page);
  await soon.equal(() => focused(), '0.1', 'a head that was laid out anew lost the focus');
});

test('what is out of sight is drawn when it is scrolled to', async () => {
  const page = await open('#grid/L0.H0', {viewport: {width: 700, height: 420}});
  const last = (await headScores(page)).at(-1);
  await soon.equal(() => head(page, last.layer, last.head).count(), 0);
  await page.locator('.grid-scroller').evaluate((scroller) => { scroller.scrollTop = scroller.scrollHeight; });
  await head(page, last.layer, last.head).waitFor();
  await drawn(page);
  await soon.equal(() => head(page, 0, 0).count(), 0);
});

test('the lines that say how many layers are above and below cover no head', async () => {
  for (const viewport of [{width: 390, height: 844}, {width: 1440, height: 480}]) {
    const page = await open('#grid/L0.H0', {viewport});
    await soon.match(() => page.locator('.more-below').textContent(), /^\u2193 \d+ more layers?$/);
    const [scroller, more] = await page.evaluate(() => ['.grid-scroller', '.more-below'].map((name) => document.querySelector(name).getBoundingClientRect().toJSON()));
    assert.ok(more.top >= scroller.bottom, `${more.top} ${scroller.bottom}`);
    await soon.equal(() => page.locator('.more-above').textContent(), '');
    const above = await page.locator('.more-above').boundingBox();
    assert.ok(above.y + above.height <= scroller.top, `${above.y} ${scroller.top}`);
    await page.locator('.grid-scroller').evaluate((each) => { each.scrollTop = each.scrollHeight; });
    await soon.match(() => page.locator('.more-above').textContent(), /^\u2191 \d+ more layers?$/);
    await soon.equal(() => page.locator('.more-below').textContent(), '');
    await soon.deepEqual(() => page.locator('.grid-scroller').evaluate((each) => each.getBoundingClientRect().bottom), scroller.bottom);
  }
});

test('page and command line write the same grid and the same zoomed matrix', async () => {
  for (const view of ['grid/L1.H3/sort=previous/filter=previous>.01+layer+0-2', 'matrix/L1.H3/i=150/j=140/zoom=140-155,130-145']) {
    const name = view.split('/')[0];
    const page = await blank();
    await page.goto(`${state.server.address}#${view}`);
    await (name === 'grid' ? drawn(page) : matrixDrawn(page));
    const [download] = await Promise.all([page.waitForEvent('download'), page.locator('.foot-save .option', {hasText: 'svg'}).click()]);
    const own = join(folder, `own-${name}.svg`);
    await download.saveAs(own);
    const file = join(folder, `${name}.svg`);
    await promisify(execFile)(process.env.HEED_PROGRAM, ['look', kText, '--model', modelPath, '-o', file, '--view', view, '--format', 'svg'],
      {env: {...process.env, HEED_BROWSER: browserPath}});
    assert.ok(readFileSync(own).equals(readFileSync(file)), `the two files of ${name} differ`);
  }
});

test('a saved file has the grid', async () => {
  const file = join(folder, 'grid.html');
  await promisify(execFile)(process.env.HEED_PROGRAM, ['look', kText, '--model', modelPath, '-o', file, '--view', 'grid/L1.H3/sort=sink', '--format', 'html']);
  const page = await blank({fresh: true});
  await page.context().setOffline(true);
  await page.goto(pathToFileURL(file).href);
  await drawn(page);
  const live = await open('#grid/L1.H3/sort=sink');
  // As text: a value of its own for each byte costs the driver twenty seconds.
  const pictures = async (each) => (await each.locator('.grid-picture').evaluateAll((all) => all.slice(0, 4).map((canvas) =>
    btoa([...canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data].map((byte) => String.fromCharCode(byte)).join('')))))
    .map((text) => Buffer.from(text, 'base64'));
  const said = (each) => each.locator('.grid-numbers').allTextContents();
  await eventually(async () => assert.deepEqual(await said(page), await said(live)));
  const [own, other] = [await pictures(page), await pictures(live)];
  own.forEach((picture, at) => {
    assert.equal(picture.length, other[at].length);
    const far = picture.filter((value, channel) => Math.abs(value - other[at][channel]) > 6);  // a weight may round to the next of 253 steps
    assert.equal(far.length, 0, `picture ${at} differs in ${far.length} places`);
  });
});

test('a grid that all can use, wide, dark and narrow', async () => {
  const page = await open('#grid/L1.H3/sort=previous/filter=previous>.02', {bypassCSP: true, fresh: true});
  await assertAccessibleEverywhere(page);
  await soon.ok(() => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page scrolls sideways');
});

test('the first look at a grid asks for all thumbnails in few answers', async () => {
  state.requests.length = 0;
  const page = await open();
  await frames(page);
  const asked = state.requests.filter((url) => url.includes('/atlas?'));
  assert.ok(asked.length >= 1 && asked.length <= 4, `${asked.length} requests`);
  assert.deepEqual(state.requests.filter((url) => url.includes('/tile/')), []);
});

test('the chosen head is in sight where the grid is longer than its window', async () => {
  const page = await open('#grid/L2.H7', {viewport: {width: 1280, height: 400}});
  await soon.ok(() => page.locator('.grid-head.pinned').evaluate((head) => {
    const [box, room] = [head, head.closest('.grid-scroller')].map((each) => each.getBoundingClientRect());
    return room.top > 0 && box.top >= room.top - 1 && box.bottom <= room.bottom + 1;
  }));
});
