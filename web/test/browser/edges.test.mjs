// The chips and the edges: heads chosen and added, keys with their weights, arcs, folds, small multiples.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {answer, eventually, frames, hash, quiet, row, soon, startServer, token, withPages} from './harness.mjs';

const {blank, open} = withPages();
const written = (weight) => weight < 0.9995 ? weight.toFixed(3).slice(1) : '1.00';

test('a chip shows one head, Shift adds, a double click shows it alone', async () => {
  const page = await open('#look/L1.H3/i=60');
  const chip = (head) => page.locator(`.chip[data-head="${head}"]`);
  await chip(1).click();
  await soon.equal(() => hash(page), '#look/L1.H1/i=60');
  await chip(4).click({modifiers: ['Shift']});
  await soon.equal(() => hash(page), '#look/L1.H1+H4/i=60');
  await page.waitForSelector('.arc.head-2', {state: 'attached'});
  await chip(4).dblclick({modifiers: ['Shift']});
  await soon.equal(() => hash(page), '#look/L1.H4/i=60');
});

test('a chip names the score that its head has most of, and its distance', async () => {
  const page = await open('#look/L1.H3/i=60');
  const {scores} = await page.evaluate(async () => (await fetch('/api/v1/models')).json());
  const {layers: [{heads}]} = await answer(page, '/self/heads?layer=1');
  const shares = scores.filter(({share, from}) => share && from === 'text').map(({name}) => name);
  for (const head of heads) {
    const best = shares.reduce((most, name) => head[name] > (head[most] ?? -1) ? name : most, '');
    const text = await page.locator(`.chip[data-head="${head.head}"] .chip-scores`).textContent();
    assert.ok(text.startsWith(`${best.replace(/_/g, ' ')} `), `${text}: expected ${best} ${head[best]}`);
    assert.match(text, /^\D+(\.\d\d|1\.0).*\d+\.\d back$/);
  }
});

test('the keys of a row stand with their weights and what is left over', async () => {
  const page = await open('#look/L1.H3/i=60');
  await page.waitForSelector('.key');
  const {edges, weights} = await row(page, 1, 3, 60);
  await soon.deepEqual(() => page.locator('.key .value').allTextContents(), edges.map((edge) => written(edge.weight)));
  const rest = weights.filter((weight) => weight !== null).length - edges.length;
  await soon.match(() => page.locator('.keys .rest').textContent(), new RegExp(`^\\+ \\.\\d{3} in ${rest} others$`));
});

test('of two heads each has a drawing of its own, in its colour, with its weights', async () => {
  const page = await open('#look/L1.H3+H1/i=60');
  await page.waitForSelector('.small .arc.head-2', {state: 'attached'});
  for (const [head, colour] of [[3, 1], [1, 2]]) {
    const {edges} = await row(page, 1, head, 60);
    const own = page.locator(`.small.head-${colour}[data-head="${head}"]`);
    await soon.deepEqual(() => own.locator('.value').allTextContents(), edges.map((edge) => written(edge.weight)));
    await soon.equal(() => own.locator(`.arc.head-${colour}`).count(), edges.filter((edge) => edge.weight >= 0.01).length);
  }
  await soon.ok(async () => !await page.locator('.queries').isVisible());
  await soon.equal(() => page.locator('.matrix-part .heading .quiet').first().textContent(), 'L1.H3, row attends to column');
});

