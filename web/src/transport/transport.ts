// The source of answers to requests of docs/api.md: a server, a saved file, a notebook's messages.

import type {Session} from '../answers';

/** The texts that a session reads. */
export type Input = Pick<Session, 'text' | 'pair' | 'target'> & {model?: string};

/** The part of an EventSource needed by the page. */
export interface Events {
  addEventListener(name: string, listener: (event: Event) => void): void;
  close(): void;
}

/** Texts of a page, the model that read them, and the text that the server was started with. */
export interface Kept extends Input { model: string; given: Input | null }

/** Keeps the texts of a page for its next start. */
export interface Memory {
  texts(): Kept | null;
  keep(kept: Kept): void;
}

export interface Transport {
  request(path: string, init?: RequestInit): Promise<Response>;
  events(path: string): Events;
  memory?: Memory;
  link?(address: string): string;   // a link for other people, if possible
  restart?(model: string): string;  // the command that restarts a stopped server, if there is one
}
