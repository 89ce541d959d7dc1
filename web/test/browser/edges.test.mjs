// The chips and the edges: heads chosen and added, keys with their weights, arcs, folds, small multiples.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {hash, row, token, withPages} from './harness.mjs';

const {open} = withPages();
const written = (weight) => weight.toFixed(3).slice(1);

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
  await page.locator('.setting .choice').first().locator('[data-option=first]').focus();
  await page.keyboard.press('Enter');
  await page.locator('.setting .choice').last().locator('[data-option=entropy]').focus();
  await page.keyboard.press('Enter');
  assert.equal(await hash(page), '#look/L1.H3/i=60/scores=first+entropy');
  await page.keyboard.press('Escape');
  assert.match(await page.locator('.chip[data-head="0"]').textContent(), /first (\.\d\d|1\.0)entropy \d\.\d\d$/);
  const again = await open(await hash(page));
  assert.match(await again.locator('.chip[data-head="0"]').textContent(), /first .*entropy/);
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
