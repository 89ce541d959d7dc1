// The text, shaded by what the shown token attends to (or, the other way, by what attends to it).
import type {Line} from '../api';
import {choice, html} from '../dom';
import {shortWeight} from '../format';
import type {MakePanel, Panel} from '../panel';
import {chosenUnits, focus, primary} from '../panel';
import type {SelectionStore} from '../selection';
import {kUnits} from '../selection';
import type {SessionApi} from '../api';
import type {Units} from '../tokens';
import {phrase, plain, shown} from '../tokens';

function tokenElements(api: SessionApi): {paragraph: HTMLElement; tokens: HTMLElement[]} {
  const paragraph = html('div', {class: 'tokens', role: 'group', 'aria-label': 'The text, token by token', dir: 'auto'});
  const tokens = api.info.tokens.map((token) => {
    const {gap, pieces, breaks} = shown(token);
    if (gap) paragraph.append(' ');
    const element = html('span', {
      class: token.special ? 'token special' : 'token', role: 'button', tabindex: -1,
      'data-index': token.index, 'aria-pressed': 'false',
    });
    for (const {text, hex} of pieces) element.append(hex ? html('span', {class: 'hex'}, text) : text);
    paragraph.append(element);
    for (let each = 0; each < breaks; ++each) paragraph.append(html('br'));
    return element;
  });
  return {paragraph, tokens};
}

/** Weights by token: in units, a unit's tokens share the sum over keys or the mean over queries. */
export function byUnit(weights: (number | null)[], units: Units | null, to: boolean): (number | null)[] {
  if (!units) return weights;
  const result = new Array<number | null>(weights.length).fill(null);
  for (let first = 0; first < weights.length; first = units.ends[first]!) {
    const end = units.ends[first]!;
    const seen = weights.slice(first, end).filter((weight): weight is number => weight !== null);
    if (seen.length === 0) continue;
    const sum = seen.reduce((total, weight) => total + weight, 0);
    result.fill(to ? sum / seen.length : sum, first, end);
  }
  return result;
}

interface Shading { weights: (number | null)[]; numbers: Map<number, number> }

function shadingOf(line: Line, units: Units | null, to: boolean): Shading {
  const weights = byUnit(line.weights, units, to);
  const numbers = new Map<number, number>();
  for (const edge of line.edges) {
    const token = to ? edge.query : edge.key;
    const at = units ? units.begins[token]! : token;
    numbers.set(at, weights[at] ?? 0);
  }
  return {weights, numbers};
}

/** Marks tokens; touches only those whose mark changes, for texts of thousands of tokens. */
class Marks {
  private readonly marks: string[];
  constructor(private readonly tokens: HTMLElement[]) { this.marks = tokens.map(() => ''); }

  show(index: number, shade: number, number: string, classes: string): void {
    const mark = `${shade.toFixed(3)} ${number} ${classes}`;
    if (this.marks[index] === mark) return;
    this.marks[index] = mark;
    const element = this.tokens[index]!;
    element.style.setProperty('--weight', shade.toFixed(3));
    const special = element.classList.contains('special') ? ' special' : '';
    element.className = `token${special}${classes}`;
    element.setAttribute('aria-pressed', String(classes.includes('pinned')));
    element.querySelector('.under')?.remove();
    if (number) element.append(html('span', {class: 'under'}, number));
  }
}

