// What lies under the pointer is left alone once it is drawn: nothing is replaced again and again, nothing burns time.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {frames, quiet, soon, withPages} from './harness.mjs';

const {state, blank} = withPages();
const kFrames = 3;  // pairs of them

/** The middle of one element for each class in sight that may hear the pointer. */
function places(page) {
  return page.evaluate(() => {
    const found = new Map();
    for (const each of document.querySelectorAll('.heed :is(button, select, canvas, svg path, tr, li, [class])')) {
      const name = `${each.localName}.${each.getAttribute('class') ?? ''}`.replace(/\b(pinned|hovered|head-\d+|chosen|on)\b/g, '');
      const {left, top, width, height} = each.getBoundingClientRect();
      const at = {x: left + width / 2, y: top + height / 2};
      if (found.has(name) || width < 4 || height < 4 || !each.checkVisibility()) continue;
      if (each.contains(document.elementFromPoint(at.x, at.y))) found.set(name, at);
    }
    return [...found].map(([name, at]) => ({name, ...at}));
  });
}

for (const view of ['look', 'grid', 'matrix', 'why', 'anatomy', 'words', 'heads', 'flow']) {
  test(`nothing under the pointer is drawn without end: ${view}`, async () => {
    const page = await blank();
    await page.goto(`${state.server.address}#${view}/L1.H3/i=60/j=20`);
    await page.waitForFunction(() => (document.querySelector('.view')?.innerText.length ?? 0) > 40);
    await quiet(page);
    await page.evaluate(() => {
      window.changes = 0;
      new MutationObserver((list) => { window.changes += list.length; }).observe(document.body, {subtree: true, childList: true, attributes: true, characterData: true});
    });
    const changes = async () => {
      await page.evaluate(() => { window.changes = 0; });
      for (let at = 0; at < kFrames; ++at) await frames(page);
      return page.evaluate(() => window.changes);
    };
    for (const {name, x, y} of await places(page)) {
      await page.mouse.move(x, y);
      await quiet(page);
      await soon.equal(changes, 0, name);  // what is set for later may come once
    }
  });
}
