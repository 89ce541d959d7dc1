// Where the page is a saved file, its own data answer instead of a server.
import {answerFrom} from '../transport';
import {SnapshotTransport} from './answers';
import type {Snapshot} from './file';

/** Called once, before the page asks for anything. */
export function openSaved(): void {
  const element = document.getElementById('heed-snapshot');
  if (!element) return;
  const snapshot = JSON.parse(element.textContent!) as Snapshot;
  element.remove();
  if (!location.hash) location.replace(`#${snapshot.view}`);
  answerFrom(new SnapshotTransport(snapshot));
}
