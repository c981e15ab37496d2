// Whether a value has to be awaited. Awaiting a plain value would cost a turn of the microtask queue.

/** Asked by its method: the promises of another library or realm are no instances of ours. */
export function isThenable<Value>(value: Value | PromiseLike<Value>): value is PromiseLike<Value> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}
