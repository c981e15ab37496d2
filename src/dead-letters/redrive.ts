// Retries dead letters that are due, until they are processed or out of tries.

import { digestOf } from '../claims/fingerprint.js';
import { StoreFailure } from '../claims/timed-calls.js';
import type { DeadLetter } from '../contracts/dead-letter-store.js';
import type { InFlightLimiter } from '../deliveries/in-flight-limiter.js';
import { StoreError } from '../errors.js';
import { describeError, shorten, writeLog } from '../logger.js';
import { type ExhaustedLetter, notifyObserver } from '../observer.js';
import type { Configuration } from '../options/options.js';
import type { DeadLetterCalls } from './dead-letter-calls.js';
import { countDue, countMade, nextTryAt } from './due.js';
import { claimCalls, LetterReplayer, withLock } from './letter-replayer.js';
import { type ReplayEnd, type ReplayedLetter, replay, replaySettings } from './replay.js';

/** What this process knows of a waiting letter. */
interface Seen {
  readonly attempts: number;
  /** How many tries were made, by any process. */
  readonly triesMade: number;
  /** Only another version of the app knows its event. */
  readonly left?: true;
}

/** Between two looks, at least, for each waiting letter: a look reads all of them. */
const MIN_PAUSE_PER_LETTER_MS = 1;
/** And in any case: a handler may ask for a time in the past. The sender's `Retry-After` has the same minimum. */
const MIN_PAUSE_MS = 1_000;
const STOPPED = 'redrive was stopped by an unexpected error, and will look again';
const LAST = 'a dead letter was retried for the last time and stays: fix what made it fail, and replay it';
const NOT_DUE: ReplayedLetter = { end: 'ignored', issues: [] };
const IN_PROGRESS: ReplayedLetter = { end: 'inProgress', issues: [] };
/** After these there is nothing left to retry. */
const DONE: ReadonlySet<ReplayEnd> = new Set(['processed', 'duplicates', 'gone', 'rejected']);

export class Redrive {
  readonly #config: Configuration;
  readonly #rules: NonNullable<Configuration['redrive']>;
  readonly #calls: DeadLetterCalls;
  readonly #limiter: InFlightLimiter;
  /** From earlier looks, by the id of the letter. */
  #seen = new Map<string, Seen>();
  /** From the current look. */
  #waiting = new Map<string, Seen>();
  /** When the first waiting letter is due. */
  #nextAt = 0;

  /** @param limiter that of the deliveries: all replays together take at most half of the places */
  constructor(
    config: Configuration,
    rules: NonNullable<Configuration['redrive']>,
    calls: DeadLetterCalls,
    limiter: InFlightLimiter,
  ) {
    this.#config = config;
    this.#rules = rules;
    this.#calls = calls;
    this.#limiter = limiter;
  }

