// The heading above the edges: whose weights these are, and which of them are drawn.
import type {Page, Span} from './panel';
import {canBeTogether, headName, primary, spanName} from './panel';
import type {Choice} from './edge_choice';
import {choiceText} from './edge_choice';

export interface Heading { title: string; after: string }

/** Whose weights: for several tokens their mean or sum, for a column its name. */
function rowsText({side, store}: Page, at: Span): string {
  const many = at.end - at.first;
  if (many > 1) return `${store.to ? 'sum of' : 'mean of'} ${many} ${store.to ? 'columns' : 'rows'}`;
  return store.to ? `to ${spanName({tokens: side.queries}, at)}` : '';
}

/** `choice`: the arcs shown while nothing is pinned; null on a narrow page, which then has none. */
export function headingOf(page: Page, at: Span | null, choice: Choice | null): Heading {
  const {api, side, store} = page;
  const {places} = store.now;
  const hasSwitch = side.split !== null || api.info.attentions.length > 1 || canBeTogether(page);  // beside the heading, which leaves little room for words
  const isMany = places.length > 1;
  if (at === null && choice !== null) {
    const head = `${hasSwitch ? '' : 'head '}${headName({places: [primary(store.now)]})}`;
    return {title: 'Who attends to whom', after: [head, choiceText(choice, hasSwitch)].filter(Boolean).join(', ')};
  }
  const isNarrow = choice === null;
  const isNamed = (isNarrow || isMany) && at !== null;
  const rows = at === null || (isNamed && store.to && at.end - at.first === 1) ? '' : rowsText(page, at);
  const isOneLayer = places.every(({layer}) => layer === places[0]!.layer);
  const head = !isMany ? `head ${headName(store.now)}`
    : `${places.length} heads${isOneLayer ? ` of layer ${places[0]!.layer}` : ''}`;
  const which = store.to ? 'the 8 largest' : isNarrow ? 'largest edges' : 'largest edges until 90 % of the row';
  const name = at === null ? '' : spanName({tokens: side.queries}, at);
  return {
    title: !isNamed ? 'Who attends to whom' : store.to ? `Who attends to ${name}` : `${name} attends to`,
    after: hasSwitch && rows === '' ? head : `${head}, ${rows === '' ? which : isNarrow || isMany ? rows : `${rows}, ${store.to ? which : 'until 90 % of it'}`}`,
  };
}
