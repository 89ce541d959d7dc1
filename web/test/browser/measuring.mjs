// What speed.mjs and notebook_speed.mjs measure with.

/** Watches what a reader would: keys and pointer on one side, pixels and shading on the other. */
export function watch() {
  const seen = {first: 0, asked: 0, answered: 0, painted: false};
  window.seen = seen;
  const ask = () => Object.assign(seen, {asked: performance.now(), answered: 0, painted: false});
  document.addEventListener('keydown', ask, true);
  let over = null;
  document.addEventListener('pointerover', ({target}) => {
    const token = target.closest('.token');
    if (token && token !== over) ask();
    over = token;
  }, true);
  const {putImageData, drawImage} = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.putImageData = function(...args) {
    seen.painted = true;
    return putImageData.apply(this, args);
  };
  CanvasRenderingContext2D.prototype.drawImage = function(...args) {
    if (seen.painted && !seen.pixels) seen.pixels = performance.now();
    return drawImage.apply(this, args);
  };
  new MutationObserver((changes) => {
    if (!seen.first && document.querySelector('.token')) seen.first = performance.now();
    const isShade = ({attributeName, target}) => attributeName === 'style' && target.classList.contains('token');
    if (seen.asked && !seen.answered && changes.some(isShade)) seen.answered = performance.now();
  }).observe(document, {subtree: true, childList: true, attributes: true, attributeFilter: ['style']});
}

export function report(name, times) {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))].toFixed(1);
  console.log(`${name.padEnd(28)} median ${at(0.5)} ms, p95 ${at(0.95)} ms, ${times.length} turns`);
}

/** In the page: the frames a second while `window.measuring` is true. */
export function countFrames() {
  window.frames_ = {count: 0, longest: 0, begin: performance.now(), last: performance.now()};
  const tick = (now) => {
    const frames = window.frames_;
    frames.count += 1;
    frames.longest = Math.max(frames.longest, now - frames.last);
    frames.last = now;
    if (!frames.end) requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}

/** The frames of what `work` does in `page`: how many a second, and the longest. */
export async function reportFrames(name, page, work) {
  await page.evaluate(countFrames);
  await work();
  const {rate, longest} = await page.evaluate(() => {
    const frames = window.frames_;
    frames.end = performance.now();
    return {rate: 1000 * frames.count / (frames.end - frames.begin), longest: frames.longest};
  });
  console.log(`${name.padEnd(28)} ${rate.toFixed(1)} frames a second, the longest ${longest.toFixed(0)} ms`);
}
