// The views that there are. To add one: its file, its line here, its name in selection.ts.
import type {ViewName} from '../selection';
import {anatomy} from './anatomy';
import {look} from './look';
import type {View} from './view';
import {why} from './why';

const kAll: Record<ViewName, View> = {
  look,
  why,
  anatomy,
};

export const kViews: readonly View[] = Object.values(kAll);

export function viewOf(name: ViewName): View { return kAll[name]; }
