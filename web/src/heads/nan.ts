// Heads with rows of NaN: the server leaves out a score that is NaN, and answers null for a weight, as it does for a masked one.
import type {Place} from '../selection/selection';
import type {SessionApi} from '../transport/api';

/** What is said of a weight without a number: masked, or of a head with NaN without a closer look. */
export const [kMasked, kNanOrMasked] = ['may not be seen', 'NaN, or may not be seen'];

/** Whether some row of the head is NaN: every other head has an entropy. */
export function hasNan(api: SessionApi, place: Place): boolean {
  const scores = api.scoresOf(place)?.[place.head];
  return scores !== undefined && scores.entropy === undefined;
}

/** Of a weight without a number in a line of the head: a row with numbers has none that is NaN. */
export function lackOfWeight(api: SessionApi, place: Place, weights: (number | null)[], to: boolean): string {
  const isMasked = !hasNan(api, place) || (!to && weights.some((weight) => weight !== null));
  return isMasked ? kMasked : kNanOrMasked;
}
