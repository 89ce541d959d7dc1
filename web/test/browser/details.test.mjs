// What a first reader stumbles over: addresses that are not there, numbers on numbers, texts of other shapes.
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import http from 'node:http';
import {join} from 'node:path';
import {test} from 'node:test';
import {hash, kText, quiet, ready, run, scratch, settled, startServer, token, withPages} from './harness.mjs';
import {writeModel} from './model.mjs';

const {state, blank, open} = withPages();

/** Pairs of boxes that share more than a pixel, by what stands in them. */
function touching(page, selector) {
  return page.locator(selector).evaluateAll((all) => {
    const boxes = all.filter((each) => each.checkVisibility() && each.textContent).map((each) => ({
      name: each.textContent, box: each.getBoundingClientRect(),
    }));
    return boxes.flatMap(({name, box}, at) => boxes.slice(at + 1).filter((other) =>
      Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left) > 1
      && Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top) > 1)
      .map((other) => `${name} / ${other.name}`));
  });
}

/** Another address, until its view is drawn. */
async function follow(page, address) {
  await page.evaluate((wanted) => new Promise((resolve) => {
    window.addEventListener('popstate', resolve, {once: true});
    location.hash = wanted;
  }), address);
  await settled(page);
}

async function withModel(name, text, heads, look) {
  const folder = join(scratch, name);
  writeModel(folder, text, 256, heads);
  const server = await startServer(0, {folder, text});
  try {
    const page = await blank();
    await page.goto(server.address);
    await settled(page);
    await look(page);
    await page.context().close();  // before its server ends
  } finally {
    await server.stop();
  }
}

