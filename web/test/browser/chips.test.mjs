// The matrices in small on the chips: what they show, a head that is tried under the pointer, and where there is no room.
import assert from 'node:assert/strict';
import {join} from 'node:path';
import {test} from 'node:test';
import {eventually, frames, hash, kText, quiet, ready, scratch, settled, soon, startServer, touching, withPages} from './harness.mjs';
import {writeModel} from './model.mjs';

const {open, blank} = withPages();
const chip = (page, head) => page.locator(`.chip[data-head="${head}"]`);

/** Pictures whose pixels are drawn, of all chips. */
const drawn = (page) => page.locator('.chip').evaluateAll((all) => all.map((each) => {
  const canvas = each.querySelector('canvas');
  return canvas !== null && canvas.width > 0 && canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value > 0);
}));

test('each chip has the matrix of its head, dark where weights are small and free where the mask hides', async () => {
  const page = await open('#look/L1.H3/i=60');
  await soon.deepEqual(() => drawn(page), new Array(8).fill(true));
  const differs = await page.evaluate(async () => {
    const session = await (await fetch('/api/v1/sessions', {method: 'POST', body: JSON.stringify({text: sessionStorage.getItem('heed.text')})})).json();
    const first = session.attentions[0];
    const heads = Array.from({length: first.heads}, (_, head) => first.heads + head);
    const body = await (await fetch(`/api/v1/sessions/${session.session}/self/atlas?heads=${heads}&cells=52`)).arrayBuffer();
    const [, rows, columns] = new Uint32Array(body, 0, 3);
    return heads.map((_, at) => {
      const codes = new Uint8Array(body, 12 + at * rows * columns, rows * columns);
      const canvas = document.querySelector(`.chip[data-head="${at}"] canvas`);
      const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      // Of two cells the one with more weight is lighter, and a cell that the mask hides is not drawn.
      const lightness = (y, x) => {
        const pixel = 4 * (Math.floor((y + 0.5) * canvas.height / rows) * canvas.width + Math.floor((x + 0.5) * canvas.width / columns));
        return data[pixel + 3] === 0 ? -1 : data[pixel] + data[pixel + 1];
      };
      let wrong = 0;
      for (let y = 1; y < rows; ++y) {
        for (let x = 1; x < columns; ++x) {
          const [own, before] = [codes[y * columns + x], codes[y * columns + x - 1]];
          if ((own === 0) !== (lightness(y, x) === -1)) ++wrong;
          if (own > before + 20 && before > 130 && lightness(y, x) <= lightness(y, x - 1)) ++wrong;
        }
      }
      return wrong;
    });
  });
  assert.deepEqual(differs, new Array(8).fill(0));
});

test('the pointer on a chip tries its head, and a click chooses it', async () => {
  const page = await open('#look/L1.H3/i=60/j=20');
  await settled(page);
  const figure = () => page.locator('.figure .large').textContent();
  const heading = () => page.locator('.edges .heading .quiet').first().textContent();
  const own = await figure();
  await chip(page, 5).hover();
  await soon.match(heading, /L1\.H5/);
  await soon.notEqual(figure, own);
  await soon.equal(() => hash(page), '#look/L1.H3/i=60/j=20');
  await soon.equal(() => page.locator('.address').textContent(), '#look/L1.H3/i=60/j=20');
  await soon.equal(() => page.locator('.chip.chosen').getAttribute('data-head'), '3');
  await page.locator('.wordmark').hover();
  await soon.match(heading, /L1\.H3/);
  await soon.equal(figure, own);
  await chip(page, 5).click();
  await soon.equal(() => hash(page), '#look/L1.H5/i=60/j=20');
  await soon.match(heading, /L1\.H5/);
  await page.keyboard.press('.');  // the pointer rests on the chip, and the key says more
  await soon.equal(() => hash(page), '#look/L1.H6/i=60/j=20');
  await soon.match(heading, /L1\.H6/);
  await quiet(page);
  await soon.match(heading, /L1\.H6/);
});

