// What leaves the page: svg and png as the page draws them, html that opens without a server.
import assert from 'node:assert/strict';
import {execFile} from 'node:child_process';
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {test} from 'node:test';
import {promisify} from 'node:util';
import {PNG} from 'pngjs';
import {browserPath, eventually, frames, kText, modelPath, quiet, ready, run, scratch as folder, settled, soon, token, told, windowBrowserPath, withPages} from './harness.mjs';

const {state, blank, open} = withPages();
const heed = promisify(execFile);
const kView = 'look/L1.H3/i=60/j=58';

/** `heed look` with the text of the tests. */
async function lookWith(browser, name, ...more) {
  const file = join(folder, name);
  await heed(process.env.HEED_PROGRAM, ['look', kText, '--model', modelPath, '-o', file, ...more],
    {env: {...process.env, HEED_BROWSER: browser}});
  return file;
}
const look = (name, ...more) => lookWith(browserPath, name, ...more);

/** What a click on the foot line downloads. */
async function saved(page, format) {
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator('.foot-save .option', {hasText: format}).click()]);
  const file = join(folder, `page-${Math.random()}.${format}`);
  await download.saveAs(file);
  return {file, name: download.suggestedFilename(), bytes: readFileSync(file)};
}

async function openFile(file, hash = '', options = {}) {
  const page = await blank({...options, fresh: true});
  await page.context().setOffline(true);
  await page.goto(pathToFileURL(file).href + hash);
  await ready(page);
  return page;
}

/** What a reader reads off the page. */
function read(page) {
  return page.evaluate(() => Object.fromEntries(['.chip-scores', '.token .under', '.key', '.rest', '.next-row', '.large', '.rank', '.check', '.address']
    .map((name) => [name, [...document.querySelectorAll(name)].map((each) => each.textContent)])));
}

for (const [name, options, more, browser = browserPath] of [
  ['light', {}, [], windowBrowserPath],  // other programs draw the same bytes
  ['dark', {colorScheme: 'dark'}, ['--theme', 'dark']],
  ['wide', {viewport: {width: 1800, height: 1100}}, ['--width', '1800']],
  ['narrow', {viewport: {width: 390, height: 844}}, ['--width', '390']],
  ['narrowest', {viewport: {width: 320, height: 844}}, ['--width', '320']],
]) {
  test(`page and command line write the same svg: ${name}`, async () => {
    const page = await open(`#${kView}`, options);
    const own = await saved(page, 'svg');
    const file = await lookWith(browser, `${name}.svg`, '--view', kView, '--format', 'svg', ...more);
    assert.ok(own.bytes.equals(readFileSync(file)), 'the two files differ');
    const width = options.viewport?.width ?? 1440;
    assert.ok(own.bytes.toString().startsWith(`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" `));
  });
}

/** A page that shows the svg, whose elements can be asked where they stand. */
async function openSvg(bytes) {
  const page = await blank();
  await page.setContent(`<body style="margin:0">${bytes.toString()}`);
  return page;
}

test('numbers under a text of one line are whole', async () => {
  const page = await open('#look/L1.H3');
  await run(page, 'Lily saw a big ball.');
  await page.waitForSelector('.token .under');
  await settled(page);
  const wanted = await page.locator('.token .under').allTextContents();
  const svg = await openSvg((await saved(page, 'svg')).bytes);
  const cut = await svg.evaluate(() => [...document.querySelectorAll('text')].filter((text) => {
    const {top, bottom} = text.getBoundingClientRect();
    for (let group = text.closest('[clip-path]'); group; group = group.parentElement.closest('[clip-path]')) {
      const window = document.querySelector(`${group.getAttribute('clip-path').slice(4, -1)} rect`);
      const y = Number(window.getAttribute('y'));
      if (top + 3 < y || bottom - 3 > y + Number(window.getAttribute('height'))) return true;  // 3: no ink there
    }
    return false;
  }).map((text) => text.textContent));
  assert.deepEqual(cut.filter((text) => /^\.\d\d$/.test(text)), []);
  const shown = await svg.locator('text').allTextContents();
  for (const number of wanted) assert.ok(shown.includes(number), number);
});