/** Pointer and keys: hover previews, click pins, a drag takes a span, arrows walk. */
function listen(paragraph: HTMLElement, tokens: HTMLElement[], store: SelectionStore): void {
  const indexOf = (event: Event): number | null => {
    const token = (event.target as Element).closest?.('.token');
    return token instanceof HTMLElement ? Number(token.dataset.index) : null;
  };
  let pressed: number | null = null;
  let dragged = false;
  paragraph.addEventListener('pointerover', (event) => {
    const index = indexOf(event);
    if (index === null || event.pointerType === 'touch') return;
    if (pressed !== null && (dragged || index !== pressed)) {
      dragged = true;
      store.preview({});
      const range: [number, number] = [Math.min(pressed, index), Math.max(pressed, index)];
      store.set({range, query: null, key: null}, {replace: true});
    } else {
      store.preview({query: index});
    }
  });
  paragraph.addEventListener('pointerleave', () => pressed === null && store.preview({}));
  paragraph.addEventListener('pointerdown', (event) => {
    pressed = indexOf(event);
    dragged = false;
  });
  const lift = () => { pressed = null; };
  window.addEventListener('pointerup', lift);
  paragraph.addEventListener('click', (event) => {
    const index = indexOf(event);
    if (index !== null && !dragged) store.set({query: index, key: null, range: null});
    dragged = false;
  });
  paragraph.addEventListener('focusin', (event) => {
    const index = indexOf(event);
    if (index !== null && tokens[index]!.matches(':focus-visible')) store.preview({query: index});
  });
  paragraph.addEventListener('focusout', () => store.preview({}));
  paragraph.addEventListener('keydown', (event) => {
    const index = indexOf(event);
    if (index === null) return;
    const step = {ArrowRight: 1, ArrowLeft: -1, Home: -index, End: tokens.length - 1 - index}[event.key];
    if (step !== undefined) {
      const next = Math.max(0, Math.min(tokens.length - 1, index + step));
      tokens[index]!.tabIndex = -1;
      tokens[next]!.tabIndex = 0;
      tokens[next]!.focus();
    } else if (event.key === 'Enter' || event.key === ' ') {
      store.set({query: index, key: null, range: null});
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  });
}

/** While Alt is held the text turns round. */
function followAlt(changed: (held: boolean) => void): () => void {
  const key = (event: KeyboardEvent) => {
    if (event.key !== 'Alt') return;
    event.preventDefault();  // no menu
    changed(event.type === 'keydown');
  };
  const release = () => changed(false);
  window.addEventListener('keydown', key);
  window.addEventListener('keyup', key);
  window.addEventListener('blur', release);
  return () => {
    window.removeEventListener('keydown', key);
    window.removeEventListener('keyup', key);
    window.removeEventListener('blur', release);
  };
}

export const textPanel: MakePanel = (container, store, api): Panel => {
  const {paragraph, tokens} = tokenElements(api);
  const marks = new Marks(tokens);
  const direction = choice('Direction', [{name: 'from', label: 'from'}, {name: 'to', label: 'to'}],
    (name) => store.set({to: name === 'to'}));
  const unit = choice('Unit', kUnits.map((name) => ({name, label: name})), (name) => store.set({unit: name}));
  const label = html('span', {class: 'quiet'}, 'shaded by weight');
  const switches = html('div', {class: 'switches'}, label, direction.element, unit.element);
  const scroller = html('div', {class: 'scroller'}, paragraph);
  container.append(scroller, switches);
  listen(paragraph, tokens, store);
  let alt = false;
  let asked = 0;

  const show = (shading: Shading | null) => {
    const largest = shading ? Math.max(...shading.weights.map((weight) => weight ?? 0), 1e-30) : 1;
    const {now, hover, query} = store;
    const key = store.key;
    for (let index = 0; index < tokens.length; ++index) {
      const weight = shading ? shading.weights[index] ?? null : 0;
      const number = shading?.numbers.get(index);
      const isPinned = index === now.query || index === now.key
        || (now.range !== null && index >= now.range[0] && index <= now.range[1]);
      let classes = weight === null ? ' unseen' : '';
      if (isPinned) classes += ' pinned';
      else if (index === key || (hover.query !== null && index === query)) classes += ' hovered';
      marks.show(index, weight === null ? 0 : Math.sqrt(weight / largest),
        number === undefined ? '' : shortWeight(number), classes);
    }
  };

  const nameDirection = () => {
    const at = focus(store, api);
    const [from, towards] = direction.element.querySelectorAll('button');
    const name = at === null ? 'a token'
      : at.end - at.first > 4 ? 'the span' : phrase(api.info.tokens, at.first, at.end);
    from!.textContent = `from ${name}`;
    towards!.textContent = `to ${name}`;
  };

  const place = () => {  // on the last line where there is room
    container.classList.remove('beside');
    const last = tokens.at(-1);
    if (!last || scroller.scrollHeight > scroller.clientHeight + 1) return;
    const free = container.getBoundingClientRect().right - last.getBoundingClientRect().right;
    const widest = [...switches.children].reduce((sum, child) => sum + child.getBoundingClientRect().width + 32, 0);
    container.classList.toggle('beside', free > widest);
  };
  const resized = new ResizeObserver(place);
  resized.observe(container);

  const update = () => {
    nameDirection();
    unit.show(store.now.unit);
    const to = store.now.to !== alt;
    direction.show(to ? 'to' : 'from');
    const at = focus(store, api);
    const order = ++asked;
    if (at === null || !api.hasWeights) {
      show(null);
      return;
    }
    const units = chosenUnits(store.now, api);
    const known = api.lineNow(primary(store.now), at.first, at.end, to);
    if (known) {
      show(shadingOf(known, units, to));
      return;
    }
    api.line(primary(store.now), at.first, at.end, to)
      .then((line) => order === asked && show(shadingOf(line, units, to)), () => undefined);
  };
  const stopAlt = followAlt((held) => {
    if (alt !== held) {
      alt = held;
      update();
    }
  });
  tokens[store.now.query ?? 0]?.setAttribute('tabindex', '0');
  for (const [index, element] of tokens.entries()) {
    if (!plain(api.info.tokens[index]!).trim()) element.setAttribute('aria-label', 'space');
  }
  return {
    update,
    destroy: () => {
      stopAlt();
      resized.disconnect();
    },
  };
};
