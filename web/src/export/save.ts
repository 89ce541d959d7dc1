// Saves what is shown: as a picture, or as one file that is the page itself.
import type {SessionApi} from '../api';
import {ApiError} from '../api';
import {graphemes} from '../graphemes';
import {drawOnSheet} from '../sheet';
import type {SelectionStore} from '../selection';
import {format as addressOf} from '../selection';
import {request} from '../transport';
import {settled} from './settled';
import type {Picture} from './svg';
import {drawPage} from './svg';

export const kFormats = ['svg', 'png', 'html'] as const;
export type Format = (typeof kFormats)[number];

const kPngScale = 2;

async function rasterised({svg, width, height}: Picture): Promise<Blob> {
  const address = URL.createObjectURL(new Blob([svg], {type: 'image/svg+xml'}));
  try {
    const image = new Image(width, height);
    image.src = address;
    await image.decode();
    const canvas = document.createElement('canvas');
    canvas.width = width * kPngScale;
    canvas.height = height * kPngScale;
    canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) => canvas.toBlob((blob) =>
      blob ? resolve(blob) : reject(new ApiError('failed', 'the browser could not write a PNG of this size')), 'image/png'));
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** The view of the address: without the pointer, without the focus, with the same pixels everywhere. */
export async function picture(format: 'svg' | 'png', store: SelectionStore): Promise<Blob> {
  const focused = document.activeElement;
  if (focused instanceof HTMLElement) focused.blur();
  store.preview({});
  drawOnSheet(true);
  try {
    await settled();
    const drawn = drawPage(`heed ${addressOf(store.now).slice(1)}`);
    return format === 'png' ? await rasterised(drawn) : new Blob([drawn.svg], {type: 'image/svg+xml'});
  } finally {
    drawOnSheet(false);
    if (focused instanceof HTMLElement) focused.focus({preventScroll: true});
  }
}

async function page(store: SelectionStore, api: SessionApi): Promise<Blob> {
  const address = encodeURIComponent(addressOf(store.now).slice(1));
  const answer = await request(`/api/sessions/${api.info.session}/export?format=html&address=${address}`);
  if (answer.ok) return answer.blob();
  const {error} = await answer.json() as {error: {code: string; message: string}};
  throw new ApiError(error.code, error.message);
}

/** `heed-once-upon-a-time-L2.H4-i17.svg` */
export function fileName(text: string, address: string, format: Format): string {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu)?.slice(0, 4) ?? [];
  const place = address.replace(/^#\w+\//, '').replace(/=/g, '').replace(/[^\w.+-]+/g, '-');
  return `${['heed', ...words.map((word) => graphemes(word).slice(0, 16).join('')), place].join('-')}.${format}`;
}

/** Downloads the view. */
export async function save(format: Format, store: SelectionStore, api: SessionApi): Promise<void> {
  const content = format === 'html' ? await page(store, api) : await picture(format, store);
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = fileName(api.info.text, addressOf(store.now), format);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);  // the download may still read it
}
