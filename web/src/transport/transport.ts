// Who answers the requests of docs/api.md: a server, a saved file, a notebook's messages.

/** As much of an EventSource as the page needs. */
export interface Events {
  addEventListener(name: string, listener: (event: Event) => void): void;
  close(): void;
}

/** Keeps the text of a page for its next start. */
export interface Memory {
  text(): string | null;
  keep(text: string, model: string): void;
}

export interface Transport {
  request(path: string, init?: RequestInit): Promise<Response>;
  events(path: string): Events;
  memory?: Memory;
  restart?(model: string): string;  // the command that starts a stopped server again, where there is one
}
