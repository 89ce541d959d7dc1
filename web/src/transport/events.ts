// The stream of a session: what the server says while it computes the scores of the heads.
import type {Chosen} from '../answers';
import {ApiError} from './ask';
import type {Requests} from './requests';
import type {LayerScores} from './shapes';

interface Listener {
  next(): void;
  heads(scores: LayerScores): void;
  chosen(head: Chosen): void;
  failed(error: ApiError): void;
}

/** Calls the listener for each event; the result ends the stream. */
export function listenTo(requests: Requests, path: string, listener: Listener): () => void {
  const source = requests.events(path);
  const on = <Data>(name: string, tell: (data: Data) => void) =>
    source.addEventListener(name, (event) => tell(JSON.parse((event as MessageEvent<string>).data) as Data));
  source.addEventListener('next', () => listener.next());
  on<LayerScores>('heads', (scores) => listener.heads(scores));
  on<Chosen>('chosen', (head) => listener.chosen(head));
  on<{error: {code: string; message: string}}>('failed', ({error: {code, message}}) => {
    source.close();
    listener.failed(new ApiError(code, message));
  });
  source.addEventListener('done', () => source.close());
  return () => source.close();
}
