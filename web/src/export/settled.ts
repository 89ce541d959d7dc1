// Waits until the page shows all that it will show.
import {isQuiet} from '../transport';

const kQuietFrames = 3;  // an answer is drawn in the next frame, and what is drawn may ask again

const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));

export async function settled(): Promise<void> {
  await document.fonts.ready;
  for (let quiet = 0; quiet < kQuietFrames; quiet = isQuiet() ? quiet + 1 : 0) await frame();
  await Promise.allSettled(document.getAnimations().map((animation) => animation.finished));
}
