// The transport of a page served by heed: requests go to its origin, its texts are in the tab's storage.
import type {Input, Memory, Transport} from './transport';

const kText = 'heed.text';
const kBeside = ['pair', 'target'] as const;
const kModel = 'heed.model';
const kGiven = 'heed.given';

export const tabMemory: Memory = {
  texts: () => {
    const text = sessionStorage.getItem(kText);
    const beside = kBeside.map((name) => [name, sessionStorage.getItem(`heed.${name}`) ?? undefined]);
    const given = JSON.parse(sessionStorage.getItem(kGiven) ?? 'null') as Input | null;
    return text === null ? null : {text, model: sessionStorage.getItem(kModel) ?? '', given, ...Object.fromEntries(beside)};
  },
  keep: (input) => {
    sessionStorage.setItem(kText, input.text);
    sessionStorage.setItem(kModel, input.model);
    sessionStorage.setItem(kGiven, JSON.stringify(input.given));
    for (const name of kBeside) {
      const text = input[name];
      if (text === undefined) sessionStorage.removeItem(`heed.${name}`);
      else sessionStorage.setItem(`heed.${name}`, text);
    }
  },
};

export function serverTransport(memory?: Memory): Transport {
  return {
    request: (path, init) => fetch(path, init),
    events: (path) => new EventSource(path),
    link: (address) => new URL(address, location.origin).href,
    restart: (model) => `heed serve --model ${model} --port ${location.port}`,
    ...memory && {memory},
  };
}
