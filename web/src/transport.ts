// Who answers the requests of docs/api.md: the server, or the file that the page is.

/** As much of an EventSource as the page needs. */
export interface Events {
  addEventListener(name: string, listener: (event: Event) => void): void;
  close(): void;
}

export interface Transport {
  request(path: string, init?: RequestInit): Promise<Response>;
  events(path: string): Events;
}

const kServer: Transport = {
  request: (path, init) => fetch(path, init),
  events: (path) => new EventSource(path),
};

let answering = kServer;
let open = 0;  // requests, streams and readings of answers that have not ended

let waiting: (() => void)[] = [];

function ended(): void {
  --open;
  if (open > 0) return;
  const told = waiting;
  waiting = [];
  for (const tell of told) tell();
}

/** From now on this one answers. */
export function answerFrom(transport: Transport): void { answering = transport; }

/** Whether nothing is on its way: neither an answer nor news. */
export function isQuiet(): boolean { return open === 0; }

/** When nothing is on its way any more; at once where nothing is. */
export function whenQuiet(): Promise<void> {
  return new Promise((resolve) => open === 0 ? resolve() : waiting.push(resolve));
}

/** Nothing is quiet before the work ends: on a busy machine reading an answer may take longer than waiting for it. */
export async function notQuietUntil<Value>(work: Promise<Value>): Promise<Value> {
  ++open;
  try {
    return await work;
  } finally {
    ended();
  }
}

export function request(path: string, init?: RequestInit): Promise<Response> {
  return notQuietUntil(answering.request(path, init));
}

/** A stream of events; its reader closes it when all has been told. */
export function events(path: string): Events {
  const source = answering.events(path);
  let closed = false;
  ++open;
  return {
    addEventListener: (name, listener) => source.addEventListener(name, listener),
    close: () => {
      if (!closed) ended();
      closed = true;
      source.close();
    },
  };
}
