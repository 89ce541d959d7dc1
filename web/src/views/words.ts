// Words: how much each token surprised the model, which other words were possible, and each layer's prediction.
import {html} from '../drawing/dom';
import {BeamsPanel} from '../panels/beams';
import {Branches} from '../panels/branches';
import {LensPanel} from '../panels/lens';
import type {WordsPage} from '../panels/words_page';
import {choose, chosenOf, wordsStack} from '../panels/words_page';
import {WordsNext} from '../panels/words_next';
import {WordsStrip} from '../panels/words_strip';
import {toStack} from '../attention/sides';
import type {View} from './view';

const kTemperatures = [1, 0.7, 0.5];

export const words: View = {
  name: 'words',
  label: 'Words',
  key: '6',
  needs: ({has_words: writes, fills_masks: fills, runs, held_view: view}) => (writes || fills) && (runs || view === 'words'),
  fits: ({stage}) => !stage.isTwo,
  parts: [],
  keys: [
    ['\u2190 \u2192', 'the previous token, the next token'],
    ['h', 'the next temperature (heat)'],
    ['m', 'of a model that fills masks: covers the token, and back'],
  ],
  footKeys: ({has_words: writes}) => [['click', writes ? 'branches' : 'chooses'], ['\u2190 \u2192', 'token'], ['h', 'temperature'], ...writes ? [] : [['m', 'masks it'] as const]],
  draw: (container, shared) => {
    const {api, store} = shared;
    const part = (name: string, label: string) => html('section', {class: name, 'aria-label': label});
    const [strip, next, right, lens, ranks] = [part('words-text', 'The text by surprise'), part('words-part', 'Next word'),
      part('words-part', 'Branches'), part('words-part', 'Lens'), part('words-part', 'Rank')];
    const beams = part('words-part', 'Beams');
    container.classList.add('scrolls');
    container.append(strip, html('div', {class: 'words-columns'}, next, right), beams, html('div', {class: 'words-columns lens-columns'}, lens, ranks));
    const page: WordsPage = {
      ...shared, side: api.side(wordsStack(shared)), writes: api.model.has_words, tokens: api.info.tokens,
      state: {covered: true, branches: [], of: -1, beams: false, changed: () => update()},
    };
    // A position counts output tokens: for another attention the last one is shown.
    if (api.side(store.now.places[0]!.stack).queries !== page.tokens) {
      queueMicrotask(() => store.set(toStack(api, wordsStack(shared), store.now.places), {replace: true}));
    }
    const branches = page.writes ? new Branches(right, page) : null;
    const searches = page.writes && api.info.key_tokens ? new BeamsPanel(beams, page) : null;
    beams.hidden = searches === null;
    right.hidden = branches === null;
    const lensPanel = new LensPanel(lens, ranks, page);
    const panels = [new WordsStrip(strip, page), new WordsNext(next, page, (id) => branches?.take(id)), ...branches ? [branches] : [],
      ...searches ? [searches] : [], lensPanel];
    let isUpdating = false;
    const update = () => {
      if (isUpdating) return;
      isUpdating = true;
      panels.forEach((panel) => panel.update());
      isUpdating = false;
    };
    const step = (by: number) => choose(page, chosenOf(page) + by);
    return {
      keys: {
        ArrowLeft: () => step(-1), ArrowRight: () => step(1),
        h: () => store.set({temperature: kTemperatures[(kTemperatures.indexOf(store.now.temperature) + 1) % kTemperatures.length]!}),
        m: () => {
          page.state.covered = !page.state.covered;
          update();
        },
      },
      said: () => [lensPanel.said],
      update,
      destroy: () => panels.forEach((panel) => panel.destroy()),
    };
  },
};