test('words that stand over bars have their ground, and the view its place at the margin', async () => {
  const page = await open(`#${kView}`);
  const svg = await openSvg((await saved(page, 'svg')).bytes);
  const under = await svg.locator('text', {hasText: 'weight received'}).evaluate((text) => {
    const {left, top, width, height} = text.getBoundingClientRect();
    return document.elementsFromPoint(left + width / 2, top + height / 2)
      .map((each) => each.localName === 'rect' ? each.getAttribute('fill') : each.localName).slice(0, 2);
  });
  assert.deepEqual(under, ['text', '#fdfdfb']);
  const right = await svg.locator('text', {hasText: new RegExp(`^${await page.locator('nav .option').last().textContent()}$`)}).first().evaluate((text) => text.getBoundingClientRect().right);
  assert.ok(Math.abs(right - (1440 - 24)) < 1, `${right}`);
});

test('hints for the pointer are not in the picture', async () => {
  const page = await open('#look/L1.H3/i=60');
  await page.waitForFunction(() => document.querySelector('.rank').textContent.startsWith('point at'));
  assert.ok(!(await saved(page, 'svg')).bytes.toString().includes('point at'));
});

test('nothing is beyond the right edge at any width', async () => {
  for (const width of [320, 390, 600, 900, 1200, 1300, 1440, 1800]) {
    const page = await open(`#${kView}`, {viewport: {width, height: 900}});
    await soon.equal(() => page.evaluate(() => document.documentElement.scrollWidth), width);
    await page.context().close();
  }
});

test('a panel that the view does not have is an argument that is wrong, and the others are listed', async () => {
  await assert.rejects(look('none.svg', '--view', kView, '--panel', 'nope'), ({code, stderr}) => {
    assert.equal(code, 2);
    assert.match(stderr, /^heed look: --panel: this view has no panel nope, expected one of .*matrix.*\n$/);
    return true;
  });
});

test('a part of the view is saved as a figure of its own', async () => {
  const page = await open(`#${kView}`);
  await settled(page);
  await page.locator('.foot-save .menu').hover();
  const menu = await page.locator('.foot-save select').elementHandle();
  for (let again = 0; again < 5; ++again) await frames(page);
  assert.ok(await menu.evaluate((each) => each.isConnected), 'the menu under the pointer was replaced');
  const names = await page.locator('.foot-save option').allTextContents();
  assert.ok(['matrix', 'who-attends-to-whom', 'text', 'next-word'].every((name) => names.includes(name)), names.join());
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator('.foot-save select').selectOption('matrix')]);
  assert.match(download.suggestedFilename(), /L1\.H3-i60-j58-matrix\.svg$/);
  const path = join(folder, 'matrix.svg');
  await download.saveAs(path);
  const drawn = readFileSync(path).toString();
  const [, width, height] = /width="(\d+)" height="(\d+)"/.exec(drawn).map(Number);
  assert.ok(drawn.includes('Matrix') && !drawn.includes('square root') && !drawn.includes('carried'), 'a figure without switches');
  const box = await page.locator('.matrix-part').boundingBox();
  const [content, out] = await page.locator('.matrix-part').evaluate((part) => [part.scrollWidth,  // with labels that stand out
    part.getBoundingClientRect().left - Math.min(...[...part.querySelectorAll('.row-ticks span')].map((each) => each.getBoundingClientRect().left))]);
  assert.ok(out > 0 && Math.abs(width - Math.max(box.width, content) - out - 32) <= 1.5 , `${width} x ${height}`);
  const last = await page.locator('.matrix-part').evaluate((part) => Math.max(...[...part.querySelectorAll('canvas, text')]
    .filter((each) => each.checkVisibility()).map((each) => each.getBoundingClientRect().bottom)));
  const caption = 2 * 16 + 8;
  assert.ok(Math.abs(height - (last - box.y) - 32 - caption) <= 2, `${height} px high, its last mark ends at ${last - box.y}`);
});

