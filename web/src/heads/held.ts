// Which heads can be looked at: all that the model has, but in a saved page, or where the session keeps some layers alone.
import type {Attention} from '../answers';
import type {Place, Selection} from '../selection/selection';
import {headText} from '../selection/selection';
import type {Side} from '../attention/side';
import type {ModelInfo} from '../transport/api';

type Places = Pick<Selection, 'places'>;

/** The heads of one attention. */
export type Heads = Pick<Side, 'layers' | 'heads' | 'held'> & {attention?: Pick<Attention, 'kept' | 'attending'>};

/** Whether the page is a saved file, which has some heads and no server. */
export function isSaved(model: ModelInfo): boolean { return model.held !== undefined; }

/** Whether there are weights alone: no q and no k, so scores have no parts. */
export function hasOnlyWeights({family}: ModelInfo): boolean { return family === 'weights'; }

/** Why a model does not have what a view shows, in a sentence. */
export function lackOf(model: ModelInfo, {label, ofScores}: {label: string; ofScores?: boolean}): string {
  if (ofScores && hasOnlyWeights(model)) return `${label} needs q and k: this session has weights alone.`;
  return `${isSaved(model) ? 'This file' : model.name} has nothing to show in ${label}.`;
}

/** Which views a saved file lacks that the model has, and how to get them; null if it lacks none. */
export function lackOfFile(model: ModelInfo, views: readonly {label: string; needs(model: ModelInfo): boolean}[]): string | null {
  const {held, held_view: saved, ...live} = {...model, runs: true};
  const lacking = held === undefined ? [] : views.filter(({needs}) => !needs(model) && needs(live)).map(({label}) => label);
  if (lacking.length === 0) return null;
  return `Not in this file: ${lacking.join(', ')}. They need the model: save the page from such a view, with a pinned pair for Why and Anatomy, or open the text with heed serve.`;
}

/** Whether the view's questions about runs of the model have answers: from the model, or from a file that was saved with the view. */
export function answersRuns({runs, held_view: held}: ModelInfo, view: string): boolean { return runs || held === view; }

export function holds({held}: Heads, {layer, head}: Place): boolean {
  return held === null || (held[layer]?.includes(head) ?? false);
}

/** Whether the layer has attention. */
function attends({attention}: Heads, {layer}: Pick<Place, 'layer'>): boolean { return attention?.attending?.includes(layer) ?? true; }

/** Whether the session keeps the layer's attention. */
export function keeps(all: Heads, place: Pick<Place, 'layer'>): boolean {
  return attends(all, place) && (all.attention?.kept?.includes(place.layer) ?? true);
}

/** Why a head cannot be looked at, in a few words. */
export function lackOfHead(all: Heads, place: Place): string {
  if (!attends(all, place)) return 'its layer has no attention';
  return keeps(all, place) ? 'this file does not hold the head' : 'its layer was not kept';
}

/** The heads of the selection that can be looked at. */
export function heldOf(all: Heads, {places}: Places): Place[] {
  return places.filter((place) => holds(all, place));
}

/** Whether any head of the attention can be shown. */
export function holdsAny({held}: Heads): boolean { return held === null || held.some((each) => each.length > 0); }

/** The first head that can be shown; null if there is none. */
export function firstHeld({held}: Heads): Place | null {
  if (held === null) return {layer: 0, head: 0};
  const layer = held.findIndex((each) => each.length > 0);
  return layer < 0 ? null : {layer, head: held[layer]![0]!};
}

/** The next head that can be shown, layer by layer and wrapping around; the unchanged selection if there is none. */
export function headAfter(all: Heads, {places}: Places, by: 1 | -1): Places {
  const {layers, heads} = all;
  const {layer, head} = places[0]!;
  const count = layers * heads;
  for (let step = 1; step <= count; ++step) {
    const at = (layer * heads + head + by * step + count) % count;
    const place = {...places[0]!, layer: Math.floor(at / heads), head: at % heads};
    if (holds(all, place)) return {places: [place]};
  }
  return {places};
}

/** The same heads of the next layer that has any of them; the current layer if there is none. */
export function layerAfter(all: Heads, selection: Places, by: 1 | -1): Places {
  const {layers} = all;
  for (let step = 1; step < layers; ++step) {
    const moved = selection.places.map((place) => ({...place, layer: (place.layer + by * step + layers * step) % layers}));
    const places = heldOf(all, {places: moved});
    if (places.length > 0) return {places};
  }
  return {places: selection.places};
}

/** What a page cannot show of an address, in a sentence; null where it can show all. */
export function missing(all: Heads, {places}: Places): string | null {
  const unkept = [...new Set(places.filter((place) => !keeps(all, place)).map(({layer}) => layer))];
  if (unkept.length > 0) {
    return `${unkept.length === 1 ? 'Layer' : 'Layers'} ${unkept.join(', ')} ${unkept.length === 1 ? 'was' : 'were'} not kept: `
      + 'heed was started with --keep-layers. Start it with more layers to look at them.';
  }
  const names = places.filter((place) => !holds(all, place)).map(headText);
  if (names.length === 0) return null;
  return `This file does not hold ${names.length === 1 ? 'head' : 'heads'} ${names.join(', ')}: `
    + 'it was saved with the heads that fit. Save it again from that view, or open the text with heed serve.';
}
