// Words and Flow: what they show is what the server answers, and what a click and a key do.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {answer, hash, quiet, soon, withPages} from './harness.mjs';

const {open, blank, state} = withPages();
const short = (value) => value.toFixed(2).replace(/^0/, '');

/** The view of an address, when all that it asked for is drawn. */
async function view(address, options) {
  const page = await blank(options);
  await page.goto(state.server.address + address);
  await page.waitForSelector(address.startsWith('#words') ? '.words-row .value' : '.flow-node');
  await quiet(page);
  return page;
}

test('Words underlines each token by its surprise, and sums it up', async () => {
  const page = await view('#words/L0.H0/i=5');
  const {tokens, nats} = await answer(page, '/self/words');
  const {token, probability} = tokens.find((each) => each.token === 7);
  const weight = await page.locator(`.words-text .token[data-index="${token}"]`).first()
    .evaluate((element) => Number(element.style.getPropertyValue('--weight')));
  const bits = -Math.log2(probability);
  assert.ok(Math.abs(weight - (bits < 0.25 ? 0 : Math.min(6, bits))) < 0.002);
  await soon.match(() => page.locator('.words-sum').textContent(), new RegExp(`${(nats / Math.LN2).toFixed(2)} bits per token`));
});

/** What stands on something else in the underlined text: words, the lines under them, numbers. */
function overprinted(page) {
  return page.evaluate(() => {
    const found = [];
    const marks = [...document.querySelectorAll('.words-text .tokens .token, .branch-text .token')].filter((each) => each.checkVisibility()).flatMap((token) => {
      const box = token.getBoundingClientRect();
      const line = Number.parseFloat(getComputedStyle(token).borderBottomWidth);
      const name = token.firstChild?.textContent ?? '';
      const made = [{kind: 'line', token, name, left: box.left, right: box.right, top: box.bottom - line, bottom: box.bottom}];
      const range = document.createRange();
      const [first] = [...token.childNodes].filter((each) => each.nodeType === Node.TEXT_NODE);
      if (first) {
        range.selectNode(first);
        const {left, right, top, bottom} = range.getBoundingClientRect();
        made.push({kind: 'word', token, name, left, right, top: top + 2, bottom: bottom - 2});  // letters do not fill their box
      }
      const number = token.querySelector('.under')?.getBoundingClientRect();
      if (number) made.push({kind: 'number', token, name, left: number.left, right: number.right, top: number.top, bottom: number.bottom});
      return made;
    });
    marks.forEach((a, at) => {
      for (const b of marks.slice(at + 1)) {
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (across > 1 && down > 0.5) found.push(`${a.kind} of ${a.name} / ${b.kind} of ${b.name}`);
      }
    });
    return found;
  });
}

for (const width of [1440, 1280, 390]) {
  test(`no line under a word and no number reaches another line: ${width} px`, async () => {
    const page = await view('#words/L0.H0/i=5', {viewport: {width, height: 900}});
    await page.locator('.branch-end b').nth(3).waitFor();
    await soon.deepEqual(() => overprinted(page), []);
  });
}

test('pointing at a word says its surprise, whether its number found room or not', async () => {
  const page = await view('#words/L0.H0/i=5');
  const {tokens} = await answer(page, '/self/words');
  const {token, probability, rank} = tokens[10];
  await soon.match(() => page.locator(`.words-text .tokens .token[data-index="${token}"]`).getAttribute('title'),
    new RegExp(`^surprise ${(-Math.log2(probability)).toFixed(1)} bits, probability \\S+, rank ${rank}$`));
});

test('the next words are drawn anew under another temperature without a request', async () => {
  const page = await view('#words/L0.H0/i=5');
  const next = await answer(page, '/self/next?position=5&top=12');
  const words = page.locator('.words-row[data-id]');
  await soon.equal(() => words.count(), 12);
  await soon.equal(() => words.first().getAttribute('data-id'), String(next.words[0].id));
  const before = state.requests.length;
  await page.locator('.words-setting [data-option="0.5"]').click();
  await soon.ok(async () => Number(`0${await words.first().locator('.value').last().textContent()}`) > next.words[0].probability);
  assert.equal(state.requests.length, before, 'a temperature asked the server');
  await soon.match(() => hash(page), /t=0\.5/);
});

test('top-k cuts words: they show a dash, and how many are cut is said', async () => {
  const page = await view('#words/L0.H0/i=5/k=3');
  const values = await page.locator('.words-row[data-id] .value:last-child').allTextContents();
  assert.deepEqual(values.slice(3), new Array(9).fill('\u2013'));
  await soon.match(() => page.locator('.words-next').textContent(), /\d+ words cut/);
});

