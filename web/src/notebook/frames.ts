// Runs in a document that has saved pages in frames, which cannot see it: sends each frame whether the document is
// light or dark, on request and on every change. Every output contains this script; the first one works for all. Each
// closes its table, which is open if no script runs.
import {kAsk} from '../snapshot/frame';
import {followTheme, hostTheme} from './theme';

const kMark = 'heedFrames';

for (const table of document.querySelectorAll<HTMLDetailsElement>('details[data-heed-table]')) {
  table.open = false;
  table.querySelector('p')?.remove();
  delete table.dataset.heedTable;
}

if (!(kMark in document.documentElement.dataset)) {
  document.documentElement.dataset[kMark] = '';
  const frames = new Set<Window>();
  const tell = (frame: Window, heedTheme = hostTheme(document)) => frame.postMessage({heedTheme}, '*');
  window.addEventListener('message', ({data, source}) => {
    if (data !== kAsk || !source) return;
    frames.add(source as Window);
    tell(source as Window);
  });
  followTheme((theme) => {
    for (const frame of frames) {
      if (frame.closed) frames.delete(frame);
      else tell(frame, theme);
    }
  });
}
