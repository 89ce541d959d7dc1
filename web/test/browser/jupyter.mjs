// A notebook in JupyterLab in a browser, for tests and measurements of the live page.
// HEED_JUPYTER_PYTHON: a Python with jupyterlab and anywidget, as `./dev test --peers` has one.
import {spawn, spawnSync} from 'node:child_process';
import {existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync} from 'node:fs';
import {dirname, join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';
import {scratch, startBrowser} from './harness.mjs';

const kWaitMilliseconds = 300_000;
const root = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const python = process.env.HEED_JUPYTER_PYTHON ?? join(root, 'build/python-peers/bin/python');

function skip(why) {
  console.log(`skipped: ${why}`);
  process.exit(77);
}

const built = resolve(dirname(process.env.HEED_PROGRAM), 'python');
const extension = existsSync(built) ? readdirSync(built).find((name) => /^_core.*\.so$/.test(name)) : undefined;
if (!extension) skip(`Python's extension is not built in ${built}`);
if (spawnSync(python, ['-c', 'import jupyterlab, anywidget']).status !== 0) {
  skip(`${python} has no jupyterlab and anywidget ($HEED_JUPYTER_PYTHON names another one)`);
}

export const home = join(scratch, 'home');

/** The package as it lies in the source, with the extension of the build. */
function linkPackage() {
  const site = join(scratch, 'site/heed');
  for (const folder of [home, site]) mkdirSync(folder, {recursive: true});
  for (const name of readdirSync(join(root, 'python/heed'))) symlinkSync(join(root, 'python/heed', name), join(site, name));
  symlinkSync(join(built, extension), join(site, extension));
  return dirname(site);
}

function writeNotebook(name, cells) {
  const notebook = {
    nbformat: 4, nbformat_minor: 5, metadata: {kernelspec: {name: 'python3', display_name: 'Python 3', language: 'python'}},
    cells: cells.map((source, at) => ({cell_type: 'code', id: `cell-${at}`, metadata: {}, execution_count: null, outputs: [], source})),
  };
  writeFileSync(join(home, name), JSON.stringify(notebook));
  const settings = join(home, '.jupyter/lab/user-settings/@jupyterlab/apputils-extension');
  mkdirSync(settings, {recursive: true});
  writeFileSync(join(settings, 'notification.jupyterlab-settings'), '{"fetchNews": "false", "checkForUpdates": false}');
}

/** The server's process and its address. */
async function startLab(site) {
  const lab = spawn(python, ['-m', 'jupyterlab', '--no-browser', '--allow-root', '--port=0', '--ServerApp.token=open', `--ServerApp.root_dir=${home}`,
    '--LabApp.expose_app_in_browser=True'], {
    stdio: ['ignore', 'ignore', 'pipe'], cwd: home,
    env: {...process.env, HOME: home, PYTHONPATH: site, PYTHONDONTWRITEBYTECODE: '1', JUPYTER_PLATFORM_DIRS: '0'},
  });
  process.on('exit', () => lab.kill('SIGTERM'));  // whatever happened
  const address = await new Promise((resolve, reject) => {
    let said = '';
    lab.stderr.on('data', (data) => {
      said += data;
      const found = /http:\/\/127\.0\.0\.1:\d+\//.exec(said);
      if (found) resolve(found[0]);
    });
    lab.on('exit', (status) => reject(new Error(`JupyterLab ended with status ${status}: ${said}`)));
  });
  return {lab, address};
}

/** A notebook of these cells, open and all of it running: the page of the browser, what calls a command, and what ends it. */
export async function openNotebook(name, cells, {height = 1000, prepare = async () => {}} = {}) {
  const site = linkPackage();
  writeNotebook(name, cells);
  const {lab, address} = await startLab(site);
  const browser = await startBrowser();
  const context = await browser.newContext({viewport: {width: 1440, height}, colorScheme: 'light', reducedMotion: 'reduce'});
  const page = await context.newPage();
  page.setDefaultTimeout(kWaitMilliseconds);
  await prepare(page);
  await page.goto(`${address}lab/tree/${name}?token=open`);
  await page.waitForFunction((count) => window.jupyterapp?.shell.currentWidget?.content?.widgets?.length === count, cells.length);
  await page.evaluate(() => window.jupyterapp.shell.currentWidget.sessionContext.ready);
  const execute = (command, options = {}) =>
    page.evaluate(([called, given]) => window.jupyterapp.commands.execute(called, given), [command, options]);
  await execute('application:toggle-left-area');
  await execute('notebook:run-all-cells');
  const stop = async () => {
    await browser.close();
    lab.kill('SIGINT');
    lab.kill('SIGTERM');
  };
  return {page, execute, stop};
}
