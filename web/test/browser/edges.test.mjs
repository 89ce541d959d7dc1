// The chips and the edges: heads chosen and added, keys with their weights, arcs, folds, small multiples.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {hash, row, token, withPages} from './harness.mjs';

const {open} = withPages();
const written = (weight) => weight < 0.9995 ? weight.toFixed(3).slice(1) : '1.00';

test('a chip shows one head, Shift adds, a double click shows it alone', async () => {
  const page = await open('#look/L1.H3/i=60');
  const chip = (head) => page.locator(`.chip[data-head="${head}"]`);
  await chip(1).click();
  assert.equal(await hash(page), '#look/L1.H1/i=60');
  await chip(4).click({modifiers: ['Shift']});
  assert.equal(await hash(page), '#look/L1.H1+H4/i=60');
  await page.waitForSelector('.arc.head-2');
  await chip(4).dblclick({modifiers: ['Shift']});
  assert.equal(await hash(page), '#look/L1.H4/i=60');
});

test('a chip names its scores', async () => {
  const page = await open('#look/L1.H3/i=60');
  assert.match(await page.locator('.chip[data-head="0"]').textContent(), /H0.*prev \.\d\d.*\d+\.\d back/);
});

test('the keys of a row stand with their weights and what is left over', async () => {
  const page = await open('#look/L1.H3/i=60');
  await page.waitForSelector('.key');
  const {edges, weights} = await row(page, 1, 3, 60);
  assert.deepEqual(await page.locator('.key .value').allTextContents(), edges.map((edge) => written(edge.weight)));
  const rest = weights.filter((weight) => weight !== null).length - edges.length;
  assert.match(await page.locator('.keys .rest').textContent(), new RegExp(`^\\+ \\.\\d{3} in ${rest} others$`));
});

test('with two heads a key has the larger weight, and whose it is', async () => {
  const page = await open('#look/L1.H3+H1/i=60');
  await page.waitForSelector('.arc.head-2');
  const [first, second] = [await row(page, 1, 3, 60), await row(page, 1, 1, 60)];
  const shown = await page.locator('.key').evaluateAll((rows) => rows.map((each) => {
    const value = each.querySelector('.value');
    return {key: Number(each.dataset.index), text: value.textContent, of: value.className, title: value.title};
  }));
  for (const {key, text, of, title} of shown) {
    const isSecond = second.weights[key] > first.weights[key];
    assert.equal(text, written(isSecond ? second.weights[key] : first.weights[key]));
    assert.equal(of, `value head-${isSecond ? 2 : 1}`);
    assert.equal(title, `head H${isSecond ? 1 : 3}`);
  }
  assert.ok(new Set(shown.map(({of}) => of)).size === 2);
});

test('a fold opens with a click', async () => {
  const page = await open('#look/L1.H3/i=60');
  const fold = page.locator('.fold').first();
  const before = await page.locator('.key').count();
  const count = Number((await fold.textContent()).split(' ')[0]);
  await fold.click();
  assert.equal(await page.locator('.key').count(), before + count);
});

test('hovering an edge puts its number on the arc, a click pins it', async () => {
  const page = await open('#look/L1.H3/i=60');
  const key = page.locator('.key').first();
  const index = Number(await key.getAttribute('data-index'));
  await key.hover();
  assert.equal(await page.locator('.arc-number').textContent(), await key.locator('.value').textContent());
  assert.match(await token(page, index).getAttribute('class'), /hovered/);
  await key.click();
  assert.equal(await hash(page), `#look/L1.H3/i=60/j=${index}`);
  assert.match(await key.getAttribute('class'), /pinned/);
});

test('an arc itself can be pointed at and clicked', async () => {
  const page = await open('#look/L1.H3/i=60');
  const target = page.locator('.arc-target').last();
  const key = await target.getAttribute('data-key');
  const at = await target.evaluate((path) => {
    const point = path.getPointAtLength(path.getTotalLength() * 0.93);
    const box = path.ownerSVGElement.getBoundingClientRect();
    return {x: box.x + point.x, y: box.y + point.y};
  });
  await page.mouse.move(at.x, at.y);
  await page.waitForSelector('.arc-number');
  await page.mouse.click(at.x, at.y);
  assert.match(await hash(page), new RegExp(`/j=${key}$`));
});

test('a query can be clicked, walked to with arrows, and scrolled with the wheel', async () => {
  const page = await open('#look/L1.H3/i=60');
  await page.locator('.query[data-index="62"]').click();
  assert.equal(await hash(page), '#look/L1.H3/i=62');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  assert.equal(await hash(page), '#look/L1.H3/i=63');
  const first = () => page.locator('.query').first().getAttribute('data-index');
  const before = Number(await first());
  await page.mouse.wheel(0, 100);
  await page.waitForFunction((old) => Number(document.querySelector('.query').dataset.index) === old + 3, before);
});

