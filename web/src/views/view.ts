// What a view is: one way to look at the chosen heads.
import type {Page, Panel} from '../panel';
import type {ViewName} from '../selection';
import type {ModelInfo} from '../transport/api';

/** What a key is called, and what it does. */
export type KeyText = readonly [string, string];

export interface Drawn extends Panel {
  keys: Record<string, () => void>;  // what the view does at a key that is not the shell's
}

export interface View {
  name: ViewName;
  label: string;
  key: string;
  needs: (model: ModelInfo) => boolean;  // whether a model has what the view shows
  keys: readonly KeyText[];
  draw: (container: HTMLElement, page: Page) => Drawn;
}
