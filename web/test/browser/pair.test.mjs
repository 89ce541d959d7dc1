// Two texts as one sequence: from which to which, in the columns, the chips, the matrix and the address.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {test} from 'node:test';
import {eventually, hash, quiet, scratch, soon, withPages} from './harness.mjs';
import {tinyBert} from './tiny_bert.mjs';

const kFirst = 'time flies like an arrow';
const kSecond = 'fruit flies like a banana';
const folder = tinyBert('bert', `${kFirst} ${kSecond}`);

const {state, open, blank} = withPages({text: kFirst, folder, more: ['--pair', kSecond]});
const texts = (page, name) => page.locator(name).allTextContents();
const short = (value) => value.toFixed(2).replace(/^0/, '');

/** The rows of a head, as the server has them. */
function rowsOf(page, layer, head) {
  return page.evaluate(async ([layer, head, text, pair]) => {
    const post = {method: 'POST', body: JSON.stringify({text, pair})};
    const {session, tokens} = await (await fetch('/api/v1/sessions', post)).json();
    return Promise.all(tokens.map(async ({index}) =>
      (await (await fetch(`/api/v1/sessions/${session}/self/${layer}/${head}/row/${index}`)).json()).weights));
  }, [layer, head, kFirst, kSecond]);
}

/** Until both columns have their numbers. */
const drawn = (page) => page.waitForFunction(() => {
  const values = [...document.querySelectorAll('.share-value')];
  return values.length > 0 && !values.some(({textContent}) => textContent === '\u2013');
});

test('the header names both texts, and d goes through the filters', async () => {
  const page = await open('#look/L1.H2/i=2');
  await soon.deepEqual(() => texts(page, '.header-text .beginning'), [`\u201c${kFirst}\u201d`, `\u201c${kSecond}\u201d`]);
  for (const pair of ['A-A', 'A-B', 'B-A', 'B-B']) {
    await page.keyboard.press('d');
    await soon.equal(() => hash(page), `#look/L1.H2/i=2/pair=${pair}`);
    await soon.equal(() => page.locator('.edges .option[aria-pressed=true]:visible').textContent(), pair.replace('-', '\u2192'));
  }
  await page.keyboard.press('d');
  await soon.equal(() => hash(page), '#look/L1.H2/i=2');
  await page.keyboard.press('?');
  await soon.ok(async () => (await texts(page, '.keys-list dt')).includes('d'));
});

test('the columns and the chips tell the shares that the rows have', async () => {
  const page = await open('#look/L1.H2/i=2/pair=A-B');
  await drawn(page);
  await soon.deepEqual(() => texts(page, '.asker-token'), ['[CLS]', ...kFirst.split(' '), '[SEP]']);
  await soon.deepEqual(() => texts(page, '.read-token'), [...kSecond.split(' '), '[SEP]']);
  const rows = (await rowsOf(page, 1, 2)).slice(0, 7);
  const shares = rows.map((row) => row.slice(7).reduce((sum, weight) => sum + weight, 0));
  await soon.deepEqual(() => texts(page, '.asker .share-value'), shares.map(short));
  const means = rows[0].slice(7).map((_, key) => rows.reduce((sum, row) => sum + row[7 + key], 0) / 7);
  await soon.deepEqual(() => texts(page, '.read-row .share-value'), means.map(short));
  const mean = shares.reduce((sum, share) => sum + share, 0) / 7;
  await soon.equal(() => page.locator('.chip.chosen .chip-name').textContent(), `H2${short(mean)}`);
  await soon.equal(() => page.locator('.layer-heads').textContent(), 'A to B, share');
  await soon.equal(() => page.locator('.below h2').textContent(), 'Head 2 in every layer');
  await page.waitForFunction(() => [...document.querySelectorAll('.between-small')].every((each) => each.querySelector('.arc')));
  const strokes = await page.locator('.between-small .arc').evaluateAll((all) => all.map((arc) => getComputedStyle(arc).stroke));
  assert.deepEqual(new Set(strokes).size, 1);
  assert.notEqual(strokes[0], 'none');
});

test('only edges of the filter are drawn, and a click on one pins it', async () => {
  const page = await open('#look/L1.H2/pair=B-A');
  await drawn(page);
  await page.waitForSelector('.between-sheet .arc-target');
  const ends = await page.locator('.between-sheet .arc-target').evaluateAll((arcs) =>
    arcs.map(({dataset}) => [Number(dataset.query), Number(dataset.key)]));
  assert.ok(ends.length > 0 && ends.every(([query, key]) => query >= 7 && key < 7));
  await page.locator('.asker').first().click();
  await soon.equal(() => hash(page), '#look/L1.H2/i=7/pair=B-A');
  await page.locator('.read-row').nth(1).click();
  await soon.equal(() => hash(page), '#look/L1.H2/i=7/j=1/pair=B-A');
  await quiet(page);
  await soon.equal(() => page.locator('.figure b').allTextContents().then((names) => names.join(' ')), 'fruit time');
});

test('from the fifth head on each has its own drawing', async () => {
  const page = await open('#look/L0.H0+H1+H2+H3+L1.H0/pair=A-B');
  await page.waitForSelector('.edges .between-small path.arc');
  await soon.equal(() => page.locator('.edges .between-small').count(), 5);
  await soon.equal(() => page.locator('.between-body').isVisible(), false);
});

