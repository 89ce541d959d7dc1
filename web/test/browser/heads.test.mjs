// The Heads view: table, scatter, evidence, search by example, comparison.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {hash, headScores, kText, quiet, soon, startServer, told, withPages, withRowOfNan} from './harness.mjs';

const {state, blank} = withPages();

async function open(address = '#heads/L1.H3', options = {}) {
  const page = await blank(options);
  await page.goto(state.server.address + address);
  await page.waitForSelector('.evidence-rows');
  await page.waitForFunction(() => document.querySelectorAll('.heads-sheet [role=row]').length > 0
    && ![...document.querySelectorAll('.heads-cell .value')].some(({textContent}) => textContent.includes('\u2013')));
  await quiet(page);
  return page;
}

const written = (value) => value >= 0.995 ? '1.0' : value.toFixed(2).slice(1);
const names = (page) => page.locator('.heads-sheet .heads-name b').allTextContents();

test('the table ranks every head by the score, the threshold stands where it belongs', async () => {
  const page = await open();
  const all = (await headScores(page)).sort((a, b) => b.previous - a.previous);
  await soon.deepEqual(() => names(page), all.map(({layer, head}) => `L${layer}.H${head}`));
  const reached = all.filter(({previous}) => previous >= 0.4).length;
  const bound = await page.locator('.heads-threshold').textContent();
  assert.match(bound, new RegExp(`reached by ${reached || 'none'}`));
  const first = await page.locator('.heads-sheet [role=row]').first().locator('.value').first().textContent();
  assert.equal(first, written(all[0].previous));
});

