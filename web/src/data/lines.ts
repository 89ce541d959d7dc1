// An answer that arrives line by line, each line an object: sent while the model generates.
import type {ApiError as ErrorAnswer} from '../answers';
import {answer, ApiError, kApi} from '../transport/ask';
import type {Requests} from '../transport/requests';

/** Calls `take` for each line as it arrives; ends early without an error if aborted. */
export function readLines<Line>(requests: Requests, path: string, signal: AbortSignal, take: (line: Line) => void): Promise<void> {
  return requests.notQuietUntil(read(requests, path, signal, take));
}

async function read<Line>(requests: Requests, path: string, signal: AbortSignal, take: (line: Line) => void): Promise<void> {
  const response = await answer(requests, path, {signal});
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const lines = (rest + part.value).split('\n');
    rest = lines.pop()!;
    for (const line of lines) {
      const said = JSON.parse(line) as Line & {error?: ErrorAnswer};
      if (said.error) throw ApiError.of(said.error);
      take(said);
    }
  }
}

/** The path of a question about a session. */
export function sessionPath(session: string, name: string): string { return `${kApi}/sessions/${session}/${name}`; }
