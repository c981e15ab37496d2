// Remembers event ids in this process: bounded, and the default.

import type {
  Claim,
  ClaimRequest,
  ClaimResult,
  ForgetResult,
  IdempotencyStore,
  Lock,
} from '../contracts/idempotency-store.js';
import { StoreError } from '../errors.js';
import {
  anything,
  defineOptions,
  integerFrom,
  type OptionRule,
  option,
  RETENTION,
} from '../options/define-options.js';

export interface MemoryStoreOptions {
  /**
   * The minimum number of ids that are remembered, up to 8,000,000: before its retention is over, an id is forgotten only
   * after this many others were written. At most twice as many are kept. It also limits the events in progress: further
   * ones are answered 503. @default 100_000
   */
  readonly maxEntries?: number | undefined;
  /** How long an id is remembered after its last write: `ms`-style string or milliseconds. @default '30d' */
  readonly retention?: number | string | undefined;
  /** Milliseconds of a clock that never goes back, for tests. @default performance.now */
  readonly now?: (() => number) | undefined;
}

/**
 * A store for one process; other processes, and this one after a restart, do not see what it remembers.
 *
 * @throws {ConfigurationError} unless `maxEntries` is an integer from 1 to 8,000,000 and `retention` a duration
 * @example
 * app.post('/hooks', receiver({ store: memoryStore({ maxEntries: 1_000_000, retention: '7d' }) }));
 */
export function memoryStore(options: MemoryStoreOptions = {}): IdempotencyStore {
  return new MemoryStore(options);
}

/** A `Map` of V8 cannot hold more than twice as many, and needs the other half to reuse what was deleted. */
const MAX_ENTRIES = 8_000_000;

const MEMORY_STORE_OPTIONS = defineOptions({
  maxEntries: option(100_000, integerFrom(1, MAX_ENTRIES)),
  retention: RETENTION,
  now: anything(() => performance.now()),
} satisfies Record<keyof MemoryStoreOptions, OptionRule<unknown>>);

/**
 * The latest claim of each event is in one `Map`. If nobody works on it, it also waits in a line, by its last write, to be
 * forgotten: the first key of a `Map` takes 52 µs to find after 100,000 removals.
 */
class MemoryStore implements IdempotencyStore {
  readonly scope = 'process';
  readonly retentionMs: number;
  readonly #maxEntries: number;
  readonly #now: () => number;
  readonly #claims = new Map<string, MemoryClaim>();
  /** Gaps are where a claim was forgotten, or is worked on again. */
  #line: (MemoryClaim | undefined)[] = [];
  /** No claim is before this place. */
  #first = 0;
  /** Claims that are not in the line: events in progress, also if their lease has ended since the latest sweep. */
  #running = 0;
  #sweepAt: number;
  /** Locks are not events, and take no room from them. */
  readonly #locks = new Map<string, MemoryLock>();

  constructor(options: MemoryStoreOptions) {
    const { maxEntries, retention, now } = MEMORY_STORE_OPTIONS.read(options);
    this.#maxEntries = maxEntries;
    this.retentionMs = retention;
    this.#now = now;
    this.#sweepAt = now() + this.retentionMs;
  }