test('a click pins a head and a name ranks by its score; both stand in the address', async () => {
  const page = await open();
  await page.locator('.heads-sheet .heads-name').nth(2).click();
  await page.locator('.heads-names button', {hasText: 'sink'}).click();
  await soon.match(() => hash(page), /^#heads\/L\d\.H\d\/sort=sink$/);
  const all = (await headScores(page)).sort((a, b) => b.sink - a.sink);
  await soon.equal(async () => (await names(page))[0], `L${all[0].layer}.H${all[0].head}`);
});

test('the keys take the next score and the next axes', async () => {
  const page = await open();
  await page.keyboard.press('o');
  await page.keyboard.press('x');
  await soon.match(() => hash(page), /sort=current\/across=current/);
});

test('every score has its evidence, and the runner-up, or the head before all, with its value', async () => {
  const page = await open();
  const all = await page.evaluate(async () => (await (await fetch('/api/v1/models')).json()).scores.map(({name}) => name));
  for (const name of all.filter((each) => !each.startsWith('probe_'))) {
    await page.evaluate((sort) => { location.hash = `#heads/L1.H3/sort=${sort}`; }, name);
    await quiet(page);
    const title = name.replace(/_/g, ' ');
    await page.waitForFunction((title) => document.querySelector('.heads-evidence .heading')?.textContent.includes(title)
      && document.querySelector('.evidence-rows'), title);
    await soon.match(() => page.locator('.heads-evidence').textContent(), /the (runner-up|first head)(, | is )L\d\.H\d/);
  }
});

test('induction and duplicate say on which tokens they are measured, and what random tokens are for', async () => {
  const page = await open('#heads/L1.H3/sort=induction/across=induction/up=duplicate');
  const column = (name) => page.locator('.heads-names [role=columnheader]', {hasText: name}).textContent();
  const said = (selector) => page.locator(selector).allTextContents().then((all) => all.join(' '));
  for (const [option, source] of [['probe', 'on random tokens'], ['text', 'on this text']]) {
    await page.locator(`[aria-label=on] [data-option=${option}]`).click();
    await soon.equal(() => column('induction'), `induction${source}`);
    await soon.equal(() => column('duplicate'), `duplicate${source}`);
    await soon.match(() => said('.heads-scatter svg text'), new RegExp(`duplicate ${source}.*induction ${source}`));
    await soon.match(() => said('.heads-axes'), new RegExp(`x induction ${source}.*y duplicate ${source}`));
    await soon.match(() => said('.heads-evidence .heading'), new RegExp(`L1.H3, induction ${source}`));
    await soon.match(() => said('.foot .said'), new RegExp(`induction ${source} .*duplicate ${source} `));
    await soon.equal(() => page.locator('.heads-sources .quiet', {hasText: 'given twice'}).isVisible(), option === 'probe');
    await soon.doesNotMatch(() => page.locator('.view').innerText(), /probe|\bp (induc|dup)\b/);
  }
});

test('at 390 px three scores stand side by side, and a menu takes another one', async () => {
  const page = await open('#heads/L1.H3', {viewport: {width: 390, height: 844}});
  await soon.equal(() => page.locator('.heads-names [role=columnheader]').count(), 4);  // the head's name, too
  await soon.equal(() => page.evaluate(() => Math.max(...[...document.querySelectorAll('.heads-right, .heads-table')].map((each) => each.scrollWidth - each.clientWidth))), 0);
  const rows = await page.locator('.heads-sheet [role=row]').evaluateAll((all) => all.slice(0, 3).map((row) => {
    const middle = (each) => { const {top, bottom} = each.getBoundingClientRect(); return (top + bottom) / 2; };
    return Math.abs(middle(row.querySelector('.heads-name b')) - middle(row.querySelector('.value')));
  }));
  assert.ok(Math.max(...rows) < 2, `names stand ${rows.join()} px off their numbers`);
  await page.locator('.heads-names select').selectOption('distance');
  await soon.match(() => hash(page), /sort=distance/);
});

test('a table that goes on ends with a whole row, and says how many heads are below', async () => {
  for (const viewport of [{width: 1280, height: 620}, {width: 700, height: 500}]) {
    const page = await open('#heads/L1.H3', {viewport});
    const bounds = () => page.evaluate(() => {
      const {bottom} = document.querySelector('.heads-scroller').getBoundingClientRect();
      const rows = [...document.querySelectorAll('.heads-sheet [role=row]')].map((row) => row.getBoundingClientRect());
      return {cut: rows.filter((row) => row.top < bottom - 1 && row.bottom > bottom + 1).length, below: rows.filter((row) => row.top > bottom - 1).length};
    });
    const {cut, below} = await bounds();
    assert.equal(cut, 0);
    assert.ok(below > 0);
    await soon.equal(() => page.locator('.heads-table .more-below').textContent(), `\u2193 ${below} more heads`);
    await page.locator('.heads-scroller').evaluate((each) => { each.scrollTop = each.scrollHeight; });
    await soon.equal(() => page.locator('.heads-table .more-below').textContent(), '');
    await soon.deepEqual(bounds, {cut: 0, below: 0});
  }
});

test('the evidence says how many rows have their largest weight where the score counts it', async () => {
  const page = await open();
  const said = await page.locator('.first-of-row').textContent();
  assert.match(said, /first of its row at \d+ of \d+/);
  await soon.equal(() => page.locator('.heads-worst li').count(), 3);
});

test('words that are no plain English are explained beside the axes and the switch', async () => {
  const page = await open('#heads/L1.H3/across=value_sink/up=normalised_entropy');
  await soon.match(() => page.locator('.heads-scatter svg').first().textContent(), /how evenly a row spreads its weight.*the first token's share of what a row carries/);
  assert.match(await page.locator('.heads-axes option[value=value_weighted]').first().getAttribute('title'), /^what a row carries, its weights times/);
  assert.equal(await page.locator('.heads-adjusted').isVisible(), false);
  await page.locator('.heads-switch [data-option=adjusted]').click();
  await soon.match(() => page.locator('.heads-adjusted').innerText(), /^sink-adjusted: without the first token/);
});

test('sink-adjusted scores are those of the server', async () => {
  const page = await open('#heads/L1.H3/form=adjusted');
  const all = (await headScores(page)).sort((a, b) => b.adjusted.previous - a.adjusted.previous);
  await soon.equal(async () => (await names(page))[0], `L${all[0].layer}.H${all[0].head}`);
});

test('a search by example puts the head itself first', async () => {
  const page = await open();
  await page.keyboard.press('/');
  await page.keyboard.type('L2.H5');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('.heads-names')?.textContent.includes('like'));
  await soon.equal(async () => (await names(page))[0], 'L2.H5');
  await soon.equal(() => page.locator('.heads-sheet [role=row]').first().locator('.value').first().textContent(), '1.0');
});

test('what is no example is said, with what it may be', async () => {
  const page = await open();
  await page.keyboard.press('/');
  await page.keyboard.type('something');
  await page.keyboard.press('Enter');
  await soon.match(() => page.locator('.heads-pattern [role=alert]').textContent(), /^\u201c.+\u201d: expected a head as L1.H3/);
});

test('two heads stand side by side with their difference under one cursor', async () => {
  const page = await open('#heads/L1.H3+H5');
  await page.locator('[aria-label="compare with"] [data-option=head]').click();
  await quiet(page);
  await soon.equal(() => page.locator('.heads-compare canvas:visible').count(), 3);
  await page.locator('.heads-compare canvas').nth(2).hover({position: {x: 4, y: 60}});
  await soon.match(() => page.locator('.heads-compare .said[aria-live]').textContent(), /A .*, B .*/);
});

test('a head on two texts that differ in length stands side by side, without a difference', async () => {
  const page = await open();
  await page.locator('[aria-label="compare with"] [data-option=text]').click();
  await page.keyboard.type('Lily saw a big ball.');
  await page.keyboard.press('Control+Enter');
  await page.waitForFunction(() => [...document.querySelectorAll('.heads-compare canvas')].filter((each) => each.checkVisibility()).length === 2);
  await soon.match(() => page.locator('.heads-compare .said[aria-live]').textContent(), /The two sides differ in length.*Heads compares scores/);
  await soon.deepEqual(() => page.locator('.heads-names .option').evaluateAll((all) => all.slice(0, 3).map((each) => each.textContent)), ['previous A', 'previous B', 'A \u2212 B']);
  await page.locator('.heads-compare canvas').nth(1).hover({position: {x: 2, y: 40}});
  await page.waitForFunction(() => /^A .+ \d+ \u2192 .+ \d+ \S+; B .+ \d+ \u2192 .+ \d+ \S+\.$/.test(document.querySelector('.heads-compare .said[aria-live]').textContent));
});

test('a word swapped for one of more tokens: every head has its score in A, in B, and the difference; the maps line up by words', async () => {
  const page = await open(`#heads/L1.H3/vs=text:${encodeURIComponent(kText.replace('a big, red ball', 'a big, red kitchen'))}`);
  await soon.deepEqual(() => page.locator('.heads-names .option').evaluateAll((all) => all.slice(0, 3).map((each) => each.textContent)), ['previous A', 'previous B', 'A \u2212 B']);
  const cells = () => page.locator('.heads-sheet [role=row]').evaluateAll((rows) => rows.map((row) => [...row.querySelectorAll('.value')].slice(0, 3).map(({textContent}) => textContent)));
  await soon.ok(async () => (await cells()).every((row) => row.length === 3 && row.every((text) => text !== '\u2013')));
  const number = (text) => text.startsWith('<') ? 0 : Number(text.replace('\u2212', '-'));
  for (const [a, b, difference] of await cells()) assert.ok(Math.abs(number(a) - number(b) - number(difference)) < 0.021, `${a} ${b} ${difference}`);
  await soon.equal(() => page.locator('.heads-compare canvas:visible').count(), 3);
});

test('what ablating does is in nats, and both signs share one scale: no two bars of unlike values are alike', async () => {
  const page = await open('#heads/L1.H3/sort=without');
  await soon.match(() => page.locator('.heads-names').innerText(), /loss, nats$/m);
  const rows = await page.locator('.heads-sheet [role=row]').evaluateAll((all) => all.map((row) => {
    const cell = [...row.querySelectorAll('.heads-cell')].at(-1);
    return {value: Number(cell.textContent.replace('\u2212', '-')), width: Number(cell.querySelector('rect').getAttribute('width'))};
  }));
  const largest = rows.reduce((most, each) => Math.abs(each.value) > Math.abs(most.value) ? each : most);
  for (const {value, width} of rows) assert.ok(Math.abs(width - Math.max(1, largest.width * Math.abs(value / largest.value))) < 1.5, `${value} ${width}`);
});

test('nothing moves when the line of how many heads have been run without goes', async () => {
  const page = await blank();
  let release = () => undefined;
  const held = new Promise((resolve) => { release = resolve; });
  await page.route('**/late/run**', async (route) => {
    await held;
    await route.fallback();
  });
  await page.goto(`${state.server.address}#heads/L1.H3`);
  await page.waitForFunction(() => /run without it: 0 of/.test(document.querySelector('.heads-late')?.textContent));
  await page.waitForFunction(() => document.querySelector('.progress-place').childElementCount === 0 && document.querySelector('.evidence-rows'));
  const places = () => page.evaluate(() => ['.heads-scatter', '.heads-evidence', '.heads-switches', '.heads-table', '.foot'].map((name) => document.querySelector(name).getBoundingClientRect().top));
  const before = await places();
  release();
  await soon.equal(() => page.locator('.heads-late').textContent(), '');
  assert.deepEqual(await places(), before);
});

test('a head that heed chose is ranked by the score in which it stands out, until another score is chosen', async () => {
  const page = await blank();
  await page.goto(state.server.address);
  await page.waitForFunction(() => document.querySelector('.reason')?.textContent);
  await quiet(page);
  const [, layer, head] = /L(\d)\.H(\d)/.exec(await hash(page)).map(Number);
  await page.keyboard.press('7');
  await page.waitForSelector('.heads-sheet [role=row]');
  const all = await headScores(page);
  const shares = (await page.evaluate(async () => (await (await fetch('/api/v1/models')).json()).scores))
    .filter(({name, share, from}, _, all) => share && from === 'text' && !all.some((each) => each.name === `probe_${name}`));
  const own = all.find((each) => each.layer === layer && each.head === head);
  const most = (name) => Math.max(...all.map((each) => each[name]));
  const ranks = shares.filter(({name, threshold = 0}) => most(name) > 0 && most(name) >= threshold).map(({name}) => ({name, rank: all.filter((each) => each[name] > own[name]).length, value: own[name]})).sort((a, b) => a.rank - b.rank || b.value - a.value);
  const sorted = () => page.locator('.heads-names .option[aria-pressed=true]').textContent();
  await soon.equal(() => sorted(), ranks[0].name.replace(/_/g, ' '));
  await page.locator('.heads-sheet .heads-name').nth(5).click();
  await soon.equal(() => sorted(), ranks[0].name.replace(/_/g, ' '));
});

for (const width of [1440, 1280, 1000, 390]) {
  test(`no number touches a bar, and no bar is cut: ${width} px`, async () => {
    const page = await open('#heads/L1.H3/sort=without', {viewport: {width, height: 900}});
    const wrong = await page.locator('.heads-sheet .heads-cell').evaluateAll((cells) => cells.flatMap((cell) => {
      const range = document.createRange();
      range.selectNodeContents(cell.querySelector('.value'));
      const [number, box, bar] = [range.getBoundingClientRect(), cell.getBoundingClientRect(), cell.querySelector('rect')?.getBoundingClientRect()];
      return bar && (bar.left < number.right + 2 || bar.right > box.right + 0.5 || number.left < box.left - 0.5) ? [`${cell.textContent}: ${number.left}-${number.right} ${bar.left}-${bar.right} in ${box.left}-${box.right}`] : [];
    }));
    assert.deepEqual(wrong, []);
  });
}

test('a score that no head reaches ranks none at first, and has no heading over nothing', async () => {
  const server = await startServer(0, {text: 'Mr Brown gave his dog to Mary, because he could not keep it. Mary loved the dog, and she walked with it every day. When Mr Brown came back, he was very glad to see the dog.', folder: 'tales'});
  const page = await blank();
  await page.goto(server.address);
  await page.waitForFunction(() => document.querySelector('.reason')?.textContent);
  await page.keyboard.press('7');
  await page.waitForSelector('.heads-sheet [role=row]');
  await quiet(page);
  const sorted = () => page.locator('.heads-names .option[aria-pressed=true]').textContent();
  await soon.match(() => page.locator('.heads-names [aria-sort=descending]').innerText(), /^(?!same word)/);
  await soon.ok(() => page.locator('.heads-axes option', {hasText: /^without it$/}).count());
  await told(page);
  await soon.doesNotMatch(() => page.locator('.heads-threshold').allTextContents().then((all) => all.join()), /by none/);
  await page.evaluate(() => { location.hash += '/sort=same_word'; });
  await soon.equal(sorted, 'same word');
  await quiet(page);
  await soon.doesNotMatch(() => page.locator('.heads-evidence').innerText(), /0 of 0|fit least/);
  await page.goto('about:blank');
  await server.stop();
});

test('the line that counts the heads run without agrees with the cells of the table', async () => {
  const page = await blank();
  await page.goto(`${state.server.address}#heads/L1.H3`);
  await page.locator('.heads-row').first().waitFor();
  for (let done = -1; done < 24;) {
    const [said, cells] = await page.evaluate(() => {
      const rows = [...document.querySelectorAll('.heads-row')].map((row) => row.innerText.trim().split('\n')).filter(([name]) => /^L\d/.test(name));
      return [document.querySelector('.heads-late').textContent, rows.filter((row) => row.at(-1) !== '\u2013').length];
    });
    done = Number(/run without it: (\d+) of 24 heads/.exec(said)?.[1] ?? (cells === 24 ? 24 : 0));
    assert.equal(cells, done, said);
  }
});

test('scores of heads with weights that are NaN are NaN, and so it says', async () => {
  const page = await blank();
  await withRowOfNan(page, 5);
  await page.goto(`${state.server.address}#heads/L1.H3/on=text/sort=previous`);
  await told(page);
  const cells = await page.locator('.heads-sheet [role=row]:not(.heads-threshold)').evaluateAll((rows) =>
    rows.map((row) => [...row.querySelectorAll('.value')].slice(0, 2).map(({textContent}) => textContent)));
  assert.ok(cells.length > 1 && cells.flat().every((each) => each === 'NaN'), cells.join());
  assert.equal(await page.locator('.heads-cell rect').count() > 0 && await page.locator('.heads-row').evaluateAll((all) => all.some((each) => each.innerHTML.includes('"NaN"'))), false);
  assert.match(await page.locator('.heads-threshold').innerText(), /reached by none$/);
  assert.match(await page.locator('.heads-evidence').innerText(), /weights are NaN/);
});
