// The page as a separate document, which has the page's address.
import {mount} from './mount';
import {followFrame} from './snapshot/frame';
import {openSaved} from './snapshot/open';
import {serverTransport, tabMemory} from './transport/server';
import type {Input} from './transport/transport';

const saved = openSaved();
const hasAddress = location.protocol !== 'about:';  // a frame made from a text has none
const page = mount(document.body, {
  transport: saved?.transport ?? serverTransport(tabMemory),
  address: location.hash || saved?.view,
  onAddress: (address, {replace, input}) => {
    const isOther = new URL(address, location.href).hash !== location.hash;  // as the browser writes it
    const isOtherText = JSON.stringify(history.state) !== JSON.stringify(input);
    if (hasAddress && (isOther || isOtherText)) history[replace ? 'replaceState' : 'pushState'](input, '', address);
  },
  onTitle: (title) => { document.title = title; },
});
if (saved) followFrame((theme) => page.setTheme(theme));
window.addEventListener('popstate', () => page.show(location.hash, history.state as Input | null));  // editing the address also fires it
