// The retry schedules: pauses after each failed attempt. The service does not document its own.
import { ConfigurationError } from '../../../errors.js';
import { didYouMean } from '../../../misuse.js';
import { parseDuration } from '../../../time.js';

const SCHEDULES = new Map([
  ['fast', ['2s', '5s', '15s', '60s']],
  ['realistic', ['5s', '5m', '30m', '2h', '5h', '10h', '10h']],
  ['off', []],
] as const);

export const scheduleNames = [...SCHEDULES.keys()];

/** A named schedule, or pauses: milliseconds or a string such as `"5m"`. */
export type RetrySchedule = (typeof scheduleNames)[number] | readonly (number | string)[];

/** @returns milliseconds @throws {ConfigurationError} for an unknown name, or a pause that is not a duration */
export function retryPauses(schedule: RetrySchedule): readonly number[] {
  const pauses: unknown = typeof schedule === 'string' ? SCHEDULES.get(schedule) : schedule;
  if (!Array.isArray(pauses)) {
    throw new ConfigurationError(
      `retry is ${JSON.stringify(schedule)}. Pass ${scheduleNames.map((name) => `"${name}"`).join(', ')} or a list of pauses.` +
        didYouMean(String(schedule), scheduleNames),
    );
  }
  return pauses.map((pause: unknown, index) => milliseconds(`retry[${index}] is`, pause));
}

/** @param what begins the message, such as `retry[0] is` @throws {ConfigurationError} for a value that is not a duration */
export function milliseconds(what: string, duration: unknown): number {
  const ms = parseDuration(duration);
  if (ms !== undefined) return ms;
  throw new ConfigurationError(
    `${what} ${JSON.stringify(duration)}. Pass milliseconds, or a string such as "5m".`,
  );
}