test('two heads may share the drawing: a colour each, and their numbers at the pair that is pointed at', async () => {
  const page = await open('#look/L1.H2+H3/i=2/pair=A-B');
  await page.waitForSelector('.between-small');
  await page.keyboard.press('a');
  await soon.equal(() => hash(page), '#look/L1.H2+H3/i=2/pair=A-B/arcs=together');
  for (const colour of [1, 2]) await page.waitForSelector(`.between-sheet .arc.head-${colour}`, {state: 'attached'});
  await soon.deepEqual(async () => (await texts(page, '.together-heads .small-name')).map((name) => name.trim()), ['H2', 'H3']);
  await soon.equal(() => page.locator('.between-sheet .arc-number').count(), 0);
  const keys = () => page.locator('.between-sheet .arc-target').evaluateAll((all) => all.filter(({dataset: {query}}) => query === '2').map(({dataset: {key}}) => key));
  await soon.ok(async () => (await keys()).length > 0);
  const found = await keys();
  const times = (key) => found.filter((each) => each === key).length;
  const most = found.reduce((best, key) => times(key) > times(best) ? key : best, found[0]);
  await page.locator(`.read-row[data-index="${most}"]`).hover();
  await soon.equal(() => page.locator('.between-sheet .arc-number').count(), times(most));
  assert.ok((await texts(page, '.between-sheet .arc-number')).every((number) => /^H[23] \.\d{3}$/.test(number)));
});

test('a second text can be typed, and goes with the first', async () => {
  const page = await open();
  await page.locator('.header-text').click();
  await soon.equal(() => page.getByLabel('Second text').inputValue(), kSecond);
  await page.getByLabel('Second text').fill('a fruit');
  await page.keyboard.press('Control+Enter');
  await page.waitForFunction(() => document.querySelectorAll('.header-text .beginning')[1]?.textContent === '\u201ca fruit\u201d');
  await page.locator('.header-text').click();
  await page.getByLabel('Second text').fill('');
  await page.keyboard.press('Control+Enter');
  await page.waitForFunction(() => document.querySelectorAll('.header-text .beginning').length === 1);
  await soon.equal(() => page.locator('.edges .choice:visible').count(), 0);
});

test('of a comparison the largest are those of the difference, of either sign, and the heading says so', async () => {
  const page = await open('#look/L1.H2/i=2/pair=A-B/vs=L1.H0');
  await soon.equal(() => page.locator('.side h2').first().textContent(), 'Largest |A \u2212 B|, word to word');
  const [a, b] = [await rowsOf(page, 1, 2), await rowsOf(page, 1, 0)];
  const words = [1, 2, 3, 4, 5].flatMap((query) => [7, 8, 9, 10, 11].map((key) => a[query][key] - b[query][key]));
  const most = words.sort((one, other) => Math.abs(other) - Math.abs(one)).slice(0, 10);
  assert.ok(most.some((each) => each < 0) && most.some((each) => each > 0), `${most}`);
  const shown = async () => (await texts(page, '.largest .value')).map((text) => Number(text.replace('\u2212', '-')));
  await eventually(async () => {
    const found = await shown();
    assert.equal(found.length, most.length);
    found.forEach((value, at) => assert.ok(Math.abs(value - most[at]) < 1e-3, `${found}; expected ${most}`));
  });
  await page.locator('.arc.more').first().waitFor({state: 'attached'});
  await page.locator('.arc.less').first().waitFor({state: 'attached'});
});

test('a saved page of a pair shows the same', async () => {
  const page = await open('#look/L1.H2/i=2/pair=A-B');
  await drawn(page);
  const file = join(scratch, 'pair.html');
  execFileSync(process.env.HEED_PROGRAM, ['look', kFirst, '--pair', kSecond, '--model', folder, '--view', 'look/L1.H2/i=2/pair=A-B', '-o', file]);
  const saved = await blank();
  await saved.goto(pathToFileURL(file).href);
  await drawn(saved);
  await quiet(saved);
  for (const name of ['.asker', '.read-row', '.chip', '.largest .value', '.where .value']) {
    await eventually(async () => assert.deepEqual(await texts(saved, name), await texts(page, name), name));
  }
});

test('m covers the token of a model that fills masks, and uncovers it', async () => {
  const page = await blank();
  await page.goto(`${state.server.address}#words/L0.H0/i=2`);
  await page.waitForSelector('.words-row .word');
  const covered = page.locator('.words-part .option', {hasText: 'covered'});
  const words = () => texts(page, '.words-row .value');
  await quiet(page);
  const before = await words();
  await soon.equal(() => covered.getAttribute('aria-pressed'), 'true');
  await page.keyboard.press('m');
  await quiet(page);
  await soon.equal(() => covered.getAttribute('aria-pressed'), 'false');
  await soon.notDeepEqual(() => words(), before);
  await page.keyboard.press('m');
  await quiet(page);
  await soon.deepEqual(() => words(), before);
});

for (const address of ['', '/i=2/pair=A-B', '/vs=ablate:self.L0.H1', '/i=2/j=9/pair=A-B/vs=ablate:self.L0.H1']) {
  test(`all of a pair is in a window of 900 px, and its heading is whole: ${address || 'both texts'}`, async () => {
    const page = await open(`#look/L1.H2${address}`);
    if (address.includes('vs=')) await page.waitForFunction(() => document.querySelector('.compare-line [data-option="A-B"][aria-pressed=true]'));
    await quiet(page);
    await soon.equal(() => page.evaluate(() => document.documentElement.scrollHeight), 900);
    const about = page.locator('.edges .heading .quiet').first();
    await soon.ok(() => about.evaluate((each) => each.scrollWidth <= each.clientWidth), 'the heading is cut');
  });
}

test('special tokens stand apart from the words beside them', async () => {
  const page = await open('#look/L1.H2');
  await quiet(page);
  const said = (await texts(page, '.key .context')).map((text) => text.replace(/\u00a0/g, ' '));
  assert.ok(said.some((text) => text.includes('[SEP]')), said.join('; '));
  assert.deepEqual(said.filter((text) => /\w\[|\]\w/.test(text)), []);
});