test('the fourth head is dashed and carries its numbers', async () => {
  const page = await open('#look/L1.H1+H2+H3+H4/i=100');
  await page.waitForSelector('.arc.head-4');
  const {edges} = await row(page, 1, 4, 100);
  assert.deepEqual((await page.locator('.arc-number').allTextContents()).sort(), edges.map((edge) => written(edge.weight)).sort());
  const dashes = (head) => page.locator(`.arc.head-${head}`).first().evaluate((arc) => getComputedStyle(arc).strokeDasharray);
  assert.deepEqual([await dashes(1), await dashes(2), await dashes(3), await dashes(4)],
    ['none', '6px, 3px', '2px, 2px', '8px, 2px, 2px, 2px']);
});

test('from the fifth head on each has a small drawing of its own', async () => {
  const page = await open('#look/L1.H0+H1+H2+H3/i=100');
  await page.locator('.chip[data-head="5"]').click({modifiers: ['Shift']});
  assert.equal(await hash(page), '#look/L1.H0+H1+H2+H3+H5/i=100');
  await page.waitForFunction(() => document.querySelectorAll('.small .small-keys').length === 5
    && [...document.querySelectorAll('.small-keys')].every((keys) => keys.children.length > 0));
  const {edges, rest} = await row(page, 1, 5, 100);
  const own = page.locator('.small[data-head="5"]');
  assert.deepEqual(await own.locator('.value').allTextContents(), edges.map((edge) => written(edge.weight)));
  assert.match(await own.locator('.small-rest').textContent(), new RegExp(`in ${rest.count} others$`));
  assert.equal(await own.locator('.arc').count(), edges.filter((edge) => edge.weight >= 0.01).length);
  assert.ok(!await page.locator('.queries').isVisible());
  await own.locator('.key').first().hover();
  await page.waitForSelector(`.token.hovered[data-index="${edges[0].key}"]`);
  await own.locator('.key').first().click();
  assert.equal(await hash(page), `#look/L1.H0+H1+H2+H3+H5/i=100/j=${edges[0].key}`);
  await page.locator('.small-name[data-head="3"]').click({modifiers: ['Shift']});
  assert.equal(await hash(page), `#look/L1.H0+H1+H2+H5/i=100/j=${edges[0].key}`);
  assert.ok(await page.locator('.queries').isVisible());
});

test('a small drawing shows its head alone with a click on its name', async () => {
  const page = await open('#look/L1.H0+H1+H2+H3+H4/i=100');
  await page.locator('.small-name[data-head="2"]').click();
  assert.equal(await hash(page), '#look/L1.H2/i=100');
});

test('which two scores the chips show is a setting, by keyboard, kept in the address', async () => {
  const page = await open('#look/L1.H3/i=60');
  await page.keyboard.press('?');
  await page.locator('.setting .choice').first().locator('[data-option=sink]').focus();
  await page.keyboard.press('Enter');
  await page.locator('.setting .choice').last().locator('[data-option=entropy]').focus();
  await page.keyboard.press('Enter');
  assert.equal(await hash(page), '#look/L1.H3/i=60/scores=sink+entropy');
  await page.keyboard.press('Escape');
  assert.match(await page.locator('.chip[data-head="0"]').textContent(), /sink (\.\d\d|1\.0)entropy \d\.\d\d$/);
  const again = await open(await hash(page));
  assert.match(await again.locator('.chip[data-head="0"]').textContent(), /sink .*entropy/);
});

test('an arc to a folded key ends at the fold', async () => {
  const page = await open('#look/L1.H3/i=120');
  await page.waitForSelector('.arc.other');
  const folds = await page.evaluate(() => {
    const body = document.querySelector('.edges-body').getBoundingClientRect();
    const rows = [...document.querySelectorAll('.key, .fold')].map((row) => {
      const {top, height} = row.getBoundingClientRect();
      return {fold: row.className === 'fold', middle: top + height / 2 - body.top};
    });
    return [...document.querySelectorAll('.arc.other')].map((arc) => {
      const end = arc.getPointAtLength(arc.getTotalLength()).y;
      return rows.reduce((best, row) => Math.abs(row.middle - end) < Math.abs(best.middle - end) ? row : best);
    }).filter((row) => row.fold).length;
  });
  assert.ok(folds > 0);
});

