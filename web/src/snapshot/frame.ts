// A saved page in a frame of another document: asks it whether it is light or dark; notebook/frames.ts answers, if it
// runs there.
import type {Theme} from '../shell/stage';

export const kAsk = 'heed: light or dark?';

export function followFrame(changed: (theme: Theme) => void): void {
  if (parent === window) return;
  addEventListener('message', ({data, source}) => {
    if (source === parent && /^(light|dark|system)$/.test(data?.heedTheme)) changed(data.heedTheme);
  });
  parent.postMessage(kAsk, '*');
}
