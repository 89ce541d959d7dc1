// Edits: what changed is said, the head in view too where it cannot change; words of several tokens are swapped.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {answer, hash, kText, quiet, soon, withPages} from './harness.mjs';

const {open} = withPages();
const numberOf = (text) => Number(text.replace('\u2212', '-').replace(/^<.*/, '0'));

const changes = (page) => page.locator('.compare-changes .compare-group').first().locator('button')
  .evaluateAll((all) => all.map((each) => ({head: /L\d+\.H\d+/.exec(each.textContent)[0], change: Number(each.dataset.change)})));
const same = (page) => page.locator('.compare-same').textContent();

/** The rows of the list of next words: the word, and its numbers. */
const nextWords = (page) => page.locator('.next-row:not(.quiet)').evaluateAll((rows) => rows.map((row) =>
  [row.querySelector('.word').textContent, ...[...row.querySelectorAll('.value')].map((value) => value.textContent)]));

async function ablate(page) {
  await page.locator('.header-compare').click();
  await page.locator('.compare-form button', {hasText: 'ablate head L1.H5'}).click();
  await page.locator('.compare-changes button').first().waitFor();
}

test('after a head is ablated the one that changes most is shown, and why the map of the ablated head is the same', async () => {
  const page = await open('#look/L1.H5/i=76');
  await ablate(page);
  await soon.match(() => same(page), /^The map of L1.H5 is the same in A and B: ablating a head zeroes what it writes.* show L1.H5$/);
  const found = await changes(page);
  await soon.match(() => hash(page), new RegExp(`^#look/${found[0].head}/i=76/vs=ablate:self.L1.H5$`));
  await page.locator('.arc.more, .arc.less').first().waitFor();
  assert.ok(found.length > 1 && found.every(({head}) => head.startsWith('L2.')), JSON.stringify(found));
  assert.deepEqual(found, [...found].sort((a, b) => b.change - a.change));
  await soon.deepEqual(() => page.locator('.compare-changes .compare-group').nth(1).locator('button').evaluateAll((all) => all.map((each) => /L\d+/.exec(each.textContent)[0])), ['L2']);
  await page.keyboard.press('Escape');
  await soon.equal(() => hash(page), '#look/L1.H5/i=76');
  await page.goBack();
  await page.locator('.compare-same button').click();
  await soon.ok(async () => (await hash(page)).startsWith('#look/L1.H5/'));
  await page.locator('.compare-same button', {hasText: `${found[0].head} changes most`}).click();
  await soon.ok(async () => (await hash(page)).startsWith(`#look/${found[0].head}/`));
  await page.evaluate(() => { location.hash = location.hash.replace(/L2\.H\d/, 'L0.H1'); });
  await soon.match(() => same(page), /^The map of L0.H1 is the same in A and B: nothing that it reads is changed by the edit/);
});

test('over the view stand the change of the loss, as Heads has it, and the next words of both', async () => {
  const page = await open('#look/L1.H5/i=76');
  const {without: rise} = await answer(page, '/self/1/5/late/run');
  await ablate(page);
  await soon.match(() => page.locator('.compare-loss').textContent(), /^loss \S+ nats per token \(\S+ \u2192 \S+\)$/);
  assert.ok(Math.abs(numberOf(/loss (\S+)/.exec(await page.locator('.compare-loss').textContent())[1]) - rise) < 1e-3, `${rise}`);
  await soon.match(() => page.locator('.compare-words').textContent(), /^next: \u201c.*\u201d \S+ \u2192 \S+/);
});

test('where a word occurs several times one or all of them are swapped', async () => {
  const page = await open('#look/L1.H3');
  const balls = await page.locator('.token').evaluateAll((all) => all.flatMap((each) => each.firstChild.textContent === 'ball' ? [Number(each.dataset.index)] : []));
  assert.ok(balls.length > 1);
  await page.locator(`.token[data-index="${balls[1]}"]`).click();
  await page.locator('.header-compare').click();
  await page.locator('.compare-field[aria-label="swap for"]').fill('mom');
  await page.locator('.compare-form button', {hasText: `swap all ${balls.length} ball`}).click();
  await soon.match(() => hash(page), new RegExp(`/vs=swap:${balls.map((at) => `tokens:${at}:\\d+`).join(',')}$`));
  await soon.match(() => page.locator('.compare-about').textContent(), new RegExp(`B: tokens ${balls.join(', ')} swapped for mom`));
  await page.goBack();
  await page.locator('.compare-about').waitFor({state: 'hidden'});
  await page.locator('.header-compare').click();
  await page.locator('.compare-field[aria-label="swap for"]').fill('kitchen');
  await page.locator('.compare-form button', {hasText: `swap all ${balls.length} ball`}).click();
  await soon.ok(async () => decodeURIComponent(await hash(page)).split('kitchen').length === kText.split('kitchen').length + balls.length);
  assert.ok(!decodeURIComponent(await hash(page)).includes('ball'));
});