/** The part of the view as a figure, in a page that can be asked where its elements stand. */
async function savedPart(page, name) {
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator('.foot-save select').selectOption(name)]);
  const file = join(folder, `part-${Math.random()}.svg`);
  await download.saveAs(file);
  return openSvg(readFileSync(file));
}

for (const [width, part] of [[1440, 'next-word'], [390, 'text'], [1440, 'matrix']]) {
  test(`a part that is saved alone says the model, head, row and text, within its bounds: ${part} at ${width} px`, async () => {
    const page = await open(`#${kView}`, {viewport: {width, height: 900}});
    await settled(page);
    const figure = await savedPart(page, part);
    const place = figure.locator('text', {hasText: /^tiny, L1\.H3, row \u201c.+\u201d 60, column \u201c.+\u201d 58$/});
    const excerpt = figure.locator('text', {hasText: /^\u201cOnce upon a time, there/});
    for (const line of [place, excerpt]) {
      assert.equal(await line.count(), 1);
      const out = await line.evaluate((text) => {
        const [own, all] = [text.getBoundingClientRect(), text.closest('svg').getBoundingClientRect()];
        const others = [...text.closest('svg').querySelectorAll('text')].filter((each) => each !== text).map((each) => each.getBoundingClientRect());
        const isUnder = others.every(({left, right, top, bottom}) => left > own.right || right < own.left || top > own.bottom - 2 || bottom < own.top + 2);
        return own.left < all.left || own.right > all.right || own.bottom > all.bottom || !isUnder;
      });
      assert.ok(!out, await line.textContent());
    }
  });
}

test('the svg stands by itself and is what the page shows', async () => {
  const page = await open(`#${kView}`, {deviceScaleFactor: 1});
  await settled(page);
  const {name, bytes} = await saved(page, 'svg');
  assert.equal(name, 'heed-once-upon-a-time-L1.H3-i60-j58.svg');
  const text = bytes.toString();
  assert.ok(!/foreignObject|<script|var\(--|href="(?!data:)/.test(text));
  const image = await blank();
  await image.setContent(`<body style="margin:0"><img style="display:block" src="data:image/svg+xml;base64,${bytes.toString('base64')}">`);
  await image.waitForFunction(() => document.images[0].naturalWidth === 1440);
  const drawn = PNG.sync.read(await image.screenshot());
  // The views in the header stand farther right where the keys are left out.
  await page.evaluate(() => document.querySelectorAll('[data-unsaved]').forEach((each) => { each.style.visibility = 'hidden'; }));
  const shown = PNG.sync.read(await page.screenshot());
  assert.deepEqual(differences(drawn, shown, {top: 48, width: 1300, height: 860}), [], 'blocks whose mean brightness differs');
});

/** The blocks of 24 x 24 pixels whose mean brightness differs. */
function differences(drawn, shown, {top, width, height}) {
  const brightness = (png) => {
    const blocks = new Map();
    for (let y = top; y < height; ++y) for (let x = 0; x < width; ++x) {
      const at = 4 * (y * png.width + x);
      const key = `${x / 24 | 0},${y / 24 | 0}`;
      blocks.set(key, (blocks.get(key) ?? 0) + (png.data[at] + png.data[at + 1] + png.data[at + 2]) / (3 * 576));
    }
    return blocks;
  };
  const [a, b] = [brightness(drawn), brightness(shown)];
  return [...a].filter(([key, value]) => Math.abs(value - b.get(key)) > 16);
}

for (const [name, more] of [['light', []], ['dark', ['--theme', 'dark']], ['narrow', ['--width', '390']]]) {
  test(`another renderer draws the svg as the browser does: ${name}`, async (t) => {
    try {
      await heed('rsvg-convert', ['--version']);
    } catch {
      t.skip('no rsvg-convert: apt-get install librsvg2-bin');
      return;
    }
    const view = ['--view', 'look/L1.H3+H5+H6+H7/i=60/j=58'];  // each kind of dash
    const svg = await look(`other-${name}.svg`, ...view, '--format', 'svg', ...more);
    const png = PNG.sync.read(readFileSync(await look(`own-${name}.png`, ...view, '--format', 'png', ...more)));
    const other = join(folder, `other-${name}.png`);
    await heed('rsvg-convert', ['--zoom', '2', '--output', other, svg]);
    const drawn = PNG.sync.read(readFileSync(other));
    assert.deepEqual([drawn.width, drawn.height], [png.width, png.height]);
    const far = differences(drawn, png, png);  // the figures of the large number have other widths there
    assert.ok(far.length < 0.002 * png.width * png.height / 24 ** 2, `blocks that differ: ${far.join(' ')}`);
  });
}

test('a next word that goes on with the word before it is marked in the picture, too', async () => {
  const page = await open('#look/L1.H3/i=60');
  const marks = page.locator('.side .goes-on-mark');
  for (let at = 61; await marks.count() === 0; ++at) {
    assert.ok(at < 190, 'no such word in the text');
    await page.evaluate((hash) => { location.hash = hash; }, `#look/L1.H3/i=${at}`);
    await quiet(page);
  }
  const {bytes} = await saved(page, 'svg');
  assert.equal(bytes.toString().split('\u2011').length - 1, await marks.count());
});

test('the key s saves the svg; the pointer and the focus leave no trace', async () => {
  const page = await open(`#${kView}`);
  const calm = await saved(page, 'svg');
  await token(page, 30).hover();
  await frames(page);
  const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('s')]);
  const file = join(folder, 'hovered.svg');
  await download.saveAs(file);
  assert.ok(calm.bytes.equals(readFileSync(file)));
});