test('beside the chips it is said what their scores are measured on', async () => {
  const page = await open('#look/L1.H3/i=60/scores=probe_induction+induction');
  await soon.match(() => page.locator('.layer').innerText(), /scores on this text\s+p: on random tokens/);
  await soon.match(() => chip(page, 3).innerText(), /p induc .*\s+induc /);
  await page.setViewportSize({width: 390, height: 844});
  await soon.match(() => page.locator('.layer').innerText(), /scores on this\s+text/);
});

test('the keyboard tries a head, too', async () => {
  const page = await open('#look/L1.H3/i=60/j=20');
  await chip(page, 3).focus();
  await page.keyboard.press('Tab');
  await soon.match(() => page.locator('.edges .heading .quiet').first().textContent(), /L1\.H4/);
  await soon.equal(() => hash(page), '#look/L1.H3/i=60/j=20');
  await page.keyboard.press('Enter');
  await soon.equal(() => hash(page), '#look/L1.H4/i=60/j=20');
});

test('pictures that arrive move nothing', async () => {
  const page = await blank();
  let release;
  const held = new Promise((resolve) => { release = resolve; });
  await page.route('**/atlas?*', async (route) => {
    await held;
    await route.continue();
  });
  await page.goto((await open('#look/L1.H3/i=60')).url());
  await page.waitForSelector('.chip canvas');
  const boxes = () => page.locator('.chip, .text, .columns > section').evaluateAll((all) => all.map((each) => JSON.stringify(each.getBoundingClientRect())));
  await ready(page);
  const before = await boxes();
  release();
  await soon.deepEqual(() => drawn(page), new Array(8).fill(true));
  await frames(page);
  assert.deepEqual(await boxes(), before);
});

for (const [width, height] of [[1440, 900], [1280, 800], [1000, 800]]) {
  test(`names and scores are whole, beside or below: ${width} x ${height}`, async () => {
    const page = await open('#look/L1.H3/i=60', {viewport: {width, height}});
    await soon.deepEqual(() => drawn(page), new Array(8).fill(true));
    const cut = await page.locator('.chip').evaluateAll((all) => all.flatMap((each) => {
      const text = each.querySelector('.chip-text').getBoundingClientRect();
      const own = [...each.querySelectorAll('.chip-name b, .chip-scores span:first-child')];
      return own.filter((part) => [...part.getClientRects()].some((box) => box.right > text.right + 1 || box.bottom > text.bottom + 1)).map((part) => part.textContent);
    }));
    assert.deepEqual(cut, []);
    await soon.deepEqual(() => touching(page, '.chip'), []);
  });
}

test('a narrow page and a low window have the profiles', async () => {
  for (const viewport of [{width: 390, height: 844}, {width: 1440, height: 640}]) {
    const page = await open('#look/L1.H3/i=60', {viewport});
    await soon.equal(() => page.locator('.chip canvas').count(), 0);
    await soon.equal(() => page.locator('.chip .profile').count(), 8);
    await page.context().close();
  }
});

for (const [heads, pictures] of [[1, 1], [16, 16], [17, 0]]) {
  test(`a layer of ${heads} heads has ${pictures} pictures`, async () => {
    const folder = join(scratch, `heads-${heads}`);
    writeModel(folder, kText, 256, heads);
    const server = await startServer(0, {folder});
    const page = await blank();
    await page.goto(server.address);
    await settled(page);
    await soon.equal(() => page.locator('.chip canvas').count(), pictures);
    if (pictures > 0) await eventually(async () => assert.ok((await drawn(page)).every(Boolean)));
    await soon.deepEqual(() => touching(page, '.chip'), []);
    await page.context().close();
    await server.stop();
  });
}

test('a cross-attention has rectangles of its own shape', async () => {
  const server = await startServer(0, {folder: 'enja', text: 'My father is a doctor.'});
  const page = await blank();
  await page.goto(server.address);
  await page.waitForFunction(() => location.hash.startsWith('#look/cross.'));
  await soon.deepEqual(async () => [...new Set(await drawn(page))], [true]);
  const {width, height} = await chip(page, 0).locator('canvas').boundingBox();
  const [rows, columns] = [await page.locator('.asker').count(), await page.locator('.read-row').count()];
  assert.ok(Math.abs(height / width - rows / columns) < 0.03, `${width} x ${height} of ${rows} x ${columns}`);
  await page.context().close();
  await server.stop();
});