test('several heads may be one drawing: a colour each, numbers only of the edge that is pointed at', async () => {
  const page = await open('#look/L1.H3+H1/i=60');
  await page.waitForSelector('.small .arc.head-2', {state: 'attached'});
  await page.locator('.edges .option', {hasText: 'together'}).click();
  await soon.equal(() => hash(page), '#look/L1.H3+H1/i=60/arcs=together');
  await page.waitForSelector('.edges-body .arc.head-2', {state: 'attached'});
  await soon.ok(async () => await page.locator('.queries').isVisible() && !await page.locator('.multiples').isVisible());
  const all = [];
  for (const [head, colour] of [[3, 1], [1, 2]]) {
    const {edges} = await row(page, 1, head, 60);
    all.push({head, edges});
    await soon.equal(() => page.locator(`.edges-body .arc.head-${colour}`).count(), edges.length);
  }
  await soon.match(() => page.locator('.together-heads').textContent(), /^H3 \+ <?\.\d{3}H1 \+ <?\.\d{3}$/);
  await soon.equal(() => page.locator('.arc-number').count(), 0);
  await soon.ok(async () => (await page.locator('.keys .key .value').allTextContents()).every((value) => value === ''));
  const keys = await page.locator('.keys .key').evaluateAll((rows) => rows.map((each) => Number(each.dataset.index)));
  const shared = keys.find((key) => all.every(({edges}) => edges.some((edge) => edge.key === key))) ?? keys[0];
  await page.locator(`.keys .key[data-index="${shared}"]`).hover();
  const numbers = all.flatMap(({head, edges}) => edges.filter(({key}) => key === shared).map(({weight}) => `H${head} ${written(weight)}`));
  await soon.deepEqual(() => page.locator('.arc-number').allTextContents(), numbers);
  const boxes = await page.locator('.arc-number').evaluateAll((texts) => texts.map((each) => each.getBoundingClientRect().toJSON()));
  if (boxes.length > 1) assert.ok(boxes[0].bottom <= boxes[1].top + 2, JSON.stringify(boxes));
  await page.keyboard.press('a');
  await soon.equal(() => hash(page), '#look/L1.H3+H1/i=60');
  await page.waitForSelector('.small .arc.head-2', {state: 'attached'});
});

test('more heads than colours are not offered as one drawing', async () => {
  const page = await open('#look/L1.H0+H1+H2+H3+H4/i=60/arcs=together');
  await soon.equal(() => page.locator('.small').count(), 5);
  await soon.equal(() => page.locator('.edges .option', {hasText: 'together'}).isVisible(), false);
  await page.keyboard.press('a');
  await soon.equal(() => page.locator('.small').count(), 5);
});

test('the number of an edge is on the middle of its line, and whole', async () => {
  const page = await open();
  const edges = ['L1.H3/i=60', 'L0.H1/i=60', 'L1.H0/i=190', 'L2.H4/i=100'];
  for (const edge of edges) {
    const {edges: shown} = await row(page, ...edge.match(/\d+/g).map(Number));
    for (const {key} of shown.slice(0, 3)) {
      await page.evaluate((hash) => { location.hash = hash; }, `#look/${edge}/j=${key}`);
      await quiet(page);
      await page.waitForSelector('.arc-number.chosen', {state: 'attached'});
      await frames(page);
      const off = await page.evaluate(() => {
        const label = document.querySelector('.arc-number.chosen').getBoundingClientRect();
        const arc = document.querySelector('.arc.accent');
        const room = arc.ownerSVGElement.getBoundingClientRect();
        const {x, y} = arc.getPointAtLength(arc.getTotalLength() / 2);
        const isWhole = label.left >= room.left && label.right <= room.right && label.top >= room.top && label.bottom <= room.bottom;
        return isWhole ? Math.max(Math.abs((label.left + label.right) / 2 - room.left - x), Math.abs((label.top + label.bottom) / 2 - room.top - y)) : Infinity;
      });
      assert.ok(off <= 3, `${edge}/j=${key}: ${off}`);
    }
  }
});