test('the page looks as before once it was saved', async () => {
  const page = await open(`#${kView}`);
  await settled(page);
  const before = await read(page);
  await saved(page, 'svg');
  await soon.deepEqual(() => read(page), before);
  await soon.equal(() => page.evaluate(() => document.documentElement.className), '');
});

test('the png has two pixels for each of the page', async () => {
  const page = await open(`#${kView}`);
  const png = PNG.sync.read((await saved(page, 'png')).bytes);
  assert.equal(png.width, 2880);
  assert.ok(png.height >= 1800);
  assert.ok(new Set(png.data).size > 100);
  const other = PNG.sync.read(readFileSync(await look('one.png', '--view', kView, '--format', 'png')));
  assert.equal(other.width, 2880);
});

test('a saved page shows offline what the page shows', async () => {
  const page = await open(`#${kView}`);
  await settled(page);
  const file = await look('same.html', '--view', kView, '--format', 'html');
  const own = await openFile(file);
  await settled(own);
  await eventually(async () => assert.deepEqual(await read(own), await read(page)));
});

test('a saved page shows the lens and why of its edge, as the picture does', async () => {
  const own = await openFile(await look('beside.html', '--view', kView, '--format', 'html'));
  const page = await open(`#${kView}`);
  const beside = async (each) => {
    await settled(each);
    return (await each.locator('.view .side').innerText()).trim();
  };
  await eventually(async () => {
    const said = await beside(own);
    assert.match(said, /Lens[^]*Why[^]*without this edge/);
    assert.equal(said, await beside(page));
  });
  await own.keyboard.press('.');  // the file holds no other edge's
  await soon.ok(async () => !/Why/.test(await beside(own)));
});

test('a saved page says why heed chose its head', async () => {
  const own = await openFile(await look('chosen.html', '--format', 'html'));
  await soon.ok(async () => /^heed chose: \u201c\S+\u201d looks /.test(await own.locator('.reason').textContent()));
  await own.keyboard.press('.');
  await soon.equal(() => own.locator('.reason').textContent(), '');
});

