// The options of a replay: which letters, how many at once, and whom to tell.
import { ConfigurationError } from '../errors.js';
import * as check from '../options/option-checks.js';
import { refuseUnknownOptions } from '../options/unknown-option.js';
import { FILTERS, queryOf, type ReplayFilter } from './dead-letter-filter.js';
import type { DeadLetterQuery } from './dead-letter-store.js';

export interface ReplayProgress {
  /** Letters that were looked at, of the `total` there were at the start. */
  readonly done: number;
  readonly total: number;
  readonly processed: number;
  readonly failed: number;
}

export interface ReplayOptions extends ReplayFilter {
  /** Only decode, and report what would happen: no claim, no handler, no change. @default false */
  readonly dryRun?: boolean | undefined;
  /** Letters at once. With 1 each begins when the one before it has ended. @default 1 */
  readonly concurrency?: number | undefined;
  /** Called after each letter. */
  readonly onProgress?: ((progress: ReplayProgress) => void) | undefined;
  /** When it aborts no further letter is begun; the report then says `stopped: 'aborted'`. */
  readonly signal?: AbortSignal | undefined;
}

export interface ReplaySettings {
  readonly query: DeadLetterQuery;
  readonly dryRun: boolean;
  readonly concurrency: number;
  readonly onProgress: ReplayOptions['onProgress'];
  readonly signal: AbortSignal | undefined;
}

/** @throws {ConfigurationError} naming the option, what it got and what it takes */
export function replaySettings(namespace: string, options: ReplayOptions = {}): ReplaySettings {
  const given: ReplayOptions = check.byName('The argument of replay()', options, 'filters and options');
  const { dryRun = false, concurrency = 1, onProgress, signal, ...filter } = given;
  refuseUnknownOptions(filter, [...FILTERS, 'dryRun', 'concurrency', 'onProgress', 'signal']);
  if (typeof dryRun !== 'boolean')
    throw new ConfigurationError(`dryRun is ${check.show(dryRun)}. Give true or false.`);
  if (onProgress !== undefined && typeof onProgress !== 'function')
    throw new ConfigurationError(`onProgress is ${check.show(onProgress)}. Give a function.`);
  if (signal !== undefined && typeof signal?.aborted !== 'boolean')
    throw new ConfigurationError(`signal is ${check.show(signal)}. Give the signal of an AbortController.`);
  return {
    query: queryOf(namespace, filter),
    dryRun,
    concurrency: check.wholeNumber('concurrency', concurrency, 1),
    onProgress,
    signal,
  };
}
