// A training run that is watched: its steps on a slider.
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {after, before, test} from 'node:test';
import {join} from 'node:path';
import {countRequests, kWaitMilliseconds, ready, scratch, serveDist, soon, startBrowser, told} from './harness.mjs';

const kWords = 'w1 w3 w2 w5';
let run, browser, address;

before(async () => {
  const small = ['--task', 'lm', '--generate', 'induction', '--generate-length', '24', '--layers', '2', '--heads', '2', '--width', '32', '--block', '48',
    '--steps', '60', '--warmup', '5', '--checkpoint-every', '60', '--evaluate-every', '60', '--threads', '1',
    '--learning-rate', '0.01'];  // heed would choose another head at each of the first three steps
  run = spawn(process.env.HEED_PROGRAM, ['train', ...small, '-o', join(scratch, 'run'), '--watch', kWords, '--watch-every', '20'], {stdio: ['ignore', 'ignore', 'pipe']});
  address = await new Promise((resolve, reject) => {
    let said = '';
    run.stderr.on('data', (data) => {
      said += data;
      if (said.includes('the page stays')) resolve(/http:\/\/\S+/.exec(said)[0]);
    });
    run.on('exit', (status) => reject(new Error(`heed train ended with status ${status}: ${said}`)));
  });
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  run.removeAllListeners('exit');
  run.kill('SIGINT');
});

async function newPage() {
  const page = await browser.newPage({viewport: {width: 1440, height: 900}});
  page.setDefaultTimeout(kWaitMilliseconds);
  countRequests(page);
  await serveDist(page);
  return page;
}

const nameOf = (page) => page.locator('.model b').textContent();
const shows = (page, name) => page.waitForFunction((wanted) => document.querySelector('.model b')?.textContent === wanted, name);

test('the page begins with the last step, and the slider goes to the others', async () => {
  const page = await newPage();
  await page.goto(address);
  await ready(page);
  await soon.equal(() => nameOf(page), 'step-60');
  const slider = page.locator('.steps input');
  await soon.equal(() => page.locator('.steps output').textContent(), 'after 60 steps');
  await soon.deepEqual(() => slider.evaluate(({min, max, value}) => [min, max, value]), ['0', '3', '3']);
  await page.goto(`${new URL(address).origin}/#look/L1.H1/i=2`);
  await ready(page);
  await slider.focus();
  await page.keyboard.press('Home');
  await shows(page, 'step-1');
  await soon.equal(() => page.locator('.steps output').textContent(), 'after 1 step');
  await ready(page);
  await soon.equal(() => page.locator('.token.pinned').getAttribute('data-index'), '2');
  await soon.match(() => page.locator('.chip.chosen').getAttribute('data-head'), /^1$/);
  await page.keyboard.press('ArrowRight');  // the slider still has the focus
  await shows(page, 'step-20');
  await soon.match(() => page.locator('.header-text .beginning').textContent(), new RegExp(kWords));
  await page.close();
});

test('the head that heed has chosen at one step is the one that the others show', async () => {
  const page = await newPage();
  await page.goto(address);
  await ready(page);
  await page.waitForFunction(() => location.hash !== '');
  const head = () => /L\d+\.H\d+/.exec(page.url())[0];
  const chosen = head();
  await page.locator('.steps input').focus();
  for (const [key, step] of [['Home', 1], ['ArrowRight', 20], ['ArrowRight', 40], ['End', 60]]) {
    await page.keyboard.press(key);
    await shows(page, `step-${step}`);
    await ready(page);
    await told(page);  // now it would have chosen another one
    assert.equal(head(), chosen, `at step ${step}`);
  }
  await page.close();
});

test('a page of a model that nobody trains has no slider', async () => {
  const page = await newPage();
  await page.route('**/api/v1/models', async (route) => {
    const answer = await route.fetch();
    const {steps, ...rest} = await answer.json();
    await route.fulfill({response: answer, json: rest});
  });
  await page.goto(address);
  await ready(page);
  await soon.equal(() => page.locator('.steps').count(), 0);
  await page.close();
});
