// Replays dead letters in the order of their arrival, a few at a time, and reports how each ended.

import { setTimeout as pause } from 'node:timers/promises';
import type { DeadLetter } from '../contracts/dead-letter-store.js';
import type { InFlightLimiter, Place } from '../deliveries/in-flight-limiter.js';
import { ConfigurationError, type Issue, Rejection } from '../errors.js';
import { writeLog } from '../logger.js';
import { refuseUnknownOptions, show } from '../misuse.js';
import { notifyObserver } from '../observer.js';
import { boolean, integerFrom, plainObject } from '../options/define-options.js';
import { answerOrThrow, type DeadLetterCalls } from './dead-letter-calls.js';
import { FILTERS, type LetterQuery, queryOf, type ReplayFilter } from './dead-letter-filter.js';

export interface ReplayProgress {
  /** How many letters were tried, of the `total` at the start. */
  readonly done: number;
  readonly total: number;
  readonly processed: number;
  readonly failed: number;
}

export interface ReplayOptions extends ReplayFilter {
  /** Only decode, and report what would happen: no claim, no handler, no change. @default false */
  readonly dryRun?: boolean | undefined;
  /**
   * `'any'` also runs letters whose private key is no longer configured, for example after a rotation. After a leak, discard
   * the letters of the leaked key first: some may be forged. @default 'configured'
   */
  readonly keys?: 'configured' | 'any' | undefined;
  /** How many letters run at once. With 1, each starts when the one before it has ended. @default 1 */
  readonly concurrency?: number | undefined;
  /** Called after each letter. */
  readonly onProgress?: ((progress: ReplayProgress) => void) | undefined;
  /** When it aborts, no further letter is started, and the report says `stopped: 'aborted'`. */
  readonly signal?: AbortSignal | undefined;
}

/** How many letters ended with each result. */
export interface ReplayCounts {
  /** Every handler succeeded; the letter is removed. */
  readonly processed: number;
  /** A handler failed, or the claim was not granted; the letter stays. */
  readonly failed: number;
  /** A handler threw `RetryAfterError`; the letter stays. */
  readonly later: number;
  /** A handler threw `NonRetriableError`; the letter stays, with the reason `rejected`. */
  readonly rejected: number;
  /** Its name is not declared; the letter stays. */
  readonly stillUnknown: number;
  /** It does not match its schema; the letter stays. */
  readonly stillInvalid: number;
  /** Another delivery or replay works on the event; the letter stays. */
  readonly inProgress: number;
  /** The event was processed before; the letter is removed, and no handler ran. */
  readonly duplicates: number;
  /** An event with the same id but other bytes was processed; the letter stays for someone to look at. */
  readonly conflicts: number;
  /** It has no handler, or the option `sandbox` excludes it; the letter stays. */
  readonly ignored: number;
  /** The stored bytes are not those that were kept; the letter stays. */
  readonly unreadable: number;
  /** Its private key is not configured; the letter stays: replay with `keys: 'any'`, or discard it if the key has leaked. */
  readonly keyNotConfigured: number;
  /** It was processed or discarded during the replay. */
  readonly gone: number;
}

export type ReplayEnd = keyof ReplayCounts;

/** The letters of one event name. */
export interface ReplayedEvents extends ReplayCounts {
  readonly eventName: string;
  /** Where payloads do not match their schema, and in how many letters. */
  readonly issues: readonly { readonly path: string; readonly count: number }[];
}

/** With `dryRun` each count says what would happen, as far as decoding tells: `processed` are those that have a handler. */
export interface ReplayReport extends ReplayCounts {
  readonly dryRun: boolean;
  readonly events: readonly ReplayedEvents[];
  /** Why it ended before the last letter; the others can be replayed later. */
  readonly stopped?: 'aborted' | 'closing';
}

/** How the replay of one letter ended. */
export interface ReplayedLetter {
  readonly end: ReplayEnd;
  /** Where its payload does not match its schema. */
  readonly issues: readonly Issue[];
  /** Only another version of the app knows its event, so nothing was tried. */
  readonly left?: true;
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
  const given: ReplayOptions = plainObject(options, 'The argument of replay()', 'filters and options');
  const { dryRun = false, keys = 'configured', concurrency = 1, onProgress, signal, ...filter } = given;
  refuseUnknownOptions(filter, [...FILTERS, 'dryRun', 'keys', 'concurrency', 'onProgress', 'signal']);
  boolean(dryRun, 'dryRun');
  if (keys !== 'configured' && keys !== 'any')
    throw new ConfigurationError(`keys is ${show(keys)}. Pass "configured" or "any".`);
  if (onProgress !== undefined && typeof onProgress !== 'function')
    throw new ConfigurationError(`onProgress is ${show(onProgress)}. Pass a function.`);
  if (signal !== undefined && typeof signal?.aborted !== 'boolean')
    throw new ConfigurationError(`signal is ${show(signal)}. Pass the signal of an AbortController.`);
  return {
    query: queryOf(namespace, filter),
    dryRun,
    keys,
    concurrency: integerFrom(1)(concurrency, 'concurrency'),
    onProgress,
    signal,
  };
}

