// Replays dead letters in the order of their arrival: a few at a time, each like a delivery, until none is left.

import { setTimeout as pause } from 'node:timers/promises';
import type { DeadLetter } from '../claims/dead-letter-store.js';
import { StoreFailure } from '../claims/timed-calls.js';
import { Rejection } from '../errors.js';
import { writeLog } from '../logger.js';
import type { InFlightLimiter, Place } from '../telemetry/in-flight-limiter.js';
import type { DeadLetterCalls } from './dead-letter-calls.js';
import { listLetters, storeError } from './dead-letter-calls.js';
import type { LetterReplayer } from './letter-replayer.js';
import type { ReplaySettings } from './replay-options.js';
import { type ReplayReport, ReplayTally } from './replay-report.js';

/** Deliveries come first: while there is no room beside them, a replay looks this often for room. */
const BUSY_MS = 50;

/** What a replay works with. */
export interface ReplayMeans {
  readonly calls: DeadLetterCalls;
  readonly limiter: InFlightLimiter;
  readonly replayer: LetterReplayer;
}

export class Replay {
  readonly #means: ReplayMeans;
  readonly #settings: ReplaySettings;
  readonly #tally = new ReplayTally();
  #total = 0;
  #taken = 0;
  #stopped: ReplayReport['stopped'];
  #failure: unknown;

  constructor(means: ReplayMeans, settings: ReplaySettings) {
    this.#means = means;
    this.#settings = settings;
  }

  /** @throws {StoreError} when the store of letters is down; what was processed until then stays processed */
  async run(): Promise<ReplayReport> {
    const { calls } = this.#means;
    const { query, concurrency, dryRun } = this.#settings;
    const total = await calls.count(query);
    if (total instanceof StoreFailure) throw storeError(total);
    this.#total = total;
    const letters = listLetters(calls, query);
    const workers = Array.from({ length: Math.min(concurrency, total) }, () => this.#work(letters));
    await Promise.all(workers);
    if (this.#failure !== undefined) throw this.#failure;
    return this.#tally.report(dryRun, this.#stopped);
  }

  /** Never rejects: when one of several cannot go on, the others end what they are at. */
  async #work(letters: AsyncGenerator<DeadLetter, void>): Promise<void> {
    try {
      while (this.#failure === undefined && this.#take()) {
        const place = await this.#enter();
        if (!place) return;
        try {
          const { value: letter, done } = await letters.next();
          if (done) return;
          await this.#replay(letter);
        } finally {
          place.leave();
        }
      }
    } catch (error) {
      this.#failure ??= error;
    }
  }

  /** Whether there is one more of those that there were at the start: a replay must not run after letters that are kept meanwhile. */
  #take(): boolean {
    this.#taken += 1;
    return this.#taken <= this.#total;
  }

  /** Waits for a place. Undefined once the replay is stopped. */
  async #enter(): Promise<Place | undefined> {
    for (;;) {
      if (this.#settings.signal?.aborted) this.#stopped ??= 'aborted';
      if (this.#stopped) return undefined;
      const place = this.#means.limiter.enterReplay();
      if (!(place instanceof Rejection)) return place;
      if (place.code === 'CLOSING') this.#stopped ??= 'closing';
      else await pause(BUSY_MS);
    }
  }

  async #replay(letter: DeadLetter): Promise<void> {
    const { replayer } = this.#means;
    const { end, issues } = await replayer.replay(letter);
    this.#tally.add(letter.eventName, end, issues);
    this.#progress();
  }

  /** What the caller's function throws changes nothing. */
  #progress(): void {
    const { done, counts } = this.#tally;
    const { processed, failed } = counts;
    const complain = () =>
      writeLog(this.#means.calls.caller.log, 'error', {}, 'onProgress() threw; the replay goes on');
    try {
      const told: unknown = this.#settings.onProgress?.({ done, total: this.#total, processed, failed });
      if (told !== undefined) Promise.resolve(told).catch(complain);
    } catch {
      complain();
    }
  }
}
