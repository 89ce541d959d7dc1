// Waits until the page is completely drawn.
import type {Page} from '../panels/panel';

const kQuietFrames = 3;  // an answer is drawn in the next frame, and its drawing may ask again

const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));

/** The view's scores of all heads, and B of a comparison, arrive by separate events and passes. */
function isWhole({api, store: {now}, compared}: Page): boolean {
  if (api.error) return true;
  const {done, of} = api.scored;
  const showsAll = now.view === 'grid' || now.view === 'heads';
  return api.hasWeights && api.late.progress === null && (!showsAll || done === of) && (compared === null || compared.b.hasWeights);
}

export async function settled(page: Page): Promise<void> {
  const {api: {requests}, stage: {root}} = page;
  await document.fonts.ready;
  for (let quiet = 0; quiet < kQuietFrames; quiet = requests.isQuiet && isWhole(page) ? quiet + 1 : 0) await frame();
  await Promise.allSettled(root.getAnimations({subtree: true}).map((animation) => animation.finished));
}
