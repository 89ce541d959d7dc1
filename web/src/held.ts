// Which heads can be looked at: all that the model has, but in a saved page.
import type {ModelInfo} from './api';
import type {Selection} from './selection';

/** Whether the page is a file, which holds some heads and asks nobody. */
export function isSaved(model: ModelInfo): boolean { return model.held !== undefined; }

export function holds(model: ModelInfo, layer: number, head: number): boolean {
  return model.held === undefined || (model.held[layer]?.includes(head) ?? false);
}

/** The heads of the selection that can be looked at; none where the layer has others only. */
export function heldOf(model: ModelInfo, {layer, heads}: Selection): number[] {
  return heads.filter((head) => holds(model, layer, head));
}

/** The next head, layer after layer and around, that can be looked at. */
export function headAfter(model: ModelInfo, {layer, heads: [head = 0]}: Selection, by: 1 | -1): Partial<Selection> {
  const {layers, heads} = model;
  const all = layers * heads;
  let next = layer * heads + head;
  do next = (next + by + all) % all;
  while (!holds(model, Math.floor(next / heads), next % heads));
  return {layer: Math.floor(next / heads), heads: [next % heads]};
}

/** The same heads of the next layer that has any of them; the layer itself where none has. */
export function layerAfter(model: ModelInfo, selection: Selection, by: 1 | -1): Partial<Selection> {
  const {layers} = model;
  for (let step = 1; step < layers; ++step) {
    const layer = (selection.layer + by * step + layers * step) % layers;
    const heads = heldOf(model, {...selection, layer});
    if (heads.length > 0) return {layer, heads};
  }
  return {};
}

/** What a saved page cannot show of an address, in a sentence; null where it can show all. */
export function missing(model: ModelInfo, selection: Selection): string | null {
  const names = selection.heads.filter((head) => !holds(model, selection.layer, head))
    .map((head) => `${selection.layer}\u00b7${head}`);
  if (names.length === 0) return null;
  return `This file does not hold ${names.length === 1 ? 'head' : 'heads'} ${names.join(', ')}: `
    + 'it was saved with the heads that fit. Save it again from that view, or open the text with heed serve.';
}
