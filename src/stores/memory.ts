// Remembers event ids in this process: bounded, and the default.

import type {
  Claim,
  ClaimRequest,
  ClaimResult,
  IdempotencyStore,
  Lock,
} from '../claims/idempotency-store.js';
import { ConfigurationError, refuseUnknownOptions, StoreError, show } from '../errors.js';
import { retentionMs } from '../options/duration.js';

export interface MemoryStoreOptions {
  /**
   * The minimum number of ids that are remembered, up to 8,000,000: before its retention is over, an id is forgotten only
   * after this many others were written. At most twice as many are kept. It also limits the events in progress: further
   * ones are answered 503. @default 100_000
   */
  readonly maxEntries?: number | undefined;
  /** How long an id is remembered after its last write: `ms`-style text or milliseconds. @default '30d' */
  readonly retention?: number | string | undefined;
  /** Milliseconds of a clock that never goes back, for tests. @default performance.now */
  readonly now?: (() => number) | undefined;
}

/**
 * A store for one process; other processes, and this one after a restart, do not see what it remembers.
 *
 * @throws {ConfigurationError} unless `maxEntries` is a whole number from 1 to 8,000,000 and `retention` a duration
 * @example
 * app.post('/hooks', receiver({ store: memoryStore({ maxEntries: 1_000_000, retention: '7d' }) }));
 */
export function memoryStore(options: MemoryStoreOptions = {}): IdempotencyStore {
  return new MemoryStore(options);
}

/** A `Map` of V8 cannot hold more than twice as many, and needs the other half to reuse what was deleted. */
const MAX_ENTRIES = 8_000_000;

/**
 * All other ids are in two generations. A full young generation becomes the old one, and the old one is
 * dropped as a whole. So no order has to be kept: the first key of a `Map` takes 52 µs to find after 100,000 removals.
 */
class MemoryStore implements IdempotencyStore {
  readonly scope = 'process';
  readonly retentionMs: number;
  readonly #maxEntries: number;
  readonly #now: () => number;
  /** Events that are being processed. One whose lease has expired stays until room is needed. */
  readonly #running = new Map<string, MemoryClaim>();
  /** Locks are not events, and take no room from them. */
  readonly #locks = new Map<string, MemoryLock>();
  #young = new Map<string, MemoryClaim>();
  #old = new Map<string, MemoryClaim>();
  /** When the young generation becomes the old one at the latest: by then the retention of every id in the old one is over. */
  #youngUntil: number;

  constructor(options: MemoryStoreOptions) {
    const { maxEntries = 100_000, retention, now = () => performance.now() } = options;
    refuseUnknownOptions(options, ['maxEntries', 'retention', 'now']);
    if (!Number.isInteger(maxEntries) || maxEntries < 1 || maxEntries > MAX_ENTRIES) {
      throw new ConfigurationError(
        `maxEntries is ${show(maxEntries)}. Give a whole number from 1 to 8,000,000.`,
      );
    }
    this.#maxEntries = maxEntries;
    this.retentionMs = retentionMs(retention);
    this.#now = now;
    this.#youngUntil = now() + this.retentionMs;
  }

  claim(key: string, { leaseMs, fingerprint }: ClaimRequest): ClaimResult {
    const now = this.#now();
    const found = this.#find(key);
    const latest = found && found.forgetAt > now ? found : undefined;
    if (latest?.state === 'completed') return { status: 'completed', fingerprint: latest.fingerprint };
    if (latest && latest.leaseEnds > now)
      return { status: 'in_progress', retryAfterMs: latest.leaseEnds - now };
    this.#makeRoom(now);
    const claim = new MemoryClaim(this, key, fingerprint, latest);
    this.#work(claim, leaseMs, now);
    return { status: 'claimed', claim };
  }

  completedWith(key: string): string | undefined {
    const found = this.#find(key);
    return found?.state === 'completed' && found.forgetAt > this.#now() ? found.fingerprint : undefined;
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
    this.#work(claim, leaseMs, this.#now());
    return true;
  }

  complete(claim: MemoryClaim): boolean {
    if (claim.state === 'completed') return this.#find(claim.key) === claim;
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
    this.#extend(claim, 0, now);
    this.#remember(claim, now);
    return true;
  }

  /** The latest claim of an event. An earlier one may stay behind in an older generation until that is dropped. */
  #find(key: string): MemoryClaim | undefined {
    return this.#running.get(key) ?? this.#young.get(key) ?? this.#old.get(key);
  }

  #owns(claim: MemoryClaim): boolean {
    return this.#find(claim.key) === claim && claim.state === 'running';
  }

  /** Every write starts the retention again; it never ends before the lease. */
  #extend(claim: MemoryClaim, leaseMs: number, now: number): void {
    claim.leaseEnds = now + leaseMs;
    claim.forgetAt = now + Math.max(leaseMs, this.retentionMs);
  }

  #work(claim: MemoryClaim, leaseMs: number, now: number): void {
    this.#running.set(claim.key, claim);
    this.#extend(claim, leaseMs, now);
  }

  #remember(claim: MemoryClaim, now: number): void {
    if (this.#young.size >= this.#maxEntries) this.#nextGeneration(now);
    this.#running.delete(claim.key);
    this.#young.set(claim.key, claim);
  }

  #nextGeneration(now: number): void {
    this.#old = this.#young;
    this.#young = new Map();
    this.#youngUntil = now + this.retentionMs;
  }

  #makeRoom(now: number): void {
    if (now >= this.#youngUntil) {
      this.#nextGeneration(now);
      this.#setLapsedAside(now);
    }
    if (this.#running.size < this.#maxEntries) return;
    this.#setLapsedAside(now);
    if (this.#running.size >= this.#maxEntries)
      throw new StoreError(`All ${this.#maxEntries} entries of the memory store are in progress.`);
  }

  #setLapsedAside(now: number): void {
    for (const claim of this.#running.values()) if (claim.leaseEnds <= now) this.#remember(claim, now);
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
