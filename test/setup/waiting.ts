// Waiting for something to be so, instead of for some time to pass.
import { monitorEventLoopDelay } from 'node:perf_hooks';
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

/** Longer than a busy machine stalls, and shorter than a test may take, so that the error names what was waited for. */
const PATIENCE_MS = 25_000;

/** Options of a receiver whose test waits for a store: one that a busy machine keeps waiting is not down. */
export const PATIENT = { lease: 60_000, storeTimeout: 50_000, timeout: 50_000 };

/** Resolves once the condition holds. Gives up after a while, with the text of the condition. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  patienceMs = PATIENCE_MS,
  everyMs = 2,
): Promise<void> {
  for (const giveUpAt = performance.now() + patienceMs; !(await condition()); await pause(everyMs)) {
    if (performance.now() > giveUpAt)
      throw new Error(`still not so after ${patienceMs / 1_000} s: ${condition}`);
  }
}

export function countTimers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
}

/**
 * Whether it comes to be so in this time. Only time in which this process runs counts: a stall of the machine counts as
 * ten milliseconds.
 */
export async function soon(condition: () => boolean, ms: number): Promise<boolean> {
  for (let left = ms; left > 0 && !condition(); left -= 10) await pause(10);
  return condition();
}

/**
 * Plays a scene in which milliseconds decide who is first. If it fails and this process stood still for `stallMs` meanwhile,
 * the machine was too busy to tell, and it is played again.
 */
export async function unlessStalled(play: () => Promise<void>, stallMs = 150): Promise<void> {
  for (let tries = 1; ; tries++) {
    const delays = monitorEventLoopDelay({ resolution: 10 });
    delays.enable();
    try {
      return await play();
    } catch (error) {
      if (delays.max < stallMs * 1e6 || tries === 5) throw error;
    } finally {
      delays.disable();
    }
  }
}