  /** Never rejects. @returns after how many milliseconds to look again */
  async run(): Promise<number> {
    const { every, reasons, concurrency } = this.#rules;
    this.#nextAt = Number.POSITIVE_INFINITY;
    this.#waiting = new Map();
    const settings = { keys: 'configured', dryRun: false, asListed: true } as const;
    const replayer = new LetterReplayer(this.#config, this.#calls, settings);
    const retryIfDue = (letter: DeadLetter) => this.#retryIfDue(letter, replayer);
    this.#config.handlers.seal();
    try {
      for (const reason of reasons) {
        const selection = replaySettings(this.#config.namespace, { reason, concurrency });
        // Not counted first: in Redis that takes long, and close() would wait for it. Letters kept meanwhile are not due yet.
        await replay(this.#calls, this.#limiter, retryIfDue, selection, Number.POSITIVE_INFINITY);
      }
      this.#seen = this.#waiting;
    } catch (error) {
      // The failed call of the store is logged already.
      if (!StoreError.is(error))
        writeLog(this.#calls.caller.log, 'error', { error: describeError(error) }, STOPPED);
      // What is known of letters that were not listed still holds.
      this.#seen = new Map([...this.#seen, ...this.#waiting]);
    }
    const leastMs = Math.max(MIN_PAUSE_MS, this.#waiting.size * MIN_PAUSE_PER_LETTER_MS);
    return Math.min(Math.max(this.#nextAt - Date.now(), leastMs), every);
  }

  async #retryIfDue(letter: DeadLetter, replayer: LetterReplayer): Promise<ReplayedLetter> {
    const { dueAfterMs } = this.#rules;
    const now = Date.now();
    const before = this.#seen.get(letter.id);
    if (before?.left && before.attempts === letter.attempts) {
      this.#note(letter, before, undefined);
      return NOT_DUE;
    }
    const triesDue = countDue(letter, dueAfterMs, now);
    const triesMade = this.#triesMadeOf(letter, triesDue);
    const nextAt = nextTryAt(letter, dueAfterMs, triesMade);
    if (nextAt === undefined || nextAt > now) {
      this.#note(letter, { attempts: letter.attempts, triesMade }, nextAt);
      return NOT_DUE;
    }
    const replayed = await this.#retry(letter, replayer);
    if (DONE.has(replayed.end)) return replayed;
    if (replayed.left) {
      this.#note(letter, { attempts: letter.attempts, triesMade, left: true }, undefined);
      return replayed;
    }
    if (replayed.end === 'inProgress') {
      // The process that is processing it may die, so it stays due.
      this.#note(letter, { attempts: letter.attempts, triesMade }, undefined);
      return replayed;
    }
    const madeByNow = Math.min(triesMade + 1, triesDue);
    const tried = await this.#afterTry(letter, replayed.end);
    const next = tried && nextTryAt(tried, dueAfterMs, madeByNow);
    // Overdue again after a try: further tries were missed while the process was down, or the store did not write how long the
    // handler asked to wait. The next look then comes after `every`, because looking at once could become a loop.
    const nextLook = next !== undefined && next > now - 1 ? next : undefined;
    this.#note(letter, { attempts: letter.attempts + 1, triesMade: madeByNow }, nextLook);
    if (tried && next === undefined) this.#exhausted(tried);
    return replayed;
  }

  /** The letter after a try that did not process it; undefined if it cannot be read. */
  async #afterTry(letter: DeadLetter, end: ReplayEnd): Promise<DeadLetter | undefined> {
    if (end !== 'later') return { ...letter, attempts: letter.attempts + 1, code: undefined };
    // The letter says how long its handler asked to wait, and whether it asked too late for another try.
    const read = await this.#calls.read(letter.id);
    return !(read instanceof StoreFailure) && read.status === 'found' ? read.letter : undefined;
  }

  /** One process at a time, until the letter records the try: the next process would try it again at once. */
  async #retry(letter: DeadLetter, replayer: LetterReplayer): Promise<ReplayedLetter> {
    const locks = claimCalls(this.#config, this.#calls);
    const key = `${this.#config.namespace}:redrive:${digestOf(Buffer.from(letter.id))}`;
    // If the letter cannot be read, that is logged already. It stays due, and those behind it do not wait for it.
    const replayed = await withLock(locks, key, () => replayer.replay(letter)).catch((error) => {
      if (StoreError.is(error)) return undefined;
      throw error;
    });
    return !replayed || replayed instanceof StoreFailure ? IN_PROGRESS : replayed;
  }

  /** If others have tried the letter meanwhile, its attempts tell how many tries were made. */
  #triesMadeOf(letter: DeadLetter, triesDue: number): number {
    const before = this.#seen.get(letter.id);
    if (before?.attempts === letter.attempts) return before.triesMade;
    return Math.max(before?.triesMade ?? 0, countMade(letter, triesDue));
  }

  #note({ id }: DeadLetter, seen: Seen, nextAt: number | undefined): void {
    this.#waiting.set(id, seen);
    if (nextAt !== undefined) this.#nextAt = Math.min(this.#nextAt, nextAt);
  }

  #exhausted({ id, reason, eventId, eventName, attempts }: DeadLetter): void {
    const { log } = this.#calls.caller;
    const names = { eventId: shorten(eventId), eventName: shorten(eventName) };
    writeLog(log, 'error', { deadLetterId: shorten(id), ...names, attempts }, LAST);
    const declared = this.#config.events.has(eventName);
    const letter: ExhaustedLetter = { id, reason, eventName, declared, attempts };
    const { observer } = this.#config;
    notifyObserver(() => observer?.exhausted?.(letter), {
      observerFailed: (error) =>
        writeLog(log, 'error', { error: describeError(error) }, 'the observer failed'),
    });
  }
}
