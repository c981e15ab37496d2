// The real clock and its timers, captured at import: fake timers of a test must not stop the simulator.
import { performance } from 'node:perf_hooks';
import timers from 'node:timers';

// Imported from the modules: fake timers replace the globals, and may do so before this file is loaded.
const { setTimeout } = timers;
export const { clearTimeout: cancel, setImmediate: soon } = timers;
const origin = performance.timeOrigin;

export type Timer = NodeJS.Timeout;

/** Milliseconds of a clock that never goes back. */
export const monotonicNow: () => number = performance.now.bind(performance);

/** The wall clock: milliseconds since 1970. */
export function now(): number {
  return Math.round(origin + monotonicNow());
}

/** Calls back once. The timer does not keep the process alive. */
export function after(ms: number, callback: () => void): Timer {
  return setTimeout(callback, ms).unref();
}