test('a token stands beside itself, so that attention to itself is a horizontal line', async () => {
  const page = await open('#look/L1.H3/i=60');
  await page.waitForSelector('.key');
  for (const query of [60, 61, 64, 70]) {
    await page.locator(`.query[data-index="${query}"]`).click();
    await page.mouse.move(700, 5);  // the rows have moved under it
    await page.waitForFunction((index) => document.querySelector('.query.pinned')?.dataset.index === String(index), query);
    const {edges} = await row(page, 1, 3, query);
    await soon.equal(() => page.locator('.key').count(), edges.length);
    await quiet(page);
    const [self, left, right] = await page.evaluate((index) => {
      const middle = (element) => {
        const {top, height} = element.getBoundingClientRect();
        return top + height / 2;
      };
      const key = document.querySelector(`.key[data-index="${index}"]`);
      return [key !== null, middle(document.querySelector(`.query[data-index="${index}"]`)), key && middle(key)];
    }, query);
    assert.equal(self, edges.some((edge) => edge.key === query));
    if (self) assert.ok(Math.abs(left - right) < 1, `query ${query} at ${left}, its key at ${right}`);
  }
});

test('a fold opens with a click', async () => {
  const page = await open('#look/L1.H3/i=60');
  const fold = page.locator('.fold').first();
  const before = await page.locator('.key').count();
  const count = Number((await fold.textContent()).split(' ')[0]);
  await fold.click();
  await soon.equal(() => page.locator('.key').count(), before + count);
});

test('hovering an edge puts its number on the arc, a click pins it', async () => {
  const page = await open('#look/L1.H3/i=60');
  const key = page.locator('.key').first();
  const index = Number(await key.getAttribute('data-index'));
  await key.hover();
  await eventually(async () => assert.equal(await page.locator('.arc-number').textContent(), await key.locator('.value').textContent()));
  await soon.match(() => token(page, index).getAttribute('class'), /hovered/);
  await key.click();
  await soon.equal(() => hash(page), `#look/L1.H3/i=60/j=${index}`);
  await soon.match(() => key.getAttribute('class'), /pinned/);
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
  await page.waitForSelector('.arc-number', {state: 'attached'});
  await page.mouse.click(at.x, at.y);
  await soon.match(() => hash(page), new RegExp(`/j=${key}$`));
});

test('a query can be clicked, walked to with arrows, and scrolled with the wheel', async () => {
  const page = await open('#look/L1.H3/i=60');
  await page.locator('.query[data-index="62"]').click();
  await soon.equal(() => hash(page), '#look/L1.H3/i=62');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await soon.equal(() => hash(page), '#look/L1.H3/i=63');
  await frames(page);  // the rows around 63
  const first = () => page.locator('.query').first().getAttribute('data-index');
  const before = Number(await first());
  await page.mouse.wheel(0, 100);
  await page.waitForFunction((old) => Number(document.querySelector('.query').dataset.index) === old + 3, before);
});

test('from the second head on arcs are dashed, each head in its own way', async () => {
  const page = await open('#look/L1.H1+H2+H3+H4/i=100');
  await page.waitForSelector('.arc.head-4', {state: 'attached'});
  const dashes = (head) => page.locator(`.arc.head-${head}`).first().evaluate((arc) => getComputedStyle(arc).strokeDasharray);
  await soon.deepEqual(async () => [await dashes(1), await dashes(2), await dashes(3), await dashes(4)],
    ['none', '6px, 3px', '2px, 2px', '8px, 2px, 2px, 2px']);
});

