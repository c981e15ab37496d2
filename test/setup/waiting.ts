// Waiting for something to be so, instead of for some time to pass.
import { setTimeout as pause } from 'node:timers/promises';

/** A promise, and the way to settle it from outside. */
export function gate<Value = void>() {
  let open: (value: Value) => void = () => {};
  let fail: (cause: unknown) => void = () => {};
  const opened = new Promise<Value>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  opened.catch(() => {});
  return { opened, open, fail };
}

/** Resolves once the condition holds; gives up, with the condition's text, after 15 seconds: a busy machine is no fault. */
export async function until(condition: () => boolean): Promise<void> {
  for (const giveUpAt = performance.now() + 15_000; !condition(); await pause(2)) {
    if (performance.now() > giveUpAt) throw new Error(`still not so after 15 s: ${condition}`);
  }
}
