// A condition on heads, as in `induction>0.4 sink<0.5 layer 4-8`: the grammar of src/inspect/heads/head_filter.cpp;
// tests/vectors/filters.json checks both languages.

type Test = '>' | '>=' | '<' | '<=' | 'in';

export interface Term {
  name: string;   // a score's name or short form, or `layer` or `head`
  test: Test;
  first: number;  // the bound, or the start of the range
  last?: number;  // the end of the range
  at: number;     // where it begins
}

/** The error: its character, counted from 1, what was found there, and what was expected. */
export interface FilterError { at: number; found: string; expected: string }

export type Filter = {terms: Term[]} | {error: FilterError};

const kMostShown = 20;  // characters shown of a wrong filter
const kTests = ['>=', '<=', '>', '<'] as const;

class Wrong extends Error {
  constructor(readonly error: FilterError) { super(error.expected); }
}

function wrong(text: string, at: number, expected: string): Wrong {
  const rest = [...text.slice(at)];
  const shown = rest.length > kMostShown ? `${rest.slice(0, kMostShown - 3).join('')}...` : rest.join('');
  return new Wrong({at: [...text.slice(0, at)].length + 1, found: rest.length === 0 ? 'the end' : `"${shown}"`, expected});
}

function isRange(name: string): boolean { return name === 'layer' || name === 'head'; }

class Reader {
  private at = 0;

  constructor(private readonly text: string) {}

  terms(): Term[] {
    const terms: Term[] = [];
    for (this.take(/ */y); this.at < this.text.length; this.take(/ */y)) {
      if (terms.length > 0 && this.text[this.at - 1] !== ' ') throw wrong(this.text, this.at, 'a blank');
      terms.push(this.term());
    }
    return terms;
  }

  /** The match of the sticky expression here; empty if there is none. */
  private take(expression: RegExp): string {
    expression.lastIndex = this.at;
    const [taken = ''] = expression.exec(this.text) ?? [];
    this.at += taken.length;
    return taken;
  }

  private term(): Term {
    const at = this.at;
    const name = this.take(/[a-z_]+/y);
    if (!name) throw wrong(this.text, at, 'a score, layer or head');
    this.take(/ */y);
    if (isRange(name)) return {name, test: 'in', ...this.range(), at};
    const test = kTests.find((each) => this.text.startsWith(each, this.at));
    if (!test) throw wrong(this.text, this.at, '>, >=, < or <=');
    this.at += test.length;
    this.take(/ */y);
    const number = this.take(/-?(\d{1,18}(\.\d{0,18})?|\.\d{1,18})/y);
    if (!number) throw wrong(this.text, this.at, 'a number');
    return {name, test, first: Number(number), at};
  }

  private whole(): number {
    const digits = this.take(/\d{1,4}/y);
    if (!digits) throw wrong(this.text, this.at, 'a whole number');
    return Number(digits);
  }

  private range(): {first: number; last: number} {
    const first = this.whole();
    const end = this.at;
    if (!this.take(/ *- */y)) {
      this.at = end;
      return {first, last: first};
    }
    const begin = this.at;
    const last = this.whole();
    if (last < first) throw wrong(this.text, begin, `${first} or more`);
    return {first, last};
  }
}

export function readFilter(text: string): Filter {
  try {
    return {terms: new Reader(text).terms()};
  } catch (error) {
    if (error instanceof Wrong) return {error: error.error};
    throw error;
  }
}

interface Names { name: string; short: string }

/** The error if a term names none of these scores; null if all exist. */
export function unknownScore(text: string, terms: Term[], scores: readonly Names[]): FilterError | null {
  const unknown = terms.find(({name}) => !isRange(name) && !scores.some((each) => each.name === name || each.short === name));
  return unknown ? wrong(text, unknown.at, `${scores.map(({name}) => name).join(', ')}, layer or head`).error : null;
}

/** Whether all terms hold for a head, whose values `valueOf` gives by name. */
export function holdsFor(terms: Term[], valueOf: (name: string) => number | undefined): boolean {
  return terms.every(({name, test, first, last = first}) => {
    const value = valueOf(name);
    if (value === undefined) return false;
    switch (test) {
      case '>': return value > first;
      case '>=': return value >= first;
      case '<': return value < first;
      case '<=': return value <= first;
      case 'in': return value >= first && value <= last;
    }
  });
}
