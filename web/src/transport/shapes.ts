// Converts answers to the page's form.
import type {Head, LayerHeads, Model, Models} from '../answers';
import type {Edge, Line} from '../attention/arcs';
import type {Place} from '../selection/selection';

/** The server's description of itself; `model` is the served one. */
export type About = Omit<Models, 'models'> & {model: Model};

/** One number for each score of the model, by its name. */
export type HeadScores = Head & Record<string, unknown>;

export type LayerScores = Omit<LayerHeads, 'heads'> & {heads: HeadScores[]};
export interface TilePlace extends Place { z: number; y: number; x: number }

/** For rows: entries listed in both directions have a query and a key. */
export function asLine(answer: Omit<Line, 'edges'> & {edges: Partial<Edge>[]}, own: Partial<Edge>): Line {
  return {...answer, edges: answer.edges.map((edge) => ({...own, ...edge}) as Edge)};
}
