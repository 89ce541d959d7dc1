// What a view is: one way to look at the chosen heads.
import type {Page, Panel} from '../panel';
import type {ViewName} from '../selection';
import type {ModelInfo} from '../transport/api';

/** What a key is called, and what it does. */
export type KeyText = readonly [string, string];

/** What the shell draws over a view. */
export type Part = 'chips' | 'text';

export interface Drawn extends Panel {
  keys: Record<string, () => void>;  // what the view does at a key that is not the shell's
  said?: () => Node[];                // in the foot line, in place of the check
}

export interface View {
  name: ViewName;
  label: string;
  key: string;
  differs?: boolean;  // whether it draws the difference of what is compared
  fits?: (page: Page) => boolean;  // whether it ends with the window: what is longer scrolls within; default: it may be longer
  ofScores?: boolean;  // takes scores apart, of which weights alone have none
  needs: (model: ModelInfo) => boolean;  // whether a model has what the view shows
  parts: readonly Part[];
  keys: readonly KeyText[];
  footKeys?: readonly KeyText[] | ((model: ModelInfo) => readonly KeyText[]);  // default: those of most views
  draw: (container: HTMLElement, page: Page) => Drawn;
}
