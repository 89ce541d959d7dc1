// Which heads can be looked at: all that the model has, but in a saved page.
import type {Place, Selection} from './selection';
import type {ModelInfo} from './transport/api';

type Places = Pick<Selection, 'places'>;

/** Whether the page is a file, which holds some heads and asks nobody. */
export function isSaved(model: ModelInfo): boolean { return model.held !== undefined; }

export function holds(model: ModelInfo, {layer, head}: Place): boolean {
  return model.held === undefined || (model.held[layer]?.includes(head) ?? false);
}

/** The heads of the selection that can be looked at. */
export function heldOf(model: ModelInfo, {places}: Places): Place[] {
  return places.filter((place) => holds(model, place));
}

/** The first head that can be looked at. */
export function firstHeld({held}: ModelInfo): Place {
  const layer = Math.max(0, held?.findIndex((each) => each.length > 0) ?? 0);
  return {layer, head: held?.[layer]?.[0] ?? 0};
}

/** The next head, layer after layer and around, that can be looked at. */
export function headAfter(model: ModelInfo, {places}: Places, by: 1 | -1): Places {
  const {layers, heads} = model;
  const {layer, head} = places[0]!;
  const all = layers * heads;
  let at = layer * heads + head;
  let place: Place;
  do {
    at = (at + by + all) % all;
    place = {...places[0]!, layer: Math.floor(at / heads), head: at % heads};
  } while (!holds(model, place));
  return {places: [place]};
}

/** The same heads of the next layer that has any of them; the layer itself where none has. */
export function layerAfter(model: ModelInfo, selection: Places, by: 1 | -1): Places {
  const {layers} = model;
  for (let step = 1; step < layers; ++step) {
    const moved = selection.places.map((place) => ({...place, layer: (place.layer + by * step + layers * step) % layers}));
    const places = heldOf(model, {places: moved});
    if (places.length > 0) return {places};
  }
  return {places: selection.places};
}

/** What a saved page cannot show of an address, in a sentence; null where it can show all. */
export function missing(model: ModelInfo, {places}: Places): string | null {
  const names = places.filter((place) => !holds(model, place)).map(({layer, head}) => `${layer}\u00b7${head}`);
  if (names.length === 0) return null;
  return `This file does not hold ${names.length === 1 ? 'head' : 'heads'} ${names.join(', ')}: `
    + 'it was saved with the heads that fit. Save it again from that view, or open the text with heed serve.';
}
