// The part of an address that a session can show.
import {fit, misfit} from '../selection/fit';
import {firstHeld, heldOf, lackOf, missing} from '../heads/held';
import type {Selection} from '../selection/selection';
import {kNothing} from '../selection/selection';
import {stacksOf, toStack} from '../attention/sides';
import type {SessionApi} from '../transport/api';
import {viewOf} from '../views/list';

/** The selection without what the session lacks, and sentences about that. */
export function fitted(api: SessionApi, asked: Selection): {selection: Selection; said: string[]} {
  const view = viewOf(asked.view);
  const isShown = view.needs(api.model);
  const selection = fit(isShown ? asked : {...asked, view: kNothing.view}, api.size);
  const all = api.side(selection.places[0]!.stack);
  const lost = missing(all, selection);
  const said = [...misfit(asked, api.size), ...isShown ? [] : [lackOf(api.model, view)], ...lost === null ? [] : [lost]];
  return {selection: lost === null ? selection : {...selection, ...heldIn(api, selection)}, said};
}

/** The heads of the selection that the session holds; else its first one, or another attention. */
function heldIn(api: SessionApi, selection: Selection): Partial<Selection> {
  const all = api.side(selection.places[0]!.stack);
  const held = heldOf(all, selection);
  if (held.length > 0) return {places: held};
  const first = firstHeld(all);
  if (first) return {places: [{...selection.places[0]!, ...first}]};
  const [stack] = stacksOf(api);
  return stack === undefined ? {} : toStack(api, stack, selection.places);
}
