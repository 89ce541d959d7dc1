// Requests to the server, and its errors.
import type {ApiError as ErrorAnswer, Session} from '../answers';
import type {Place} from '../selection/selection';
import type {Requests} from './requests';
import type {Input} from './transport';

export const kApi = '/api/v1';

/** The server's error; `unreachable` if there is no server. */
export class ApiError extends Error {
  constructor(readonly code: string, message: string, readonly found = '', readonly argument = '') { super(message); }

  static of({code, message, found, argument}: ErrorAnswer): ApiError { return new ApiError(code, message, found, argument); }
}

export async function answer(requests: Requests, path: string, init?: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await requests.request(path, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError('unreachable', 'heed cannot be reached');
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => null) as {error?: ErrorAnswer} | null;
  throw body?.error ? ApiError.of(body.error) : new ApiError('failed', response.statusText);
}

/** The answer's body. A slow answer sends its status first; if it then fails, the body is an error, its only field. */
export async function bodyOf<Answer>(response: Response): Promise<Answer> {
  const body = await response.json() as Answer & {error?: ErrorAnswer};
  if (body.error && Object.keys(body).length === 1) throw ApiError.of(body.error);
  return body;
}

export async function json<Answer>(requests: Requests, path: string, init?: RequestInit): Promise<Answer> {
  return bodyOf(await answer(requests, path, init));
}

/** Which end of a text that is too long is kept. */
export type Keep = 'first' | 'last';

export function open(requests: Requests, {text, pair, target, model}: Input, {stack, layer}: Place, keep?: Keep): Promise<Session> {
  return json(requests, `${kApi}/sessions`, {
    method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({text, pair, target, model, stack, layer, keep}),
  });
}

/** Ends the work on a session that is no longer shown; does nothing if it is already gone. */
export function drop(requests: Requests, {session}: Session): Promise<void> {
  return answer(requests, `${kApi}/sessions/${session}`, {method: 'DELETE'}).then(() => undefined, () => undefined);
}
