// The page as a document of its own: its address is the document's.
import {mount} from './mount';
import {followFrame} from './snapshot/frame';
import {openSaved} from './snapshot/open';
import {serverTransport, tabMemory} from './transport/server';

const saved = openSaved();
const hasAddress = location.protocol !== 'about:';  // a frame that was made of a text has none
const page = mount(document.body, {
  transport: saved?.transport ?? serverTransport(tabMemory),
  address: location.hash || saved?.view,
  onAddress: (address, {replace}) => {
    const isNew = hasAddress && new URL(address, location.href).hash !== location.hash;  // as the browser writes it
    if (isNew) history[replace ? 'replaceState' : 'pushState'](null, '', address);
  },
  onTitle: (title) => { document.title = title; },
});
if (saved) followFrame((theme) => page.setTheme(theme));
window.addEventListener('popstate', () => page.show(location.hash));  // an edited address fires it, too
