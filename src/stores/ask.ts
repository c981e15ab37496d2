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
    const deadline = deadlines.set(() => resolve(new Unanswered(`No answer within ${deadlines.ms} ms.`)));
    const answered = (value: Value) => (deadlines.clear(deadline) ? resolve(value) : onLate?.(value));
    const failed = (cause: unknown) => {
      deadlines.clear(deadline);
      resolve(new Unanswered('It threw.', cause));
    };
    try {
      // A store in plain JavaScript may answer at once instead of with a promise.
      Promise.resolve(question()).then(answered, failed);
    } catch (cause) {
      failed(cause);
    }
  });
}
