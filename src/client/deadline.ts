// Bounds a piece of work by milliseconds and by the caller's signal, whichever ends first.
import { setTimeout as sleep } from 'node:timers/promises';

/** Where a piece of work ends although it is not done. */
export interface Bounds {
  /** Milliseconds; 0: none. */
  readonly timeout: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Settles like the work; or rejects with `late()` when the time is up, or with the reason of the caller's
 * signal. The work is told through its own signal, but need not listen.
 */
export async function withinBounds<Value>(
  { timeout, signal }: Bounds,
  late: () => Error,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  signal?.throwIfAborted();
  const controller = new AbortController();
  let release = () => {};
  const ended = new Promise<never>((_, reject) => {
    const end = (reason: unknown) => {
      reject(reason);
      controller.abort(reason);
    };
    const abort = () => end(signal?.reason);
    const timer = timeout > 0 ? setTimeout(() => end(late()), timeout) : undefined;
    signal?.addEventListener('abort', abort);
    release = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    };
  });
  try {
    return await Promise.race([work(controller.signal), ended]);
  } finally {
    release();
    // Whatever of the answer was not wanted must not keep its socket.
    controller.abort();
  }
}

/** Waits, unless the caller's signal ends it; then it rejects with the signal's reason. */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await sleep(ms, undefined, signal ? { signal } : {}).catch(() => signal?.throwIfAborted());
}