test('a saved page names the views that it lacks, and says how to get them', async () => {
  const own = await openFile(await look('lacks.html', '--view', kView, '--format', 'html'));
  await soon.match(() => own.locator('.lacks').innerText(), /^Not in this file: Why, Anatomy, Words, Flow\. .*pinned pair for Why and Anatomy/);
  assert.equal(await (await open(`#${kView}`)).locator('.lacks').innerText(), '');
  const why = await blank({fresh: true});
  await why.goto(pathToFileURL(await look('why.html', '--view', kView.replace('look', 'why'), '--format', 'html')).href);
  await soon.match(() => why.locator('.lacks').innerText(), /^Not in this file: Anatomy, Words, Flow\./);
});

test('a saved page can be hovered, pinned, zoomed and turned to another head', async () => {
  const own = await openFile(await look('alive.html', '--view', kView, '--format', 'html'));
  await token(own, 40).hover();
  await own.waitForFunction(() => document.querySelector('.token.hovered[data-index="40"]'));
  await token(own, 40).click();
  await own.keyboard.press(']');
  await own.keyboard.press('.');
  await own.waitForFunction(() => location.hash === '#look/L2.H4/i=40');
  await settled(own);
  const page = await open('#look/L2.H4/i=40');
  await settled(page);
  await own.locator('.wordmark').hover();
  await frames(own);
  await eventually(async () => assert.deepEqual(await read(own), await read(page)));
});

test('a saved page asks nobody for anything', async () => {
  const begun = state.requests.length;
  const own = await openFile(await look('alone.html', '--view', kView, '--format', 'html'));
  await own.keyboard.press('t');
  await frames(own);
  const asked = state.requests.slice(begun).filter((url) => !url.startsWith('file:') && !url.startsWith('blob:'));
  assert.deepEqual(asked, []);
  await soon.equal(() => own.locator('.header-text').isDisabled(), true);
  await soon.deepEqual(() => own.locator('.foot-save .option').allTextContents(), ['svg', 'png']);
});

test('a saved page can be saved as a picture', async () => {
  const own = await openFile(await look('picture.html', '--view', kView, '--format', 'html'));
  assert.match((await saved(own, 'svg')).bytes.toString(), /^<svg .*look\/L1\.H3/s);
  assert.equal(PNG.sync.read((await saved(own, 'png')).bytes).width, 2880);
});

