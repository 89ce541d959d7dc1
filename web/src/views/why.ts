// Why: one weight as a sum, by dimension, by writer, against its row, by position; its effect, and tests of it.
import type {Dimensions, Effect, Geometry, Origins, Trial, Why} from '../answers';
import {latest, Slot} from '../data/slot';
import {button, html} from '../drawing/dom';
import {count, largeWeight} from '../drawing/format';
import {hasOnlyWeights, isSaved} from '../heads/held';
import type {Page} from '../panels/panel';
import {primary} from '../panels/panel';
import {headText} from '../selection/selection';
import {gapBefore, phrase, plain} from '../text/tokens';
import type {Token} from '../transport/api';
import type {WhyCell} from '../panels/why_cell';
import {ChosenCell} from '../panels/why_cell';
import type {Against} from '../panels/why_dimensions';
import {dimensionsBlock, kAgainst, positionBlock} from '../panels/why_dimensions';
import {effectBlock, testBlock} from '../panels/why_effect';
import {learnedTerms, originsBlock} from '../panels/why_origins';
import {Block, heading, note} from '../panels/why_parts';
import {ordinal} from '../panels/read_out';
import {planeBlock} from '../panels/why_plane';
import {allKeysBlock} from '../panels/why_row';
import {rowBlock, sumBlock} from '../panels/why_sum';
import type {Drawn, View} from './view';

const kTested = 1024;  // tokens up to which tests run unasked
const kWholePlane = 128;  // keys up to which the plane has all

/** The token in its phrase, which begins and ends with a word. */
function quoted(tokens: Token[], at: number, kind: string): HTMLElement {
  const begins = (index: number) => index <= 0 || index >= tokens.length || gapBefore(tokens, index) !== ''
    || tokens[index - 1]!.text.endsWith('\n');
  let [first, end] = [Math.max(0, at - 3), Math.min(tokens.length, at + 3)];
  while (!begins(first) && first > at - 8) --first;
  while (!begins(end) && end < at + 8) ++end;
  const before = phrase(tokens, first, at), after = phrase(tokens, at + 1, end);
  return html('span', {class: 'why-phrase', dir: 'auto'}, `\u201c${before}${before === '' ? '' : gapBefore(tokens, at)}`, html('b', {class: kind}, plain(tokens[at]!)),
    `${gapBefore(tokens, at + 1)}${after}\u201d `, html('span', {class: 'quiet'}, String(at)));
}

class WhyView implements Drawn {
  private readonly title = html('div', {class: 'why-title'});
  private readonly parts = ['Sum', 'By dimension', 'Where q and k came from', 'Competing keys', 'Position', 'Effect on the logits', 'All keys by dimension', 'Queries and keys in a plane'].map((label, at) =>
    html('section', {class: at < 6 ? 'why-part-block' : 'why-part-block whole', 'aria-label': label}));
  private readonly links = this.parts.slice(6).map((part) => button({class: 'link'}, () => part.scrollIntoView(), part.getAttribute('aria-label')!.toLowerCase()));
  private readonly below = html('span', {class: 'quiet why-below', 'data-unsaved': true}, 'below: ', this.links[0], ', ', this.links[1]);
  private readonly effectPlace = html('div');
  private readonly testPlace = html('div');
  private readonly blocks = [this.title, ...this.parts.slice(0, 5), this.effectPlace, this.testPlace, ...this.parts.slice(6)].map((part) => new Block(part));
  private readonly cell: ChosenCell;
  private readonly why: Slot<Why>;
  private readonly origins: Slot<Origins>;
  private readonly effect: Slot<Effect>;
  private readonly dimensions: Slot<Dimensions>;
  private readonly plane: Slot<Geometry>;
  private readonly trials: Record<'remove' | 'ablate' | 'swap', Slot<Trial>>;
  private readonly resized = new ResizeObserver(() => this.update());
  private against: Against = 'mean';
  private split: string | null = null;
  private swapped: string | null = null;
  readonly keys: Record<string, () => void>;

