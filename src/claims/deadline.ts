// Gives a promise a deadline.

/** Settles like the promise, or resolves with `late()` after this many milliseconds. */
export function withDeadline<Value>(promise: Promise<Value>, ms: number, late: () => Value): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(late()), ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
