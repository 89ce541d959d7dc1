// What replaces the result: nothing yet, an edited text, an error.
import type {About, Input} from '../transport/api';
import type {ApiError, Keep} from '../transport/ask';
import {button, html} from '../drawing/dom';
import {count} from '../drawing/format';
import {languageOf} from '../text/language';

const kExamples = [  // in the style of the built-in model's training texts
  'The king had a daughter, and he loved her.',
  'The old man sat by the fire, and his wife sat by him.',
  'Alice was beginning to get very tired of sitting by her sister on the bank.',
];

export interface TextField { element: HTMLElement; focus(): void; typed(): Input }

/** A text that grows with its lines. */
function area(label: string, placeholder: string, text: string): {element: HTMLTextAreaElement; grow(): void} {
  const element = html('textarea', {
    'aria-label': label, placeholder, rows: Math.min(8, Math.max(1, text.split('\n').length)), spellcheck: 'false', dir: 'auto', lang: languageOf(text),
  });
  element.value = text;
  const grow = () => {
    element.style.height = 'auto';
    element.style.height = `${Math.min(element.scrollHeight, 300)}px`;
  };
  element.addEventListener('input', grow);
  return {element, grow};
}

/** The text that the model accepts besides the first one. */
function besideOf({model}: About): {name: 'pair' | 'target'; label: string; placeholder: string} | null {
  if (model.takes_pair) return {name: 'pair', label: 'Second text', placeholder: 'A second text, if they are a pair'};
  if (!model.takes_target) return null;
  return {name: 'target', label: 'Target', placeholder: 'What the model writes; left empty, it writes by itself'};
}

/** The fields for typing texts; `leave` if there is an old text to return to. */
export function textField(
  about: About, input: Input, run: (input: Input) => void, leave: (() => void) | null
): TextField {
  const beside = besideOf(about);
  const first = about.chats
    ? area('Message', 'Type a message: the model reads the chat that its template makes of it', input.text)
    : area('Text', 'Type or paste a text', input.text);
  const second = beside && area(beside.label, beside.placeholder, input[beside.name] ?? '');
  const areas = [first, ...second ? [second] : []];
  const typed = (): Input => {
    const other = second?.element.value ?? '';
    return {text: first.element.value, ...beside && other !== '' && {[beside.name]: other}};
  };
  const below = html('div', {class: 'field-line'},
    html('span', {class: 'quiet'}, `at most ${count(about.limits.tokens, 'token')}`),
    html('span', {}, html('b', {class: 'wide'}, 'Ctrl+Enter '),
      button({class: 'link'}, () => run(typed()), html('span', {class: 'wide'}, 'runs it'), html('span', {class: 'slim'}, 'Run the text'))));
  const element = html('div', {class: 'field'}, ...areas.map((each) => each.element), below);
  element.addEventListener('keydown', (event) => {
    if (!(event.target instanceof HTMLTextAreaElement)) return;
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      run(typed());
    } else if (event.key === 'Escape' && leave) {
      leave();
    } else {
      return;
    }
    event.stopPropagation();
  });
  return {element, typed, focus: () => {
    for (const {grow} of areas) grow();
    first.element.focus();
  }};
}

/** Example texts; none if the model's language is unknown. */
export function examples({model}: About, run: (input: Input) => void): HTMLElement {
  const each = kExamples.map((text) => html('li', {}, button({class: 'link'}, () => run({text}), text)));
  return html('div', {hidden: model.takes_target}, html('h2', {}, 'Or look at one of these'), html('ul', {class: 'examples'}, ...each));
}

/** `why`: why the typed text was not run. */
export function nothingYet(
  container: HTMLElement, about: About, input: Input, run: (input: Input) => void, models: HTMLElement, why = ''
): void {
  const field = textField(about, input, run, null);
  container.replaceChildren(html('div', {class: 'start'}, field.element, why === '' ? '' : html('p', {class: 'start-why', role: 'alert'}, why), examples(about, run), models));
  field.focus();
}

export interface Remedies {
  restart: string;  // the command that restarts heed
  edit: () => void;
  run: (input: Input) => void;
  keep: (part: Keep) => void;
  again: () => void;
  isOfView: boolean;  // the text exists, the requested view does not
}

function unreachable({again, restart}: Remedies): HTMLElement[] {
  return [
    html('h2', {}, 'heed has stopped'),
    html('p', {}, 'The page cannot reach it. The address keeps this view, which returns when heed runs again:'),
    html('p', {}, html('code', {}, restart)),
    html('p', {class: 'quiet'}, 'retrying; ', button({class: 'link'}, again, 'try now')),
  ];
}

/** Shows how many tokens are too many, if the server has counted them. */
function tooLong(error: ApiError, about: About | null, {edit, keep}: Remedies): HTMLElement[] {
  const found = Number(/^(\d+) tokens$/.exec(error.found)?.[1]);
  const limit = about?.limits.tokens ?? 0;
  const isTarget = error.argument === 'target';  // only a part of the source can be kept
  const what = isTarget ? 'target' : 'text';
  const editing = button({class: 'link'}, edit, `edit the ${what}`);
  if (isTarget || !(found > limit)) {
    return [html('h2', {}, `The ${what} is too long`), html('p', {}, `${error.message}. Nothing was run.`),
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

export function isEmpty({argument, found}: ApiError): boolean { return argument === 'text' && found === 'empty'; }

function empty(about: About | null, {edit, run}: Remedies): HTMLElement[] {
  return [html('h2', {}, 'The text is empty'), html('p', {}, 'Nothing was run. ', button({class: 'link'}, edit, 'Type a text')), ...about ? [examples(about, run)] : []];
}

/** While a long text is cut into tokens. */
export function opening({text}: Input): HTMLElement {
  return html('div', {class: 'progress', role: 'status'}, html('span', {}, 'Splitting the text into tokens'),
    html('span', {class: 'quiet'}, count(text.length, 'character')));
}

/** The event, its reason, and what to do. */
export function failure(error: ApiError, about: About | null, remedies: Remedies): HTMLElement {
  const lines = error.code === 'unreachable' ? unreachable(remedies)
    : isEmpty(error) ? empty(about, remedies)
    : error.code === 'too_large' ? tooLong(error, about, remedies)
    : error.argument === 'model' ? [html('h2', {}, 'This machine does not have the model'), html('p', {}, error.message),
      html('p', {}, button({class: 'link'}, remedies.edit, 'read the text with another one'))]
    : remedies.isOfView && error.code !== 'unauthorized' ? [html('h2', {}, 'A part of this view has no answer'), html('p', {}, error.message)]
    : [html('h2', {}, error.code === 'unauthorized' ? 'This page has no token' : 'The text was not run'),
       html('p', {}, error.message),
       html('p', {}, error.code === 'unauthorized' ? 'Open the address that heed serve prints.'
         : button({class: 'link'}, remedies.edit, 'edit the text'))];
  return html('div', {class: 'failed', role: 'alert'}, ...lines);
}
