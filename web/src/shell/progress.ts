// One line while the server works: the work, how many parts are done; or the error and its reason.
import {numbersOf} from '../attention/side';
import {html} from '../drawing/dom';
import type {MakePanel, Panel} from '../panels/panel';
import {kQuietMilliseconds, progressLine} from '../drawing/progress_line';
import type {SessionInfo} from '../transport/api';

/** All tokens of a pass: an encoder-decoder reads the source and the target. */
export function passOf({tokens, key_tokens: source, attentions}: SessionInfo): string {
  const layers = attentions.reduce((sum, each) => sum + (each.stack === 'cross' ? 0 : numbersOf(each).length), 0);
  return `${tokens.length + (source?.length ?? 0)} tokens through ${layers} layers`;
}

export const progressPanel: MakePanel = (container, {api}): Panel => {
  const line = progressLine();
  const failed = html('div', {class: 'failed', role: 'alert'});
  let late = false;

  const update = () => {
    if (api.error) {
      failed.replaceChildren(html('h2', {}, 'The model could not read the text'), html('p', {}, api.error.message),
        html('p', {class: 'quiet'}, 'Change the text, or start heed serve again.'));
      container.replaceChildren(failed);
      return;
    }
    const {done, of} = api.scored;
    if (!late || done === of) {
      container.replaceChildren();
      return;
    }
    line.show(api.hasWeights ? 'Scoring heads' : 'Reading the text',
      api.hasWeights ? `${done} of ${of}, the layer in view first` : passOf(api.info), done / of);
    container.replaceChildren(line.element);
  };
  const timer = setTimeout(() => {
    late = true;
    update();
  }, kQuietMilliseconds);
  return {update, destroy: () => clearTimeout(timer)};
};