test('four branches are written, a click on another word writes one more', async () => {
  const page = await view('#words/L0.H0/i=5');
  await page.waitForFunction(() => document.querySelectorAll('.branch-end b').length === 4);
  const next = await answer(page, '/self/next?position=5&top=12');
  const last = next.words[9].id;
  await page.locator(`.words-row[data-id="${last}"]`).click();
  await page.waitForFunction((id) => document.querySelector('.branch')?.dataset.id === String(id), last);
  await quiet(page);
  await soon.equal(() => page.locator('.branch').count(), 4);
});

test('the arrows go from token to token, and a click in the text chooses what came there', async () => {
  const page = await view('#words/L0.H0/i=5');
  await page.keyboard.press('ArrowRight');
  await soon.match(() => hash(page), /i=6/);
  await page.locator('.words-text .token[data-index="4"]').first().click();
  await soon.match(() => hash(page), /i=3/);
  await quiet(page);
  await soon.equal(() => page.locator('.words-text .token.pinned').first().getAttribute('data-index'), '4');
});

test('the lens has a row for each layer and the embedding, and says what the server says', async () => {
  const page = await view('#words/L0.H0/i=5');
  const lens = await answer(page, '/self/lens?begin=0&end=8&at=5');
  await soon.equal(() => page.locator('.lens tbody tr').count(), lens.levels.length);
  const first = page.locator('.lens tbody tr').first().locator('td').first();
  const {probability, text} = lens.levels.at(-1).cells[0];  // the number is of the word that stands there
  await soon.equal(async () => (await first.locator('span').first().textContent()).trim(), text.trim());
  await soon.equal(() => first.locator('.lens-chance').textContent(), probability >= 0.995 ? '1' : probability < 0.005 ? '' : short(probability));
  await soon.match(() => page.locator('.check').textContent(), /lens of the last layer is the answer itself/);
});

test('Flow shows every layer with its edges and rest, and the test beside it', async () => {
  const page = await view('#flow/L0.H0/i=30');
  const flow = await answer(page, '/self/flow?position=30');
  await soon.equal(() => page.locator('.flow-layer').count(), flow.layers.length);
  await page.waitForSelector('.flow-test');
  const effects = await answer(page, '/self/effects?position=30');
  await soon.match(() => page.locator('.flow-part').nth(1).textContent(), new RegExp(short(effects.rank_correlation).replace('-', '\u2212').replace('.', '\\.')));
  await soon.equal(() => page.locator('.trust-dot').count(), effects.hidden.length);
  await soon.match(() => page.locator('.check').textContent(), /sum to 1 within/);
});

test('a click on a token shows its path, a second one takes it away', async () => {
  const page = await view('#flow/L0.H0/i=30');
  const foot = page.locator('button.flow-foot').nth(2);
  await foot.click();
  await page.waitForSelector('.flow-way', {state: 'attached'});
  await soon.match(() => hash(page), /i=30\/j=\d+/);
  await page.locator('button.flow-foot.chosen').click();
  await soon.doesNotMatch(() => hash(page), /j=/);
});

test('by effect the same graph is weighed anew, and the address says so', async () => {
  const page = await view('#flow/L0.H0/i=12');
  await page.keyboard.press('b');
  await soon.match(() => hash(page), /by=effect/);
  await page.waitForFunction(() => document.querySelector('.flow-graph .quiet')?.textContent.startsWith('By effect'));
});

test('Look has the lens in short', async () => {
  const page = await open('#look/L0.H0/i=5');
  await page.waitForSelector('.lens-short');
  const {levels, answers} = await answer(page, '/self/lens?begin=5&end=6&at=5&blocks=1');
  await soon.equal(() => page.locator('.lens-short .first circle').count(), levels.length);
  const words = answers.slice(0, 2).map(({text}) => text.trim()), ends = levels.at(-1).chances;
  const said = await page.locator('.lens-short').getAttribute('aria-label');
  for (const [at, word] of words.entries()) assert.ok(said.includes(`${word}: `), `${said} names ${word}`);
  assert.ok(Math.abs(ends[0] - answers[0].probability) < 1e-6, 'the last chance is that of the next word');
});

test('the foot names the keys that the model has', async () => {
  const page = await view('#words/L0.H0/i=5');
  const keys = await page.locator('.foot-keys').textContent();
  assert.match(keys, /temperature/);
  assert.ok(!keys.includes('masks'), keys);
});
