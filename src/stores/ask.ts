// One question to a store, with a deadline of our own: drivers wait for ever on a server that went silent.
import type { Deadlines } from '../deadlines.js';

/** The store threw, rejected, or did not answer in time. */
export class Unanswered {
  readonly message: string;
  /** What the store threw; its message may hold anything, so it is never logged. */
  readonly cause: unknown;

  constructor(message: string, cause?: unknown) {
    this.message = message;
    this.cause = cause;
  }
}

/** @param onLate given an answer that came after the deadline */
export function ask<Value>(
  deadlines: Deadlines,
  question: () => Promise<Value>,
  onLate?: (value: Value) => void,
): Promise<Value | Unanswered> {
  return new Promise((resolve) => {
    let late = false;
    const deadline = deadlines.set(() => {
      late = true;
      resolve(new Unanswered(`No answer within ${deadlines.ms} ms.`));
    });
    const settle = (answer: Value | Unanswered) => {
      deadlines.clear(deadline);
      resolve(answer);
    };
    const failed = (cause: unknown) => settle(new Unanswered('It threw.', cause));
    try {
      // A store in plain JavaScript may answer at once instead of with a promise.
      Promise.resolve(question()).then((value) => (late ? onLate?.(value) : settle(value)), failed);
    } catch (cause) {
      failed(cause);
    }
  });
}
