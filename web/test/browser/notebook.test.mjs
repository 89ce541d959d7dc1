// The page in JupyterLab: two live views and a saved one in one notebook, and the same notebook without a kernel.
// HEED_JUPYTER_PYTHON: as jupyter.mjs says.
// HEED_KEEP_PICTURES: a folder for pictures of it.
import assert from 'node:assert/strict';
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {frames, kText, soon} from './harness.mjs';
import {home, openNotebook} from './jupyter.mjs';

const cells = [
  'import heed\nfrom IPython.display import HTML\nmodel = heed.load()',
  `first = model.look(${JSON.stringify(kText)})\nfirst`,
  'model.look("The king had a daughter, and he loved her.")',
  'HTML(first._repr_html_())',
  'heed.compare(first, first.edited([heed.edits.ablate(2, 0)]))',
  `import numpy as np
q, k = (np.random.default_rng(seed).normal(size=(1, 2, length, 8)).astype("float32") for seed, length in ((0, 4), (1, 6)))
heed.Session.from_arrays(q, k, tokens=list("abcd"), key_tokens=list("uvwxyz"))`,
];

const problems = [];
let page, execute, stop;

before(async () => {
  ({page, execute, stop} = await openNotebook('views.ipynb', cells, {
    prepare: async (opened) => opened.on('pageerror', (error) => problems.push(error.stack || error.message)),
  }));
});

after(() => stop?.());

const view = (at) => page.locator('.jp-Cell').nth(at).locator('.heed');

async function picture(name) {
  const folder = process.env.HEED_KEEP_PICTURES;
  if (folder) await page.screenshot({path: join(folder, `${name}.png`)});
}

async function drawn(at) {
  await page.locator('.jp-Cell').nth(at).scrollIntoViewIfNeeded();
  await view(at).locator('.next-row, .key').first().waitFor();
  await view(at).locator('.under').first().waitFor();
  await view(at).locator('.check', {hasText: 'sums to 1'}).waitFor();
}

async function show(at) {
  await page.locator('.jp-Cell').nth(at).evaluate((cell) => cell.scrollIntoView({block: 'start'}));
  await frames(page);
}

test('two cells show a live page each, as wide as the cell', async () => {
  for (const at of [1, 2]) await drawn(at);
  await soon.equal(() => page.locator('.heed').count(), 4);  // those of the last two cells are live too
  for (const at of [1, 2]) {
    const [own, output] = await Promise.all([view(at), page.locator('.jp-Cell').nth(at).locator('.jp-OutputArea-output')]
      .map((each) => each.boundingBox()));
    assert.ok(own.width > 0.95 * output.width, `${own.width} of ${output.width}`);
  }
  await show(1);
  await picture('live-light');
  await show(2);
  await picture('live-second');
});

test('a third cell shows the saved page, in a frame', async () => {
  await page.locator('.jp-Cell').nth(3).scrollIntoViewIfNeeded();
  const frame = page.locator('.jp-Cell').nth(3).frameLocator('iframe');
  await frame.locator('.next-row, .key').first().waitFor();
  await soon.match(() => frame.locator('.check').textContent(), /sums to 1/);
  await show(3);
  await picture('saved-light');
});

test('the page of a comparison shows A \u2212 B, and one of two sequences both', async () => {
  await page.locator('.jp-Cell').nth(4).scrollIntoViewIfNeeded();
  await view(4).locator('.compare-line [data-option="A-B"][aria-pressed=true]').waitFor();
  await show(4);
  await picture('compared');
  await page.locator('.jp-Cell').nth(5).scrollIntoViewIfNeeded();
  await view(5).locator('.check', {hasText: 'sums to 1'}).waitFor();
  await show(5);
  await picture('cross');
});

const pinned = (at) => view(at).locator('.token.pinned').textContent();

test('each view has a selection of its own', async () => {
  await drawn(1);
  const before = await pinned(2);
  await view(1).locator('.token[data-index="12"]').click();
  await view(1).locator('.token.pinned[data-index="12"]').waitFor();
  await soon.equal(() => pinned(2), before);
});

