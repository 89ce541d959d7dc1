// A saved page's answers about words, flows and one weight: those that it was saved with.
import type {Anatomy, Lens} from '../answers';
import type {Snapshot} from './file';

const kAsText = new Set(['branch']);

function window(lens: Lens, query: URLSearchParams): Lens | null {
  const begin = Number(query.get('begin') ?? 0);
  const end = Number(query.get('end') ?? lens.end);
  if (begin < lens.begin || end > lens.end) return null;
  const levels = lens.levels.filter(({name}) => query.has('blocks') || name === 'embedding' || name === 'layer')
    .map((level) => ({...level, cells: level.cells.slice(begin - lens.begin, end - lens.begin)}));
  return {...lens, begin, end, levels, has_blocks: levels.some(({name}) => name !== 'embedding' && name !== 'layer')};
}

function isOfWindow({query_begin: query, key_begin: key}: Anatomy, asked: URLSearchParams): boolean {
  return query === Number(asked.get('query') ?? 0) && key === Number(asked.get('key') ?? 0);
}

function numbers(packed: string): ArrayBuffer {
  return Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0)).buffer;
}

/** Null where the file does not hold the answer. */
export function heldAnswer({answers = []}: Snapshot, path: string, query: URLSearchParams): string | object | null {
  const what = path.split('/')[1] ?? '';
  const asked = new URLSearchParams(query);
  const unwanted = path.endsWith('/anatomy') ? ['view', 'query', 'key'] : path.includes('/evidence/') ? ['view', 'against'] : what === 'flow' ? ['view', 'named', 'key'] : what === 'lens' ? ['view', 'begin', 'end', 'at', 'blocks'] : ['view'];
  for (const name of unwanted) asked.delete(name);
  if (what === 'flow' && !asked.has('by')) asked.append('by', 'rollout');
  const question = asked.size > 0 ? `${path}?${asked}` : path;
  const found = answers.find((each) => each.question === question)?.answer;
  if (found === undefined) return null;
  if (kAsText.has(what)) return found;
  if (what === 'logits') return numbers(found);
  const answer = JSON.parse(found) as object;
  if (path.endsWith('/anatomy') && !isOfWindow(answer as Anatomy, query)) return null;
  return what === 'lens' ? window(answer as Lens, query) : answer;
}
