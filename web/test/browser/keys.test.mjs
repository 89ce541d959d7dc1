// Every key of every view does what the page's own list says of it.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {eventually, quiet, withPages} from './harness.mjs';

const {state, open, blank} = withPages();
const kCell = 'L1.H3/i=60/j=20';

/** A key, and what must become true after it was pressed; given what `before` said. */
const address = (pattern) => [() => location.hash, (before, found) => found !== before && pattern.test(found)];
const visible = (selector) => [(name) => document.querySelector(name)?.checkVisibility() ?? false, (before, now) => !before && now, selector];
const changed = (selector) => [(name) => document.querySelector(name)?.textContent ?? '', (before, now) => now !== before, selector];

const kEverywhere = {
  '?': visible('dialog'), c: visible('.compare-form'), '[': address(/L0\.H3/), ']': address(/L2\.H3/), ',': address(/L1\.H2/), '.': address(/L1\.H4/),
};
const kViews = {
  look: {...kEverywhere, t: visible('.table'), w: address(/^#why/), 2: address(/^#grid/), 3: address(/^#matrix/), 4: address(/^#why/), 5: address(/^#anatomy/), 6: address(/^#words/), 7: address(/^#heads/), 8: address(/^#flow/), Escape: address(/H3\/i=60$/)},
  grid: {'?': visible('dialog'), '/': [() => document.activeElement?.className, (_, now) => now === 'grid-filter'], ArrowRight: changed('.foot'), ArrowDown: changed('.foot'), 1: address(/^#look/)},
  matrix: {...kEverywhere, t: visible('.table'), '+': address(/zoom=/)},
  why: {ArrowLeft: address(/j=19/), ArrowRight: address(/j=21/), v: [() => document.querySelector('.why-part-block [aria-pressed=true]')?.textContent, (before, now) => now !== before], w: address(/^#look/), r: address(/vs=remove/)},
  anatomy: {ArrowUp: address(/i=59/), ArrowDown: address(/i=61/), ArrowLeft: address(/j=19/), ArrowRight: address(/j=21/), ' ': [() => document.querySelectorAll('.faded').length, (before, now) => now > before], w: address(/^#why/)},
  words: {ArrowLeft: address(/i=59/), ArrowRight: address(/i=61/), h: address(/t=/)},
  heads: {o: address(/sort=/), x: address(/across=/), y: address(/up=/), '/': [() => document.activeElement?.closest('form')?.className, (_, now) => now === 'heads-pattern']},
  flow: {ArrowLeft: address(/i=59/), ArrowRight: address(/i=61/), b: address(/by=effect/)},
};

for (const [view, keys] of Object.entries(kViews)) {
  test(`keys of ${view}`, async () => {
    const page = await blank();
    await page.goto(`${state.server.address}#${view}/${kCell}`);
    await page.waitForSelector('.view:not(.reading) *');
    await quiet(page);
    const begin = await page.evaluate(() => location.hash);
    for (const [key, [read, holds, name]] of Object.entries(keys)) {
      await page.evaluate((hash) => { location.hash = hash; }, begin);
      await quiet(page);
      const before = await page.evaluate(read, name);
      await page.keyboard.press(key === ' ' ? 'Space' : key);
      await eventually(async () => {
        const now = await page.evaluate(read, name);
        assert.ok(holds(before, now), `${key}: ${before} became ${now}`);
      });
      await page.keyboard.press('Escape');
      await page.evaluate(() => document.querySelector('dialog[open]')?.close());
      if (await page.locator('.compare-form').isVisible()) await page.keyboard.press('Escape');
      await page.evaluate(() => document.activeElement?.blur());
    }
  });
}

/** A view that may have no next words, once it stands still. */
async function at(hash) {
  const page = await blank();
  await page.goto(state.server.address + hash);
  await page.waitForSelector('.view:not(.reading) *');
  await quiet(page);
  return page;
}

test('keys of zoom: in, out, whole', async () => {
  const page = await at('#matrix/L1.H3/i=60/j=20');
  const sight = () => page.evaluate(() => {
    const [, first, last] = /zoom=(\d+)-(\d+),/.exec(location.hash) ?? [];
    return first === undefined ? null : last - first;
  });
  const seen = [];
  for (const key of ['+', '+', '-', '0']) {
    await page.keyboard.press(key);
    await quiet(page);
    seen.push(await sight());
  }
  const [once, twice, back, whole] = seen;
  assert.ok(twice < once, `${twice} of ${once} rows`);
  assert.ok(Math.abs(back - once) <= 1, `${back} of ${once} rows`);
  assert.equal(whole, null);
});

test('S in Flow downloads the graph', async () => {
  const page = await at('#flow/L1.H3/i=60');
  const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('S')]);
  assert.equal(download.suggestedFilename(), 'heed-flow-60.graphml');
});

test('the list of keys has every key that a view hears', async () => {
  const page = await open();
  await page.keyboard.press('?');
  const listed = (await page.locator('.keys-list dt').allTextContents()).join(' ');
  const names = {ArrowLeft: '\u2190', ArrowRight: '\u2192', ArrowUp: '\u2191', ArrowDown: '\u2193', ' ': 'Space', Escape: 'Esc', '-': '\u2212'};
  const missing = Object.values(kViews).flatMap(Object.keys).map((key) => names[key] ?? key).filter((name) => !listed.split(/[ ,]+|(?<=\[) /).includes(name) && !listed.includes(` ${name} `));
  assert.deepEqual(missing, []);
});

test('the keys are grouped by view, and one key has one meaning', async () => {
  const page = await open();
  await page.keyboard.press('?');
  const groups = await page.locator('.keys-list section').evaluateAll((all) => all.map((group) => ({
    title: group.querySelector('h3').textContent, top: group.getBoundingClientRect().top,
    keys: [...group.querySelectorAll('dt')].map((each, at) => [each.textContent, group.querySelectorAll('dd')[at].textContent]),
  })));
  assert.deepEqual(groups.map(({title}) => title), ['Everywhere', 'Pointer and arrows', 'Look', 'Grid', 'Why', 'Anatomy', 'Words', 'Heads', 'Flow']);
  assert.ok(new Set(groups.map(({top}) => top)).size < groups.length, 'the groups do not stand in columns');
  const meanings = new Map();
  for (const {title, keys} of groups) {
    for (const [key, does] of keys) {
      for (const each of /^\S( \S)*$/.test(key) ? key.split(' ').filter((part) => /^[a-zA-Z]$/.test(part)) : []) {
        assert.ok(!meanings.has(each), `${each}: ${meanings.get(each)}, and in ${title}: ${does}`);
        meanings.set(each, `${title}: ${does}`);
      }
    }
  }
  assert.ok(meanings.size > 12);
});

test('the list of keys opens at its top, by key and by click', async () => {
  const page = await open();
  await page.setViewportSize({width: 1280, height: 600});
  const top = () => page.evaluate(() => {
    const dialog = document.querySelector('dialog');
    return {scrolled: dialog.scrollTop, isLonger: dialog.scrollHeight > dialog.clientHeight};
  });
  const begins = {scrolled: 0, isLonger: true};
  await page.keyboard.press('?');
  assert.deepEqual(await top(), begins);
  await page.keyboard.press('Escape');
  await page.click('.header-keys');
  assert.deepEqual(await top(), begins);
});
