// No text stands on another one, none is cut, and none leaves the page sideways: in every view and size. Labels in drawings
// stand apart, and neither bars nor lines run through them. No panel is empty.
// HEED_EVERYWHERE=1 adds a text of 5,000 tokens, a model of 100 heads a layer, and every size in dark colors.
// HEED_KEEP_PICTURES: a folder for a picture of each view.
import assert from 'node:assert/strict';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {frames, kText, scratch, startServer, told, withPages} from './harness.mjs';
import {writeModel} from './model.mjs';

const {blank} = withPages();
const kViews = ['look', 'grid', 'matrix', 'why', 'anatomy', 'words', 'heads', 'flow'];
const kSizes = [{width: 1440, height: 900, colorScheme: 'light'}, {width: 1280, height: 800, colorScheme: 'dark'}, {width: 700, height: 900, colorScheme: 'light'}, {width: 390, height: 844, colorScheme: 'light'}];
const kWidths = [360, 390, 600, 700, 768, 800, 900, 1024, 1200, 1280, 1300, 1440].map((width) => ({width, height: 768, colorScheme: 'light'}));
const kAgain = 5;  // looks at what may still move
const kBrown = 'Mr Brown gave his dog to Mary, because he could not keep it. Mary loved the dog, and she walked with it every day. '
  + 'When Mr Brown came back, he was very glad to see the dog.';
const kDaughter = 'The king had a daughter, and he loved her.';
// Numbers near the ticks of the first head; bars that are high at both ends.
const kTightPlaces = ['heads/L0.H0/sort=previous', 'heads/L2.H2/sort=distance', 'heads/L1.H1/sort=delimiter', 'matrix/L0.H3/i=5/j=2', 'look/L3.H2/i=5/j=2'];
const kPictures = process.env.HEED_KEEP_PICTURES;
const kEverywhere = Boolean(process.env.HEED_EVERYWHERE);

