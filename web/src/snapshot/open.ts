// If the document is a saved file, its own data answer instead of a server.
import type {Transport} from '../transport/transport';
import {SnapshotTransport} from './answers';
import type {Snapshot} from './file';

/** The file's content, and the view that it was saved with; null if the document is not a saved page. */
export function openSaved(): {transport: Transport; view: string} | null {
  const element = document.getElementById('heed-snapshot');
  if (!element) return null;
  const snapshot = JSON.parse(element.textContent!) as Snapshot;
  element.remove();
  return {transport: new SnapshotTransport(snapshot), view: snapshot.view};
}
