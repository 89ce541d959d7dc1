// Sessions derived from others.
import type {SessionInfo} from './api';
import {json, kApi} from './ask';
import type {Requests} from './requests';

/** A session beside this one, with edits as docs/api.md has them. */
export function derive(requests: Requests, {session}: SessionInfo, edits: object): Promise<SessionInfo> {
  return json(requests, `${kApi}/sessions/${session}/derive`, {
    method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(edits),
  });
}
