// How long a promise may take. The timer is armed by the delivery that waits, so what it runs keeps that delivery's async context.

/** Settles like the promise, or resolves with `late()` once that many milliseconds have passed. */
export function withDeadline<Value>(promise: Promise<Value>, ms: number, late: () => Value): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(late()), ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
