// The building blocks of Why: rows of numbers with a bar, sums with their remainder.
import {html} from '../drawing/dom';
import {leftOver} from '../drawing/format';

export type Cells = (Node | string)[];

/** A bar from a zero in the row's room: a share of the largest, to the left where negative; `tick` marks another value. */
export function bar(value: number, largest: number, least = 0, tick?: number, kind = ''): HTMLElement {
  const width = Math.max(largest - least, 1e-9);
  const zero = -least / width;
  const element = html('span', {class: value < 0 ? `why-bar negative ${kind}` : `why-bar ${kind}`}, html('i'));
  element.style.setProperty('--zero', String(zero));
  element.style.setProperty('--from', String(zero + Math.min(0, value) / width));
  element.style.setProperty('--size', String(Math.abs(value) / width));
  if (tick !== undefined) {
    element.append(html('u'));
    element.style.setProperty('--tick', String(zero + tick / width));
  }
  return element;
}

export function row(name: string, ...cells: Cells): HTMLElement {
  return html('div', {class: `why-row ${name}`}, ...cells.map((cell) => typeof cell === 'string' ? html('span', {}, cell) : cell));
}

export function quiet(text: string): HTMLElement { return html('span', {class: 'quiet'}, text); }

export function note(...parts: Cells): HTMLElement { return html('p', {class: 'quiet why-note'}, ...parts); }

export function residual(value: number): string { return `residual ${leftOver(value)}`; }

/** A heading with its explanation, and its switches at the right. */
export function heading(title: string, about: string, ...right: Node[]): HTMLElement {
  return html('div', {class: 'heading'}, html('h2', {}, title), quiet(about), ...right);
}

/** Redraws a block when its content changes. */
export class Block {
  private drawn: unknown[] = [];

  constructor(private readonly container: HTMLElement) {}

  show(of: unknown[], make: () => Node[]): void {
    if (of.length === this.drawn.length && of.every((each, at) => each === this.drawn[at])) return;
    this.drawn = of;
    this.container.replaceChildren(...make());
  }
}
