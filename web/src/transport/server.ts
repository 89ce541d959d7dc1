// The transport of a page that heed serves: requests to where it came from, its text in the tab's storage.
import type {Memory, Transport} from './transport';

const kText = 'heed.text';
const kModel = 'heed.model';

export const tabMemory: Memory = {
  text: () => sessionStorage.getItem(kText),
  keep: (text, model) => {
    sessionStorage.setItem(kText, text);
    sessionStorage.setItem(kModel, model);
  },
};

export function serverTransport(memory?: Memory): Transport {
  return {
    request: (path, init) => fetch(path, init),
    events: (path) => new EventSource(path),
    restart: (model) => `heed serve --model ${model} --port ${location.port}`,
    ...memory && {memory},
  };
}
