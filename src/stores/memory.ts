// Remembers event ids in this process: bounded, and the default.

import type { Claim, ClaimRequest, ClaimResult, IdempotencyStore } from '../claims/idempotency-store.js';
import { ConfigurationError, refuseUnknownOptions, StoreError } from '../errors.js';
import { retentionMs } from '../options/duration.js';
import { CompletedIds, type Serial } from './memory/completed-ids.js';
import { KeyTable, type Row } from './memory/key-table.js';
import { Linked, LinkedList } from './memory/linked-list.js';

export interface MemoryStoreOptions {
  /** Ids remembered at most. Full: the oldest completed one is forgotten. @default 100_000 */
  readonly maxEntries?: number | undefined;
  /** How long an id is remembered after its last write: `ms`-style text or milliseconds. @default '30d' */
  readonly retention?: number | string | undefined;
  /** Milliseconds of a clock that never goes back, for tests. @default performance.now */
  readonly now?: (() => number) | undefined;
}

/**
 * A store for one process; other processes, and this one after a restart, do not see what it remembers.
 *
 * @throws {ConfigurationError} for a bound that is no whole number above 0, or a retention that is no duration
 * @example
 * app.post('/hooks', receiver({ store: memoryStore({ maxEntries: 1_000_000, retention: '7d' }) }));
 */
export function memoryStore(options: MemoryStoreOptions = {}): IdempotencyStore {
  return new MemoryStore(options);
}

class MemoryStore implements IdempotencyStore {
  readonly scope = 'process';
  readonly retentionMs: number;
  readonly #maxEntries: number;
  readonly #retention: number;
  readonly #now: () => number;
  /** Of each event: its latest claim, later the serial that it was completed with. */
  readonly #latest = new KeyTable<MemoryClaim | Serial>();
  // Each of these claims is in exactly one of these, oldest first, so that which to forget is known without a search.
  readonly #running = new LinkedList<MemoryClaim>();
  readonly #released = new LinkedList<MemoryClaim>();
  /** Not of events, and forgotten when they are released: they must not push out what is remembered. */
  readonly #turns = new LinkedList<MemoryClaim>();
  readonly #completed: CompletedIds;

  constructor(options: MemoryStoreOptions) {
    const { maxEntries = 100_000, retention, now = () => performance.now() } = options;
    refuseUnknownOptions(options, ['maxEntries', 'retention', 'now']);
    if (!Number.isSafeInteger(maxEntries) || maxEntries < 1) {
      throw new ConfigurationError(`maxEntries is ${String(maxEntries)}. Give a whole number above 0.`);
    }
    this.#maxEntries = maxEntries;
    this.retentionMs = retentionMs(retention);
    this.#retention = this.retentionMs;
    this.#now = now;
    this.#completed = new CompletedIds(maxEntries, this.#latest);
  }

  claim(key: string, { leaseMs, fingerprint, turn = false }: ClaimRequest): ClaimResult {
    const now = this.#now();
    this.#forgetExpired(now);
    const row = this.#latest.find(key);
    let latest = this.#latest.get(row);
    if (typeof latest === 'number') {
      if (!this.#completed.isOver(latest, now))
        return { status: 'completed', fingerprint: this.#completed.fingerprintOf(latest) };
      this.#completed.forget(row, latest);
      latest = undefined;
    }
    if (latest && latest.forgetAt <= now) {
      this.#forget(latest);
      latest = undefined;
    }
    if (latest && latest.leaseEnds > now)
      return { status: 'in_progress', retryAfterMs: latest.leaseEnds - now };
    if (latest) this.#forget(latest);
    else this.#makeRoom(now, turn);
    const claim = new MemoryClaim(this, fingerprint, latest);
    claim.row = this.#latest.add(key, claim);
    (turn ? this.#turns : this.#running).append(claim);
    this.#extend(claim, leaseMs, now);
    return { status: 'claimed', claim };
  }

  renew(claim: MemoryClaim, leaseMs: number): boolean {
    if (claim.list === this.#turns) return this.#extend(claim, leaseMs, this.#now());
    return claim.list === this.#running && this.#extend(claim, leaseMs, this.#now());
  }

  complete(claim: MemoryClaim): boolean {
    const { row, fingerprint, serial } = claim;
    if (serial !== undefined) return this.#latest.get(row) === serial;
    if (claim.list !== this.#running) return false;
    this.#running.remove(claim);
    claim.serial = this.#completed.add(row, fingerprint, this.#now() + this.#retention);
    return true;
  }

  release(claim: MemoryClaim, finished: readonly string[]): boolean {
    if (claim.list === this.#turns) {
      this.#forget(claim);
      return true;
    }
    if (claim.list !== this.#running) return false;
    claim.finished = [...finished];
    this.#released.append(claim);
    return this.#extend(claim, 0, this.#now());
  }

  /** Every write starts the retention again; it never ends before the lease. */
  #extend(claim: MemoryClaim, leaseMs: number, now: number): true {
    claim.leaseEnds = now + leaseMs;
    claim.forgetAt = now + Math.max(leaseMs, this.#retention);
    return true;
  }

  #makeRoom(now: number, turn: boolean): void {
    const events = this.#running.size + this.#released.size + this.#completed.size;
    if ((turn ? this.#turns.size : events) < this.#maxEntries) return;
    if (!turn && this.#completed.forgetOldest()) return;
    const victim = turn
      ? oldestLapsed(this.#turns, now)
      : (this.#released.first ?? oldestLapsed(this.#running, now));
    if (!victim)
      throw new StoreError(`All ${this.#maxEntries} entries of the memory store are being worked on.`);
    this.#forget(victim);
  }

  /** At most two of a kind each time, so that no single claim pays for all. */
  #forgetExpired(now: number): void {
    for (let left = 2; left > 0; left -= 1) {
      this.#completed.forgetOldestIfOver(now);
      const released = this.#released.first;
      if (released && released.forgetAt <= now) this.#forget(released);
    }
  }

  /** A claim that is in no list has lost its event. */
  #forget(claim: MemoryClaim): void {
    claim.list?.remove(claim);
    this.#latest.delete(claim.row, claim);
  }
}

function oldestLapsed(claims: LinkedList<MemoryClaim>, now: number): MemoryClaim | undefined {
  for (let claim = claims.first; claim; claim = claim.next) {
    if (claim.leaseEnds <= now) return claim;
  }
  return undefined;
}

/** The object itself is the token: a takeover makes another one. */
class MemoryClaim extends Linked<MemoryClaim> implements Claim {
  row: Row = 0;
  readonly attempt: number;
  readonly fingerprint: string;
  finished: readonly string[];
  leaseEnds = 0;
  forgetAt = 0;
  serial: Serial | undefined;
  readonly #store: MemoryStore;

  constructor(store: MemoryStore, fingerprint: string, latest?: MemoryClaim) {
    super();
    this.#store = store;
    this.fingerprint = fingerprint;
    this.attempt = latest ? latest.attempt + 1 : 1;
    this.finished = latest ? latest.finished : NONE;
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

const NONE: readonly string[] = [];
