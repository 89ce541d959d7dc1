// Nothing yet, working, failed; a server that forgets, stops, and comes back.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {test} from 'node:test';
import {hash, ownPort, quiet, ready, retype, run, soon, startServer, textOf, told, waitForText, withPages} from './harness.mjs';

const {state, blank, open} = withPages();
const json = (value, status = 200) => ({status, contentType: 'application/json', body: JSON.stringify(value)});

/** A page that is told of no text. */
async function empty() {
  const page = await blank();
  await page.route('**/api/v1/models', async (route) => {
    const response = await route.fetch();
    await route.fulfill(json({...await response.json(), text: null}));
  });
  await page.goto(state.server.address);
  return page;
}

test('with no text the field has the focus and three examples stand below', async () => {
  const page = await empty();
  await page.waitForSelector('textarea:focus');
  await soon.equal(() => page.locator('.examples button').count(), 3);
  await soon.match(() => page.locator('.field').textContent(), /at most [\d,]+ tokens/);
  await soon.equal(() => page.locator('.field-line .link').innerText(), 'runs it');
  await page.setViewportSize({width: 390, height: 844});
  await soon.equal(() => page.locator('.field-line').innerText().then((text) => text.split('\n').at(-1)), 'Run the text');  // it has no Ctrl
  await page.setViewportSize({width: 1440, height: 900});
  await page.locator('.examples button').first().click();
  await page.waitForSelector('.token');
});

