// Calls in flight that travel in one statement. A batch only confirms: what it does not confirm goes alone.

import { AsyncResource } from 'node:async_hooks';
import { setImmediate } from 'node:timers';
import type { Owner } from '../../contracts/token.js';
import { describeError, runsInWorker } from '../../logger.js';
import { BATCHES, type StoreBatch } from '../../observer.js';
import { withDeadline } from '../../time.js';
import { isBusy, isLockTimeout } from './conflicts.js';

/** Unanswered statements before a call waits. With one, a lone delivery would wait for the commit of another. */
const LANES = 4;
const MAX_CALLS = 200;
/** A statement without an answer then lets others pass: its connection may be silent. Below the deadline of a completion. */
const SILENT_MS = 250;
/** Batches in a row that fail although each call succeeds alone. A lost connection does that too, but not for long. */
const MAX_USELESS = 3;

interface BatchOptions<Call, Answer> {
  readonly step: StoreBatch['step'];
  /** @returns the tokens that it has written. By their keys, two deliveries of an event would both be granted it */
  together(calls: readonly Call[]): Promise<ReadonlySet<string>>;
  /** The answer to a call that was written with others. */
  readonly confirmed: Answer;
  /** @param isKnown whether a batch has answered, and not written the call */
  alone(call: Call, isKnown: boolean): Promise<Answer>;
}

interface Waiting<Call, Answer> {
  readonly call: Call;
  settle(answer: Answer | Promise<Answer>): void;
  /** Of the caller: a statement would otherwise be in the trace of the first caller. */
  readonly context: AsyncResource;
}

export class Batches<Call extends Owner, Answer> {
  readonly #options: BatchOptions<Call, Answer>;
  /** A request of a Worker must not wait for the statement of another. */
  #shares = !runsInWorker();
  readonly #waiting: Waiting<Call, Answer>[] = [];
  #unanswered = 0;
  #isSending = false;
  #useless = 0;

  constructor(options: BatchOptions<Call, Answer>) {
    this.#options = options;
  }

  call(call: Call): Promise<Answer> {
    if (!this.#shares) return this.#options.alone(call, false);
    return new Promise((settle) => {
      this.#waiting.push({ call, settle, context: new AsyncResource('PaymentWebhooksCall') });
      this.#sendSoon();
    });
  }

  #sendSoon(): void {
    if (this.#isSending || this.#waiting.length === 0 || this.#unanswered >= LANES) return;
    this.#isSending = true;
    // Calls of one turn of the event loop share a statement, though lanes are free: a commit for each would cost more than it saves.
    setImmediate(() => {
      this.#isSending = false;
      this.#send(this.#waiting.splice(0, MAX_CALLS) as [Waiting<Call, Answer>]);
      this.#sendSoon();
    });
  }

  #send(batch: readonly [Waiting<Call, Answer>, ...Waiting<Call, Answer>[]]): void {
    this.#unanswered += 1;
    const next = () => {
      this.#unanswered -= 1;
      this.#sendSoon();
    };
    BATCHES.publish({ step: this.#options.step, size: batch.length } satisfies StoreBatch);
    const answered: Promise<unknown> = batch[1] ? this.#together(batch) : this.#alone(batch[0], false);
    withDeadline(answered, SILENT_MS, () => {}).then(next, next);
  }

  /** Resolves when the statement is answered. */
  async #together(batch: readonly [Waiting<Call, Answer>, ...Waiting<Call, Answer>[]]): Promise<void> {
    const { together, confirmed } = this.#options;
    // All processes lock rows in one order, so none of them ends in a deadlock.
    const calls = batch.map(({ call }) => call).sort((one, other) => (one.key < other.key ? -1 : 1));
    const useless = this.#useless;
    try {
      const written = await batch[0].context.runInAsyncScope(() => together(calls));
      this.#useless = 0;
      for (const waiting of batch)
        if (written.has(waiting.call.token)) waiting.settle(confirmed);
        else void this.#alone(waiting, true);
    } catch (error) {
      const note = () => this.#noteUseless(error, useless);
      Promise.all(batch.map((waiting) => this.#alone(waiting, false))).then(note, () => {});
    }
  }

  #alone({ call, context, settle }: Waiting<Call, Answer>, isKnown: boolean): Promise<Answer> {
    const answer = context.runInAsyncScope(async () => this.#options.alone(call, isKnown));
    settle(answer);
    return answer;
  }

  /** @param before how many there were when it was sent: all that are lost with one connection count once */
  #noteUseless(error: unknown, before: number): void {
    if (before !== this.#useless || isLockTimeout(error) || isBusy(error)) return;
    this.#useless += 1;
    if (this.#useless < MAX_USELESS) return;
    this.#shares = false;
    const { type, code = type } = describeError(error);
    process.emitWarning(
      `The database fails to ${this.#options.step} several events in one statement, so each has its own from now on. It threw ${code}.`,
      { type: 'PaymentWebhooksWarning', code: 'STORE_BATCH_FAILED' },
    );
  }
}
