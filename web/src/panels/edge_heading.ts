// What the heading over the edges says: whose weights these are, and which of them are drawn.
import type {SessionApi} from '../api';
import type {Span} from '../panel';
import {headName, spanName} from '../panel';
import type {Selection} from '../selection';
import {kColours} from '../selection';
import type {Choice} from './edge_choice';
import {choiceText} from './edge_choice';

export interface Heading { title: string; after: string }

/** `choice`: the arcs that stand with nothing pinned; null in a narrow page, which then has none. */
export function headingOf(api: SessionApi, now: Selection, at: Span | null, choice: Choice | null): Heading {
  const isMany = now.heads.length > kColours;
  if (at === null && choice !== null) {
    const head = `head ${headName({...now, heads: now.heads.slice(0, 1)})}`;
    return {title: 'Who attends to whom', after: [head, choiceText(choice)].filter(Boolean).join(', ')};
  }
  const isNarrow = choice === null;
  const rows = at === null ? '' : at.end - at.first > 1 ? `mean of ${at.end - at.first} rows`
    : now.to ? `the row of ${spanName(api.info, at)}` : '';  // while the text shows its column
  const head = isMany ? `${now.heads.length} heads of layer ${now.layer}` : `head ${headName(now)}`;
  const which = isNarrow ? 'edges to 0.9, at most 8' : 'edges to 0.9 of a row, at most 8';
  return {
    title: (isNarrow || isMany) && at !== null ? `${spanName(api.info, at)} attends to` : 'Who attends to whom',
    after: `${head}, ${rows === '' ? which : isNarrow || isMany ? rows : `${rows}, to 0.9, at most 8`}`,
  };
}