/** What is wrong with the texts that can be seen, a sentence each. */
function wrongTexts(page) {
  return page.evaluate(() => {
    const kSlack = 1;  // px
    const kGap = 24;   // px between blocks, at least
    const kPanel = 40; // px of a panel, at least
    const kApart = 1;  // px between labels of a drawing, at least
    const kWhole = '.heading, .shape';  // no text in them ends with an ellipsis
    const kLabels = 'svg, .flow-foot, .under';
    const kAxis = '.lens-ranks .tick';
    const kApartOnAxis = 8;
    const kSideways = '.chips, .anatomy-steps, .table';  // may scroll sideways
    const root = document.querySelector('.heed');
    const wide = document.documentElement.clientWidth;
    const found = [];
    const said = (text) => `\u201c${text.trim().replace(/\s+/g, ' ').slice(0, 40)}\u201d`;
    const placeOf = (element) => element.closest('[class]')?.getAttribute('class') ?? '';
    // What of a box its ancestors let through, and whether one of them cuts it in its width without a sign.
    const clipped = (element, rect) => {
      const box = {left: rect.left, right: rect.right, top: rect.top, bottom: rect.bottom};
      let isCut = false;
      for (let each = element; each && each !== document.documentElement; each = each.parentElement) {
        const {overflowX, overflowY, textOverflow, position} = getComputedStyle(each);
        if (overflowX === 'visible' && overflowY === 'visible') {
          if (position === 'fixed') break;
          continue;
        }
        const own = each.getBoundingClientRect();
        if (overflowX !== 'visible') {
          const isOut = box.right > own.right + kSlack || box.left < own.left - kSlack;
          if (isOut && (textOverflow !== 'ellipsis' || element.closest(kWhole)) && !['auto', 'scroll'].includes(overflowX)) isCut = true;
          box.left = Math.max(box.left, own.left);
          box.right = Math.min(box.right, own.right);
        }
        if (overflowY !== 'visible') {
          box.top = Math.max(box.top, own.top);
          box.bottom = Math.min(box.bottom, own.bottom);
        }
      }
      return {box, isCut};
    };
    // The four corners of a text, which in a drawing may be turned; above capitals and below the line letters have no ink.
    const cornersOf = ({x, y, width, height}, matrix) => {
      const [top, bottom] = [y + 0.17 * height, y + 0.83 * height];
      return [[x, top], [x + width, top], [x + width, bottom], [x, bottom]].map(([a, b]) => new DOMPoint(a, b).matrixTransform(matrix));
    };
    const boundsOf = (corners) => {
      const [xs, ys] = [corners.map(({x}) => x), corners.map(({y}) => y)];
      return {left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys)};
    };
    /** By how many px two texts overlap, across the narrowest way out. */
    const overlapOf = (one, other) => Math.min(...[one, other].flatMap((corners) => [0, 1].map((side) => {
      const [a, b] = [corners[side], corners[side + 1]];
      const length = Math.hypot(b.x - a.x, b.y - a.y);
      const along = (points) => points.map(({x, y}) => (x * (b.x - a.x) + y * (b.y - a.y)) / length);
      const [p, q] = [along(one), along(other)];
      return Math.min(Math.max(...p), Math.max(...q)) - Math.max(Math.min(...p), Math.min(...q));
    })));
    const boxes = [];
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const element = node.parentElement;
      if (node.data.trim() === '' || element.closest('.spoken, dialog:not([open]), title, select, script, style, noscript')) continue;
      if (!element.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      const isDrawn = element instanceof SVGElement;
      const rects = isDrawn ? [element.getBoundingClientRect()] : [...range.getClientRects()];
      for (const rect of rects) {
        if (rect.width < 1 || rect.height < 1) continue;
        const {box, isCut} = clipped(element, isDrawn ? boundsOf(cornersOf(element.getBBox(), element.getScreenCTM())) : rect);
        if (box.right - box.left <= kSlack || box.bottom - box.top <= rect.height / 2) continue;
        const corners = isDrawn ? cornersOf(element.getBBox(), element.getScreenCTM()) : cornersOf({x: box.left, y: rect.top, width: box.right - box.left, height: rect.height}, new DOMMatrix());
        if (isCut) found.push(`${said(node.data)} is cut (${placeOf(element)})`);
        if (box.right > wide + kSlack || box.left < -kSlack) found.push(`${said(node.data)} leaves the page (${placeOf(element)})`);
        boxes.push({top: Math.min(...corners.map(({y}) => y)), bottom: Math.max(...corners.map(({y}) => y)), corners, node, element});
      }
    }
    boxes.sort((a, b) => a.top - b.top);
    for (const [at, one] of boxes.entries()) {
      for (let next = at + 1; next < boxes.length && boxes[next].top < one.bottom - kSlack; ++next) {
        const other = boxes[next];
        if (other.node === one.node) continue;
        const across = overlapOf(one.corners, other.corners);
        const are = (names) => one.element.closest(names) && other.element.closest(names);
        if (across > (are(kAxis) ? -kApartOnAxis : are(kLabels) ? -kApart : kSlack)) found.push(`${said(one.node.data)} (${placeOf(one.element)}) and ${said(other.node.data)} (${placeOf(other.element)}) overlap by ${across.toFixed(1)} px`);  // negative: stand that near
      }
    }
    for (const explained of root.querySelectorAll('.why-part-block .heading .quiet')) {
      if (explained.checkVisibility() && explained.scrollWidth > explained.clientWidth + kSlack) found.push(`${said(explained.textContent)} is cut`);
    }
    for (const each of root.querySelectorAll('*')) {
      if (each.scrollWidth <= each.clientWidth + kSlack || each.closest(kSideways) || !each.checkVisibility()) continue;
      if (['auto', 'scroll'].includes(getComputedStyle(each).overflowX)) found.push(`${placeOf(each)} scrolls sideways`);
    }
    // Lines of a drawing that run through a name of it.
    for (const line of root.querySelectorAll('.rank-line, .evidence-profile .runner')) {
      const length = line.getTotalLength();
      const matrix = line.getScreenCTM();
      const points = Array.from({length: Math.ceil(length)}, (_, at) => line.getPointAtLength(at).matrixTransform(matrix));
      for (const {element, corners} of boxes.filter((box) => line.ownerSVGElement.contains(box.element))) {
        const {left, right, top, bottom} = boundsOf(corners);
        if (points.some(({x, y}) => x > left && x < right && y > top && y < bottom)) found.push(`a line runs through ${said(element.textContent)} (${placeOf(element)})`);
      }
    }
    for (const received of root.querySelectorAll('.received-line')) {
      const [canvas, name] = ['canvas', '.quiet'].map((each) => received.querySelector(each));
      if (!name.checkVisibility() || canvas.width === 0) continue;
      const [ratio, own, box] = [devicePixelRatio, canvas.getBoundingClientRect(), name.getBoundingClientRect()];
      const [left, top, right, bottom] = [box.left - own.left, box.top - own.top, box.right - own.left, box.bottom - own.top].map((each) => Math.max(0, each * ratio));
      if (right - left < 1 || bottom - top < 1) continue;
      const {data} = canvas.getContext('2d').getImageData(left, top, right - left, bottom - top);
      if (data.some((value) => value > 0)) found.push(`${said(name.textContent)} stands on bars`);
    }
    // Hairlines across the page with nothing between them are the frame of a panel without content.
    const contents = [...boxes, ...[...root.querySelectorAll('canvas, input')].map((each) => each.getBoundingClientRect())];
    const hairlines = [...root.querySelectorAll('*')].filter((each) => each.checkVisibility() && each.clientWidth > 0.8 * wide).flatMap((each) => {
      const [{top, bottom}, {borderTopWidth, borderBottomWidth}] = [each.getBoundingClientRect(), getComputedStyle(each)];
      return [[top, borderTopWidth], [bottom, borderBottomWidth]].filter(([, width]) => parseFloat(width) > 0).map(([y]) => ({y, each}));
    }).sort((a, b) => a.y - b.y);
    for (const [at, {y, each}] of hairlines.slice(1).entries()) {
      const before = hairlines[at];
      if (before.each === each || y - before.y <= kSlack || y - before.y >= kPanel || each.closest('.foot')) continue;
      if (!contents.some(({top, bottom}) => bottom > before.y && top < y)) found.push(`nothing stands between ${placeOf(before.each)} and ${placeOf(each)}, ${y - before.y} px`);
    }
    const {scrollWidth} = document.documentElement;
    if (scrollWidth > wide) found.push(`the page is ${scrollWidth} px wide`);
    for (const section of root.querySelectorAll('.anatomy-step, .why-part-block, .why-grid-of-parts, .flow-columns > section')) {
      for (const drawing of section.querySelectorAll('svg')) {
        if (drawing.checkVisibility() && boundsOf(cornersOf(drawing.getBBox(), drawing.getScreenCTM())).right > section.getBoundingClientRect().right + kGap) found.push(`the drawing of ${said(section.innerText)} runs into the next block`);
      }
      if (section.checkVisibility() && section.scrollWidth > section.clientWidth + kSlack) found.push(`${said(section.innerText)} is ${section.scrollWidth} px wide in ${section.clientWidth}`);
    }
    return [...new Set(found)];
  });
}

