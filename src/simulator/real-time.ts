// Time as it really passes, captured at import: a test's fake timers must not stop the simulator.
import { performance } from 'node:perf_hooks';
import timers from 'node:timers';

// From the modules, not the globals: fake timers replace globals, and may do so before this file is loaded.
const { setTimeout, clearTimeout, setImmediate } = timers;
const monotonic = performance.now.bind(performance);
const origin = performance.timeOrigin;

export type Timer = NodeJS.Timeout;

/** Milliseconds of a clock that never goes back. */
export function elapsed(): number {
  return monotonic();
}

/** Milliseconds since 1970. */
export function epoch(): number {
  return Math.round(origin + monotonic());
}

/** Calls back once. The timer alone keeps no process alive: the simulator's port does. */
export function after(ms: number, callback: () => void): Timer {
  return setTimeout(callback, ms).unref();
}

/** Calls back once what has arrived by now is dealt with. */
export function soon(callback: () => void): void {
  setImmediate(callback);
}

export function cancel(timer: Timer | undefined): void {
  clearTimeout(timer);
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    after(ms, resolve);
  });
}
