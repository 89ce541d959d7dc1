// Stands in a document beside saved pages in frames, which cannot see it: tells each of them whether the
// document is light or dark, when it asks and whenever that changes. Outputs bring it as often as there are
// any; the first one does it for all. Each closes the table that stands open where no script runs.
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
