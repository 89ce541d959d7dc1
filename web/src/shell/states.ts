// What stands where the result would: nothing yet, an edited text, what failed.
import type {About, ApiError, Keep} from '../transport/api';
import {button, html} from '../dom';
import {count} from '../format';

const kExamples = [  // in the manner of what the built-in model has read
  'The king had a daughter, and he loved her.',
  'The old man sat by the fire, and his wife sat by him.',
  'Alice was beginning to get very tired of sitting by her sister on the bank.',
];

export interface TextField { element: HTMLElement; focus(): void }

/** The field that a text is typed into; `leave` when there is an old one to go back to. */
export function textField(
  about: About, text: string, run: (text: string) => void, leave: (() => void) | null
): TextField {
  const field = html('textarea', {
    'aria-label': 'Text', placeholder: 'Type or paste a text', rows: Math.min(8, Math.max(1, text.split('\n').length)),
    spellcheck: 'false', dir: 'auto',
  });
  field.value = text;
  const grow = () => {
    field.style.height = 'auto';
    field.style.height = `${Math.min(field.scrollHeight, 300)}px`;
  };
  field.addEventListener('input', grow);
  field.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      run(field.value);
    } else if (event.key === 'Escape' && leave) {
      leave();
    } else {
      return;
    }
    event.stopPropagation();
  });
  const below = html('div', {class: 'field-line'},
    html('span', {class: 'quiet'}, `at most ${count(about.limits.tokens, 'token')}`),
    html('span', {}, html('b', {}, 'Ctrl+Enter'), ' ',
      button({class: 'link'}, () => run(field.value), 'runs it')));
  const element = html('div', {class: 'field'}, field, below);
  return {element, focus: () => {
    grow();
    field.focus();
  }};
}

export function nothingYet(
  container: HTMLElement, about: About, text: string, run: (text: string) => void
): void {
  const field = textField(about, text, run, null);
  const examples = kExamples.map((example) => html('li', {}, button({class: 'link'}, () => run(example), example)));
  container.replaceChildren(html('div', {class: 'start'}, field.element,
    html('h2', {}, 'Or look at one of these'), html('ul', {class: 'examples'}, ...examples)));
  field.focus();
}

export interface Remedies {
  restart: string;  // the command that starts heed again
  edit: () => void;
  keep: (part: Keep) => void;
  again: () => void;
  isOfView: boolean;  // the text is there, what was asked of it is not
}

function unreachable({again, restart}: Remedies): HTMLElement[] {
  return [
    html('h2', {}, 'heed has stopped'),
    html('p', {}, 'The page cannot reach it. This view is kept in the address; it comes back when heed runs again:'),
    html('p', {}, html('code', {}, restart)),
    html('p', {class: 'quiet'}, 'trying again by itself; ', button({class: 'link'}, again, 'try now')),
  ];
}

/** Says how many tokens are too many where the server has counted them. */
function tooLong(error: ApiError, about: About | null, {edit, keep}: Remedies): HTMLElement[] {
  const found = Number(/^(\d+) tokens$/.exec(error.found)?.[1]);
  const limit = about?.limits.tokens ?? 0;
  const editing = button({class: 'link'}, edit, 'edit the text');
  if (!(found > limit)) {
    return [html('h2', {}, 'The text is too long'), html('p', {}, `${error.message}. Nothing was run.`),
      html('p', {}, editing)];
  }
  const written = (value: number) => value.toLocaleString('en');
  return [
    html('h2', {}, `The text is ${count(found - limit, 'token')} too long`),
    html('p', {}, `It has ${written(found)}; ${about!.model.name} reads ${written(limit)}. Nothing was run.`),
    html('p', {}, 'Keep ', button({class: 'link'}, () => keep('first'), `the first ${written(limit)}`), ' or ',
      button({class: 'link'}, () => keep('last'), `the last ${written(limit)}`), ', or ', editing, '.'),
  ];
}

/** While a long text is cut into tokens. */
export function opening(text: string): HTMLElement {
  return html('div', {class: 'progress', role: 'status'}, html('span', {}, 'Cutting the text into tokens'),
    html('span', {class: 'quiet'}, count(text.length, 'character')));
}

/** What happened, why, what to do. */
export function failure(error: ApiError, about: About | null, remedies: Remedies): HTMLElement {
  const lines = error.code === 'unreachable' ? unreachable(remedies)
    : error.code === 'too_large' ? tooLong(error, about, remedies)
    : remedies.isOfView && error.code !== 'unauthorized' ? [html('h2', {}, 'This could not be shown'), html('p', {}, error.message)]
    : [html('h2', {}, error.code === 'unauthorized' ? 'This page has no token' : 'The text was not run'),
       html('p', {}, error.message),
       html('p', {}, error.code === 'unauthorized' ? 'Open the address that heed serve prints.'
         : button({class: 'link'}, remedies.edit, 'edit the text'))];
  return html('div', {class: 'failed', role: 'alert'}, ...lines);
}