test('there is no address until a head is chosen, and no step back to before', async () => {
  const page = await blank();
  await page.route('**/events?*', () => undefined);  // no news
  await page.goto(state.server.address);
  await page.waitForSelector('.token');
  assert.equal(await hash(page), '');
  assert.equal(await page.locator('.address').textContent(), '');
  const before = await page.evaluate(() => history.length);
  await page.unroute('**/events?*');
  await page.reload();
  await ready(page);
  await page.waitForFunction(() => location.hash !== '');
  assert.match(await hash(page), /^#look\/L\d\.H\d\/i=\d+$/);
  assert.equal(await page.locator('.address').textContent(), await hash(page));
  assert.equal(await page.evaluate(() => history.length), before);
});

test('what an address names and is not there is said, until the next choice', async () => {
  const page = await open('#look/L9.H3/i=500');
  assert.equal(await page.locator('.notice').textContent(),
    'There is no layer 9, the last one is 2: layer 2 is shown. There is no token 500, the last one is 193: it is not pinned.');
  await page.keyboard.press('.');
  assert.equal(await page.locator('.notice').textContent(), '');
  await follow(page, '#look/L1.H44');
  assert.equal(await page.locator('.notice').textContent(), 'There is no head 44, the last one is 7: head 0 is shown.');
});

test('a part of the address that is not known is said and left out, until the next choice', async () => {
  const page = await open('#look/L1.H3/units=pink/scale=sqrt');
  const notice = page.locator('.notice');
  assert.equal(await notice.textContent(), '\u201cunits=pink\u201d is left out, units= is token, character, word or sentence.');
  assert.equal(await hash(page), '#look/L1.H3/scale=sqrt');
  await follow(page, '#look/L1.H3/scores=previous+nothing');
  assert.match(await notice.textContent(), /^There is no score nothing, /);
  await page.keyboard.press('.');
  assert.equal(await notice.textContent(), '');
});

test('an address that names no head is said, and a head is chosen', async () => {
  const page = await open('#map/L0.H0');
  await page.waitForFunction(() => location.hash.startsWith('#look/'));
  assert.equal(await page.locator('.notice').textContent(),
    '\u201c#map/L0.H0\u201d names no head, expected an address as in #look/L2.H4/i=17.');
  await page.keyboard.press('.');
  assert.equal(await page.locator('.notice').textContent(), '');
});

test('what is too long is said until one moves on, and leaves the view in sight', async () => {
  const page = await open('#look/L1.H3/i=60');
  const before = (await page.locator('.heads').boundingBox()).y;
  await page.locator('.header-text').click();
  await page.locator('textarea').fill('Lily saw a ball. '.repeat(400));
  await page.keyboard.press('Control+Enter');
  await page.waitForSelector('.failed');
  await quiet(page);
  assert.ok((await page.locator('.heads').boundingBox()).y - before < 90);
  await page.locator('.chip').nth(2).click();
  assert.equal(await page.locator('.failed').count(), 0);
});

test('the table of the matrix stays within its column', async () => {
  const page = await open('#look/L1.H3/i=60/j=40');
  await page.keyboard.press('t');
  await page.waitForSelector('.table');
  await quiet(page);
  const room = await page.locator('.table').evaluate(({scrollWidth, clientWidth}) => ({scrollWidth, clientWidth}));
  assert.ok(room.scrollWidth <= room.clientWidth, JSON.stringify(room));
  assert.equal(await page.locator('.table thead th').count(), 12);
});

for (const text of ['', 'Lily', 'Lily saw', 'Lily saw a ball']) {
  test(`the legend is beside the cells of “${text}”`, async () => {
    const page = await open();
    await run(page, text);
    await settled(page);
    const length = Number.parseInt(await page.locator('.header-text .quiet').textContent());
    const canvas = await page.locator('canvas.matrix').boundingBox();
    const free = await page.locator('.figure, .rank, .legend').evaluateAll((all, {canvas, length}) => all.every((each) => {
      const box = each.getBoundingClientRect();
      if (box.top >= canvas.y + canvas.height) return true;
      const last = Math.floor((box.bottom - canvas.y) * length / canvas.height);
      return box.left >= canvas.x + (last + 1) * canvas.width / length - 1;
    }), {canvas, length});
    assert.ok(free);
  });
}

test('nothing fails while the page loads', async () => {
  const page = await blank();
  const said = [];
  page.on('console', (message) => message.type() === 'error' && said.push(message.text()));
  page.on('response', (response) => response.status() >= 400 && said.push(response.url()));
  await page.goto(state.server.address);
  await ready(page);
  assert.equal(await page.evaluate(async () => (await fetch('/favicon.ico')).status), 204);
  assert.deepEqual(said, []);
});

test('no number of the text touches another, and none is cut', async () => {
  const page = await open('#look/L1.H3/i=60');
  for (const [head, query] of [[0, 40], [1, 99], [3, 120], [5, 184], [2, 184], [7, 150]]) {
    await follow(page, `#look/L1.H${head}/i=${query}`);
    assert.ok(await page.locator('.under').count() > 0);
    assert.deepEqual(await touching(page, '.under'), [], `head ${head}, token ${query}`);
    const cut = await page.locator('.under').evaluateAll((all) => {
      const room = document.querySelector('.tokens').getBoundingClientRect();
      return all.map((each) => each.getBoundingClientRect()).filter((box) => box.left < room.left - 1 || box.right > room.right + 1).length;
    });
    assert.equal(cut, 0);
  }
});

test('the cross-hair passes beside the numbers of large cells', async () => {
  const page = await open();
  await run(page, 'Lily saw a ball. She was sad.');
  await follow(page, '#look/L1.H3/i=7/j=2');
  const struck = await page.locator('canvas.matrix').evaluate((canvas) => {
    const cell = canvas.width / Number.parseInt(document.querySelector('.header-text .quiet').textContent);
    const context = canvas.getContext('2d');
    const accent = (x, y) => {
      const [r, g, b] = context.getImageData(Math.floor(x), Math.floor(y), 1, 1).data;
      return r === 0xd5 && g === 0x5e && b === 0;
    };
    return [4, 5, 6].filter((key) => accent((key + 0.2) * cell, 7.5 * cell)).length
      + [4, 5, 6].filter((query) => accent(2.5 * cell, (query + 0.2) * cell)).length;
  });
  assert.equal(struck, 0);
  assert.deepEqual(await touching(page, '.figure > div, .use-name'), []);
  const [figure, plot] = await page.evaluate(() => ['.figure', '.plot'].map((name) => {
    const parts = document.querySelectorAll(`${name}, ${name} *`);
    return Math.max(...[...parts].map((part) => part.getBoundingClientRect().right));
  }));
  assert.ok(figure <= plot + 1);
});

test('the page comes plain to a client that takes no gzip', async () => {
  const {origin} = new URL(state.server.address);
  for (const path of ['/', '/app.js', '/app.css']) {
    const {headers, statusCode, body} = await new Promise((resolve, reject) => {
      http.get(origin + path, {agent: false}, (answer) => {  // a kept connection may end just now
        let body = '';
        answer.on('data', (data) => { body += data; });
        answer.on('end', () => resolve({headers: answer.headers, statusCode: answer.statusCode, body}));
      }).on('error', reject);
    });
    assert.equal(statusCode, 200);
    assert.equal(headers['content-encoding'], undefined);
    assert.equal(body, await (await fetch(origin + path)).text());
  }
});

test('a text from right to left stays readable', async () => {
  const text = 'ילדה קטנה רצה אל הים. היא ראתה דג קטן, והדג ראה ילדה. הים היה כחול.';
  await withModel('hebrew', text, 8, async (page) => {
    assert.equal(await page.locator('.tokens').getAttribute('dir'), 'rtl');
    await token(page, 9).click();
    await settled(page);
    assert.equal(await page.locator('.query.pinned .index').textContent(), '9');
    assert.deepEqual(await touching(page, '.under'), []);
    for (const [name, ...parts] of [['.query', '.index', '.query-token'], ['.key', '.context', '.index', '.value']]) {
      const rows = await page.locator(name).evaluateAll((all, parts) => all.map((row) => parts.map((part) => {
        const {left, right} = row.querySelector(part).getBoundingClientRect();
        return {left, right};
      })), parts);
      assert.ok(rows.length > 0);
      for (const row of rows) assert.ok(row.slice(1).every(({left}, at) => row[at].right <= left + 1), JSON.stringify(row));
    }
    const [first, second] = await page.locator('.token').evaluateAll((all) =>
      [1, 2].map((index) => all[index].getBoundingClientRect().toJSON()));
    assert.ok(second.right <= first.left + 1, 'the second word stands left of the first');
    assert.deepEqual(await touching(page, '.token'), []);
    const numbers = await page.locator('.under').evaluateAll((all) => all.map((each) => getComputedStyle(each).direction));
    assert.ok(numbers.length > 0 && numbers.every((direction) => direction === 'ltr'), 'a point stays before its digits');
  });
});

test('more than 16 heads have a name and one score each, wrapped', async () => {
  await withModel('heads', kText, 20, async (page) => {
    assert.equal(await page.locator('.chip').count(), 20);
    assert.equal(await page.locator('.chip .profile').count(), 0);
    const scores = await page.locator('.chip-scores').evaluateAll((all) => all.map((each) => each.childElementCount));
    assert.deepEqual([...new Set(scores)], [1]);
    const rows = await page.locator('.chip').evaluateAll((all) => new Set(all.map((each) => each.offsetTop)).size);
    assert.ok(rows > 1);
    assert.deepEqual(await touching(page, '.chip'), []);
    await page.locator('.chip[data-head="19"]').click();
    await quiet(page);
    assert.match(await hash(page), /^#look\/L\d\.H19/);
  });
});

test('a text that is mostly bytes to the model says so under it, and others do not', async () => {
  const page = await open();
  assert.equal(await page.locator('.bytes').count(), 0);
  const remark = 'Most tokens here are single bytes: the vocabulary of tiny lacks most of these characters, '
    + 'each of which takes several tokens.';
  for (const width of [1440, 800, 390]) {
    await page.setViewportSize({width, height: 900});
    await run(page, '\u56fd\u738b\u6709\u4e00\u4e2a\u5973\u513f\uff0c\u4ed6\u7231\u5979\u3002'.slice(0, width === 390 ? 5 : 12));
    await quiet(page);
    assert.deepEqual(await page.locator('.bytes').allTextContents(), [remark]);
    const [line, text] = await Promise.all(['.bytes', '.tokens'].map((name) => page.locator(name).boundingBox()));
    assert.ok(line.y >= text.y + text.height && line.x + line.width <= width - 16, JSON.stringify({text, line}));
    assert.deepEqual(await touching(page, '.bytes, .switches .option'), []);
  }
  await run(page, 'Lily saw a ball. \u56fd');
  assert.equal(await page.locator('.bytes').count(), 0);
});

test('the margin of the matrix and its name stand together', async () => {
  for (const width of [760, 900, 1000, 1200, 1280, 1440, 1800]) {
    const page = await open('#look/L1.H3/i=60', {viewport: {width, height: 900}});
    await settled(page);
    const [name, bars] = await page.locator('.use-name, canvas.use').evaluateAll((all) => all.map((each) => {
      const range = document.createRange();
      range.selectNodeContents(each);
      const {left, right, top, bottom} = each.localName === 'canvas' ? each.getBoundingClientRect() : range.getBoundingClientRect();
      return {left, right, top, bottom};
    }));
    assert.ok(Math.abs(name.left - bars.left) <= 2, `${width}: ${name.left} over ${bars.left}`);
    assert.ok(bars.top - name.bottom >= 0 && bars.top - name.bottom < 8);
    const column = await page.locator('.matrix-part').evaluate((each) => each.getBoundingClientRect().right);
    assert.ok(name.right <= column + (width < 1434 ? 1 : 30), `${width}: ${name.right} in ${column}`);
    await page.context().close();
  }
});

test('the header is cut between characters as readers see them, in the picture too', async () => {
  const family = '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}\u200d\u{1f466}';
  const text = `\u05d9\u05dc\u05d3\u05d4${family}`.repeat(12);
  const characters = (each) => Array.from(new Intl.Segmenter(undefined, {granularity: 'grapheme'}).segment(each), ({segment}) => segment);
  const page = await open('#look/L1.H3', {viewport: {width: 1100, height: 900}});
  await run(page, text);
  const shown = (await page.locator('.beginning').textContent()).replace(/[\u201c\u201d\u2026]/g, '');
  assert.deepEqual(characters(shown), characters(text).slice(0, 40));
  await page.setViewportSize({width: 770, height: 900});  // where there is no room for all of them
  await quiet(page);
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator('.foot-save .option', {hasText: 'svg'}).click()]);
  const file = join(scratch, 'characters.svg');
  await download.saveAs(file);
  const runs = [...readFileSync(file, 'utf8').matchAll(/<text [^>]*y="2\d(?:\.\d+)?"[^>]*>([^<]*)<\/text>/g)].map(([, run]) => run)
    .filter((run) => /[\u05d0-\u05ea\u200d\u{1f466}-\u{1f469}]/u.test(run));
  const known = new Set([...characters(text), '\u201c', '\u201d', '\u2026', ' ']);
  assert.match(runs.join(''), /^\u201c.*\u2026$/);
  assert.ok(characters(runs.join('')).length < 42);
  assert.deepEqual(runs.flatMap(characters).filter((each) => !known.has(each)), []);
});

