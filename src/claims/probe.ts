// Asks a store for something that many callers read: with a deadline and a cache.
import { withDeadline } from '../time.js';

/** Milliseconds. A driver may wait forever for a server that went silent, so the store is asked again after this time. */
const GIVEN_UP_MS = 30_000;

export interface ProbeRules {
  /** Milliseconds until the answer is undefined. */
  readonly timeout: number;
  /** Milliseconds for which an answer is used again. */
  readonly cache: number;
}

export class Probe<Value> {
  readonly #ask: () => Promise<Value>;
  readonly #rules: ProbeRules;
  /** The call that has no answer yet. All callers share it. */
  #pending: { readonly since: number; readonly answer: Promise<Value | undefined> } | undefined;
  #latest: { readonly at: number; readonly value: Value | undefined } | undefined;

  constructor(ask: () => Promise<Value>, rules: ProbeRules) {
    this.#ask = ask;
    this.#rules = rules;
  }

  /** Never rejects. Undefined when there is no answer in time, or an error. */
  async read(): Promise<Value | undefined> {
    const { cache, timeout } = this.#rules;
    if (this.#latest && performance.now() - this.#latest.at < cache) return this.#latest.value;
    return withDeadline(this.#answer(), timeout, () => {
      // So that the next callers do not wait too.
      this.#remember(undefined);
      return undefined;
    });
  }

  #answer(): Promise<Value | undefined> {
    const since = performance.now();
    const patience = Math.max(GIVEN_UP_MS, this.#rules.timeout);
    if (this.#pending && since - this.#pending.since < patience) return this.#pending.answer;
    const ask = async () => this.#ask();
    const pending = { since, answer: ask().catch(() => undefined) };
    this.#pending = pending;
    void pending.answer.then((value) => {
      // A later call may have replaced one that hung.
      if (this.#pending !== pending) return;
      this.#pending = undefined;
      this.#remember(value);
    });
    return pending.answer;
  }

  #remember(value: Value | undefined): void {
    this.#latest = { at: performance.now(), value };
  }
}
