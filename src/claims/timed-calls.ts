// Calls a store with a deadline, checks its answers, measures the time, and logs failures.
import type { ErrorCode } from '../errors.js';
import { describeError, type Logger, writeLog } from '../logger.js';
import { isThenable } from '../misuse.js';
import { describeThrown } from './describe-thrown.js';

/** The store threw, rejected, did not answer in time, or broke its contract. */
export class StoreFailure {
  readonly message: string;
  /** What the store threw. Its message may contain anything, so it is never logged. */
  readonly cause: unknown;

  constructor(message: string, cause?: unknown) {
    this.message = message;
    this.cause = cause;
  }
}

/** A promise only if the store answers by one: a delivery with a store that answers at once waits for nothing. */
export type StoreReply<Value> = Value | StoreFailure | Promise<Value | StoreFailure>;

/** For whom a store is called. Failures go to its log. */
export interface StoreCaller {
  readonly log: Logger;
  /** Tells the handlers that run under a claim or a lock that it is lost. */
  abort?(code: ErrorCode): void;
}

/** Calls for one caller. They never throw or reject. */
export class TimedCalls {
  readonly caller: StoreCaller;
  readonly #timeout: number;
  /** The name of its option, for messages. */
  protected readonly storeName: 'store' | 'deadLetters' = 'store';
  /** Milliseconds that the caller has waited for the store; undefined before the first call. */
  ms: number | undefined;

  /** @param timeout milliseconds for one call, unless it has its own deadline */
  constructor(caller: StoreCaller, timeout: number) {
    this.caller = caller;
    this.#timeout = timeout;
  }

  /**
   * Calls, checks the answer, and logs a failure of either.
   *
   * @param failed what the log says then
   * @param onLate given an answer that came after the deadline and passed the check
   */
  protected checkedCall<Value>(
    failed: string,
    call: () => unknown,
    check: (answer: unknown) => Value | StoreFailure = (answer) => answer as Value,
    onLate?: (value: Value) => void,
  ): StoreReply<Value> {
    const checkLate = (late: unknown) => {
      const checked = check(late);
      if (checked !== undefined && !(checked instanceof StoreFailure)) onLate?.(checked);
    };
    const conclude = (answer: unknown) => {
      const checked = answer instanceof StoreFailure ? answer : check(answer);
      if (checked instanceof StoreFailure) this.logFailure(failed, checked);
      return checked;
    };
    const answer = this.call(call, onLate && checkLate);
    return isThenable(answer) ? answer.then(conclude) : conclude(answer);
  }

  /** @param onLate given an answer that came after the deadline */
  call<Value>(
    call: () => Value | Promise<Value>,
    onLate?: (value: Value) => void,
    ms = this.#timeout,
  ): StoreReply<Value> {
    const calledAt = performance.now();
    try {
      const answer = call();
      // A store that answers at once needs no deadline, and so no timer.
      if (isThenable(answer)) return this.#inTime(answer, calledAt, ms, onLate);
      this.#waited(calledAt);
      return answer;
    } catch (cause) {
      this.#waited(calledAt);
      return this.#threw(cause);
    }
  }

  /** Drivers wait forever for a server that went silent. */
  #inTime<Value>(
    answering: PromiseLike<Value>,
    calledAt: number,
    ms: number,
    onLate?: (value: Value) => void,
  ): Promise<Value | StoreFailure> {
    // A native promise: the thenable of a store may throw, settle twice, or settle with another thenable.
    const native = new Promise<Value>((follow) => follow(answering));
    return new Promise((resolve) => {
      let late = false;
      const settle = (answer: Value | StoreFailure) => {
        clearTimeout(deadline);
        this.#waited(calledAt);
        resolve(answer);
      };
      const deadline = setTimeout(() => {
        late = true;
        settle(new StoreFailure(`No answer within ${ms} ms.`));
      }, ms);
      native.then(
        (value) => (late ? onLate?.(value) : settle(value)),
        (cause) => late || settle(this.#threw(cause)),
      );
    });
  }

  /** Less than a millisecond counts as zero. */
  #waited(since: number): void {
    const ms = performance.now() - since;
    this.ms = (this.ms ?? 0) + (ms < 1 ? 0 : ms);
  }

  #threw(cause: unknown): StoreFailure {
    return new StoreFailure(describeThrown(cause, this.storeName).message, cause);
  }

  logFailure(what: string, { message, cause }: StoreFailure): void {
    const { code } = describeThrown(cause, this.storeName);
    const fields = cause === undefined ? {} : { error: { ...describeError(cause), ...(code && { code }) } };
    writeLog(this.caller.log, 'error', fields, `${what}: ${message}`);
  }
}