test('the page saves itself as the file that the command line writes', async () => {
  const page = await open(`#${kView}`);
  const {bytes, name} = await saved(page, 'html');
  assert.equal(name, 'heed-once-upon-a-time-L1.H3-i60-j58.html');
  const other = readFileSync(await look('two.html', '--view', kView, '--format', 'html'));
  const same = (file) => file.toString().replace(/"session":"[0-9a-f]{16}"|"session":"saved"/, '');
  const scores = (file) => [...JSON.parse(/heed-snapshot">(.*?)<\/script>/s.exec(file)[1]).scores].sort((a, b) => a.layer - b.layer);
  assert.deepEqual(scores(bytes.toString()), scores(other.toString()));
  assert.equal(same(bytes).length, same(other).length);
});

test('heads that a file does not hold are said, not missed', async () => {
  const whole = readFileSync(await look('some.html', '--view', kView, '--format', 'html')).toString();
  const data = JSON.parse(/heed-snapshot">(.*?)<\/script>/s.exec(whole)[1]);
  data.held = data.held.filter(({layer}) => layer === 1)
    .map((layer) => ({...layer, heads: layer.heads.filter(({head}) => head === 3 || head === 5)}));
  const [held] = data.about.models[0].held;
  held.layers = held.layers.map((_, layer) => layer === 1 ? [3, 5] : []);
  const file = join(folder, 'few.html');
  writeFileSync(file, whole.replace(/heed-snapshot">.*?<\/script>/s,
    () => `heed-snapshot">${JSON.stringify(data).replace(/</g, '\\u003c')}</script>`));
  const page = await openFile(file);
  await soon.equal(() => page.locator('.chip:disabled').count(), 6);
  await soon.equal(() => page.locator('.chip[data-head="2"]').getAttribute('title'), 'this file does not hold the head');
  await page.keyboard.press('.');
  await page.waitForFunction(() => location.hash.startsWith('#look/L1.H5'));
  await page.evaluate(() => { location.hash = '#look/L2.H0/i=3'; });
  await page.waitForFunction(() => document.querySelector('.notice')?.textContent
    .startsWith('This file does not hold head L2.H0: it was saved with the heads that fit.'));
  await page.waitForFunction(() => location.hash === '#look/L1.H3/i=3');
});

test('a view that a file has nothing for gives way to Look, which is said', async () => {
  const page = await openFile(await look('plain.html', '--view', kView, '--format', 'html'));
  await page.evaluate(() => { location.hash = '#why/L1.H3/i=60/j=20'; });
  await page.waitForFunction(() => document.querySelector('.notice')?.textContent === 'This file has nothing to show in Why.');
  await page.waitForFunction(() => location.hash === '#look/L1.H3/i=60/j=20');
});

test('a file saved beside an edit has both sides, their difference, and no other edit', async () => {
  const view = 'look/L1.H3/i=60/j=20/vs=ablate:self.L0.H1';
  const both = (page) => page.waitForFunction(() => /^A \S+, B \S+$/.test(document.querySelector('.read-out .rank')?.textContent ?? ''))
    .then(() => page.locator('.read-out .rank').textContent());
  const file = await look('edited.html', '--view', view, '--format', 'html');
  const page = await openFile(file);
  const live = await open(`#${view}`);
  await eventually(async () => assert.equal(await both(page), await both(live)));
  await soon.match(() => page.locator('.compare-about').innerText(), /B: without head L0.H1/);
  await page.keyboard.press('c');
  await page.waitForFunction(() => location.hash.endsWith('/show=A'));
  await page.keyboard.press('c');
  await page.waitForFunction(() => location.hash.endsWith('/show=B'));
  await page.evaluate(() => { location.hash = '#look/L1.H3/i=60/j=20/vs=ablate:self.L0.H2'; });
  await page.waitForFunction(() => document.querySelector('.compare-about')?.textContent === 'Not compared: a saved page holds no model to run again');
  const [again] = await Promise.all([live.waitForEvent('download'), live.locator('.foot-save .option', {hasText: 'html'}).click()]);
  const path = join(folder, 'edited-too.html');
  await again.saveAs(path);
  const other = await openFile(path);
  await eventually(async () => assert.equal(await both(other), await both(live)));
});

test('a file saved beside an edit has the chance of each word on both sides, in its table and above it', async () => {
  const view = 'look/L1.H3/i=60/j=20/vs=ablate:self.L0.H1,self.L1.H2';
  const rows = (page) => page.locator('.next-row.both:not(.quiet)').evaluateAll((all) => all.map((row) =>
    [row.querySelector('.word').textContent, ...[...row.querySelectorAll('.value')].map((value) => value.textContent)]));
  const page = await openFile(await look('words.html', '--view', view, '--format', 'html'));
  const live = await open(`#${view}`);
  await eventually(async () => {
    const found = await rows(page);
    assert.equal(found.length, 6);
    assert.deepEqual(found, await rows(live));
    const above = [...(await page.locator('.compare-words').textContent()).matchAll(/\u201c(.*?)\u201d (\S+) \u2192 ([^, ]+)/g)].map(([, ...each]) => each);
    assert.equal(above.length, 3);
    for (const [word, a, b] of above) {
      const own = found.filter(([name]) => name.trim() === word.trim());  // also of a token that begins no word
      assert.ok(own.length === 0 || own.some((row) => row[1] === a && row[2] === b), `${word} ${a} ${b}: ${own}`);
    }
  });
});

test('a file saved with Heads has the evidence of its head and the heads that are like it', async () => {
  const file = await look('heads.html', '--view', 'heads/L1.H3', '--format', 'html');
  const page = await blank({fresh: true});
  await page.context().setOffline(true);
  await page.goto(pathToFileURL(file).href);
  await page.waitForSelector('.heads-evidence .evidence-rows');
  await soon.equal(() => page.locator('.heads-worst li').count(), 3);
  await page.keyboard.press('/');
  await page.keyboard.type('L1.H3');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('.heads-names')?.textContent.includes('like'));
  await page.keyboard.press('/');
  await page.locator('.heads-pattern input').fill('L0.H0');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('.heads-pattern [role=alert]')?.textContent.startsWith('a saved page knows the heads'));
});

for (const view of ['why', 'anatomy']) {
  test(`a file saved with ${view} answers it offline`, async () => {
    const file = await look(`${view}.html`, '--view', `${view}/L1.H3/i=60/j=58`, '--format', 'html');
    const page = await blank({fresh: true});
    await page.context().setOffline(true);
    await page.goto(pathToFileURL(file).href);
    const live = await open();
    await live.evaluate((name) => { location.hash = `#${name}/L1.H3/i=60/j=58`; }, view);
    const said = async (each) => {
      await each.waitForFunction(() => document.querySelector('.view')?.innerText.length > 200);
      await quiet(each);
      return (await each.locator('.view').innerText()).trim().replace(/ +\n/g, '\n');
    };
    await eventually(async () => assert.equal(await said(page), await said(live)));
  });
}

test('a file saved with why has the row of its cell, and of no other', async () => {
  const file = await look('why-row.html', '--view', 'why/L1.H3/i=60/j=58', '--format', 'html');
  const page = await blank({fresh: true});
  await page.context().setOffline(true);
  await page.goto(pathToFileURL(file).href);
  const parts = page.locator('.why-part-block.whole');
  await page.locator('.why-plane').waitFor();
  await soon.equal(() => page.locator('.why-row.all .why-key.own').count(), 1);
  await page.evaluate(() => { location.hash = '#why/L1.H3/i=50/j=40'; });
  await parts.first().waitFor({state: 'hidden'});
  await parts.nth(1).waitFor({state: 'hidden'});
});

test('markup in a text stays text, in the html and in the svg', async () => {
  const text = '</script><script>window.broken = 1</script><img src=x onerror="window.broken = 2">&amp;';
  const page = await open('#look/L1.H3');
  await run(page, text);
  const svg = (await saved(page, 'svg')).bytes.toString();
  assert.ok(!svg.includes('<script') && !svg.includes('<img'));
  const own = await openFile((await saved(page, 'html')).file);
  await soon.equal(() => own.evaluate(() => window.broken), undefined);
  await soon.equal(() => own.locator('main script, main img').count(), 0);
  await soon.equal(() => own.locator('.token:not(.special)').first().textContent().then((first) => text.startsWith(first[0])), true);
});

test('the file stands in a frame that was made of its text, as a notebook shows it', async () => {
  const html = readFileSync(await look('framed.html', '--view', kView), 'utf8');
  const page = await blank();
  await page.setContent('<iframe sandbox="allow-scripts" style="width:1200px;height:800px;border:0"></iframe>');
  await page.locator('iframe').evaluate((frame, text) => { frame.srcdoc = text; }, html);
  const frame = page.frameLocator('iframe');
  await frame.locator('.token').first().waitFor();
  await frame.locator('.token').nth(3).click();
  await soon.ok(async () => await frame.locator('.key').count() > 0);
  await soon.deepEqual(() => frame.locator('body').evaluate((body) => /was not run/.test(body.innerText)), false);
});

// Last: the server then has scores of this text that the command line, in a file of its own, has not.
test('a figure of the heads between two scores says on which tokens they are measured', async () => {
  const page = await blank();
  await page.goto(`${state.server.address}#heads/L1.H3/across=induction/up=duplicate`);
  await page.waitForSelector('.heads-scatter .point');
  await told(page);
  const words = (await (await savedPart(page, 'heads-between-two-scores')).locator('text').allTextContents()).join();
  assert.match(words, /duplicate on random tokens.*induction on random tokens/);
});