  constructor(container: HTMLElement, private readonly page: Page) {
    const changed = () => this.update();
    this.cell = new ChosenCell(page, changed);
    this.why = new Slot<Why>('why', changed);
    this.origins = new Slot<Origins>('why-origins', changed);
    this.effect = new Slot<Effect>('why-effect', changed);
    this.dimensions = new Slot<Dimensions>('why-dimensions', changed);
    this.plane = new Slot<Geometry>('why-plane', changed);
    this.trials = {remove: new Slot<Trial>('why-remove', changed), ablate: new Slot<Trial>('why-ablate', changed), swap: new Slot<Trial>('why-swap', changed)};
    this.parts[5]!.append(this.effectPlace, this.testPlace);
    container.classList.add('scrolls');
    container.append(this.title, html('div', {class: 'why-grid-of-parts'}, ...this.parts));
    this.resized.observe(this.title);  // a scroll bar takes some of the width
    const step = (by: number) => () => this.move(by);
    this.keys = {
      ArrowLeft: step(-1), ArrowRight: step(1), v: () => this.turn(), w: () => page.store.set({view: 'look'}), r: () => this.derive('remove'),
    };
  }

  destroy(): void {
    this.cell.stop();
    this.resized.disconnect();
    for (const slot of [this.why, this.origins, this.effect, this.dimensions, this.plane, ...Object.values(this.trials)]) slot.stop();
  }

  update(): void {
    const cell = this.cell.now();
    if (!cell) return;
    const {api} = this.page;
    const ask = <Value>(slot: Slot<Value>, what: string) => slot.show(api.ofHead<Value>(cell.place, cell.path + what));
    const asked = ask(this.why, '');
    const why = latest(asked);
    if (asked?.state === 'error') this.blocks[0]!.show([asked.error], () => [note(asked.error.message)]);
    const split = this.split ? `&split=${encodeURIComponent(this.split)}` : '';
    const origins = ask(this.origins, `/origins?against=${this.against}${split}`);
    const effect = ask(this.effect, '/effect');
    if (why) this.draw(why, latest(origins));
    const failed = origins?.state === 'error' ? origins.error.message : null;
    if (failed) this.blocks[3]!.show([failed], () => [heading('Where q and k came from', ''), note(failed)]);
    const did = latest(effect);
    if (did) this.blocks[6]!.show([did], () => effectBlock(did, cell.query, this.page.api));
    else if (effect?.state === 'error') this.blocks[6]!.show([effect.error], () => [heading('Effect on the logits', ''), note(effect.error.message)]);
    this.test(cell.query, (what) => api.ofHead<Trial>(cell.place, cell.path + what));
    this.row(cell);
  }

  private draw(why: Why, origins: Origins | null): void {
    const {page, against} = this;
    this.blocks[0]!.show([why], () => this.head(why));
    this.blocks[1]!.show([why], () => sumBlock(why));
    this.blocks[2]!.show([why, against], () => dimensionsBlock(why, against, (chosen) => this.turn(chosen)));
    const {clientWidth: width} = this.parts[2]!;
    if (origins) this.blocks[3]!.show([why, origins, width], () => originsBlock(origins, {...why, width}, this.split, (part) => {
      this.split = part;
      this.update();
    }));
    this.blocks[4]!.show([why], () => rowBlock(why, page));
    this.blocks[5]!.show([why, origins], () => positionBlock(why, origins ? learnedTerms(origins) : null));
  }

  /** All keys of the query: by dimension, and in a plane. */
  private row({place, query, key}: WhyCell): void {
    const {api, side, store} = this.page;
    const show = <Value>(slot: Slot<Value>, at: number, what: string, make: (found: Value, width: number) => Node[]) => {
      const part = this.parts[at]!;
      const block = this.blocks[at + 2]!;
      const asked = slot.show(api.ofHead<Value>(place, what));
      const found = latest(asked);
      part.hidden = asked?.state === 'error' && isSaved(api.model);  // a file has only one cell's
      this.below.hidden = this.parts.slice(6).some(({hidden}) => hidden);
      if (found) block.show([found, key, part.clientWidth], () => make(found, part.clientWidth));
      else if (asked?.state === 'error') block.show([asked.error], () => [heading(part.getAttribute('aria-label')!, ''), note(asked.error.message)]);
    };
    show(this.dimensions, 6, `dimensions/${query}?key=${key}`, (found, width) => allKeysBlock(found, this.page, key, width));
    const own = side.keys.length > kWholePlane ? `&key=${key}` : '';
    show(this.plane, 7, `geometry/${query}?rotation=${store.now.rotation}${own}`, (found, width) => planeBlock(found, this.page, key, width));
  }