test('keys go to the page that was clicked, and to the notebook otherwise', async () => {
  const layer = () => view(1).locator('.layer-number').textContent();
  await view(1).locator('.token[data-index="14"]').click();
  const first = await layer();
  await page.keyboard.press('[');
  await page.keyboard.press(']');
  await soon.equal(() => layer(), first);
  const count = () => page.evaluate(() => window.jupyterapp.shell.currentWidget.content.widgets.length);
  await page.keyboard.press('b');  // the notebook would add a cell
  await soon.equal(() => count(), cells.length);
  await page.locator('.jp-Cell').nth(0).locator('.jp-InputPrompt').click();
  await page.keyboard.press('b');
  await soon.equal(() => count(), cells.length + 1);
  await execute('notebook:delete-cell');
});

test('the page turns dark with the notebook', async () => {
  await execute('apputils:change-theme', {theme: 'JupyterLab Dark'});
  await page.locator('.jp-Cell').nth(1).locator('.heed[data-theme=dark]').waitFor();
  await show(1);
  await picture('live-dark');
  await show(3);
  const saved = page.locator('.jp-Cell').nth(3).frameLocator('iframe');
  await saved.locator('.heed[data-theme=dark]').waitFor();
  await picture('saved-dark');
  await execute('apputils:change-theme', {theme: 'JupyterLab Light'});
  await page.locator('.jp-Cell').nth(1).locator('.heed[data-theme=light]').waitFor();
  await saved.locator('.heed[data-theme=light]').waitFor();
});

test('a kernel that has stopped is said, and the saved page takes its place', async () => {
  await execute('docmanager:save');
  await page.evaluate(() => window.jupyterapp.shell.currentWidget.sessionContext.restartKernel());
  const cell = page.locator('.jp-Cell').nth(1);
  await cell.locator('.heed-lost', {hasText: 'Run the cell again'}).waitFor();
  await cell.frameLocator('iframe').locator('.next-row, .key').first().waitFor();
  await soon.equal(() => page.locator('.heed').count(), 0);
  await show(1);
  await picture('stopped');
});

test('without a kernel the saved notebook shows its saved pages', async () => {
  const saved = JSON.parse(readFileSync(join(home, 'views.ipynb'), 'utf8'));
  writeFileSync(join(home, 'alone.ipynb'), JSON.stringify(saved));
  const bytes = JSON.stringify(saved).length;
  assert.ok(bytes < 8_000_000, `${bytes} bytes`);
  await page.evaluate(() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown());
  await execute('docmanager:open', {
    path: 'alone.ipynb', factory: 'Notebook', kernelPreference: {shouldStart: false, canStart: false, autoStartDefault: false},
  });
  await page.waitForFunction(() => window.jupyterapp.shell.currentWidget.context?.path === 'alone.ipynb');
  const shown = page.locator('.jp-NotebookPanel:not(.lm-mod-hidden)');
  for (const at of [1, 2, 3]) {
    await shown.locator('.jp-Cell').nth(at).scrollIntoViewIfNeeded();
    await shown.locator('.jp-Cell').nth(at).frameLocator('iframe').locator('.next-row, .key').first().waitFor();
  }
  await soon.equal(() => page.evaluate(() => window.jupyterapp.shell.currentWidget.sessionContext.session?.kernel ?? null), null);
  await execute('apputils:change-theme', {theme: 'JupyterLab Dark'});
  for (const at of [1, 2, 3]) {
    await shown.locator('.jp-Cell').nth(at).scrollIntoViewIfNeeded();
    await shown.locator('.jp-Cell').nth(at).frameLocator('iframe').locator('.heed[data-theme=dark]').waitFor();
  }
  await shown.locator('.jp-Cell').nth(1).evaluate((cell) => cell.scrollIntoView({block: 'start'}));
  await picture('alone-dark');
  await execute('apputils:change-theme', {theme: 'JupyterLab Light'});
  await shown.locator('.jp-Cell').nth(1).frameLocator('iframe').locator('.heed[data-theme=light]').waitFor();
  await shown.locator('.jp-Cell').nth(1).evaluate((cell) => cell.scrollIntoView({block: 'start'}));
  await picture('alone');
  // The manager itself fails without a session, and JupyterLab where a kernel ends that it had asked.
  assert.deepEqual(problems.filter((stack) => !/jupyterlab-manager|^Canceled future/.test(stack.replace(/^Error: /, ''))), []);
});
