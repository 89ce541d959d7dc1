// Who answers the requests of docs/api.md: a server, a saved file, a notebook's messages.

import type {Session} from '../answers';

/** The texts that a session reads. */
export type Input = Pick<Session, 'text' | 'pair' | 'target'> & {model?: string};

/** As much of an EventSource as the page needs. */
export interface Events {
  addEventListener(name: string, listener: (event: Event) => void): void;
  close(): void;
}

/** Keeps the texts of a page for its next start. */
export interface Memory {
  texts(): (Input & {model: string}) | null;  // and which model read them
  keep(input: Input, model: string): void;
}

export interface Transport {
  request(path: string, init?: RequestInit): Promise<Response>;
  events(path: string): Events;
  memory?: Memory;
  link?(address: string): string;   // what somebody else opens, where that can be
  restart?(model: string): string;  // the command that starts a stopped server again, where there is one
}
