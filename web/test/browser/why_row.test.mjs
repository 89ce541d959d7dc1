// Why's whole row in a browser: every key by dimension, and queries and keys in a plane.
import assert from 'node:assert/strict';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {test} from 'node:test';
import {hash, quiet, row, soon, startServer, touching, withPages} from './harness.mjs';

const {state, blank} = withPages();
const kCell = '#why/L0.H1/i=60/j=20';
const kTales = join(dirname(fileURLToPath(import.meta.url)), '../../../models/tales');  // whose positions rotate

async function open(address = kCell, options = {}, server = state.server) {
  const page = await blank(options);
  await page.goto(server.address + address);
  await page.locator('.why-plane').waitFor();
  await quiet(page);
  return page;
}

const number = (text) => Number(text.replace('\u2212', '-'));
const bars = (page, at) => page.locator('.why-row.all:not(.head) .why-bars').nth(at);  // the first is that of q
const said = (page, at) => page.locator('.why-said').nth(at);

/** Points at the middle of a column of a row of bars. */
async function pointAt(page, at, column, columns) {
  await bars(page, at).scrollIntoViewIfNeeded();
  const box = await bars(page, at).boundingBox();
  await page.mouse.move(box.x + (column + 0.5) * box.width / columns, box.y + 6);
}

test('each row of bars has the numbers of its key, which sum to its score', async () => {
  const page = await open();
  const found = await row(page, 0, 1, 60, 'dimensions');
  const order = found.spread.map((_, at) => at).sort((a, b) => found.spread[b] - found.spread[a]);
  await soon.deepEqual(() => page.locator('.why-row.all.head .why-bars text').allTextContents(), order.map(String));
  const keys = page.locator('.why-row.all:has(.why-key)');
  await soon.deepEqual(() => keys.locator('.index').allTextContents().then((all) => all.map(Number).slice(0, 16)), found.keys.map(({key}) => key));
  for (const at of [0, 3]) {
    const {key, k, terms, score} = found.keys[at];
    const added = [];
    for (const [column, dimension] of order.entries()) {
      await pointAt(page, at + 1, column, order.length);
      await soon.match(() => said(page, 0).textContent(), new RegExp(`^dimension ${dimension} of .* ${key}: q `));
      const numbers = (await said(page, 0).textContent()).match(/q (\S+), k (\S+), adds (\S+)$/).slice(1).map(number);
      for (const [has, is] of numbers.map((each, place) => [each, [found.q[dimension], k[dimension], terms[dimension]][place]])) assert.ok(Math.abs(has - is) < 0.0051, `${has} for ${is}`);
      added.push(numbers[2]);
    }
    assert.ok(Math.abs(added.reduce((sum, each) => sum + each, 0) - score) < 0.005 * order.length + 1e-6);
    assert.ok(Math.abs(number(await keys.nth(at).locator('> :nth-child(4)').textContent()) - score) < 0.0051);
  }
  await page.mouse.move(5, 5);
  await soon.match(() => said(page, 0).textContent(), /^In each column left k/);
});

test('a click on a row, or on its name, explains that key; the name says what its focus adds most', async () => {
  const page = await open();
  const found = await row(page, 0, 1, 60, 'dimensions');
  await bars(page, 2).click();
  await soon.equal(() => hash(page), `#why/L0.H1/i=60/j=${found.keys[1].key}`);
  await quiet(page);
  const own = page.locator('.why-row.all .why-key.own');
  await soon.equal(() => own.getAttribute('aria-label'), `explain key ${found.keys[1].key}`);
  await own.focus();
  const {key, terms} = found.keys[1];
  const most = terms.map((_, at) => at).sort((a, b) => Math.abs(terms[b]) - Math.abs(terms[a]))[0];
  await soon.match(() => said(page, 0).textContent(), new RegExp(`^most of .* ${key}: dimension ${most} [+\u2212]`));
});

test('the plane has every query and key once, and says a point\u2019s numbers; a click explains it', async () => {
  const page = await open();
  const found = await row(page, 0, 1, 60, 'geometry');
  const plane = page.locator('.why-plane');
  await soon.equal(() => plane.locator('.why-dot').count(), found.keys.length);
  await soon.equal(() => plane.locator('.why-open').count(), found.queries.length);
  await soon.deepEqual(() => touching(page, '.why-plane text'), []);
  const query = found.queries.find((each) => each.query === 60);
  for (const key of found.keys) assert.ok(Math.abs(query.x * key.x - key.product + found.mean) < 1e-5 && query.y * key.y < 1e-9, `key ${key.key}`);
  const best = found.keys.reduce((most, each) => each.weight > most.weight ? each : most);
  await plane.scrollIntoViewIfNeeded();
  const dot = await plane.locator('.why-dot').nth(found.keys.indexOf(best)).boundingBox();
  await page.mouse.move(dot.x + dot.width / 2, dot.y + dot.height / 2);
  await soon.match(() => said(page, 1).textContent(), new RegExp(`^key .* ${best.key}: `));
  const [product, over] = (await said(page, 1).textContent()).match(/q\u00b7k (\S+), less the mean (\S+), weight /).slice(1).map(number);
  assert.ok(Math.abs(product - best.product) < 0.0051 && Math.abs(over - best.product + found.mean) < 0.0051);
  await page.mouse.down();
  await page.mouse.up();
  await soon.equal(() => hash(page), `#why/L0.H1/i=60/j=${best.key}`);
});

test('learned positions have no switch; rotating ones have the plane before and after, in the address', async () => {
  const page = await open();
  await soon.equal(() => page.locator('[aria-label=Rotation]').count(), 0);
  const server = await startServer(0, {folder: kTales});
  try {
    const turned = await open('#why/L1.H2/i=60/j=20', {}, server);
    const about = () => turned.locator('[aria-label="Queries and keys in a plane"] .heading').textContent();
    const after = await about();
    await turned.locator('[aria-label=Rotation] [data-option=before]').click();
    await soon.equal(() => hash(turned), '#why/L1.H2/i=60/j=20/rotation=before');
    await soon.notEqual(about, after);
    await quiet(turned);
    const before = await about();
    await turned.reload();
    await soon.equal(about, before);
    await turned.context().close();  // before its server ends
  } finally {
    await server.stop();
  }
});

for (const [width, height] of [[1440, 900], [1280, 800], [800, 900], [390, 844]]) {
  test(`nothing of the row overlaps or is cut: ${width} x ${height}`, async () => {
    const page = await open(kCell, {viewport: {width, height}});
    await soon.deepEqual(() => touching(page, '.why-part-block.whole :is(text, .why-row > :not(svg), .heading > *, .why-note)'), []);
    const beyond = () => page.locator('.why-part-block.whole').evaluateAll((all) => all.flatMap((part) => {
      const {left, right} = part.getBoundingClientRect();
      return [...part.querySelectorAll('svg, text, .why-row > *')].filter((each) => {
        const box = each.getBoundingClientRect();
        return box.width > 0 && (box.left < left - 1 || box.right > right + 1);
      }).map((each) => each.outerHTML.slice(0, 80));
    }));
    await soon.deepEqual(beyond, []);
    await soon.equal(() => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
  });
}