/** Deliveries come first: while they leave no place, a replay looks for one this often. */
const BUSY_MS = 50;

/**
 * @param total how many letters at most: those that are kept during a replay are left to the next one, or it might never end
 * @throws {StoreError} when the store of letters is down; what was processed until then stays processed
 */
export async function replay(
  calls: DeadLetterCalls,
  limiter: InFlightLimiter,
  replayLetter: (letter: DeadLetter) => Promise<ReplayedLetter>,
  { query, concurrency, dryRun, signal, onProgress }: ReplaySettings,
  total: number,
): Promise<ReplayReport> {
  const tally = new ReplayTally();
  let begun = 0;
  let stopped: ReplayReport['stopped'];
  let failure: unknown;

  const isStopped = (): boolean => {
    if (signal?.aborted) stopped ??= 'aborted';
    if (limiter.closing) stopped ??= 'closing';
    return stopped !== undefined;
  };

  async function* listUntilStopped(): AsyncGenerator<DeadLetter, void> {
    for await (const page of calls.pages(query)) {
      if (isStopped()) return;
      yield* answerOrThrow(page).letters;
    }
  }
  const letters = listUntilStopped();

  const waitForPlace = async (): Promise<Place | undefined> => {
    while (!isStopped()) {
      const place = limiter.enterReplay();
      if (!(place instanceof Rejection)) return place;
      await pause(BUSY_MS);
    }
    return undefined;
  };

  const reportProgress = () => {
    const { processed, failed } = tally.counts;
    notifyObserver(() => onProgress?.({ done: tally.done, total, processed, failed }), {
      observerFailed: () => writeLog(calls.caller.log, 'error', {}, 'onProgress() threw; the replay goes on'),
    });
  };

  /** Never rejects: if one worker fails, the others finish their letters. */
  const work = async () => {
    try {
      while (failure === undefined && begun < total) {
        begun += 1;
        const place = await waitForPlace();
        if (!place) return;
        try {
          const { value: letter, done } = await letters.next();
          if (done) return;
          const { end, issues } = await replayLetter(letter);
          tally.add(letter.eventName, end, issues);
          reportProgress();
        } finally {
          place.leave();
        }
      }
    } catch (error) {
      failure ??= error;
    }
  };

  await Promise.all(Array.from({ length: Math.min(concurrency, total) }, work));
  if (failure !== undefined) throw failure;
  return tally.report(dryRun, stopped);
}

type Counts = Record<ReplayEnd, number>;

const NO_COUNTS: Readonly<Counts> = {
  processed: 0,
  failed: 0,
  later: 0,
  rejected: 0,
  stillUnknown: 0,
  stillInvalid: 0,
  inProgress: 0,
  duplicates: 0,
  conflicts: 0,
  ignored: 0,
  unreadable: 0,
  keyNotConfigured: 0,
  gone: 0,
};

export class ReplayTally {
  readonly counts: Counts = { ...NO_COUNTS };
  done = 0;
  readonly #events = new Map<string, { readonly counts: Counts; readonly issues: Map<string, number> }>();

  add(eventName: string, end: ReplayEnd, issues: readonly Issue[] = []): void {
    const event = this.#events.get(eventName) ?? { counts: { ...NO_COUNTS }, issues: new Map() };
    this.#events.set(eventName, event);
    this.done += 1;
    this.counts[end] += 1;
    event.counts[end] += 1;
    const paths = new Set(issues.map(({ path }) => path));
    for (const path of paths) event.issues.set(path, (event.issues.get(path) ?? 0) + 1);
  }

  report(dryRun: boolean, stopped: ReplayReport['stopped']): ReplayReport {
    const events = [...this.#events].map(([eventName, { counts, issues }]) => ({
      eventName,
      ...counts,
      issues: [...issues].map(([path, count]) => ({ path, count })),
    }));
    return { ...this.counts, dryRun, events, ...(stopped && { stopped }) };
  }
}
