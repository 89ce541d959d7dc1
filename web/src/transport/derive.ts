// Sessions derived from others.
import type {SessionInfo} from './api';
import {json, kApi} from './ask';
import type {Requests} from './requests';

/** Another session with edits, in the form of docs/api.md. */
export function derive(requests: Requests, {session}: SessionInfo, edits: object): Promise<SessionInfo> {
  return json(requests, `${kApi}/sessions/${session}/derive`, {
    method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(edits),
  });
}
