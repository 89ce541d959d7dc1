// How quick the page is with a long text: HEED_PROGRAM=build/release/heed node test/browser/speed.mjs [TOKENS]
// HEED_PAGE_MODEL is a model with as many positions; without one a small one is written.
// The CPU time of the page's main thread and of the server stands beside the wall clock: it holds on a busy machine.
import {readFileSync, readdirSync} from 'node:fs';
import {join} from 'node:path';
import {kText, scratch, serveDist, startBrowser, startServer} from './harness.mjs';
import {report, watch} from './measuring.mjs';
import {writeModel} from './model.mjs';

const kTurns = 20;
const kTiles = 100;
const kReading = 500;  // ms: nobody points at a word in the moment in which the head changes
const tokens = Number(process.argv[2] ?? 4096);

/** Milliseconds of all threads. */
function serverTime(pid) {
  return readdirSync(`/proc/${pid}/task`).reduce((sum, thread) =>
    sum + Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e6, 0);
}

let folder = process.env.HEED_PAGE_MODEL;
if (!folder) {
  folder = join(scratch, 'long');
  writeModel(folder, kText, tokens);
}
const browser = await startBrowser();
const text = `${kText}\n`;
const server = await startServer(0, {folder, text});
const page = await (await browser.newContext({viewport: {width: 1440, height: 900}})).newPage();
await page.addInitScript(watch);
await serveDist(page);
await page.goto(server.address);
await page.waitForSelector('.next-row', {timeout: 120_000});
const long = await page.evaluate(async ([text, tokens]) => {
  const body = JSON.stringify({text: text.repeat(Math.ceil(tokens / 100)), keep: 'first'});
  const session = await (await fetch('/api/v1/sessions', {method: 'POST', body})).json();
  sessionStorage.setItem('heed.text', session.text);
  return {id: session.session, length: session.tokens.length};
}, [text, tokens]);
console.log(`${long.length} tokens`);
const {layers} = await page.evaluate(async () => (await (await fetch('/api/v1/models')).json()).models[0]);
const scored = () => page.evaluate(async (id) => (await (await fetch(`/api/v1/sessions/${id}`)).json()).heads_done, long.id);
while (await scored() < layers) await page.waitForTimeout(500);  // else both cores would be busy with the scores

const devtools = await page.context().newCDPSession(page);
await devtools.send('Performance.enable', {timeDomain: 'threadTicks'});
async function cpu() {
  const {metrics} = await devtools.send('Performance.getMetrics');
  return {page: 1000 * metrics.find(({name}) => name === 'TaskDuration').value, server: serverTime(server.pid)};
}
function reportCpu(before, after, turns) {
  const each = (kind) => ((after[kind] - before[kind]) / turns).toFixed(1);
  console.log(`${''.padEnd(28)} CPU a turn: page ${each('page')} ms, server ${each('server')} ms`);
}

const paints = [];
const firsts = [];
let before = await cpu();
for (let turn = 0; turn < 5; ++turn) {
  await page.goto(`${new URL(server.address).origin}/?turn=${turn}#look/L0.H0/i=${long.length - 1}`);
  await page.waitForSelector('.token .under', {timeout: 120_000});
  paints.push(await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime));
  firsts.push(await page.evaluate(() => window.seen.first));
}
report('first paint', paints);
report('first token', firsts);
reportCpu(before, await cpu(), 5);
before = await cpu();

const switches = [];
for (let turn = 0; turn < kTurns; ++turn) {
  await page.evaluate(() => { window.seen.pixels = 0; });
  await page.keyboard.press(turn % 8 === 7 ? ']' : '.');
  await page.waitForFunction(() => window.seen.pixels > 0);
  switches.push(await page.evaluate(() => window.seen.pixels - window.seen.asked));
}
report('head switch to pixels', switches);
reportCpu(before, await cpu(), kTurns);

const hovers = [];
const places = await page.locator('.token').evaluateAll((all) => all.slice(-120).map((each) => {
  const {x, y, width, height} = each.getBoundingClientRect();
  return [x + width / 2, y + height / 2];
}));
await page.waitForTimeout(kReading);
before = await cpu();
for (let turn = 0; turn < kTurns; ++turn) {
  await page.mouse.move(...places[5 * turn + 3]);
  await page.waitForFunction(() => window.seen.answered > 0);
  hovers.push(await page.evaluate(() => window.seen.answered - window.seen.asked));
}
report('exact hover', hovers);
reportCpu(before, await cpu(), kTurns);

before = await cpu();
const tiles = await page.evaluate(async ([id, turns]) => {
  const {attentions: [{stack, layers, heads, queries, zooms, tile}]} = await (await fetch(`/api/v1/sessions/${id}`)).json();
  const times = [];
  for (let turn = 0; turn < turns; ++turn) {  // of the finest level, below the diagonal
    const row = turn * 7 % Math.ceil(queries / tile);
    const begin = performance.now();
    await (await fetch(`/api/v1/sessions/${id}/${stack}/${turn % layers}/${turn % heads}/tile/${zooms - 1}/${row}/${turn % (row + 1)}`)).arrayBuffer();
    times.push(performance.now() - begin);
  }
  return times;
}, [long.id, kTiles]);
report('tile', tiles);
reportCpu(before, await cpu(), kTiles);
await browser.close();
await server.stop();
process.exit(0);
