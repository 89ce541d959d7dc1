// Nothing yet, working, failed; a server that forgets, stops, and comes back.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {hash, ready, startServer, textOf, waitForText, withPages} from './harness.mjs';

const {state, blank, open} = withPages();
const json = (value, status = 200) => ({status, contentType: 'application/json', body: JSON.stringify(value)});

/** A page that is told of no text. */
async function empty() {
  const page = await blank();
  await page.route('**/api/model', async (route) => {
    const response = await route.fetch();
    await route.fulfill(json({...await response.json(), text: null}));
  });
  await page.goto(state.server.address);
  return page;
}

test('with no text the field has the focus and three examples stand below', async () => {
  const page = await empty();
  await page.waitForSelector('textarea:focus');
  assert.equal(await page.locator('.examples button').count(), 3);
  assert.match(await page.locator('.field').textContent(), /at most [\d,]+ tokens/);
  await page.locator('.examples button').first().click();
  await page.waitForSelector('.token');
});

test('while heads are scored one line tells how many, and their scores are dashes', async () => {
  const page = await blank();
  await page.route('**/events*', (route) => route.fulfill({contentType: 'text/event-stream', body: 'event: next\ndata: {}\n\n'}));
  await page.goto(state.server.address);
  await page.waitForSelector('.progress');
  assert.match(await page.locator('.progress').textContent(), /^Scoring heads0 of \d+, the layer in view first$/);
  assert.match(await page.locator('.chip').first().textContent(), /prev \u2013/);
});

test('a text that is too long is refused and can be cut', async () => {
  const page = await open('#look/L1.H3');
  await page.locator('.header-text').click();
  await page.locator('textarea').fill('the old dog and the cat went home. '.repeat(60));
  await page.keyboard.press('Control+Enter');
  await page.waitForSelector('.failed');
  assert.match(await page.locator('.failed').textContent(), /^The text is too long.*Nothing was run\..*before the change$/);
  assert.match(await page.locator('.tokens').textContent(), /Lily/);
  await page.locator('.failed .link', {hasText: 'the beginning'}).click();
  await waitForText(page, 'the');
  assert.equal(await page.locator('.failed').count(), 0);
});

test('a session that was dropped is opened again in the same view', async () => {
  const page = await open('#look/L1.H3/i=60/j=3');
  await page.evaluate(async () => {
    const text = sessionStorage.getItem('heed.text');
    const {session} = await (await fetch('/api/sessions', {method: 'POST', body: JSON.stringify({text})})).json();
    await fetch(`/api/sessions/${session}`, {method: 'DELETE'});
  });
  const [request] = await Promise.all([
    page.waitForRequest((each) => each.method() === 'POST'), page.locator('.query[data-index="64"]').hover()]);
  assert.match(request.url(), /\/api\/sessions$/);
  await ready(page);
  assert.equal(await hash(page), '#look/L1.H3/i=60/j=3');
});

test('when heed stops the page says so, and comes back by itself', async () => {
  const server = await startServer();
  const page = await blank();
  await page.goto(server.address + '#look/L1.H3/i=60');
  await ready(page);
  await server.stop();
  await page.locator('.token[data-index="70"]').hover();
  await page.waitForSelector('.failed');
  assert.match(await page.locator('.failed').textContent(), /^heed has stopped.*heed serve.*try now$/);
  const again = await startServer(server.port);
  await page.waitForFunction(() => !document.querySelector('.failed'));
  await ready(page);
  assert.equal(await hash(page), '#look/L1.H3/i=60');
  await again.stop();
});

test('text and model are kept for a reload', async () => {
  const page = await open('#look/L1.H3/i=3');
  await page.locator('.header-text').click();
  await page.locator('textarea').fill('Tom and the old dog');
  await page.keyboard.press('Control+Enter');
  await waitForText(page, 'T');
  await page.reload();
  await waitForText(page, 'T');
});

test('a page without a token says where to get one', async () => {
  const page = await blank();
  await page.goto(new URL('/', state.server.address).href);
  await page.waitForSelector('.failed');
  assert.match(await page.locator('.failed').textContent(), /^This page has no token.*Open the address that heed serve prints\.$/);
});