for (const unit of ['word', 'sentence']) {
  test(`the text and the arcs are of the same rows, and say which: ${unit}`, async () => {
    const page = await open(`#look/L1.H3/i=60/units=${unit}`);
    await page.waitForSelector('.token.together');
    const span = await page.locator('.token.together').evaluateAll((all) => all.map((each) => Number(each.dataset.index)));
    assert.ok(span.includes(60) && span.length === span.at(-1) - span[0] + 1);
    const {edges} = await row(page, 1, 3, `${span[0]}?end=${span.at(-1) + 1}`);
    await page.waitForFunction((keys) => [...document.querySelectorAll('.key')]
      .map((key) => key.dataset.index).join() === keys, edges.map((edge) => edge.key).join());
    assert.deepEqual(await page.locator('.key .value').allTextContents(), edges.map((edge) => written(edge.weight)));
    const rows = span.length === 1 ? 'largest edges, up to 90 % of the row' : `mean of ${span.length} rows, up to 90 % of it`;
    assert.equal(await page.locator('.edges .heading .quiet').textContent(), `head 1\u00b73, ${rows}`);
    assert.equal(await page.locator('.switches > .quiet').textContent(), `shaded by ${unit}`);
    assert.equal(await page.locator('.matrix-part .heading .quiet').textContent(), 'row attends to column, token by token');
    await page.locator('.key').first().click();
    assert.equal(await hash(page), `#look/L1.H3/i=60/j=${edges[0].key}/units=${unit}`);
  });
}

test('a span is named by its beginning and its end', async () => {
  const page = await open('#look/L1.H3/i=60/units=sentence');
  await page.waitForSelector('.token.together');
  const words = (await page.locator('.token.together').allTextContents()).map((word) => word.replace(/\.\d\d$/, ''));
  const name = await page.locator('.switches [data-option=from]').textContent();
  assert.ok(name.startsWith(`from ${words[0]}`) && name.includes(' \u2026 '), name);
  assert.equal(await page.locator('.switches [data-option=to]').textContent(), 'to it');
});

test('a dragged span stays while its keys are pointed at', async () => {
  const page = await open('#look/L1.H3/range=50-53');
  const about = () => page.locator('.edges .heading .quiet').textContent();
  await page.waitForSelector('.key');
  await page.locator('.key').nth(1).hover();
  await page.waitForSelector('.token.hovered');
  assert.equal(await about(), 'head 1\u00b73, mean of 4 rows, up to 90 % of it');
  assert.equal(await page.locator('.token.pinned').count(), 4);
  assert.equal(await page.locator('.query.pinned').count(), 4);
  assert.equal(await page.locator('.arc-span').count(), 1);
});

test('with nothing pinned the largest of each row are drawn, and how many of how many is said', async () => {
  const page = await open('#look/L1.H3');
  await page.waitForSelector('.arc');
  const said = await page.locator('.edges .heading .quiet').textContent();
  const [, each, drawn, all] = /^head 1\u00b73, (\d) largest a row, (\d+) of ([\d,]+) weights$/.exec(said);
  const shown = await page.locator('.arc-target').evaluateAll((arcs) => arcs.map(({dataset}) => [Number(dataset.query), Number(dataset.key)]));
  assert.equal(shown.length, Number(drawn));
  assert.ok(shown.length <= 48);
  const rows = await page.locator('.query').count();
  assert.equal(Number(all.replace(',', '')), rows * (rows + 1) / 2);
  let sum = 0;
  for (let query = 0; query < rows; ++query) {
    const {weights} = await row(page, 1, 3, query);
    const own = shown.filter(([from]) => from === query).map(([, key]) => weights[key]).sort((a, b) => b - a);
    const best = weights.filter((weight) => weight !== null).sort((a, b) => b - a);
    assert.ok(own.length >= 1 && own.length <= Number(each));
    assert.deepEqual(own, best.slice(0, own.length));
    sum += own.reduce((total, weight) => total + weight, 0);
  }
  assert.equal(await page.locator('.keys .rest').textContent(), `not drawn: ${written(1 - sum / rows)} of a row on average`);
});

test('of several heads each has its number at the key that is pointed at', async () => {
  const page = await open('#look/L1.H3+H5/i=60');
  await page.waitForSelector('.arc.head-2');
  const [first, second] = [await row(page, 1, 3, 60), await row(page, 1, 5, 60)];
  const own = (line) => line.edges.map((edge) => edge.key);
  const key = own(second).find((each) => !own(first).includes(each));
  await page.locator(`.key[data-index="${key}"]`).hover();
  await page.waitForSelector('.arc-number');
  assert.deepEqual(await page.locator('.arc-number').allTextContents(), [`H5 ${written(second.weights[key])}`]);
  assert.match(await page.locator('.keys .rest').textContent(), /^H3 \+ \.\d{3} in \d+ others$/);
});