test('five heads are five small drawings', async () => {
  const page = await open('#look/L1.H0+H1+H2+H3/i=100');
  await page.locator('.chip[data-head="5"]').click({modifiers: ['Shift']});
  await soon.equal(() => hash(page), '#look/L1.H0+H1+H2+H3+H5/i=100');
  await page.waitForFunction(() => document.querySelectorAll('.small .small-keys').length === 5
    && [...document.querySelectorAll('.small-keys')].every((keys) => keys.children.length > 0));
  const {edges, rest} = await row(page, 1, 5, 100);
  const own = page.locator('.small[data-head="5"]');
  await soon.deepEqual(() => own.locator('.value').allTextContents(), edges.map((edge) => written(edge.weight)));
  await soon.match(() => own.locator('.small-rest').textContent(), new RegExp(`in ${rest.count} others$`));
  await soon.equal(() => own.locator('.arc').count(), edges.filter((edge) => edge.weight >= 0.01).length);
  await soon.ok(async () => !await page.locator('.queries').isVisible());
  await own.locator('.key').first().hover();
  await page.waitForSelector(`.token.hovered[data-index="${edges[0].key}"]`);
  await own.locator('.key').first().click();
  await soon.equal(() => hash(page), `#look/L1.H0+H1+H2+H3+H5/i=100/j=${edges[0].key}`);
  await page.locator('.small-name[data-head="3"]').click({modifiers: ['Shift']});
  await soon.equal(() => hash(page), `#look/L1.H0+H1+H2+H5/i=100/j=${edges[0].key}`);
});

test('a small drawing shows its head alone with a click on its name', async () => {
  const page = await open('#look/L1.H0+H1+H2+H3+H4/i=100');
  await page.locator('.small-name[data-head="2"]').click();
  await soon.equal(() => hash(page), '#look/L1.H2/i=100');
});

test('which two scores the chips show is a setting, by keyboard, kept in the address', async () => {
  const page = await open('#look/L1.H3/i=60');
  await page.keyboard.press('?');
  await page.locator('.setting .choice').first().locator('[data-option=sink]').focus();
  await page.keyboard.press('Enter');
  await page.locator('.setting .choice').last().locator('[data-option=entropy]').focus();
  await page.keyboard.press('Enter');
  await soon.equal(() => hash(page), '#look/L1.H3/i=60/scores=sink+entropy');
  await page.keyboard.press('Escape');
  await soon.match(() => page.locator('.chip[data-head="0"]').textContent(), /sink (\.\d\d|1\.0)entropy \d\.\d\d$/);
  const again = await open(await hash(page));
  await soon.match(() => again.locator('.chip[data-head="0"]').textContent(), /sink .*entropy/);
});

