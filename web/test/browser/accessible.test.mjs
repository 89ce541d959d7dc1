// axe finds nothing serious in any view. Look is checked in light and dark colors and on a narrow window, too;
// HEED_EVERYWHERE=1 checks every view so, which takes three times as long.
import {test} from 'node:test';
import {assertAccessible, assertAccessibleEverywhere, kColors, quiet, settled, withPages} from './harness.mjs';

const {state, blank, open} = withPages();

test('axe finds nothing serious: look', async () => {
  const page = await open('#look/L1.H3/i=60/j=20', {bypassCSP: true, fresh: true});
  await settled(page);
  await assertAccessibleEverywhere(page);
});

test('axe finds nothing serious: the table of a matrix', async () => {
  const page = await open('#look/L1.H3/i=60/j=20', {bypassCSP: true, fresh: true});
  await page.keyboard.press('t');
  await page.waitForSelector('.table');
  await quiet(page);
  await assertAccessible(page);
});

for (const view of ['grid', 'matrix', 'why', 'anatomy', 'words', 'heads', 'flow']) {
  test(`axe finds nothing serious: ${view}`, async () => {
    const page = await blank({bypassCSP: true, fresh: true});
    await page.goto(`${state.server.address}#${view}/L1.H3/i=60/j=20`);
    await page.waitForFunction(() => (document.querySelector('.view')?.innerText.length ?? 0) > 40);
    await quiet(page);
    await (process.env.HEED_EVERYWHERE ? assertAccessibleEverywhere : assertAccessible)(page);
  });
}

test('axe finds nothing serious: small multiples and the list of keys', async () => {
  const page = await open('#look/L1.H0+H1+H2+H3+H4/i=60', {bypassCSP: true});
  await page.waitForSelector('.small .key');
  await page.keyboard.press('?');
  await assertAccessible(page);
});

test('axe finds nothing serious: working, failed, editing', async () => {
  const page = await blank({bypassCSP: true});
  const inBothColors = async (about) => {
    await assertAccessible(page, {}, `${about}, light`);
    await page.emulateMedia({colorScheme: 'dark'});
    await assertAccessible(page, kColors, `${about}, dark`);
    await page.emulateMedia({colorScheme: 'light'});
  };
  await page.route('**/events*', (route) => route.fulfill({contentType: 'text/event-stream', body: 'retry: 600000\nevent: next\ndata: {}\n\n'}));
  await page.goto(state.server.address);
  await page.waitForSelector('.progress');
  await inBothColors('working');
  await page.locator('.header-text').click();
  await inBothColors('editing');
  await page.locator('textarea').fill('the old dog and the cat went home. '.repeat(200));
  await page.keyboard.press('Control+Enter');
  await page.waitForSelector('.failed');
  await inBothColors('failed');
});
