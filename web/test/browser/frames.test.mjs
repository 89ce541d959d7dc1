// A saved page in a frame of another document, as notebooks and documentation have it: light or dark as that document is.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {readFileSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {after, before, test} from 'node:test';
import {fileURLToPath, pathToFileURL} from 'node:url';
import {kWaitMilliseconds, modelPath, scratch, startBrowser} from './harness.mjs';

const script = readFileSync(join(dirname(fileURLToPath(import.meta.url)), '../../dist/frames.js'), 'utf8');
const saved = join(scratch, 'saved.html');
const ran = spawnSync(process.env.HEED_PROGRAM, ['look', 'One day, she saw a big, red ball.', '--model', modelPath, '-o', saved]);
assert.equal(ran.status, 0, String(ran.stderr));
const output = `<iframe srcdoc='${readFileSync(saved, 'utf8').replaceAll('&', '&amp;').replaceAll("'", '&#39;')}' sandbox="allow-scripts"></iframe>`;

let browser;
before(async () => { browser = await startBrowser(); });
after(() => browser?.close());

/** A document around two outputs, opened on a system of this kind. */
async function opened(name, head, body, colorScheme) {
  const file = join(scratch, `${name}.html`);
  writeFileSync(file, `<!doctype html><html>${head}<body>${body}</body></html>`);
  const page = await (await browser.newContext({colorScheme})).newPage();
  page.setDefaultTimeout(kWaitMilliseconds);
  page.on('pageerror', (error) => assert.fail(error));
  await page.goto(pathToFileURL(file).href);
  return page;
}

async function expectTheme(page, theme) {
  for (const at of [0, 1]) await page.frameLocator('iframe').nth(at).locator(`.heed[data-theme=${theme}]`).waitFor();
}

const withScript = `${output}<script>${script}</script>`.repeat(2);
const documentation = '<style>html[data-theme=dark] body { background: #181a1b }</style>';

test('it is as dark as the document, and turns light with it', async () => {
  const page = await opened('dark', documentation, withScript, 'light');
  await expectTheme(page, 'light');
  await page.evaluate(() => { document.documentElement.dataset.theme = 'dark'; });
  await expectTheme(page, 'dark');
  await page.evaluate(() => { document.body.dataset.jpThemeLight = 'true'; });
  await expectTheme(page, 'light');
});

test('a white document on a dark system stays light, and one that follows the system is as the system is', async () => {
  await expectTheme(await opened('white', '', withScript, 'dark'), 'light');
  const follows = '<meta name="color-scheme" content="light dark">';
  await expectTheme(await opened('follows', follows, withScript, 'dark'), 'system');
});

test('where no script may run it is as the system is', async () => {
  await expectTheme(await opened('alone', documentation, output.repeat(2), 'dark'), 'system');
});

test('the table that shows where no script may run is closed by the script', async () => {
  const table = '<details open data-heed-table><summary>as text</summary><p>not trusted</p><pre>rows</pre></details>';
  const shown = async (name, body) => (await opened(name, '', body, 'light')).$$eval('details', (all) => all.map((each) => [each.open, each.textContent]));
  assert.deepEqual(await shown('trusted', `${table}<script>${script}</script>`.repeat(2)), Array(2).fill([false, 'as textrows']));
  assert.deepEqual(await shown('untrusted', table), [[true, 'as textnot trustedrows']]);
});
