// The guided look: five steps through the text on the screen, whose sentences have the numbers that the view shows.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {test} from 'node:test';
import {eventually, frames, hash, kText, quiet, scratch, soon, startServer, touching, withPages} from './harness.mjs';

const {state, blank, open} = withPages({folder: 'tales'});
const kSteps = ['Who attends to whom', 'What the head does', 'Why this weight', 'Without the head', 'Layer by layer'];

/** The sentences of a step, once its numbers are there. */
async function at(page, step, of = 5) {
  await soon.equal(() => page.locator('.guide-count').textContent(), `${step} of ${of}`);
  return eventually(async () => {
    const text = await page.locator('.guide p').innerText();
    assert.doesNotMatch(text, /\u2026$|undefined|NaN|null/);
    return text;
  });
}
const press = (page, name) => page.locator('.guide-steps button', {hasText: name}).click();

test('five steps tell with the numbers of the view what it shows', async () => {
  const page = await open();
  await page.waitForFunction(() => location.hash.includes('/j='));
  const before = await hash(page);
  await page.locator('.header-guide').click();

  const first = await at(page, 1);
  assert.match(await hash(page), /^#look\/L\d\.H\d\/i=\d+\/j=\d+\/guide=1$/);
  const [, given, to] = /gives (\S+) to \u201c.+\u201d \((\d+)\), \d+ back: the /.exec(first);
  await soon.equal(() => page.locator('.figure .large').textContent(), `0${given}`);
  assert.match(before, new RegExp(`/j=${to}$`));
  await soon.ok(async () => first.includes(await page.locator('.rank').textContent()));

  await press(page, 'next');
  const second = await at(page, 2);
  const [, head, name, value, more] = /strongest habit of head (L\d\.H\d) is (.+) (\.\d\d|1\.0), the .+\. (None|\d+) of the 36 heads ha/.exec(second);
  await soon.equal(() => page.locator('.heads-names [aria-pressed=true]').textContent(), name);
  await soon.match(() => page.locator('.heads-evidence').innerText(), new RegExp(`head ${head}, ${name}`));
  const rows = () => page.locator('.heads-sheet [role=row]').evaluateAll((all) => all.map((row) => row.textContent));
  await soon.ok(async () => (await rows())[more === 'None' ? 0 : Number(more)].startsWith(`${head}`));
  await soon.ok(async () => (await page.locator('.heads-row.pinned').innerText()).includes(value));

  await press(page, 'next');
  const third = await at(page, 3);
  const [, score, parts, weight] = /score (\S+) \((.+)\); softmax .+ this one into (\S+)\.$/.exec(third);
  const shown = () => page.locator('.why-row.sum').allInnerTexts();
  await soon.ok(async () => (await shown()).some((row) => /^score\s/.test(row) && row.trim().endsWith(score)));
  await soon.ok(async () => (await shown()).some((row) => /^weight\s/.test(row) && row.trim().endsWith(weight)));
  for (const part of parts.split(', ')) {
    const [, term, number] = /^(.+) (\S+)$/.exec(part);
    await soon.ok(async () => (await shown()).some((row) => row.startsWith(term) && row.trim().endsWith(number)));
  }
  assert.equal(weight, given);
  const address = await hash(page);

  await press(page, 'next');
  const fourth = await at(page, 4);
  const [, word, kept, without] = /next word that loses most, \u201c(.+?)\u201d, has (\S+) with the head and (\S+) without it/.exec(fourth);
  await soon.match(() => page.locator('.compare-about').innerText(), new RegExp(`without head ${head}`));
  assert.match(fourth, new RegExp(`in B, head ${head} writes nothing`));
  const changes = page.locator('.compare-changes [data-change]');  // the view shows the head that changes most
  await soon.equal(() => changes.first().getAttribute('aria-pressed'), 'true');
  await soon.ok(async () => !(await hash(page)).startsWith(`#look/${head}/`));
  await soon.ok(async () => (await page.locator('.next-row.both').allInnerTexts()).some((row) => {
    const cells = row.split(/\s+/);
    return cells[0] === word && cells[1] === kept && cells[2] === without;
  }));

  await press(page, 'next');
  const fifth = await at(page, 5);
  const [, guess] = /would say \u201c(.+?)\u201d/.exec(fifth);
  await soon.equal(() => page.locator('.lens tbody tr').nth(-2).locator('.chosen span').first().textContent(), guess);
  await soon.ok(async () => fifth.includes(` ${await page.locator('.lens tbody tr').first().locator('.chosen .lens-chance').textContent()}`));
  await soon.equal(() => page.locator('.guide-steps button', {hasText: 'next'}).isVisible(), false);

  await page.goBack();
  assert.equal(await at(page, 4), fourth);
  await page.goBack();
  assert.equal(await at(page, 3), third);
  await page.goForward();
  assert.equal(await at(page, 4), fourth);
  await press(page, 'back');
  await press(page, 'end');
  await soon.equal(() => hash(page), before);
  await soon.equal(() => page.locator('.guide').isVisible(), false);
  await soon.equal(() => page.locator('.compare').isVisible(), false);

  const other = await blank();
  await other.goto(state.server.address + address);
  assert.equal(await at(other, 3), third);
  await soon.equal(() => other.locator('nav [aria-current=page]').textContent(), 'Why');
});

test('another view, by a key or its name, ends it', async () => {
  const page = await open('#look/L4.H2/i=40/j=30/guide=1');
  await at(page, 1);
  await page.keyboard.press('2');
  await soon.equal(() => hash(page), '#grid/L4.H2/i=40/j=30');
  await soon.equal(() => page.locator('.guide').isVisible(), false);
  await page.goBack();
  await at(page, 1);
  await page.locator('nav [data-view=heads]').click();
  await soon.equal(() => hash(page), '#heads/L4.H2/i=40/j=30');
});

test('g goes on, Enter too, and Escape ends it where one was', async () => {
  const page = await open('#matrix/L4.H2/i=40/j=30');
  const start = await page.evaluate(() => history.length);
  for (const [index, title] of kSteps.entries()) {
    if (index === 2) await page.keyboard.press('Enter');
    else await page.keyboard.press('g');
    await soon.match(() => at(page, index + 1), new RegExp(`^${title}`));
    await soon.equal(() => page.evaluate(() => document.activeElement.textContent), index === 4 ? 'end, Esc' : 'next');
    await soon.equal(() => page.evaluate(() => history.length), start + index + 1);
  }
  await page.keyboard.press('Escape');
  await soon.equal(() => hash(page), '#matrix/L4.H2/i=40/j=30');
  await page.keyboard.press('g');
  await at(page, 1);
  await soon.match(() => hash(page), /^#look\/L4\.H2\/i=40\/j=30\/guide=1$/);
  for (let step = 2; step <= 5; ++step) {
    await page.keyboard.press('g');
    await at(page, step);
  }
  await page.keyboard.press('g');
  await soon.equal(() => hash(page), '#matrix/L4.H2/i=40/j=30');
});

test('what is chosen on the way is what the next step speaks of', async () => {
  const page = await open('#look/L4.H2/i=40/j=30/guide=1');
  await page.keyboard.press('.');
  await soon.match(() => at(page, 1), /head L4\.H3 gives/);
  await press(page, 'next');
  await soon.match(() => at(page, 2), /head L4\.H3 is/);
});

for (const [width, height, colorScheme] of [[1440, 900, 'light'], [1280, 800, 'dark'], [390, 844, 'dark']]) {
  test(`it covers nothing, and no step is wider than the page: ${width} x ${height}, ${colorScheme}`, async () => {
    const page = await open('#look/L4.H2/i=40/j=30', {viewport: {width, height}, colorScheme});
    await page.locator('.header-guide').click();
    for (let step = 1; step <= 5; ++step) {
      await at(page, step);
      await frames(page);
      await soon.equal(() => page.evaluate(() => document.documentElement.scrollWidth), width);
      if (step === 1 && width > 390) await soon.ok(() => page.locator('.side').evaluate((side) => side.scrollHeight <= side.clientHeight), 'nothing of the side is cut');
      await soon.deepEqual(() => touching(page, '.header > *, .guide > :not(.guide-steps), .guide-steps button, .guide ~ section:not([hidden])'), []);
      await soon.ok(() => page.evaluate(() => [...document.querySelectorAll('.read-out, .columns > section')].every((each) => !each.checkVisibility() || each.getBoundingClientRect().bottom <= document.querySelector('.foot').getBoundingClientRect().top + 1)));
      if (step < 5) await press(page, 'next');
    }
  });
}

const kOthers = {
  'an encoder that fills masks': [{folder: 'masks', text: 'She opened the [MASK] and looked out.'}, 4],
  'a pair': [{folder: 'masks', text: 'She opened the door and looked out.', more: ['--pair', 'She opened the [MASK] and looked out.']}, 4],
  'a cross-attention': [{folder: 'enja', text: 'My father is a doctor.'}, 5],
  'the source of a translation': [{folder: 'enja', text: 'My father is a doctor.', more: ['--stack', 'encoder']}, 4],
};
for (const [name, [served, of]] of Object.entries(kOthers)) {
  test(`${name} has ${of} steps`, async () => {
    const server = await startServer(0, served);
    const page = await blank();
    await page.goto(server.address);
    await page.waitForFunction(() => location.hash.includes('/i='));
    for (let step = 1; step <= of; ++step) {
      await page.keyboard.press('g');
      await at(page, step, of);
      await soon.equal(() => page.locator('.failed').count(), 0);
      await soon.match(() => hash(page), /guide=\d$/);
    }
    await page.keyboard.press('g');
    await soon.equal(() => page.locator('.guide').isVisible(), false);
    await page.context().close();
    await server.stop();
  });
}

/** The steps that a file of the view has. */
async function stepsIn(view) {
  const file = join(scratch, `${view.replace(/\W/g, '-')}.html`);
  execFileSync(process.env.HEED_PROGRAM, ['look', kText, '--model', 'tales', '--view', view, '-o', file]);
  const page = await blank({fresh: true});
  await page.goto(pathToFileURL(file).href);
  await page.waitForSelector('.view:not(.reading) *');
  await quiet(page);
  await page.keyboard.press('g');
  await quiet(page);
  const count = Number((await page.locator('.guide-count').textContent()).split(' ').at(-1));
  const titles = [];
  for (let step = 1; step <= count; ++step) {
    titles.push((await at(page, step, count)).split(/ (?=A head|Over|Each|To see|The lens)/)[0]);
    await quiet(page);
    await page.keyboard.press('g');
  }
  await soon.equal(() => page.locator('.guide').isVisible(), false);
  return titles;
}

test('a file has the steps that it can answer', async () => {
  assert.deepEqual(await stepsIn('why/L4.H2/i=40/j=30'), kSteps.slice(0, 4));
  assert.deepEqual(await stepsIn('look/L4.H2/i=40/j=30'), kSteps.filter((_, step) => step !== 3));
  assert.deepEqual(await stepsIn('grid/L4.H2/i=40/j=30'), kSteps.slice(0, 2));
});
