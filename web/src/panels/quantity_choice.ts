// The quantity in a matrix's cells: weights, or carried amounts.
import {choice} from '../drawing/dom';
import {hasOnlyWeights, isSaved} from '../heads/held';
import type {Page} from './panel';
import {kQuantities} from '../selection/selection';

export function quantityChoice({api, store}: Page): ReturnType<typeof choice<(typeof kQuantities)[number]>> {
  const made = choice('Cells', kQuantities.map((name) => ({name, label: name})), (name) => store.set({quantity: name}));
  made.element.title = 'carried: the share of what the row\u2019s values write, weight \u00d7 |W\u2092v|';
  made.element.hidden = isSaved(api.model) || hasOnlyWeights(api.model);
  return made;
}
