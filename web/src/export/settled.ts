// Waits until the page shows all that it will show.
import type {Page} from '../panel';

const kQuietFrames = 3;  // an answer is drawn in the next frame, and what is drawn may ask again

const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));

export async function settled({api: {requests}, stage: {root}}: Page): Promise<void> {
  await document.fonts.ready;
  for (let quiet = 0; quiet < kQuietFrames; quiet = requests.isQuiet ? quiet + 1 : 0) await frame();
  await Promise.allSettled(root.getAnimations({subtree: true}).map((animation) => animation.finished));
}
