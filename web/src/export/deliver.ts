// For the command line: draws the one view that it has ordered and hands it over.
import type {PictureOrder, SessionApi} from '../api';
import type {SelectionStore} from '../selection';
import {request} from '../transport';
import {picture} from './save';
import {settled} from './settled';

async function hand(body: BodyInit, failed: boolean): Promise<void> {
  await request(`/api/picture${failed ? '?failed=1' : ''}`, {
    method: 'POST', headers: {'Content-Type': 'application/octet-stream'}, body,
  });
}

/** Says why there is no picture. */
export function deliverFailure(message: string): Promise<void> { return hand(message, true); }

export async function deliver(order: PictureOrder, store: SelectionStore, api: SessionApi): Promise<void> {
  try {
    await settled();
    if (api.error) throw api.error;
    if (innerWidth !== order.width) throw new Error(`the browser's window has ${innerWidth} pixels, expected ${order.width}`);
    await hand(await picture(order.format, store), false);
  } catch (error) {
    await deliverFailure(error instanceof Error ? error.message : String(error));
  }
}
