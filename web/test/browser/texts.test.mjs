// Texts of other shapes: right to left, of bytes, long ones, in narrow pages.
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {hash, kText, quiet, run, scratch, settled, soon, startServer, token, touching, withPages} from './harness.mjs';
import {writeModel} from './model.mjs';

const {blank, open} = withPages();

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

test('a text from right to left stays readable', async () => {
  const text = 'ילדה קטנה רצה אל הים. היא ראתה דג קטן, והדג ראה ילדה. הים היה כחול.';
  await withModel('hebrew', text, 8, async (page) => {
    await soon.equal(() => page.locator('.tokens').getAttribute('dir'), 'rtl');
    await token(page, 9).click();
    await settled(page);
    await soon.equal(() => page.locator('.query.pinned .index').textContent(), '9');
    await soon.deepEqual(() => touching(page, '.under'), []);
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
    await soon.deepEqual(() => touching(page, '.token'), []);
    const numbers = await page.locator('.under').evaluateAll((all) => all.map((each) => getComputedStyle(each).direction));
    assert.ok(numbers.length > 0 && numbers.every((direction) => direction === 'ltr'), 'a point stays before its digits');
  });
});

test('more than 16 heads have a name and one score each, wrapped', async () => {
  await withModel('heads', kText, 20, async (page) => {
    await soon.equal(() => page.locator('.chip').count(), 20);
    await soon.equal(() => page.locator('.chip .profile').count(), 0);
    const scores = await page.locator('.chip-scores').evaluateAll((all) => all.map((each) => each.childElementCount));
    assert.deepEqual([...new Set(scores)], [1]);
    const rows = await page.locator('.chip').evaluateAll((all) => new Set(all.map((each) => each.offsetTop)).size);
    assert.ok(rows > 1);
    await soon.deepEqual(() => touching(page, '.chip'), []);
    await page.locator('.chip[data-head="19"]').click();
    await quiet(page);
    await soon.match(() => hash(page), /^#look\/L\d\.H19/);
  });
});

test('a hundred heads have two rows, the largest score first, and a search', async () => {
  await withModel('hundred', kText, 100, async (page) => {
    const chips = page.locator('.chip');
    await soon.ok(async () => await chips.count() > 8 && await chips.count() < 40);
    const rows = await chips.evaluateAll((all) => new Set(all.map((each) => each.offsetTop)).size);
    assert.ok(rows <= 2, `${rows} rows`);
    const bests = await page.locator('.chip-scores').evaluateAll((all) => all.map((each) => Number.parseFloat(/(\d?\.\d+)$/.exec(each.textContent)[1])));
    assert.deepEqual(bests.slice(0, -1), [...bests.slice(0, -1)].sort((a, b) => b - a));
    await soon.equal(() => page.locator('.chips-left').textContent(), `+ ${100 - await chips.count()} others`);
    await page.locator('.chip-search').fill('H77');
    await soon.deepEqual(() => chips.evaluateAll((all) => all.map((each) => each.dataset.head)), ['77']);
    await page.keyboard.press('Enter');
    await soon.match(() => hash(page), /^#look\/L\d\.H77/);
    await page.keyboard.press('Escape');
    await soon.equal(() => page.locator('.chip.chosen').getAttribute('data-head'), '77');
    await soon.ok(async () => (await page.locator('.foot').boundingBox()).y + 20 <= 900);
  });
});

test('a text that is mostly bytes to the model says so under it, and others do not', async () => {
  const page = await open();
  await soon.equal(() => page.locator('.bytes').count(), 0);
  const remark = 'Most tokens here are single bytes: the vocabulary of tiny lacks most of these characters, '
    + 'each of which takes several tokens.';
  for (const width of [1440, 800, 390]) {
    await page.setViewportSize({width, height: 900});
    await run(page, '\u56fd\u738b\u6709\u4e00\u4e2a\u5973\u513f\uff0c\u4ed6\u7231\u5979\u3002'.slice(0, width === 390 ? 5 : 12));
    await quiet(page);
    await soon.deepEqual(() => page.locator('.bytes').allTextContents(), [remark]);
    const [line, text] = await Promise.all(['.bytes', '.tokens'].map((name) => page.locator(name).boundingBox()));
    assert.ok(line.y >= text.y + text.height && line.x + line.width <= width - 16, JSON.stringify({text, line}));
    await soon.deepEqual(() => touching(page, '.bytes, .switches .option'), []);
  }
  await run(page, 'Lily saw a ball. \u56fd');
  await soon.equal(() => page.locator('.bytes').count(), 0);
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
    assert.ok(name.right <= column + (width < 1240 ? 1 : 30), `${width}: ${name.right} in ${column}`);
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
    await soon.deepEqual(() => cut(), [], `${lines} lines down`);
  }
});
