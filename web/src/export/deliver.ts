// For the command line: draws the ordered view and delivers it.
import type {Picture} from '../answers';
import type {Page} from '../panels/panel';
import {kApi} from '../transport/ask';
import type {Requests} from '../transport/requests';
import {picture} from './save';
import {settled} from './settled';
import {NoPanel} from './svg';

async function hand(requests: Requests, body: BodyInit, end = ''): Promise<void> {
  await requests.request(`${kApi}/picture${end}`, {
    method: 'POST', headers: {'Content-Type': 'application/octet-stream'}, body,
  });
}

/** Says why there is no picture. */
export function deliverFailure(requests: Requests, message: string): Promise<void> {
  return hand(requests, message, '?failed=1');
}

export async function deliver(order: Picture, page: Page): Promise<void> {
  try {
    await settled(page);
    if (page.api.error) throw page.api.error;
    if (innerWidth !== order.width) throw new Error(`the browser's window has ${innerWidth} pixels, expected ${order.width}`);
    await hand(page.api.requests, await picture(order.format === 'png' ? 'png' : 'svg', page, order.panel));
  } catch (error) {
    if (error instanceof NoPanel) await hand(page.api.requests, error.message, '?refused=1');
    else await deliverFailure(page.api.requests, error instanceof Error ? error.message : String(error));
  }
}
