// When a failed delivery is tried again: pauses after the previous failure. The service's own schedule is not documented.
import { parseDuration } from '../duration.js';
import { ConfigurationError } from '../errors.js';
import { didYouMean } from '../nearest-name.js';

/** A named schedule, or pauses: milliseconds or text like `"5m"`. */
export type RetrySchedule = 'fast' | 'realistic' | 'off' | readonly (number | string)[];

const NAMED: ReadonlyMap<string, readonly string[]> = new Map([
  ['fast', ['2s', '5s', '15s', '60s']],
  ['realistic', ['5s', '5m', '30m', '2h', '5h', '10h', '10h']],
  ['off', []],
]);

/** @throws {ConfigurationError} for a name that is no schedule, or a pause that is no duration */
export function retryPauses(schedule: RetrySchedule): readonly number[] {
  const pauses: unknown = typeof schedule === 'string' ? NAMED.get(schedule) : schedule;
  if (!Array.isArray(pauses)) {
    const names = [...NAMED.keys()];
    throw new ConfigurationError(
      `retry is ${JSON.stringify(schedule)}; give ${names.map((name) => `"${name}"`).join(', ')} or a list of pauses.` +
        didYouMean(String(schedule), names),
    );
  }
  return pauses.map((pause: unknown, index) => {
    const ms = parseDuration(pause);
    if (ms === undefined) {
      throw new ConfigurationError(
        `retry[${index}] is ${JSON.stringify(pause)}; give milliseconds, or text like "5m".`,
      );
    }
    return ms;
  });
}