test('the list of keys is whole in a narrow page, and the count of tokens stands in its line', async () => {
  const page = await open('#look/L1.H3/i=60', {viewport: {width: 390, height: 844}});
  const middle = (name) => page.locator(name).evaluate((each) => {
    const range = document.createRange();
    range.selectNodeContents(each);
    const {top, bottom, right} = range.getBoundingClientRect();
    return {middle: (top + bottom) / 2, right};
  });
  const [mark, count, views] = [await middle('.model b'), await middle('.header-text .quiet'), await page.locator('nav').boundingBox()];
  assert.ok(Math.abs(mark.middle - count.middle) <= 1, `${mark.middle} ${count.middle}`);
  assert.ok(count.right <= views.x);
  await page.locator('.header-keys').click();
  const cut = await page.locator('.keys-list dd, .keys-list dt').evaluateAll((all) => all.filter((each) =>
    each.scrollWidth > each.clientWidth || each.getBoundingClientRect().right > each.closest('dialog').getBoundingClientRect().right)
    .map((each) => each.textContent));
  assert.deepEqual(cut, []);
});

test('of a text that scrolls no number is cut', async () => {
  const page = await open('#look/L1.H3');
  await run(page, 'One day Lily saw a big red ball and wanted to play with it.\n'.repeat(25));
  await page.waitForSelector('.under');
  const cut = () => page.locator('.under').evaluateAll((all) => {
    const {top, bottom} = document.querySelector('.scroller').getBoundingClientRect();
    return all.map((each) => each.getBoundingClientRect())
      .filter((box) => box.bottom > top && box.top < bottom && (box.top < top || box.bottom > bottom)).map((box) => [box.top, box.bottom, top, bottom]);
  });
  for (const lines of [0, 3, 9, 12, 15]) {
    await page.locator('.scroller').evaluate((scroller, lines) => { scroller.scrollTop = 35 * lines; }, lines);
    await quiet(page);
    assert.deepEqual(await cut(), [], `${lines} lines down`);
  }
});