  claim(key: string, { leaseMs, fingerprint }: ClaimRequest): ClaimResult {
    const now = this.#now();
    if (now >= this.#sweepAt || this.#running >= this.#maxEntries) this.#sweep(now);
    const found = this.#claims.get(key);
    const latest = found && found.forgetAt > now ? found : undefined;
    if (latest?.state === 'completed') return { status: 'completed', fingerprint: latest.fingerprint };
    if (latest && latest.leaseEnds > now)
      return { status: 'in_progress', retryAfterMs: latest.leaseEnds - now };
    // A lapsed claim is replaced, so it needs no free slot.
    const needsRoom = !found || found.place !== undefined;
    if (needsRoom && this.#running >= this.#maxEntries)
      throw new StoreError(`All ${this.#maxEntries} entries of the memory store are in progress.`);
    const claim = new MemoryClaim(this, key, fingerprint, latest);
    this.#claims.set(key, claim);
    if (found) this.#leaveLine(found);
    else this.#running += 1;
    this.#extend(claim, leaseMs, now);
    return { status: 'claimed', claim };
  }

  completedWith(key: string): string | undefined {
    const found = this.#claims.get(key);
    return found?.state === 'completed' && found.forgetAt > this.#now() ? found.fingerprint : undefined;
  }

  forget(key: string): ForgetResult {
    const now = this.#now();
    const found = this.#claims.get(key);
    if (!found || found.forgetAt <= now) return { status: 'unknown' };
    if (found.leaseEnds > now) return { status: 'in_progress', retryAfterMs: found.leaseEnds - now };
    this.#leaveLine(found);
    this.#running -= 1;
    this.#claims.delete(key);
    return { status: 'forgotten', handlers: [] };
  }

  lock(key: string, leaseMs: number): Lock | undefined {
    const now = this.#now();
    const locks = this.#locks;
    const held = locks.get(key);
    if (held && held.leaseEnds > now) return undefined;
    if (locks.size >= this.#maxEntries) {
      for (const [other, { leaseEnds }] of locks) if (leaseEnds <= now) locks.delete(other);
      if (locks.size >= this.#maxEntries)
        throw new StoreError(`All ${this.#maxEntries} locks of the memory store are held.`);
    }
    const lock: MemoryLock = {
      leaseEnds: now + leaseMs,
      renew: (ms) => {
        if (locks.get(key) !== lock) return false;
        lock.leaseEnds = this.#now() + ms;
        return true;
      },
      release: () => locks.get(key) === lock && locks.delete(key),
    };
    locks.set(key, lock);
    return lock;
  }

  renew(claim: MemoryClaim, leaseMs: number): boolean {
    if (!this.#owns(claim)) return false;
    this.#leaveLine(claim);
    this.#extend(claim, leaseMs, this.#now());
    return true;
  }

  complete(claim: MemoryClaim): boolean {
    if (claim.state === 'completed') return this.#claims.get(claim.key) === claim;
    return this.#end(claim, 'completed');
  }

  release(claim: MemoryClaim, finished: readonly string[]): boolean {
    if (!this.#end(claim, 'released')) return false;
    claim.finished = [...finished];
    return true;
  }

  #end(claim: MemoryClaim, state: MemoryClaim['state']): boolean {
    if (!this.#owns(claim)) return false;
    const now = this.#now();
    claim.state = state;
    this.#leaveLine(claim);
    this.#extend(claim, 0, now);
    this.#joinLine(claim, now);
    return true;
  }

  #owns(claim: MemoryClaim): boolean {
    return claim.state === 'running' && this.#claims.get(claim.key) === claim;
  }

  /** Every write starts the retention again; it never ends before the lease. */
  #extend(claim: MemoryClaim, leaseMs: number, now: number): void {
    claim.leaseEnds = now + leaseMs;
    claim.forgetAt = now + Math.max(leaseMs, this.retentionMs);
  }

  #joinLine(claim: MemoryClaim, now: number): void {
    // At most two for each that joins: the line gets shorter once retentions are over, and nobody waits long for that.
    this.#forgetFirst(now);
    this.#forgetFirst(now);
    if (this.#line.length >= 2 * this.#maxEntries) this.#closeGaps();
    claim.place = this.#line.push(claim) - 1;
    this.#running -= 1;
  }

  /** For a claim that is worked on again. */
  #leaveLine(claim: MemoryClaim): void {
    if (claim.place === undefined) return;
    this.#line[claim.place] = undefined;
    claim.place = undefined;
    this.#running += 1;
  }

  /** If there are as many in line as may be, or the retention of the first is over. */
  #forgetFirst(now: number): void {
    while (this.#first < this.#line.length && !this.#line[this.#first]) this.#first += 1;
    const first = this.#line[this.#first];
    const isFull = this.#claims.size - this.#running >= this.#maxEntries;
    if (!first || (first.forgetAt > now && !isFull)) return;
    this.#claims.delete(first.key);
    this.#line[this.#first] = undefined;
  }

  #closeGaps(): void {
    const inLine = this.#line.filter((claim) => claim !== undefined);
    inLine.forEach((claim, place) => {
      claim.place = place;
    });
    this.#line = inLine;
    this.#first = 0;
  }

  /** Claims whose lease has ended wait in line too: if their owners come back, they may still have them. */
  #sweep(now: number): void {
    this.#sweepAt = now + this.retentionMs;
    for (const claim of this.#claims.values())
      if (claim.place === undefined && claim.leaseEnds <= now) this.#joinLine(claim, now);
  }
}

interface MemoryLock extends Lock {
  leaseEnds: number;
}

/** The object itself is the token: a takeover creates another one. */
class MemoryClaim implements Claim {
  readonly #store: MemoryStore;
  readonly key: string;
  readonly fingerprint: string;
  readonly attempt: number;
  finished: readonly string[];
  state: 'running' | 'released' | 'completed' = 'running';
  /** In the line to be forgotten; undefined while somebody works on the event. */
  place: number | undefined;
  leaseEnds = 0;
  forgetAt = 0;

  constructor(store: MemoryStore, key: string, fingerprint: string, latest?: MemoryClaim) {
    this.#store = store;
    this.key = key;
    this.fingerprint = fingerprint;
    this.attempt = latest ? latest.attempt + 1 : 1;
    this.finished = latest ? latest.finished : NONE_FINISHED;
  }

  renew(leaseMs: number): boolean {
    return this.#store.renew(this, leaseMs);
  }

  complete(): boolean {
    return this.#store.complete(this);
  }

  release(finished: readonly string[]): boolean {
    return this.#store.release(this, finished);
  }
}

const NONE_FINISHED: readonly string[] = [];