test('Ctrl+Enter leads the keyboard to the text, whose length is spoken', async () => {
  const page = await empty();
  await page.locator('textarea').fill('Tom and the old dog');
  await page.keyboard.press('Control+Enter');
  await soon.ok(() => page.evaluate(() => document.activeElement.matches('.token')));
  await soon.match(() => page.locator('.heed > .spoken[role=status]').textContent(), /^\d+ tokens$/);
  await page.waitForFunction(() => /^#look\/L\d+\.H\d+\/i=\d+/.test(location.hash));
  await soon.ok(() => page.locator('.token:focus').evaluate((focused) => !focused.matches('.hovered')));  // heed's row is shown, not the focused one
});

test('Back leads from the first text to the field with it, and Forward to the text', async () => {
  const page = await empty();
  await page.locator('textarea').fill('Tom and the old dog');
  await page.keyboard.press('Control+Enter');
  await soon.match(() => hash(page), /^#look/);
  await quiet(page);
  const first = await hash(page);
  await page.goBack();
  await soon.equal(() => page.locator('.start textarea').inputValue(), 'Tom and the old dog');
  await soon.equal(() => page.locator('.token').count(), 0);
  await page.goForward();
  await soon.equal(() => textOf(page), 'Tom and the old dog');
  await soon.equal(() => hash(page), first);
  await page.goBack();
  await page.locator('.start textarea').fill('');
  await page.keyboard.press('Control+Enter');
  await soon.equal(() => page.locator('.start-why').textContent(), 'The text is empty. Nothing was run.');
  await soon.ok(() => page.evaluate(() => document.activeElement.matches('.start textarea')));
  await page.locator('.start textarea').fill('Tom and the cat');
  await page.keyboard.press('Control+Enter');
  await soon.equal(() => textOf(page), 'Tom and the cat');
});

test('a text that was emptied has the examples under it, and where its result would stand', async () => {
  const page = await open('#look/L1.H3');
  await page.locator('.header-text').click();
  await soon.equal(() => page.locator('.examples').isVisible(), false);
  await page.locator('textarea').fill('');
  await soon.equal(() => page.locator('.examples button').count(), 3);
  assert.equal(await page.locator('.examples').isVisible(), true);
  await page.keyboard.press('Control+Enter');
  await soon.match(() => page.locator('.failed').textContent(), /^The text is emptyNothing was run\. Type a textOr look at one of these/);
  await page.locator('.failed .examples button').last().click();
  await waitForText(page, 'A');
});

for (const [what, sample, name] of [['Chinese, Japanese or Korean', '\u732b', 'fonts-noto-cjk'], ['emoji', '\u{1f9ff}', 'fonts-noto-color-emoji']]) {
  test(`what no font of the machine can show names its package, once: ${what}`, async () => {
    const page = await open('#look/L1.H3');
    await soon.equal(() => page.locator('.fonts-missing').count(), 0);
    await retype(page, `Tom ${sample} ${sample}`);
    await waitForText(page, 'T');
    const hasFont = execFileSync('fc-list', [`:charset=${sample.codePointAt(0).toString(16)}`], {encoding: 'utf8'}).trim() !== '';
    await soon.deepEqual(() => page.locator('.fonts-missing').allTextContents(), hasFont ? [] : [`This machine has no font for ${what}: install ${name}.`]);
  });
}

test('while heads are scored one line tells how many, and their scores are dashes', async () => {
  const page = await blank();
  await page.route('**/events*', (route) => route.fulfill({contentType: 'text/event-stream', body: 'event: next\ndata: {}\n\n'}));
  await page.goto(state.server.address);
  await page.waitForSelector('.progress');
  await soon.match(() => page.locator('.progress').textContent(), /^Scoring heads0 of \d+, the layer in view first$/);
  await soon.match(() => page.locator('.chip').first().textContent(), /best \u2013/);
});

test('a text that is too long is refused and can be cut', async () => {
  const page = await open('#look/L1.H3');
  await retype(page, 'the old dog and the cat went home. '.repeat(60));
  await page.waitForSelector('.failed');
  await soon.match(() => page.locator('.failed').textContent(),
    /^The text is [\d,]+ tokens too longIt has [\d,]+; tiny reads 512\. Nothing was run\.Keep the first 512 or the last 512, or edit the text\.before the change$/);
  await soon.match(() => textOf(page), /Lily/);
  await page.locator('.failed .link', {hasText: 'the last 512'}).click();
  await waitForText(page, 't');
  await soon.equal(() => page.locator('.failed').count(), 0);
  await soon.equal(() => page.locator('.header-text .quiet').textContent(), '512 tokens');
});

test('a session that was dropped is opened again in the same view', async () => {
  const page = await open('#look/L1.H3/i=60/j=3');
  await page.evaluate(async () => {
    const text = sessionStorage.getItem('heed.text');
    const {session} = await (await fetch('/api/v1/sessions', {method: 'POST', body: JSON.stringify({text})})).json();
    await fetch(`/api/v1/sessions/${session}`, {method: 'DELETE'});
  });
  const [request] = await Promise.all([
    page.waitForRequest((each) => each.method() === 'POST'), page.locator('.query[data-index="64"]').hover()]);
  assert.match(request.url(), /\/api\/v1\/sessions$/);
  await ready(page);
  await soon.equal(() => hash(page), '#look/L1.H3/i=60/j=3');
});

test('when heed stops the page says so, and comes back when the address of the new run is opened', async () => {
  const server = await startServer(await ownPort());
  const page = await blank();
  await page.goto(server.address + '#look/L1.H3/i=60');
  await ready(page);
  await server.stop();
  await page.locator('.token[data-index="70"]').hover();
  await page.waitForSelector('.failed');
  await soon.match(() => page.locator('.failed').textContent(), /^heed has stopped.*heed serve --model tiny --port \d+.*try now$/);
  const again = await startServer(server.port);
  await page.waitForFunction(() => /^This page has no token/.test(document.querySelector('.failed')?.textContent));
  const other = await page.context().newPage();
  await other.goto(again.address);
  await page.waitForFunction(() => !document.querySelector('.failed'));
  await ready(page);
  await soon.equal(() => hash(page), '#look/L1.H3/i=60');
  await again.stop();
});

test('text and model are kept for a reload', async () => {
  const page = await open('#look/L1.H3/i=3');
  await retype(page, 'Tom and the old dog');
  await waitForText(page, 'T');
  await told(page);  // a request of the page that is left would never end
  await page.reload();
  await waitForText(page, 'T');
});

test('a tab shows the text that a server was started with since, and keeps what it reads over a reload', async () => {
  const server = await startServer(await ownPort());
  const page = await blank();
  await page.goto(server.address);
  await ready(page);
  await run(page, 'Tom and the old dog');
  await server.stop();
  const other = await startServer(server.port, {text: 'She saw a big red ball.'});
  await page.goto(other.address);
  await waitForText(page, 'S');
  await ready(page);
  await run(page, 'Tom and the old dog');
  await told(page);
  await page.reload();
  await waitForText(page, 'T');
  await told(page);
  await other.stop();
});

test('a page without a token says where to get one', async () => {
  const page = await blank();
  await page.goto(new URL('/', state.server.address).href);
  await page.waitForSelector('.failed');
  await soon.match(() => page.locator('.failed').textContent(), /^This page has no token.*Open the address that heed serve prints\.$/);
});

test('a text that takes long to cut says so, and only then', async () => {
  const page = await open('#look/L1.H3');
  let release;
  const held = new Promise((resolve) => { release = resolve; });
  await page.route('**/api/v1/sessions', async (route) => {
    await held;
    await route.continue();
  });
  await retype(page, 'Tom and the old dog');
  await page.waitForSelector('.notice .progress');
  await soon.equal(() => page.locator('.notice').textContent(), 'Splitting the text into tokens19 characters');
  release();
  await waitForText(page, 'T');
  await soon.equal(() => page.locator('.notice').textContent(), '');
});

test('a pass that fails says how, where the result would stand', async () => {
  const page = await blank();
  const data = JSON.stringify({error: {code: 'failed', message: 'out of memory'}});
  await page.route('**/events*', (route) => route.fulfill({contentType: 'text/event-stream', body: `event: failed\ndata: ${data}\n\n`}));
  await page.goto(state.server.address);
  await page.waitForSelector('main .failed');
  await soon.match(() => page.locator('main .failed').textContent(), /^The model could not read the textout of memory/);
});

test('a session that was refused tells why', async () => {
  const page = await open('#look/L1.H3');
  await page.route('**/api/v1/sessions', (route) => route.fulfill(json({error: {code: 'bad_request', message: 'byte 3 of the text is not UTF-8'}}, 400)));
  await page.locator('.header-text').click();
  await page.locator('textarea').fill('Tom');
  await page.locator('.field .link').click();
  await page.waitForSelector('.failed');
  await soon.match(() => page.locator('.failed').textContent(), /^The text was not runbyte 3 of the text is not UTF-8edit the textbefore the change$/);
  await page.locator('.failed .link').click();
  await soon.equal(() => page.locator('textarea').inputValue(), 'Tom');
  await page.keyboard.press('Escape');
  await soon.equal(() => page.locator('textarea').count(), 0);
});

test('of a head that heed cannot be asked for any more nothing is drawn, and least of all another head', async () => {
  const server = await startServer(await ownPort());
  const page = await blank();
  await page.goto(server.address + '#look/L1.H0/i=60');
  await ready(page);
  await page.waitForSelector('.under');
  await server.stop();
  await page.locator('.chip[data-head="5"]').click();
  await page.waitForSelector('.failed');
  await soon.equal(() => hash(page), '#look/L1.H5/i=60');
  await page.waitForFunction(() => !document.querySelector('.under'));
  const drawn = () => page.evaluate(() => ({
    shaded: [...document.querySelectorAll('.token')].filter((each) => Number(each.style.getPropertyValue('--weight')) > 0).length,
    numbers: [...document.querySelectorAll('.key .value')].filter((each) => each.textContent).length,
    arcs: document.querySelectorAll('.arc').length, check: document.querySelector('.check').textContent,
  }));
  await soon.deepEqual(drawn, {shaded: 0, numbers: 0, arcs: 0, check: ''});
  await soon.match(() => page.locator('.failed code').textContent(), new RegExp(`^heed serve --model tiny --port ${server.port}$`));
  const again = await startServer(server.port);
  await (await page.context().newPage()).goto(again.address);  // its cookie is another
  await page.waitForSelector('.under');
  await soon.equal(() => hash(page), '#look/L1.H5/i=60');
  await again.stop();
});

/** Runs a text without waiting for what it shows. */
async function replaceText(page, text) {
  await retype(page, text);
  await page.waitForFunction((wanted) => sessionStorage.getItem('heed.text') === wanted, text);
}

test('a text that is replaced while its pass runs is dropped, and one whose pass has ended is not', async () => {
  const page = await open('#look/L1.H3');
  const dropped = [];
  page.on('request', (request) => { if (request.method() === 'DELETE') dropped.push(request.url().split('/').at(-1)); });
  // For the page every pass runs: it hears no news of one, and not that one ended before the answer was written.
  await page.route('**/events?*', () => undefined);
  await page.route('**/api/v1/sessions', async (route) => {
    const response = await route.fetch({timeout: 0});
    await route.fulfill({response, json: {...await response.json(), state: 'running'}});
  });
  const posted = page.waitForResponse((response) => response.request().method() === 'POST');
  await replaceText(page, 'Tom and the old dog and a cat');
  const {session} = await (await posted).json();
  await page.waitForSelector('.reading');
  assert.deepEqual(dropped, []);
  await Promise.all([page.waitForRequest((request) => request.method() === 'DELETE'), replaceText(page, 'Tom and the new dog')]);
  assert.deepEqual(dropped, [session]);
});

/** Tells that the pass has ended and that heed has chosen a head. */
function chosen(layer, head) {
  const data = JSON.stringify({stack: 'self', layer, head, score: 0.5, reason: `looks hardest, ${layer} ${head}`});
  return {contentType: 'text/event-stream', body: `event: next\ndata: {}\n\nevent: chosen\ndata: ${data}\n\nevent: done\ndata: {}\n\n`};
}

test('a new text has its own head, with the reason, unless a head was pinned', async () => {
  const page = await blank();
  const heads = [[1, 4], [2, 5], [0, 6]];
  await page.route('**/events?*', (route) => route.fulfill(chosen(...heads.shift())));
  await page.goto(state.server.address);
  const place = async () => /L\d\.H\d/.exec(await hash(page))?.[0];
  const reason = () => page.locator('.reason').textContent();
  await page.waitForFunction(() => location.hash.includes('L1.H4'));
  await soon.equal(() => reason(), 'heed chose: looks hardest, 1 4');
  await page.locator('.token[data-index="9"]').click();  // a token is no head
  await replaceText(page, 'Tom and the old dog');
  await page.waitForFunction(() => location.hash.includes('L2.H5'));
  await soon.equal(() => reason(), 'heed chose: looks hardest, 2 5');
  await page.keyboard.press(',');
  await soon.equal(() => place(), 'L2.H4');
  await soon.equal(() => reason(), '');
  await replaceText(page, 'Tom and the new dog');
  await soon.equal(() => heads.length, 0);
  await quiet(page);
  await page.waitForSelector('.next-row');
  await soon.equal(() => place(), 'L2.H4');
  await soon.equal(() => reason(), '');
});
