// The views that there are. To add one: its file, its line here, its name in selection.ts.
import type {ViewName} from '../selection';
import {look} from './look';
import type {View} from './view';
import {flow} from './flow';
import {words} from './words';

const kAll: Record<ViewName, View> = {
  look,
  words,
  flow,
};

export const kViews: readonly View[] = Object.values(kAll);

export function viewOf(name: ViewName): View { return kAll[name]; }
