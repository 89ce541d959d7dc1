// Starts heed serve and a browser for a test file, and ends both.
// HEED_PROGRAM is the program; HEED_PAGE_MODEL a model (default: that of model.mjs); CHROMIUM a browser.
// HEED_PAGE_LATE: milliseconds. Each request waits a random time below it, which shows tests that do not wait.
// HEED_PAGE_READY: set, a new session is answered for when its pass has ended, which shows tests that count on a slow pass.
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {existsSync, mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {createRequire} from 'node:module';
import {createServer} from 'node:net';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {setTimeout as sleep} from 'node:timers/promises';
import {fileURLToPath} from 'node:url';
import {after, afterEach, before} from 'node:test';
import {chromium} from 'playwright-core';
import {writeModel} from './model.mjs';

export const kText = `Once upon a time, there was a little girl named Lily. She loved to play outside in the park. \
One day, she saw a big, red ball. She wanted to play with it, but it was too high.
Lily's mom said, "Lily, let's go to the park." Lily was sad and didn't know what to do. \
She said, "I want to play with your ball, but I can't find it."
Lily was sad and didn't know what to do. Her mom was in the kitchen. She said, "I'm sorry, Lily. \
I didn't know what to do. Let us look for the ball under the old tree."
Lily took her mom by the hand. They looked and looked, but the ball was gone. \
Lily didn't want to help her mom, so she`;

export const kWaitMilliseconds = Number(process.env.HEED_WAIT ?? 300_000);  // a machine may be busy with other things
const kBrowsers = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const kShell = '/usr/bin/chromium-headless-shell';  // the same engine without a window: two thirds of the CPU time

const firstOf = (paths) => paths.find((path) => path && existsSync(path));
export const browserPath = firstOf([process.env.CHROMIUM, kShell, ...kBrowsers]);
export const windowBrowserPath = firstOf([process.env.CHROMIUM, ...kBrowsers, kShell]);

/** A file or folder of the test data beside the checkout; without it the test file skips. */
export function shared(path) {
  const data = process.env.HEED_SHARED_DATA ?? join(dirname(fileURLToPath(import.meta.url)), '../../../../shared/data');
  const found = join(data, path);
  if (!existsSync(found)) skip(`needs ${found}`);
  return found;
}

function skip(why) {
  console.log(`skipped: ${why}`);
  process.exit(77);
}

if (!process.env.HEED_PROGRAM) throw new Error('HEED_PROGRAM is not set: expected the path of heed');
if (!browserPath) skip('no chromium: ./dev setup browser installs it');

/** Where a test file keeps what it writes; gone at its end. */
export const scratch = mkdtempSync(join(tmpdir(), 'heed-page-'));
process.on('exit', () => rmSync(scratch, {recursive: true, force: true}));
export const modelPath = process.env.HEED_PAGE_MODEL ?? join(scratch, 'tiny');
if (!process.env.HEED_PAGE_MODEL) writeModel(modelPath, kText);

/** A port below those that the system gives to whoever asks for any: a test can listen on it a second time. */
export async function ownPort() {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const isFree = await new Promise((resolve) => {
      const probe = createServer().once('error', () => resolve(false));
      probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}

/** The program, listening on a port that is free; `address` holds the token. */
export async function startServer(port = 0, {text = kText, folder = modelPath, more = []} = {}) {
  const args = ['serve', '--port', String(port), '--text', text, '--model', folder, ...more];
  const child = spawn(process.env.HEED_PROGRAM, args, {stdio: ['ignore', 'pipe', 'inherit']});
  const address = await new Promise((resolve, reject) => {
    let said = '';
    child.stdout.on('data', (data) => {
      said += data;
      const found = /http:\/\/\S+/.exec(said);
      if (found) resolve(found[0]);
    });
    child.on('exit', (status) => reject(new Error(`heed serve ended with status ${status}: ${said}`)));
  });
  const stop = () => new Promise((resolve) => {
    if (child.exitCode !== null) resolve();
    child.once('exit', resolve);
    child.kill('SIGINT');
  });
  return {address, stop, pid: child.pid, port: Number(new URL(address).port)};
}

export function startBrowser() {
  // A renderer for all pages of the server: starting one takes as long as many a test.
  const args = ['--no-sandbox', '--font-render-hinting=none', '--disable-lcd-text', '--process-per-site'];
  return chromium.launch({executablePath: browserPath, args});
}

/** HEED_PAGE_DIST: a folder with the page's files, in place of those in the program. */
export async function serveDist(page) {
  const dist = process.env.HEED_PAGE_DIST;
  if (!dist) return;
  const types = {'index.html': 'text/html', 'app.css': 'text/css', 'app.js': 'text/javascript'};
  for (const [name, contentType] of Object.entries(types)) {
    await page.route(({pathname, search}) => pathname === `/${name === 'index.html' ? '' : name}` && !search.includes('token='), (route) =>
      route.fulfill({contentType, body: readFileSync(join(dist, name))}));
  }
}

const kQuietFrames = 3;  // an answer is drawn in the next frame, and what is drawn may ask again
const unanswered = new WeakMap();  // by page: the requests on their way
const isStream = (request) => request.url().includes('/events?');

export function countRequests(page) {
  const open = new Set();
  unanswered.set(page, open);
  let next = null;  // the request of another document
  page.on('request', (request) => {
    open.add(request);
    if (request.isNavigationRequest() && request.frame() === page.mainFrame()) next = request;
  });
  for (const name of ['requestfinished', 'requestfailed']) page.on(name, (request) => open.delete(request));
  page.on('framenavigated', (frame) => {
    if (frame !== page.mainFrame() || !next) return;
    for (const request of open) if (request !== next) open.delete(request);  // of the document that is gone: no event ends them
    next = null;
  });
}

async function until(page, isQuiet) {
  const end = Date.now() + kWaitMilliseconds;
  for (let still = 0; still < kQuietFrames;) {
    await frames(page);
    const open = [...unanswered.get(page)];
    still = isQuiet(open) ? still + 1 : 0;
    assert.ok(Date.now() < end, `without an answer: ${open.map((request) => request.url()).join(' ')}`);
  }
}

/** Until no request is on its way, except streams of events, and what has come is drawn. */
export const quiet = (page) => until(page, (open) => open.every(isStream));

/** Until the streams have ended, too: the page knows all scores, and the head that heed chose. */
export const told = (page) => until(page, (open) => open.length === 0);

/** HEED_PAGE_LATE: holds every request for a random time. */
async function holdRequests(page) {
  const most = Number(process.env.HEED_PAGE_LATE ?? 0);
  if (most === 0) return;
  await page.route('**/api/v1/**', async (route) => {
    await sleep(Math.random() * most);
    await route.fallback().catch(() => undefined);  // the page has closed, or asks something else by now
  });
}

/** HEED_PAGE_READY: answers for a new session when its pass has ended. */
async function holdSessions(page) {
  if (!process.env.HEED_PAGE_READY) return;
  await page.route('**/api/v1/sessions', async (route) => {
    if (route.request().method() !== 'POST') return route.fallback();
    const response = await route.fetch({timeout: 0});
    let info = await response.json();
    while (info.state === 'running') {
      await sleep(20);
      info = await (await page.request.get(`${route.request().url()}/${info.session}`)).json();
    }
    return route.fulfill({response, json: info}).catch(() => undefined);
  });
}

/** A page may replace elements between the moment when `evaluateAll` finds them and the moment when it reads them, which then
 * have no size: they are found again. */
function readWhatIsThere(page) {
  const locators = Object.getPrototypeOf(page.locator('html'));
  if (locators.evaluateAll.rereads) return;
  const once = locators.evaluateAll;
  locators.evaluateAll = async function evaluateAll(read, argument) {
    const whole = new Function('all', 'argument', `return all.every((each) => each.isConnected) ? [(${read})(all, argument)] : null`);
    for (;;) {
      const found = await once.call(this, whole, argument);
      if (found) return found[0];
    }
  };
  locators.evaluateAll.rereads = true;
}

/** Registers start and end with the test runner; `open()` gives a page that has looked at the text and drawn it. */
export function withPages(served = {}) {
  const state = {server: null, browser: null, requests: [], problems: []};
  before(async () => {
    state.server = await startServer(0, served);
    state.browser = await startBrowser();
  });
  after(async () => {
    await state.browser?.close();
    await state.server?.stop();
    assert.deepEqual(state.problems, [], 'a script failed');
    const own = /^(file|blob|data):/;  // a saved page, what it has drawn
    const hosts = new Set(state.requests.filter((url) => !own.test(url)).map((url) => new URL(url).hostname));
    assert.deepEqual([...hosts], ['127.0.0.1'], 'a request left this machine');
  });
  // A context and its renderer take longer to start than most tests take: pages of one kind share a context, whose cookies
  // are gone after each test, and an idle page keeps the renderer.
  const contexts = new Map();
  const contextWith = async ({fresh = false, ...options}) => {  // fresh: of one page alone
    const kind = JSON.stringify(options);
    const known = contexts.get(kind);
    if (known && !fresh) return known.context;
    const context = await state.browser.newContext({viewport: {width: 1440, height: 900}, reducedMotion: 'reduce', ...options});
    context.setDefaultTimeout(kWaitMilliseconds);
    if (fresh) return context;
    context.once('close', () => contexts.delete(kind));
    const idle = await context.newPage();
    await idle.goto(new URL('/nothing', state.server.address).href);
    contexts.set(kind, {context, idle});
    return context;
  };
  afterEach(async () => {
    const kept = new Map([...contexts.values()].map(({context, idle}) => [context, idle]));
    for (const context of state.browser.contexts()) {
      if (!kept.has(context)) {
        await context.close();
        continue;
      }
      await Promise.all(context.pages().filter((page) => page !== kept.get(context)).map((page) => page.close()));
      await context.clearCookies();
    }
  });
  const blank = async (options = {}) => {
    const context = await contextWith(options);
    const page = await context.newPage();
    readWhatIsThere(page);
    countRequests(page);
    await serveDist(page);
    await holdRequests(page);
    await holdSessions(page);
    page.on('request', (request) => state.requests.push(request.url()));
    page.on('pageerror', (error) => state.problems.push(String(error)));
    return page;
  };
  const open = async (hash = '', options = {}) => {
    const page = await blank(options);
    await page.goto(state.server.address + hash);
    await ready(page);
    await quiet(page);
    return page;
  };
  return {state, blank, open};
}

/** Until every score is there and the margins have been read. */
export async function ready(page) {
  await page.waitForSelector('.next-row, .key');
  await page.waitForFunction(() => document.querySelector('.check')?.textContent.includes('sums to 1'));
  await page.waitForFunction(() => ![...document.querySelectorAll('.chip-scores')]
    .some((chip) => chip.textContent.includes('\u2013')));
  await page.evaluate(() => document.fonts.ready);
}

/** Until the matrix, its margins and the read-out are drawn, and nothing waits for an answer or a frame. */
export async function settled(page) {
  await ready(page);
  await page.waitForFunction(() => [...document.querySelectorAll('canvas.matrix, canvas.received, canvas.use')]
    .filter((canvas) => canvas.checkVisibility())
    .every((canvas) => {
      const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      return data.some((value) => value > 0);
    }) && document.querySelector('.large')?.textContent !== '\u2013');
  await quiet(page);
}

const kLookMilliseconds = 20;

/** Repeats an assertion about the page until it holds; fails as the last time it did. */
export async function eventually(assertion) {
  const end = Date.now() + kWaitMilliseconds;
  for (;;) {
    try {
      return await assertion();
    } catch (error) {
      if (Date.now() > end) throw error;
    }
    await sleep(kLookMilliseconds);
  }
}

/** The assertions on what `read` gives, which is read again until they hold: a page draws after an action has returned. */
export const soon = Object.fromEntries(['ok', 'equal', 'notEqual', 'deepEqual', 'notDeepEqual', 'match', 'doesNotMatch'].map((name) =>
  [name, (read, ...expected) => eventually(async () => assert[name](await read(), ...expected))]));

/** Two frames: what was asked for before the first is drawn when the second begins. */
export function frames(page) {
  return page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
}

/** The text as its tokens show it, without numbers and special tokens. */
export function textOf(page) {
  return page.locator('.tokens').evaluate((tokens) => {
    const copy = tokens.cloneNode(true);
    copy.querySelectorAll('.under, .special').forEach((each) => each.remove());
    return copy.textContent;
  });
}

export function waitForText(page, beginning) {
  return page.waitForFunction((wanted) =>
    [...document.querySelectorAll('.token:not(.special)')][0]?.textContent.startsWith(wanted), beginning);
}

/** Asks for another text in the header, and does not wait for an answer. */
export async function retype(page, text) {
  await page.locator('.header-text').click();
  await page.locator('textarea').fill(text);
  await page.keyboard.press('Control+Enter');
}

/** Runs another text, from the header. */
export async function run(page, text) {
  await retype(page, text);
  await page.waitForFunction((wanted) => sessionStorage.getItem('heed.text') === wanted, text);
  await quiet(page);  // until then the text before is there, ready
  await ready(page);
  await quiet(page);
}

export const hash = (page) => page.evaluate(() => location.hash);

export const token = (page, index) => page.locator(`.token[data-index="${index}"]`);

/** Pairs of boxes that share more than a pixel, by what stands in them. */
export function touching(page, selector) {
  return page.locator(selector).evaluateAll((all) => {
    const boxes = all.filter((each) => each.checkVisibility() && each.textContent).map((each) => ({
      name: each.textContent, box: each.getBoundingClientRect(),
    }));
    return boxes.flatMap(({name, box}, at) => boxes.slice(at + 1).filter((other) =>
      Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left) > 1
      && Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top) > 1)
      .map((other) => `${name} / ${other.name}`));
  });
}

/** What the server answers about the page's text: `path` follows the session's own. */
export function answer(page, path) {
  return page.evaluate(async (path) => {
    const body = JSON.stringify({text: sessionStorage.getItem('heed.text')});
    const {session} = await (await fetch('/api/v1/sessions', {method: 'POST', headers: {'Content-Type': 'application/json'}, body})).json();
    return (await fetch(`/api/v1/sessions/${session}${path}`)).json();
  }, path);
}

/** As if row `query` of every head were NaN: the server leaves out the scores of a head with such a row, and answers null for
 * each of its weights. Before the page opens. */
export async function withRowOfNan(page, query) {
  const kept = ['head', 'profile', 'adjusted', 'local'];
  await page.route('**/events?*', async (route) => {
    const text = await (await route.fetch()).text();
    await route.fulfill({contentType: 'text/event-stream', body: text.replace(/^event: heads\ndata: (.*)$/gm, (_, data) => {
      const {heads, ...layer} = JSON.parse(data);
      const left = heads.map((head) => Object.fromEntries(Object.entries(head).filter(([name]) => kept.includes(name))));
      return `event: heads\ndata: ${JSON.stringify({...layer, heads: left})}`;
    })});
  });
  await page.route('**/rows?*', async (route) => {
    const {searchParams} = new URL(route.request().url());
    const [begin, end] = ['begin', 'end'].map((name) => Number(searchParams.get(name)));
    const cells = Buffer.from(await (await route.fetch()).body());
    const width = cells.length / (end - begin);
    if (query >= begin && query < end) for (let at = 0; at < width; at += 4) cells.writeFloatLE(NaN, (query - begin) * width + at);
    await route.fulfill({contentType: 'application/octet-stream', body: cells});
  });
  await page.route(`**/row/${query}`, async (route) => {
    const row = await (await route.fetch()).json();
    await route.fulfill({json: {...row, weights: row.weights.map(() => null), sum: null, edges: []}});
  });
  await page.route(`**/cell/${query}/*`, async (route) => {
    const cell = await (await route.fetch()).json();
    await route.fulfill({json: {...cell, weight: cell.visible ? null : 0}});
  });
}

/** The weights of a row as the server has them. */
export function row(page, layer, head, query, what = 'row') {
  return answer(page, `/self/${layer}/${head}/${what}/${query}`);
}

/** Every head with its scores on the text, as the server has them. */
export async function headScores(page) {
  const {layers} = await answer(page, '/self/heads');
  return layers.flatMap(({layer, heads}) => heads.map((each) => ({layer, ...each})));
}

/**
 * axe finds nothing serious. The page was opened with bypassCSP, so that axe can be loaded. `options` are those of
 * axe.run, such as kColors.
 */
export async function assertAccessible(page, options = {}, about = '') {
  if (!await page.evaluate(() => 'axe' in window)) {
    await page.addScriptTag({path: createRequire(import.meta.url).resolve('axe-core/axe.min.js')});
  }
  // What passes is not listed: making that list takes longer than the rules.
  const {violations} = await page.evaluate((more) => window.axe.run(document, {resultTypes: ['violations'], ...more}), options);
  const serious = violations.filter(({impact}) => ['serious', 'critical'].includes(impact));
  assert.deepEqual(serious.map(({id, nodes}) => `${id}: ${nodes.slice(0, 3).map((node) => node.html).join(' ')}`), [], about);
}

// Three quarters of the time of all rules go to the contrast of colors, the only rule that reads them.
const kContrast = 'color-contrast';
export const kColors = {runOnly: [kContrast]};
export const kAllButColors = {rules: {[kContrast]: {enabled: false}}};

/** axe finds nothing serious in the page as it is, in dark colors, and on a narrow window. */
export async function assertAccessibleEverywhere(page) {
  await assertAccessible(page, {}, 'light');
  await page.emulateMedia({colorScheme: 'dark'});
  await quiet(page);
  await assertAccessible(page, kColors, 'dark');
  await page.setViewportSize({width: 390, height: 844});
  await quiet(page);
  await assertAccessible(page, kAllButColors, 'narrow');
}

/** How many tokens the text has; those out of sight have no element. */
export async function tokenCount(page) {
  return Number.parseInt((await page.locator('.header-text .quiet').textContent()).replace(',', ''));
}

/** The middle of a cell of the fitted matrix, on the screen. */
export async function cell(page, query, key) {
  const box = await page.locator('canvas.matrix').boundingBox();
  const length = await tokenCount(page);
  const at = (index, from, size) => from + (index + 0.5) * size / length;
  return {x: at(key, box.x, box.width), y: at(query, box.y, box.height)};
}

/** What is longer than the window, or stands on something else. */
export function misfits(page) {
  return page.evaluate(() => {
    const found = [];
    const {scrollHeight, scrollWidth, clientWidth} = document.documentElement;
    if (scrollHeight > innerHeight) found.push(`the page is ${scrollHeight} px high`);
    if (scrollWidth > clientWidth) found.push(`the page is ${scrollWidth} px wide`);
    const foot = document.querySelector('.foot').getBoundingClientRect();
    if (foot.bottom > innerHeight + 0.5) found.push(`the foot ends at ${foot.bottom}`);
    for (const name of ['.plot', '.keys', '.queries', '.side', '.read-out', '.grid-scroller']) {
      const box = document.querySelector(name)?.checkVisibility() ? document.querySelector(name).getBoundingClientRect() : null;
      if (box && box.bottom > foot.top + 0.5) found.push(`${name} ends at ${box.bottom}, the foot begins at ${foot.top}`);
    }
    return found;
  });
}
