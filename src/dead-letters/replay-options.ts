// The options of a replay: which letters, how many at once, and whom to tell.
import { ConfigurationError, refuseUnknownOptions, show } from '../errors.js';
import * as check from '../options/option-checks.js';
import { FILTERS, type LetterQuery, queryOf, type ReplayFilter } from './dead-letter-filter.js';

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
  /**
   * `'any'` also runs letters whose private key is not configured any more, such as after a rotation. Never say it after a
   * key has leaked before its letters are discarded: some may be forged. @default 'configured'
   */
  readonly keys?: 'configured' | 'any' | undefined;
  /** Letters at once. With 1 each begins when the one before it has ended. @default 1 */
  readonly concurrency?: number | undefined;
  /** Called after each letter. */
  readonly onProgress?: ((progress: ReplayProgress) => void) | undefined;
  /** When it aborts no further letter is begun; the report then says `stopped: 'aborted'`. */
  readonly signal?: AbortSignal | undefined;
}

export interface ReplaySettings {
  readonly query: LetterQuery;
  readonly dryRun: boolean;
  readonly keys: 'configured' | 'any';
  readonly concurrency: number;
  readonly onProgress: ReplayOptions['onProgress'];
  readonly signal: AbortSignal | undefined;
}

/** @throws {ConfigurationError} naming the option, what it got and what it takes */
export function replaySettings(namespace: string, options: ReplayOptions = {}): ReplaySettings {
  const given: ReplayOptions = check.byName('The argument of replay()', options, 'filters and options');
  const { dryRun = false, keys = 'configured', concurrency = 1, onProgress, signal, ...filter } = given;
  refuseUnknownOptions(filter, [...FILTERS, 'dryRun', 'keys', 'concurrency', 'onProgress', 'signal']);
  if (typeof dryRun !== 'boolean')
    throw new ConfigurationError(`dryRun is ${show(dryRun)}. Give true or false.`);
  if (keys !== 'configured' && keys !== 'any')
    throw new ConfigurationError(`keys is ${show(keys)}. Give "configured" or "any".`);
  if (onProgress !== undefined && typeof onProgress !== 'function')
    throw new ConfigurationError(`onProgress is ${show(onProgress)}. Give a function.`);
  if (signal !== undefined && typeof signal?.aborted !== 'boolean')
    throw new ConfigurationError(`signal is ${show(signal)}. Give the signal of an AbortController.`);
  return {
    query: queryOf(namespace, filter),
    dryRun,
    keys,
    concurrency: check.wholeNumber('concurrency', concurrency, 1),
    onProgress,
    signal,
  };
}