test('an arc to a folded key ends at the fold', async () => {
  const page = await open('#look/L1.H3/i=120');
  await page.waitForSelector('.arc.other', {state: 'attached'});
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

/** The tokens of each unit, as the session tells them. */
const unitsOf = async (page, unit) => (await answer(page, '')).units[unit];

for (const unit of ['word', 'sentence']) {
  test(`text, queries and keys are of the same ${unit}s, whose weights are sums`, async () => {
    const page = await open(`#look/L1.H3/i=60/units=${unit}`);
    await page.waitForSelector('.token.together');
    const span = await page.locator('.token.together').evaluateAll((all) => all.map((each) => Number(each.dataset.index)));
    assert.ok(span.includes(60) && span.length === span.at(-1) - span[0] + 1);
    const starts = await unitsOf(page, `${unit}s`);
    assert.ok(starts.includes(span[0]));
    const {weights} = await row(page, 1, 3, `${span[0]}?end=${span.at(-1) + 1}`);
    const sums = starts.map((first, at) => weights.slice(first, starts[at + 1]).reduce((sum, weight) => sum + (weight ?? 0), 0));
    await page.waitForSelector('.key');
    const shown = await page.locator('.key').evaluateAll((rows) => rows.map((each) =>
      [Number(each.dataset.index), each.querySelector('.value').textContent]));
    const largest = sums.indexOf(Math.max(...sums));
    assert.ok(shown.some(([first]) => first === starts[largest]));
    for (const [first, value] of shown) assert.equal(value, written(sums[starts.indexOf(first)]));
    const queries = await page.locator('.query').evaluateAll((rows) => rows.map((each) => Number(each.dataset.index)));
    assert.ok(queries.every((first) => starts.includes(first)));
    const rows = span.length === 1 ? 'largest edges until 90 % of the row' : `mean of ${span.length} rows, until 90 % of it`;
    await soon.equal(() => page.locator('.edges .heading .quiet').textContent(), `head L1.H3, ${rows}`);
    await soon.equal(() => page.locator('.shaded-by').textContent(), `shaded by ${unit}`);
    await page.locator('.key').first().click();
    await soon.equal(() => hash(page), `#look/L1.H3/i=60/j=${shown[0][0]}/units=${unit}`);
  });
}

test('a span is named by its beginning and its end', async () => {
  const page = await open('#look/L1.H3/i=60/units=sentence');
  await page.waitForSelector('.token.together');
  const words = (await page.locator('.token.together').allTextContents()).map((word) => word.replace(/\.\d\d$/, ''));
  const name = await page.locator('.switches [data-option=from]').textContent();
  assert.ok(name.startsWith(`from ${words[0]}`) && name.includes(' \u2026 '), name);
  await soon.equal(() => page.locator('.switches [data-option=to]').textContent(), 'to it');
});

test('a dragged span stays while its keys are pointed at', async () => {
  const page = await open('#look/L1.H3/range=50-53');
  const about = () => page.locator('.edges .heading .quiet').textContent();
  await page.waitForSelector('.key');
  await page.locator('.key').nth(1).hover();
  await page.waitForSelector('.token.hovered');
  await soon.equal(() => about(), 'head L1.H3, mean of 4 rows, until 90 % of it');
  await soon.equal(() => page.locator('.token.pinned').count(), 4);
  await soon.equal(() => page.locator('.query.pinned').count(), 4);
  await soon.equal(() => page.locator('.arc-span').count(), 1);
});

test('with nothing pinned the largest of each row are drawn, and how many of how many is said', async () => {
  const page = await open('#look/L1.H3');
  await page.waitForSelector('.arc', {state: 'attached'});
  const said = await page.locator('.edges .heading .quiet').textContent();
  const [, each, drawn, all] = /^head L1.H3, (\d) largest per row, (\d+) of ([\d,]+) weights$/.exec(said);
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
  await soon.equal(() => page.locator('.keys .rest').textContent(), `not drawn: ${written(1 - sum / rows)} on average`);
});

test('edges of other rows end at several folds, near where they go', async () => {
  const page = await open('#look/L0.H0/i=190');
  await page.waitForSelector('.arc.other', {state: 'attached'});
  await quiet(page);
  const folds = await page.locator('.fold').evaluateAll((all) => all.map((each) => each.textContent));
  assert.ok(folds.length >= 6, folds.join());
  const sizes = folds.map((each) => Number.parseInt(each));
  assert.ok(Math.max(...sizes) < 80, folds.join());
  const count = await page.locator('.keys > *').count();
  await page.locator('.fold').nth(2).click();
  await soon.ok(async () => await page.locator('.key').count() >= sizes[2]);
  await soon.ok(async () => await page.locator('.keys > *').count() > count);
});

test('with nothing pinned a sink has one thin line for each row, with the share that it takes', async () => {
  const server = await startServer(0, {folder: 'tales'});
  try {
    const page = await blank();
    await page.goto(`${server.address}#look/L1.H5`);
    await page.locator('.arc-number').first().waitFor();
    await quiet(page);
    const queries = await page.locator('.query').evaluateAll((all) => all.map(({dataset}) => Number(dataset.index)));
    const shares = await Promise.all(queries.map(async (query) => (await row(page, 1, 5, query)).weights[0]));
    const said = await page.locator('.arc-number').allTextContents();
    assert.ok(said.length > queries.length / 2, `${said.length} of ${queries.length} rows`);
    const short = (share) => share >= 0.995 ? '1.0' : share.toFixed(2).slice(1);
    assert.deepEqual(said.filter((text) => !shares.some((share) => short(share) === text)), []);
    const widths = await page.locator('.arc[stroke-width="1.25"]').count();
    assert.ok(widths >= said.length, `${widths} thin lines`);
  } finally {
    await server.stop();
  }
});
