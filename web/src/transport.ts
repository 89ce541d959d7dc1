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
let open = 0;  // requests and streams that have not ended

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

/** The answer with its whole body, so that `isQuiet` covers that too. */
export async function request(path: string, init?: RequestInit): Promise<Response> {
  ++open;
  try {
    const response = await answering.request(path, init);
    const body = response.status === 204 ? null : await response.arrayBuffer();
    return new Response(body, {status: response.status, statusText: response.statusText, headers: response.headers});
  } finally {
    ended();
  }
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
