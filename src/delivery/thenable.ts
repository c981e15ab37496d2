// Whether a value has to be awaited. Awaiting a plain value would cost a turn of the microtask queue.

/** Asked by its method: the promises of another library or realm are no instances of ours. */
export function isThenable<Value>(value: Value | PromiseLike<Value>): value is PromiseLike<Value> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

/** What comes of a value: at once where it is there, by a promise where it has to be awaited. */
export function andThen<Value, Next>(
  value: Value | Promise<Value>,
  next: (value: Value) => Next | Promise<Next>,
): Next | Promise<Next> {
  return isThenable(value) ? value.then(next) : next(value);
}
