// The foot line: the address of the view, the check that holds, the keys used most.
import {html} from '../dom';
import type {MakePanel, Panel} from '../panel';
import {primary} from '../panel';
import {format} from '../selection';

const kKeys = [['click', 'pins'], ['Esc', 'unpins'], ['[ ]', 'layer'], [', .', 'head']] as const;  // four at most

/** `2e-7`, rounded up, so that the sentence stays true. */
function bound(error: number): string {
  if (error === 0) return '1e-8';
  const power = Math.floor(Math.log10(error));
  const digit = Math.ceil(error / 10 ** power);
  return digit === 10 ? `1e${power + 1}` : `${digit}e${power}`;
}

export const footPanel: MakePanel = (container, store, api): Panel => {
  const address = html('span', {class: 'address'});
  const check = html('span', {class: 'quiet check'});
  const keys = html('span', {class: 'foot-keys'}, ...kKeys.map(([name, does]) =>
    html('span', {}, html('b', {}, name), ` ${does}`)));
  container.append(address, check, keys);
  const update = () => {
    address.textContent = format(store.now);
    if (!api.hasWeights) return;
    api.marginals(primary(store.now)).then(({row_sum_error}) => {
      check.textContent = `every row sums to 1 within ${bound(row_sum_error)}`;
    }, () => undefined);
  };
  return {update, destroy: () => undefined};
};
