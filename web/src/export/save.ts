// Saves the view, as a picture or as one file with the page itself.
import {format as addressOf} from '../selection/address';
import {graphemes} from '../text/graphemes';
import type {Page} from '../panels/panel';
import {headName} from '../panels/panel';
import type {Token} from '../transport/api';
import {isolated, plain} from '../text/tokens';
import {ApiError, kApi} from '../transport/ask';
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

const kExcerpt = 300;  // characters of a text: more than a line shows

/** `gpt2, L1.H3, row \u201cball\u201d 60, column \u201cred\u201d 58`, and how the text begins. */
function captionOf({api: {info}, side, store: {now}, compared}: Page): string[] {
  const named = (what: string, tokens: Token[], at: number | null) => at === null ? [] : [`${what} \u201c${isolated(plain(tokens[at]!))}\u201d ${at}`];
  const rows = now.range ? [`rows ${now.range.join(' to ')}`] : named('row', side.queries, now.query);
  const shown = compared ? [`${now.show.replace('-', ' \u2212 ')}, B: ${compared.name}`] : [];
  const stack = now.places[0]!.stack ?? '';
  const texts = [info.text, info.pair ?? info.target ?? ''].map((text) => text.trim().slice(0, kExcerpt).replace(/\s+/g, ' ')).filter((text) => text !== '');
  const place = [info.model, `${stack} ${headName(now)}`.trim(), ...rows, ...named('column', side.keys, now.key), ...shown].join(', ');
  return [place, ...texts.map((text) => `\u201c${text}\u201d`)];
}

/** The view of the address: without the pointer, without the focus, with the same pixels everywhere. */
export async function picture(format: 'svg' | 'png', page: Page, panel?: string): Promise<Blob> {
  const {store, stage} = page;
  const focused = document.activeElement;
  if (focused instanceof HTMLElement && stage.root.contains(focused)) focused.blur();
  store.preview({});
  stage.drawOnSheet(true);
  try {
    await settled(page);
    const drawn = drawPage(stage.root, `heed ${addressOf(store.now)}`, panel, captionOf(page));
    return format === 'png' ? await rasterised(drawn) : new Blob([drawn.svg], {type: 'image/svg+xml'});
  } finally {
    stage.drawOnSheet(false);
    if (focused instanceof HTMLElement) focused.focus({preventScroll: true});
  }
}

async function file({store, api}: Page): Promise<Blob> {
  const address = encodeURIComponent(addressOf(store.chosen));
  const answer = await api.requests.request(`${kApi}/sessions/${api.info.session}/export?format=html&view=${address}`);
  if (answer.ok) return answer.blob();
  const {error} = await answer.json() as {error: {code: string; message: string}};
  throw new ApiError(error.code, error.message);
}

/** `heed-once-upon-a-time-L2.H4-i17.svg` */
export function fileName(text: string, address: string, format: Format): string {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu)?.slice(0, 4) ?? [];
  const place = address.replace(/^\w+\//, '').replace(/=/g, '').replace(/[^\w.+-]+/g, '-');
  return `${['heed', ...words.map((word) => graphemes(word).slice(0, 16).join('')), place].join('-')}.${format}`;
}

/** Downloads the view, or a panel of it. */
export async function save(format: Format, page: Page, panel?: string): Promise<void> {
  const content = format === 'html' ? await file(page) : await picture(format, page, panel);
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = fileName(page.api.info.text, `${addressOf(page.store.now)}${panel === undefined ? '' : `/${panel}`}`, format);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);  // the download may still read it
}
