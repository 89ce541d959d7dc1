// Elements without markup: text always becomes a text node.

type Child = Node | string | null | undefined;
type Attributes = Record<string, string | number | boolean | null | undefined>;

function fill(element: Element, attributes: Attributes, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children) {
    if (child !== null && child !== undefined) element.append(child);
  }
}

export function html<Name extends keyof HTMLElementTagNameMap>(
  name: Name, attributes: Attributes = {}, ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  fill(element, attributes, children);
  return element;
}

export function svg<Name extends keyof SVGElementTagNameMap>(
  name: Name, attributes: Attributes = {}, ...children: Child[]
): SVGElementTagNameMap[Name] {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  fill(element, attributes, children);
  return element;
}

/** Writes only if the text differs: laying out equal text again costs as much as new text. */
export function say(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** A button that is text: no frame, at least 24 px high. */
export function button(
  attributes: Attributes, action: (event: MouseEvent) => void, ...children: Child[]
): HTMLButtonElement {
  const element = html('button', {type: 'button', ...attributes}, ...children);
  element.addEventListener('click', action);
  return element;
}

/** A menu, labelled with the chosen name. */
export function menu(label: string, options: readonly {name: string; label: string; about?: string}[], chosen: string, choose: (name: string) => void, rest = ''): HTMLElement {
  const select = html('select', {'aria-label': label}, rest === '' ? null : html('option', {value: ''}, rest),
    ...options.map((each) => html('option', {value: each.name, selected: each.name === chosen, title: each.about}, each.label)));
  select.addEventListener('change', () => { if (select.value !== '') choose(select.value); });
  const face = html('span', {class: chosen === '' ? 'menu-face none' : 'menu-face', 'aria-hidden': true}, select.selectedOptions[0]?.textContent ?? '');
  return html('span', {class: 'menu'}, face, select);
}

/** Options of which one is chosen and underlined. */
export function choice<Name extends string>(
  label: string, options: readonly {name: Name; label: string}[], choose: (name: Name) => void
): {element: HTMLElement; show: (chosen: Name) => void} {
  const buttons = options.map((option) =>
    button({class: 'option', 'data-option': option.name}, () => choose(option.name), option.label));
  const element = html('div', {class: 'choice', role: 'group', 'aria-label': label}, ...buttons);
  const show = (chosen: Name) => {
    for (const each of buttons) {
      each.setAttribute('aria-pressed', String(each.dataset.option === chosen));
    }
  };
  return {element, show};
}
