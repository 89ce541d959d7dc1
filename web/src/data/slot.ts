// The only way from a question to its drawing: late answers to other questions are dropped here.

/** A question with one answer: its name, the answer if it is already available, and how to request it. */
export interface Question<Value> {
  name: string;
  now(): Value | undefined;
  get(lane: string): Promise<Value>;
}

/** `stale`: the previous question's answer, while the new one loads. */
export type Data<Value> =
  | {state: 'loading'}
  | {state: 'error'; error: Error}
  | {state: 'stale'; value: Value}
  | {state: 'value'; value: Value};

const kStaleMilliseconds = 150;  // then nothing is drawn, instead of the previous answer
const kRestMilliseconds = 80;    // the pointer must rest this long: places it only passes are not requested
const kLoading = {state: 'loading'} as const;

/** A place of the page that shows the answer to one question at a time. */
export class Slot<Value> {
  private name: string | null = null;
  private data: Data<Value> = kLoading;
  private late: ReturnType<typeof setTimeout> | undefined;
  private resting: ReturnType<typeof setTimeout> | undefined;

  /** Calls `changed` when `show` would give something new for the same question. */
  constructor(private readonly lane: string, private readonly changed: () => void) {}

  /** What is known of the question now; asks where it is another than before. Null: there is none.
      `passing`: it is asked only if no other follows soon. */
  show(question: Question<Value> | null, passing = false): Data<Value> | null {
    if (!question) {
      this.stop();
      return null;
    }
    const known = question.now();
    if (known !== undefined) this.settle(question.name, {state: 'value', value: known});
    else if (question.name !== this.name) this.ask(question, passing);
    return this.data;
  }

  /** Drops the question: a running answer will not be drawn. */
  stop(): void { this.settle(null, kLoading); }

  private settle(name: string | null, data: Data<Value>): void {
    clearTimeout(this.late);
    clearTimeout(this.resting);
    this.name = name;
    this.data = data;
  }

  private ask(question: Question<Value>, passing: boolean): void {
    const {name} = question;
    const old = this.data;
    const isOld = old.state === 'value' || old.state === 'stale';
    this.settle(name, isOld ? {state: 'stale', value: old.value} : kLoading);
    if (isOld) this.late = setTimeout(() => this.tell(name, kLoading), kStaleMilliseconds);
    const get = () => question.get(this.lane).then(
      (value) => this.tell(name, {state: 'value', value}),
      (error: Error) => this.tell(name, {state: 'error', error}));
    if (passing) this.resting = setTimeout(get, kRestMilliseconds);
    else void get();
  }

  private tell(name: string, data: Data<Value>): void {
    if (name !== this.name) return;
    this.settle(name, data);
    this.changed();
  }
}

/** The answer to draw now: the current one, or the previous one. */
export function latest<Value>(data: Data<Value> | null): Value | null {
  return data?.state === 'value' || data?.state === 'stale' ? data.value : null;
}

/** The answer, if it belongs to the question; null while it loads and if it failed. */
export function valueOf<Value>(data: Data<Value> | null): Value | null {
  return data?.state === 'value' ? data.value : null;
}
