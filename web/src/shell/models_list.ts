// The models of this machine, to choose from.
import type {Model} from '../answers';
import {button, html} from '../drawing/dom';
import {shapeOf} from '../drawing/format';
import {found} from '../transport/models';
import type {Requests} from '../transport/requests';

function whatItDoes({built_in, has_words, fills_masks, takes_pair, takes_target}: Model): string {
  return [built_in && 'built in', has_words && !takes_target && 'next word', fills_masks && 'fills masks', takes_pair && 'reads a pair',
    takes_target && 'reads a source, writes a target'].filter(Boolean).join(', ');
}

/** Empty until the list has loaded, and if the shown model is the only one. */
export function modelsList(requests: Requests, shown: string, choose: (model: string) => void): HTMLElement {
  const element = html('div', {class: 'models-list'});
  found(requests).then((models) => {
    if (models.length < 2) return;
    element.append(html('h2', {}, 'Or another model'), html('ul', {}, ...models.map((model) =>
      html('li', {}, button({class: 'link', 'aria-current': model.name === shown ? 'true' : null}, () => choose(model.name), model.name),
        html('span', {class: 'quiet'}, [shapeOf(model), whatItDoes(model)].filter(Boolean).join(', '))))));
  }, () => undefined);  // without an answer, the served model is the one
  return element;
}
