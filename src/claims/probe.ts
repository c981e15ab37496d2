// Caches the answer of a store, and limits how long a caller waits for it.
import { withDeadline } from './deadline.js';

/** Milliseconds. A driver may wait forever for a server that went silent; later questions must get through. */
const GIVEN_UP_MS = 30_000;

export interface ProbeRules {
  /** Milliseconds until the answer is undefined. */
  readonly timeout: number;
  /** Milliseconds for which an answer is used again. */
  readonly cache: number;
}

interface Question<Value> {
  readonly askedAt: number;
  readonly answer: Promise<Value | undefined>;
}

export class Probe<Value> {
  readonly #ask: () => Promise<Value>;
  readonly #rules: ProbeRules;
  /** The one on its way. */
  #question: Question<Value> | undefined;
  #latest: { readonly at: number; readonly value: Value | undefined } | undefined;

  constructor(ask: () => Promise<Value>, rules: ProbeRules) {
    this.#ask = ask;
    this.#rules = rules;
  }

  /** Never rejects. Undefined when there is no answer in time, or an error. */
  async read(): Promise<Value | undefined> {
    const { cache, timeout } = this.#rules;
    if (this.#latest && performance.now() - this.#latest.at < cache) return this.#latest.value;
    const question = this.#current();
    return withDeadline(question.answer, timeout, () => {
      // The next callers do not wait as well, until the store is asked again or does answer.
      this.#settle(undefined);
      return undefined;
    });
  }

  /** All callers share one question. */
  #current(): Question<Value> {
    const askedAt = performance.now();
    const patience = Math.max(GIVEN_UP_MS, this.#rules.timeout);
    if (this.#question && askedAt - this.#question.askedAt < patience) return this.#question;
    const answer = this.#answer();
    const question: Question<Value> = { askedAt, answer };
    this.#question = question;
    void answer.then((value) => {
      // A later question has taken the place of one that was given up.
      if (this.#question !== question) return;
      this.#question = undefined;
      this.#settle(value);
    });
    return question;
  }

  async #answer(): Promise<Value | undefined> {
    try {
      return await this.#ask();
    } catch {
      return undefined;
    }
  }

  #settle(value: Value | undefined): void {
    this.#latest = { at: performance.now(), value };
  }
}