/** Opens each view of an address in each size, until it is drawn, and looks at its texts. */
function everyView(name, {served, place, sizes = kSizes}) {
  let server;
  before(async () => { server = await startServer(0, served()); });
  after(() => server?.stop());
  for (const {width, height, colorScheme} of sizes) {
    test(`${name}: no text overlaps or is cut, ${width} x ${height}, ${colorScheme}`, async () => {
      const page = await blank({viewport: {width, height}, colorScheme});
      const wrong = {};
      await page.goto(`${server.address}#${kViews[0]}/${place}`);
      for (const view of kViews) {
        await page.evaluate((address) => { location.hash = address; }, `#${view}/${place}`);
        await page.waitForFunction((wanted) => document.querySelector('nav select')?.value === wanted, view);
        await page.waitForFunction(() => (document.querySelector('.view')?.innerText.length ?? 0) > 40);
        await told(page);
        let found = await wrongTexts(page);
        for (let again = 0; found.length > 0 && again < kAgain; ++again) {
          await frames(page);
          found = await wrongTexts(page);
        }
        if (found.length > 0) wrong[view] = found;
        if (kPictures) await page.screenshot({path: join(kPictures, `${name.replaceAll(' ', '-')}-${view}-${width}-${colorScheme}.png`)});
      }
      assert.deepEqual(wrong, {});
    });
  }
}

for (const {width, height} of [{width: 1280, height: 900}, {width: 700, height: 900}]) {
  test(`the evidence of scores and the margin of the matrix have no text on another or on a bar, ${width} x ${height}`, async () => {
    const server = await startServer(0, {text: kDaughter, folder: 'masks'});
    const page = await blank({viewport: {width, height}});
    const wrong = {};
    await page.goto(`${server.address}#look/L0.H0`);
    for (const address of kTightPlaces) {
      await page.evaluate((hash) => { location.hash = hash; }, `#${address}`);
      await page.waitForFunction((view) => document.querySelector('nav select')?.value === view, address.split('/')[0]);
      await page.waitForFunction(() => (document.querySelector('.view')?.innerText.length ?? 0) > 40);
      await told(page);
      const found = await wrongTexts(page);
      if (found.length > 0) wrong[address] = found;
    }
    await server.stop();
    assert.deepEqual(wrong, {});
  });
}

const dark = (sizes) => sizes.map((size) => ({...size, colorScheme: 'dark'}));
const sizes = kEverywhere ? [...kSizes, ...dark(kSizes.filter(({colorScheme}) => colorScheme === 'light')), {...kSizes[1], colorScheme: 'light'}] : kSizes;

everyView('a decoder', {served: () => ({}), place: 'L1.H3/i=60/j=20', sizes});
everyView('every width', {served: () => ({text: kBrown, folder: 'tales'}), place: 'L2.H1/i=30/j=2', sizes: kWidths});
everyView('an edit beside the text', {served: () => ({}), place: 'L1.H3/i=60/j=20/vs=ablate:self.L0.H1', sizes});
everyView('an encoder', {served: () => ({text: kDaughter, folder: 'masks'}), place: 'L1.H2/i=2/j=9', sizes});
everyView('a pair', {served: () => ({text: 'The king had a daughter.', folder: 'masks', more: ['--pair', 'The old man sat by the fire.']}), place: 'L1.H2/i=2/j=9', sizes});
everyView('a cross-attention', {served: () => ({text: 'I am going to school.', folder: 'enja', more: ['--stack', 'cross']}), place: 'cross.L1.H1/i=3/j=2', sizes});
if (kEverywhere) {
  const wide = join(scratch, 'wide');
  everyView('100 heads a layer', {served: () => {
    writeModel(wide, kText, 512, 100);
    return {folder: wide};
  }, place: 'L1.H3/i=60/j=20'});
  const long = join(scratch, 'long');
  const text = Array.from({length: 26}, () => kText).join('\n');
  everyView('5,000 tokens', {served: () => {
    writeModel(long, text, 8192);
    return {text, folder: long};
  }, place: 'L1.H3/i=4900/j=4890'});
}
