// Below the columns of a session with two sides: the head in every layer, or every head of a cross-attention.
import {isSamePlace} from '../selection/address';
import {BetweenData, blockInSight} from '../attention/between';
import {button, html, say} from '../drawing/dom';
import {shortWeight} from '../drawing/format';
import {holds} from '../heads/held';
import type {MakePanel, Page, Panel} from './panel';
import {primary} from './panel';
import type {Place} from '../selection/selection';
import {headText, nameOf} from '../selection/selection';
import {BetweenSmall} from './between_small';
import {drawThumbnail} from './grid_cell';

const kWidth = 39;        // px of a thumbnail
const kMostHeight = 60;

function placesOf({side, store}: Page): Place[] {
  return side.numbers.map((layer) => ({...primary(store.now), layer})).filter((place) => holds(side, place));
}

/** The head of the same number in each layer, from one text to the other. */
export const everyLayer: MakePanel = (container, page): Panel => {
  const {store} = page;
  const title = html('h2', {});
  const about = html('span', {class: 'quiet'});
  const small = new BetweenSmall(page);
  const data = new BetweenData(page, 'layers', () => update());
  small.element.hidden = false;
  container.append(html('div', {class: 'heading'}, title, about), small.element);
  const update = () => {
    const [from, to] = store.now.pair?.split('-') ?? [];
    say(title, `Head ${primary(store.now).head} in every layer`);
    say(about, `${from} to ${to}, same scale, share of ${from}\u2019s attention that goes to ${to}`);
    const block = blockInSight(page);
    const places = placesOf(page);
    small.draw(block, places, data.show(places, block), ({layer}) => `Layer ${layer}`);
  };
  return {update, destroy: () => data.stop()};
};

/** A matrix in a few pixels, with cells as equal as possible. */
function thumbnail({api, side}: Page, codes: Uint8Array): HTMLCanvasElement {
  const {queries, keys, zooms} = side.attention;
  const block = 2 ** (zooms - 1);
  const height = Math.round(Math.min(kMostHeight, kWidth * queries / keys));
  const canvas = html('canvas', {class: 'thumbnail'});
  canvas.style.width = `${kWidth}px`;
  canvas.style.height = `${height}px`;
  drawThumbnail(canvas, {block, columns: Math.ceil(keys / block), rows: Math.ceil(queries / block)}, codes, {pictureWidth: kWidth, pictureHeight: height}, api);
  return canvas;
}

class AllHeads implements Panel {
  private readonly title = html('h2', {});
  private readonly most = html('span', {class: 'quiet most'});
  private readonly layers = html('div', {class: 'all-heads'});
  private readonly pictures = new Map<string, HTMLCanvasElement>();
  private readonly asked = new Set<string>();
  private drawn = '';

  constructor(container: HTMLElement, private readonly page: Page) {
    container.append(html('div', {class: 'heading'}, this.title,
      html('span', {class: 'quiet'}, 'target down, source across; the number is the weight in order, token by token'), this.most), this.layers);
  }

  destroy(): void { this.asked.clear(); }

  update(): void {
    const {api, side, store} = this.page;
    const state = [nameOf(primary(store.now)), this.pictures.size, api.scored.done, api.hasWeights].join(' ');
    if (state === this.drawn) return;
    this.drawn = state;
    say(this.title, `All ${side.numbers.length * side.heads} heads`);
    const columns = side.numbers.map((layer) => this.layer(layer));
    this.layers.replaceChildren(...columns.map(({element}) => element));
    const best = columns.flatMap(({heads}) => heads).sort((a, b) => b.value - a.value).slice(0, 2);
    const named = best.map(({place, value}) => `${headText(place)} ${shortWeight(value)}`);
    say(this.most, named.length === 2 ? `most ${named[0]}, then ${named[1]}` : '');
  }

  private layer(layer: number): {element: HTMLElement; heads: {place: Place; value: number}[]} {
    const {api, side, store} = this.page;
    const places = Array.from({length: side.heads}, (_, head) => ({...primary(store.now), layer, head}));
    const scores = api.scoresOf(places[0]!);
    const heads = places.flatMap((place) => {
      const value = scores?.[place.head]?.order?.in_order;
      return value === undefined ? [] : [{place, value}];
    });
    const mean = heads.reduce((sum, {value}) => sum + value, 0) / Math.max(1, heads.length);
    const isShown = layer === primary(store.now).layer;
    const element = html('section', {class: isShown ? 'all-layer shown' : 'all-layer'},
      html('div', {class: 'all-layer-head'}, html('span', {}, `Layer ${layer}`), html('b', {}, heads.length > 0 ? shortWeight(mean) : '\u2013')),
      html('div', {class: 'all-layer-heads'}, ...places.map((place) =>
        this.head(place, heads.find((each) => each.place.head === place.head)?.value))));
    return {element, heads};
  }

  private head(place: Place, value: number | undefined): HTMLElement {
    const {side, store} = this.page;
    const isShown = isSamePlace(place, primary(store.now));
    const isHeld = holds(side, place);
    return button({class: isShown ? 'all-head shown' : 'all-head', disabled: !isHeld, 'data-head': place.head, 'aria-label': `head ${headText(place)}`},
      () => store.set({places: [place]}), isHeld ? this.picture(place) : null,
      html('span', {}, html('span', {class: 'quiet'}, `H${place.head} `), value === undefined ? '\u2013' : shortWeight(value)));
  }

  private picture(place: Place): HTMLElement {
    const {api} = this.page;
    const name = nameOf(place);
    const known = this.pictures.get(name);
    if (known) return known;
    if (api.hasWeights && !this.asked.has(name)) {
      this.asked.add(name);
      api.tile({...place, z: 0, y: 0, x: 0}, 'u8').get(`all-${name}`).then((bytes) => {
        this.pictures.set(name, thumbnail(this.page, new Uint8Array(bytes)));
        this.update();
      }, () => this.asked.delete(name));
    }
    return html('span', {class: 'thumbnail'});
  }
}

export const allHeads: MakePanel = (container, page) => new AllHeads(container, page);