  private head(why: Why): Node[] {
    const {side, store} = this.page;
    const back = why.query - why.key;
    const place = primary(store.now);
    const distance = !side.isSquare ? '' : back === 0 ? ', the token itself' : `, ${count(Math.abs(back), 'token')} ${back > 0 ? 'back' : 'ahead'}`;
    const rank = why.visible ? `, ${ordinal(why.rank)} of ${why.of}` : ', masked';
    return [
      html('span', {class: 'large'}, why.visible ? largeWeight(why.weight) : '0'),
      quoted(side.queries, why.query, 'why-query'), html('span', {class: 'why-verb'}, 'attends to'), quoted(side.keys, why.key, 'why-key-token'),
      html('span', {class: 'quiet why-where'}, `head ${headText(place)}${side.attention.kv_heads < side.heads ? `, kv ${why.kv_head}` : ''}${distance}${rank}`),
      this.below,
    ];
  }

  private test(query: number, ask: (what: string) => ReturnType<Page['api']['ofHead']>): void {
    const names = ['remove', 'ablate'] as const;
    const isShort = this.page.api.info.tokens.length <= kTested;
    const show = (slot: Slot<Trial>, what: string) => slot.show(ask(what) as ReturnType<typeof this.page.api.ofHead<Trial>>);
    const columns = names.map((name) => ({
      name, label: name === 'remove' ? 'remove edge' : 'ablate head', trial: isShort ? latest(show(this.trials[name], `/test?edit=${name}`)) : null,
    }));
    const swapped = this.swapped === null ? null : show(this.trials.swap, `/test?edit=swap&text=${encodeURIComponent(this.swapped)}`);
    const all = swapped ? [...columns, {name: 'swap', label: `\u201c${this.swapped!}\u201d`, trial: latest(swapped)}] : columns;
    const said = swapped?.state === 'error' ? swapped.error.message : '';
    this.blocks[7]!.show([query, said, ...all.map(({trial}) => trial)], () => testBlock(all, this.page, query, (name) => this.derive(name), (text) => {
      this.swapped = text;
      this.update();
    }, said));
  }

  /** The session of a test's column. */
  private derive(name: string): void {
    const cell = this.cell.now();
    if (!cell) return;
    const {page: {side, api, derive}} = this;
    const place = {stack: side.stack, layer: cell.place.layer, head: cell.place.head};
    const list = side.attention.key_tokens === 'key_tokens' && api.info.key_tokens ? 'key_tokens' : 'tokens';
    if (name === 'remove') derive({remove: [{...place, query: cell.query, key: cell.key}]});
    else if (name === 'ablate') derive({ablate: [place]});
    else derive({swap: [{side: list, position: cell.key, text: this.swapped}]});
  }

  private turn(to?: Against): void {
    const at = kAgainst.findIndex(({name}) => name === this.against);
    this.against = to ?? kAgainst[(at + 1) % kAgainst.length]!.name;
    this.update();
  }

  private move(by: number): void {
    const cell = this.cell.now();
    if (!cell) return;
    const last = this.page.side.keys.length - 1;
    this.page.store.set({query: cell.query, key: Math.min(last, Math.max(0, cell.key + by))}, {replace: true});
  }
}

export const why: View = {
  name: 'why',
  label: 'Why',
  key: '4',
  ofScores: true,
  needs: (model) => (!isSaved(model) || model.held_view === 'why') && !hasOnlyWeights(model),  // a saved page has no model to ask
  fits: ({stage}) => !stage.isTwo,
  parts: [],
  keys: [['\u2190 \u2192', 'next key'], ['v', 'against: raw, mean key, strongest other key'], ['r', 'removes the edge: the text is run without it']],
  footKeys: [['w', 'closes'], ['\u2190 \u2192', 'next key'], ['v', 'against: raw, mean, strongest other'], ['r', 'remove edge']],
  draw: (container, page) => new WhyView(container, page),
};
