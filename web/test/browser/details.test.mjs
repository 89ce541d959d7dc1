// What a first reader stumbles over: addresses that are not there, numbers on numbers, texts of other shapes.
import assert from 'node:assert/strict';
import http from 'node:http';
import {join} from 'node:path';
import {test} from 'node:test';
import {answer, eventually, hash, quiet, ready, retype, row, run, scratch, settled, soon, startServer, told, token, touching, withPages} from './harness.mjs';
import {writeModel} from './model.mjs';

const {state, blank, open} = withPages();

/** Another address, until its view is drawn. */
async function follow(page, address) {
  await page.evaluate((wanted) => new Promise((resolve) => {
    window.addEventListener('popstate', resolve, {once: true});
    location.hash = wanted;
  }), address);
  await settled(page);
}

test('there is no address until a head is chosen, and no step back to before', async () => {
  const page = await blank();
  await page.route('**/events?*', () => undefined);  // no news
  await page.goto(state.server.address);
  await page.waitForSelector('.token');
  await soon.equal(() => hash(page), '');
  await soon.equal(() => page.locator('.address').textContent(), '');
  const before = await page.evaluate(() => history.length);
  await page.unroute('**/events?*');
  await page.reload();
  await ready(page);
  await page.waitForFunction(() => location.hash !== '');
  await soon.match(() => hash(page), /^#look\/L\d\.H\d\/i=\d+\/j=\d+$/);
  await eventually(async () => assert.equal(await page.locator('.address').textContent(), await hash(page)));
  await soon.equal(() => page.evaluate(() => history.length), before);
});

test('what an address names and is not there is said, until the next choice', async () => {
  const page = await open('#look/L9.H3/i=500');
  await soon.equal(() => page.locator('.notice').textContent(),
    'There is no layer 9, the last one is 2: layer 2 is shown. There is no token 500, the last one is 193: it is not pinned.');
  await page.keyboard.press('.');
  await soon.equal(() => page.locator('.notice').textContent(), '');
  await follow(page, '#look/L1.H44');
  await soon.equal(() => page.locator('.notice').textContent(), 'There is no head 44, the last one is 7: head 0 is shown.');
});

test('a part of the address that is not known is said and left out, until the next choice', async () => {
  const page = await open('#look/L1.H3/units=pink/scale=sqrt');
  const notice = page.locator('.notice');
  await soon.equal(() => notice.textContent(), '\u201cunits=pink\u201d is left out, units= is token, character, word or sentence.');
  await soon.equal(() => hash(page), '#look/L1.H3/scale=sqrt');
  await follow(page, '#look/L1.H3/scores=previous+nothing');
  await soon.match(() => notice.textContent(), /^There is no score nothing, /);
  await page.keyboard.press('.');
  await soon.equal(() => notice.textContent(), '');
});

test('an address that names no head is said, and a head is chosen', async () => {
  const page = await open('#map/L0.H0');
  await page.waitForFunction(() => location.hash.startsWith('#look/'));
  await soon.equal(() => page.locator('.notice').textContent(),
    '\u201c#map/L0.H0\u201d names no head, expected an address as in #look/L2.H4/i=17.');
  await page.keyboard.press('.');
  await soon.equal(() => page.locator('.notice').textContent(), '');
});

test('an address without a head shows the head that heed chooses, in a new tab and later', async () => {
  const page = await open();
  const {layer, head} = await answer(page, '/self/chosen');
  const {session} = await answer(page, '');
  const ofRow = await answer(page, '/self/chosen?query=40');
  const ofEdge = await answer(page, '/self/chosen?query=40&key=12');
  const shows = async (each, address) => {
    await soon.match(() => hash(each), new RegExp(`^#${address}(/|$)`));
    await told(each);
    await soon.match(() => hash(each), new RegExp(`^#${address}(/|$)`));
    assert.equal(await each.locator('.notice').textContent(), '');
  };
  for (const view of ['grid', 'heads', 'matrix/i=40', 'words/i=40', 'matrix/i=40/j=12']) {
    const [name, row, key] = view.split('/');
    const from = key ? ofEdge : row ? ofRow : {layer, head};
    const own = [`L${from.layer}.H${from.head}`, ...row ? [row] : [], ...key ? [key] : []].join('/');
    const fresh = await blank();
    await fresh.goto(`${state.server.address}#${view}`);
    await shows(fresh, `${name}/${own}`);
    await page.evaluate(() => { location.hash = '#look/L0.H0/i=3'; });
    await soon.equal(() => hash(page), '#look/L0.H0/i=3');
    await page.evaluate((address) => { location.hash = address; }, view);
    await shows(page, `${name}/${own}`);
    const file = await page.evaluate(async (path) => (await fetch(path)).text(), `/api/v1/sessions/${session}/export?view=${encodeURIComponent(view)}&format=html`);
    assert.match(file, new RegExp(`"view":"${name}/${own}[/"]`));
  }
});

test('what is too long is said until one moves on, and leaves the view in sight', async () => {
  const page = await open('#look/L1.H3/i=60');
  const before = (await page.locator('.heads').boundingBox()).y;
  await retype(page, 'Lily saw a ball. '.repeat(400));
  await page.waitForSelector('.failed');
  await quiet(page);
  await soon.ok(async () => (await page.locator('.heads').boundingBox()).y - before < 90);
  await page.locator('.chip').nth(2).click();
  await soon.equal(() => page.locator('.failed').count(), 0);
});

test('the table of the matrix stays within its column', async () => {
  const page = await open('#look/L1.H3/i=60/j=40');
  await page.keyboard.press('t');
  await page.waitForSelector('.table');
  await quiet(page);
  const room = await page.locator('.table').evaluate(({scrollWidth, clientWidth}) => ({scrollWidth, clientWidth}));
  assert.ok(room.scrollWidth <= room.clientWidth, JSON.stringify(room));
  await soon.equal(() => page.locator('.table thead th').count(), 12);
});

for (const text of ['Lily', 'Lily saw', 'Lily saw a ball']) {
  test(`the legend is beside the cells of “${text}”`, async () => {
    const page = await open();
    await run(page, text);
    await settled(page);
    const length = Number.parseInt(await page.locator('.header-text .quiet').textContent());
    const canvas = await page.locator('canvas.matrix').boundingBox();
    const free = await page.locator('.figure, .rank, .legend').evaluateAll((all, {canvas, length}) => all.every((each) => {
      const box = each.getBoundingClientRect();
      if (box.top >= canvas.y + canvas.height) return true;
      const last = Math.floor((box.bottom - canvas.y) * length / canvas.height);
      return box.left >= canvas.x + (last + 1) * canvas.width / length - 1;
    }), {canvas, length});
    assert.ok(free);
  });
}

test('nothing fails while the page loads', async () => {
  const page = await blank();
  const said = [];
  page.on('console', (message) => message.type() === 'error' && said.push(message.text()));
  page.on('response', (response) => response.status() >= 400 && said.push(response.url()));
  await page.goto(state.server.address);
  await ready(page);
  assert.equal((await page.request.get(new URL('/favicon.ico', state.server.address).href)).status(), 204);
  assert.deepEqual(said, []);
});

test('no number of the text touches another, and none is cut', async () => {
  const page = await open('#look/L1.H3/i=60');
  for (const [head, query] of [[0, 40], [1, 99], [3, 120], [5, 184], [2, 184], [7, 150]]) {
    await follow(page, `#look/L1.H${head}/i=${query}`);
    await soon.ok(async () => await page.locator('.under').count() > 0);
    await soon.deepEqual(() => touching(page, '.under'), [], `head ${head}, token ${query}`);
    const cut = await page.locator('.under').evaluateAll((all) => {
      const room = document.querySelector('.tokens').getBoundingClientRect();
      return all.map((each) => each.getBoundingClientRect()).filter((box) => box.left < room.left - 1 || box.right > room.right + 1).length;
    });
    assert.equal(cut, 0);
  }
});

test('the cross-hair passes beside the numbers of large cells', async () => {
  const page = await open();
  await run(page, 'Lily saw a ball. She was sad.');
  await follow(page, '#look/L1.H3/i=7/j=2');
  const struck = await page.locator('canvas.matrix').evaluate((canvas) => {
    const cell = canvas.width / Number.parseInt(document.querySelector('.header-text .quiet').textContent);
    const context = canvas.getContext('2d');
    const accent = (x, y) => {
      const [r, g, b] = context.getImageData(Math.floor(x), Math.floor(y), 1, 1).data;
      return r === 0xd5 && g === 0x5e && b === 0;
    };
    return [4, 5, 6].filter((key) => accent((key + 0.2) * cell, 7.5 * cell)).length
      + [4, 5, 6].filter((query) => accent(2.5 * cell, (query + 0.2) * cell)).length;
  });
  assert.equal(struck, 0);
  await soon.deepEqual(() => touching(page, '.figure > div, .use-name'), []);
  const [figure, plot] = await page.evaluate(() => ['.figure', '.plot'].map((name) => {
    const parts = document.querySelectorAll(`${name}, ${name} *`);
    return Math.max(...[...parts].map((part) => part.getBoundingClientRect().right));
  }));
  assert.ok(figure <= plot + 1);
});

test('the page comes plain to a client that takes no gzip', async () => {
  const {origin} = new URL(state.server.address);
  for (const path of ['/', '/app.js', '/app.css']) {
    const {headers, statusCode, body} = await new Promise((resolve, reject) => {
      http.get(origin + path, {agent: false}, (answer) => {  // a kept connection may end just now
        let body = '';
        answer.on('data', (data) => { body += data; });
        answer.on('end', () => resolve({headers: answer.headers, statusCode: answer.statusCode, body}));
      }).on('error', reject);
    });
    assert.equal(statusCode, 200);
    assert.equal(headers['content-encoding'], undefined);
    assert.equal(body, await (await fetch(origin + path)).text());
  }
});

test('Why and Anatomy take the key that a row gives most to', async () => {
  const page = await open('#look/L1.H3/i=60');
  const {weights} = await row(page, 1, 3, 60);
  const most = Math.max(...weights);
  await page.evaluate(() => { location.hash = '#why/L1.H3/i=60'; });
  await soon.match(() => page.locator('.why-title').textContent(), new RegExp(`${weights.indexOf(most)}\\s*head L1\\.H3`));
  await page.evaluate(() => { location.hash = '#anatomy/L1.H3/i=60'; });
  await soon.match(() => page.locator('.anatomy-line').textContent(), new RegExp(`= \\${most.toFixed(3).slice(1)}(?!\\d)`));
});
