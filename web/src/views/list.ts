// The list of views. To add one: its file, its line here, its name in selection.ts.
import type {ViewName} from '../selection/selection';
import {anatomy} from './anatomy';
import {flow} from './flow';
import {grid} from './grid';
import {heads} from './heads';
import {look} from './look';
import {matrix} from './matrix';
import type {View} from './view';
import {why} from './why';
import {words} from './words';

const kAll: Record<ViewName, View> = {
  look,
  grid,
  matrix,
  why,
  anatomy,
  words,
  heads,
  flow,
};

export const kViews: readonly View[] = Object.values(kAll);

export function viewOf(name: ViewName): View { return kAll[name]; }
