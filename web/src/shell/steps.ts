// The steps of a watched training run, on a slider.
import {html, say} from '../drawing/dom';
import {count} from '../drawing/format';
import {about} from '../transport/models';
import type {Requests} from '../transport/requests';

const kAskMilliseconds = 2000;

export const modelOfLast = (steps: number[]): string => `step-${steps.at(-1)}`;

export interface Steps {
  element: HTMLElement;
  stop(): void;
}

/** At the last step it follows the run. `choose` ends when the model is shown. */
export function stepsSlider(requests: Requests, first: number[], choose: (model: string) => Promise<void>): Steps {
  let steps = first;
  let shown = first.length - 1;
  let isBusy = false;
  const slider = html('input', {type: 'range', min: 0, 'aria-label': 'Step of the run'});
  const said = html('output', {});
  const place = (at: number) => {
    slider.max = String(steps.length - 1);
    slider.value = String(at);
    say(said, `after ${count(steps[at]!, 'step')}`);
    slider.setAttribute('aria-valuetext', said.textContent!);
  };
  const show = async (at: number) => {
    place(at);
    if (isBusy) return;
    isBusy = true;
    while (shown !== slider.valueAsNumber) {
      shown = slider.valueAsNumber;
      await choose(`step-${steps[shown]}`);
    }
    isBusy = false;
  };
  const ask = async () => {
    const now = (await about(requests)).steps!;
    const isLast = slider.valueAsNumber === steps.length - 1;
    const isMore = now.length > steps.length;
    steps = now;
    if (isMore) await show(isLast ? now.length - 1 : slider.valueAsNumber);
  };
  place(shown);
  slider.addEventListener('input', () => void show(slider.valueAsNumber));
  const timer = setInterval(() => void ask().catch(() => undefined), kAskMilliseconds);
  return {element: html('div', {class: 'steps'}, slider, said), stop: () => clearInterval(timer)};
}
