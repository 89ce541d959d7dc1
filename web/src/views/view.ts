// A view: one way to show the chosen heads.
import type {Page, Panel} from '../panels/panel';
import type {ViewName} from '../selection/selection';
import type {ModelInfo} from '../transport/api';

/** A key's name and effect. */
export type KeyText = readonly [string, string];

/** The parts that the shell draws above a view. */
export type Part = 'chips' | 'text';

export interface Drawn extends Panel {
  keys: Record<string, () => void>;  // the view's own keys, besides the shell's
  said?: () => Node[];                // in the foot line, instead of the check
}

export interface View {
  name: ViewName;
  label: string;
  key: string;
  differs?: boolean;  // whether it draws the difference of a comparison
  fits?: (page: Page) => boolean;  // whether it ends with the window and scrolls inside; default: it may be longer
  ofScores?: boolean;  // explains scores, which weights alone do not have
  needs: (model: ModelInfo) => boolean;  // whether a model supports the view
  parts: readonly Part[];
  keys: readonly KeyText[];
  footKeys?: readonly KeyText[] | ((model: ModelInfo) => readonly KeyText[]);  // default: the usual ones
  draw: (container: HTMLElement, page: Page) => Drawn;
}
