// Search by an example: another head, an offset, or written rows.
import type {Similar} from '../answers';
import {html} from '../drawing/dom';
import type {Page} from './panel';
import {nameOf} from '../selection/selection';
import type {Alike} from './heads_scores';

/** The body of POST .../similar. */
export type Example = {layer: number; head: number} | {back: number} | {rows: {query: number; keys: number[]; weights?: number[]}[]};

const kGrammar = 'a head as L1.H3, an offset as 1 back, or rows as 199>165:.6,67:.4 200>166';

function readRow(text: string): {query: number; keys: number[]; weights?: number[]} | null {
  const [, query, keys] = /^(\d{1,9})>(.+)$/.exec(text) ?? [];
  const parts = keys?.split(',').map((key) => /^(\d{1,9})(?::(\d*\.?\d+))?$/.exec(key));
  if (query === undefined || !parts || parts.some((part) => !part)) return null;
  const weights = parts.map((part) => part![2]);
  if (weights.some((each) => each === undefined) && weights.some((each) => each !== undefined)) return null;
  return {query: Number(query), keys: parts.map((part) => Number(part![1])), ...weights[0] !== undefined && {weights: weights.map(Number)}};
}

/** The field's content; null if it is invalid. */
export function readExample(text: string): Example | null {
  const [, layer, head] = /^(?:like )?L?(\d{1,4})[.\u00b7]\s*H?(\d{1,4})$/i.exec(text) ?? [];
  if (head !== undefined) return {layer: Number(layer), head: Number(head)};
  const [, back] = /^(\d{1,9}) back$/.exec(text) ?? [];
  if (back !== undefined) return {back: Number(back)};
  const rows = text.split(/\s+/).map(readRow);
  return rows.length > 0 && rows.every((row) => row !== null) ? {rows} : null;
}

export class PatternField {
  readonly element = html('form', {class: 'heads-pattern', 'data-unsaved': true});
  private readonly field = html('input', {type: 'text', spellcheck: 'false', 'aria-label': `Heads like ${kGrammar}`});
  private readonly said = html('span', {class: 'quiet', role: 'alert'});
  private order = 0;
  alike: Alike | null = null;

  constructor(private readonly page: Page, private readonly changed: () => void) {
    this.field.placeholder = `heads like L1.H3, 1 back${this.pinned === '' ? '' : ` or ${this.pinned}`}`;
    this.element.append(this.field, this.said);
    this.element.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.search(this.field.value.trim());
    });
    this.field.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      event.stopPropagation();
      this.field.value = '';
      void this.search('');
      this.field.blur();
    });
  }

  /** With the pinned edge as a first example, where there is one. */
  focus(): void {
    if (this.field.value === '') this.field.value = this.pinned;
    this.field.focus();
  }

  /** The pinned edge as an example. */
  private get pinned(): string {
    const {query, key} = this.page.store.now;
    return query !== null && key !== null ? `${query}>${key}` : '';
  }

  private async search(text: string): Promise<void> {
    const order = ++this.order;
    const example = text === '' ? null : readExample(text);
    this.said.textContent = text !== '' && !example ? `\u201c${text}\u201d: expected ${kGrammar}` : '';
    let found: Similar | null = null;
    if (example) {
      try {
        found = await this.page.api.similar(this.page.side.stack, example);
      } catch (error) {
        if (order === this.order) this.said.textContent = (error as Error).message;
      }
    }
    if (order !== this.order) return;
    this.alike = found && {said: text, overlap: new Map(found.heads.map(({layer, head, overlap}) => [nameOf({layer, head}), overlap]))};
    this.changed();
  }
}
