// Tiles as pictures: fetched once, recoloured when the scale changes, limited in number.
import type {Scale} from '../selection/selection';
import type {Side} from '../attention/side';
import type {SessionApi, TilePlace} from '../transport/api';
import {differenceTable, rampOf, table} from './matrix_scale';

const kMostPictures = 128;  // 256 x 256 x 4 bytes each: 32 MiB

interface Picture { canvas: HTMLCanvasElement; colours: Uint32Array }

/** How zoom level z divides an axis: into cells of `block` entries, and these into tiles. */
export interface Axis { cells: number; tiles: number }
export interface Level { z: number; block: number; rows: Axis; columns: Axis }

export class Tiles {
  private readonly bytes = new Map<string, Uint8Array>();
  private readonly pictures = new Map<string, Picture>();
  private readonly asked = new Set<string>();
  private histogram = new Uint32Array(256);
  private colours: Uint32Array;
  private scale: Scale = 'log';
  private head = '';

  constructor(private readonly api: SessionApi, private readonly side: Side, private readonly arrived: () => void) {
    this.colours = this.table(this.scale);
  }

  private table(scale: Scale): Uint32Array {
    return this.api.isDifference ? differenceTable(scale, this.histogram) : table(scale, this.histogram, rampOf(this.api));
  }

  level(z: number): Level {
    const {zooms, tile, queries, keys} = this.side.attention;
    const block = 2 ** (zooms - 1 - z);
    const axis = (entries: number): Axis => {
      const cells = Math.ceil(entries / block);
      return {cells, tiles: Math.ceil(cells / tile)};
    };
    return {z, block, rows: axis(queries), columns: axis(keys)};
  }

  /** The coarsest level whose cells are at least a pixel, so that nothing is fetched needlessly. */
  levelFor(pixelsPerEntry: number): Level {
    const {zooms} = this.side.attention;
    for (let z = 0; z < zooms; ++z) {
      const level = this.level(z);
      if (level.block * pixelsPerEntry <= 2) return level;
    }
    return this.level(zooms - 1);
  }

  show(head: string, scale: Scale): void {
    if (head !== this.head) {
      this.head = head;
      this.bytes.clear();
      this.pictures.clear();
      this.histogram = new Uint32Array(256);
    } else if (scale === this.scale) {
      return;
    }
    this.scale = scale;
    this.colours = this.table(scale);
  }

  size(place: TilePlace): {width: number; height: number} {
    const {tile} = this.side.attention;
    const {rows, columns} = this.level(place.z);
    return {width: Math.min(tile, columns.cells - tile * place.x), height: Math.min(tile, rows.cells - tile * place.y)};
  }

  /** The tile as a picture; null until it has arrived, which `arrived` reports. */
  picture(place: TilePlace): HTMLCanvasElement | null {
    const name = `${place.z}/${place.y}/${place.x}`;
    let bytes = this.bytes.get(name);
    if (!bytes) {
      const known = this.api.tile(place, 'u8').now();
      if (!known) {
        this.fetch(place, name);
        return null;
      }
      bytes = this.keep(name, new Uint8Array(known));
    }
    const known = this.pictures.get(name);
    if (known?.colours === this.colours) return known.canvas;
    const canvas = known?.canvas ?? document.createElement('canvas');
    this.paint(canvas, bytes, place);
    this.pictures.set(name, {canvas, colours: this.colours});
    return canvas;
  }

  private paint(canvas: HTMLCanvasElement, bytes: Uint8Array, place: TilePlace): void {
    const {width, height} = this.size(place);
    canvas.width = width;
    canvas.height = height;
    const pixels = new Uint32Array(width * height);
    for (let at = 0; at < pixels.length; ++at) pixels[at] = this.colours[bytes[at]!]!;
    const image = new ImageData(new Uint8ClampedArray(pixels.buffer), width, height);
    canvas.getContext('2d')!.putImageData(image, 0, 0);
  }

  private fetch(place: TilePlace, name: string): void {
    const full = `${this.head} ${name}`;
    if (this.asked.has(full)) return;
    this.asked.add(full);
    this.api.tile(place, 'u8').get(`tile-u8-${name}`).then((buffer) => {
      this.asked.delete(full);
      if (full !== `${this.head} ${name}`) return;
      this.keep(name, new Uint8Array(buffer));
      this.arrived();
    }, () => this.asked.delete(full));
  }

  private keep(name: string, bytes: Uint8Array): Uint8Array {
    if (this.bytes.size >= kMostPictures) {
      const oldest = [...this.bytes.keys()].find((each) => !each.startsWith('0/'))!;
      this.bytes.delete(oldest);
      this.pictures.delete(oldest);
    }
    this.bytes.set(name, bytes);
    for (const byte of bytes) ++this.histogram[byte]!;
    if (this.scale === 'rank') this.colours = this.table('rank');
    return bytes;
  }
}