test('A and B have one colour each, in bars and in the lens', async () => {
  const page = await open('#look/L1.H5/i=76/vs=ablate:self.L0.H1');
  await page.locator('.next-row.both .bar.more').first().waitFor();
  await page.locator('.lens-short.both').waitFor();
  const [bar, line, legend] = await page.evaluate(() => ['.next-row.both .bar.more', '.lens-short .first polyline'].map((name) => getComputedStyle(document.querySelector(name)))
    .flatMap(({backgroundColor, stroke}, at) => [at === 0 ? backgroundColor : stroke])
    .concat([...document.querySelector('.compare-ramp').getContext('2d').getImageData(64, 0, 1, 1).data.slice(0, 3)].join(', ')));
  assert.equal(bar, line);
  assert.equal(bar, `rgb(${legend})`);
});

test('next words and lens are those of A, of B, or of both with the change', async () => {
  const page = await open('#look/L1.H5/i=76');
  const before = await nextWords(page);
  await ablate(page);
  await page.locator('.next-row.both').first().waitFor();
  const both = await nextWords(page);
  for (const [word, a, b, change] of both) assert.ok(Math.abs(numberOf(a) - numberOf(b) - numberOf(change)) < 2e-3, `${word} ${a} ${b} ${change}`);
  const sizes = both.map(([, , , change]) => Math.abs(numberOf(change)));
  assert.deepEqual(sizes, [...sizes].sort((a, b) => b - a));
  const lens = () => page.locator('.lens-short').getAttribute('aria-label');
  await soon.match(lens, /^A .*; B /s);
  await page.locator('[aria-label=Shown] [data-option=B]').click();
  await soon.equal(() => page.locator('.next-row.both').count(), 0);
  await soon.notDeepEqual(() => nextWords(page), before);
  await quiet(page);
  const ofB = await nextWords(page);
  const inB = new Map(both.map(([word, , b]) => [word, b]));
  for (const [word, probability] of ofB) if (inB.has(word)) assert.equal(probability, inB.get(word), word);
  await page.locator('[aria-label=Shown] [data-option=A]').click();
  await soon.deepEqual(() => nextWords(page), before);
  await soon.doesNotMatch(lens, /^A /);
});

for (const view of ['look', 'matrix', 'why']) {
  test(`the header offers the edits and what can be compared: ${view}`, async () => {
    const page = await open('#look/L1.H5/i=76/j=3');
    await page.evaluate((name) => { location.hash = location.hash.replace('look', name); }, view);
    await quiet(page);
    await page.locator('.header-compare').click();
    const form = page.locator('.compare-form');
    for (const label of ['ablate head', 'remove edge', 'hide token', 'swap word', 'limit distance', 'text', 'head', 'model']) {
      await soon.match(() => form.innerText(), new RegExp(label), label);
    }
    await page.keyboard.press('Escape');
    await form.waitFor({state: 'hidden'});
  });
}

test('an edit that needs something pinned says so', async () => {
  const page = await open('#look/L1.H5');
  await page.keyboard.press('Escape');
  await page.locator('.header-compare').click();
  await soon.match(() => page.locator('.compare-form').innerText(), /remove edge \(pin one first\)/);
});

/** The token whose text it is. */
const indexOf = (page, text) => page.locator('.token').evaluateAll((all, wanted) =>
  Number(all.find((each) => each.firstChild.textContent === wanted)?.dataset.index), text);

test('a word is swapped for one of more tokens: the texts are aligned by words, and what does not line up is said', async () => {
  const page = await open('#look/L1.H3');
  const ball = await indexOf(page, 'ball');
  await page.locator(`.token[data-index="${ball}"]`).click();
  await page.locator('.header-compare').click();
  await page.locator('.compare-form .compare-field[aria-label="swap for"]').fill('kitchen');
  await page.keyboard.press('Enter');
  await soon.match(() => page.locator('.compare-about').textContent(), /B: the text .*\. \u201cball\u201d is 1 and \u201ckitchen\u201d \d tokens: they are compared as words/);
  await soon.match(() => page.locator('.compare-changes').textContent(), /changed most, share of a row: heads(L\d\.H\d \.\d+){6}layers(L\d \.\d+)+/);
  await page.locator('.next-row.both').first().waitFor();
  await soon.ok(() => page.locator('.foot').evaluate((foot) => foot.clientHeight < 40), 'the address of a text leaves the foot one line');
  const last = await page.locator('.query').last().getAttribute('data-index');
  await page.evaluate(([query, key]) => { location.hash = location.hash.replace(/\/i=\d+/, `/i=${query}/j=${key}`); }, [Number(last), ball]);
  await soon.match(() => page.locator('.read-out .rank').textContent(), /^A \S+, B \S+$/);
  const [, a, b] = /^A (\S+), B (\S+)$/.exec(await page.locator('.read-out .rank').textContent());
  await soon.ok(async () => Math.abs(numberOf(a) - numberOf(b) - numberOf((await page.locator('.large').textContent()).replace(/^<0/, '<'))) < 2e-3);
});

test('without an edit the words of two texts stand for each other as far as they can', async () => {
  const page = await open(`#look/L1.H3/i=5/vs=text:${encodeURIComponent('Once upon a time, there was a little girl named Lily.')}`);
  await soon.match(() => page.locator('.compare-about').textContent(), /The two sides differ in length/);
});
