// Remembers event ids in this process: bounded, and the default.
import { ConfigurationError, StoreError } from '../errors.js';
import { Linked, LinkedList } from '../linked-list.js';
import { refuseUnknownOptions } from '../unknown-option.js';
import {
  type Claim,
  type ClaimRequest,
  type ClaimResult,
  type IdempotencyStore,
  retentionMs,
} from './store.js';

export interface MemoryStoreOptions {
  /** Ids remembered at most. Full: the oldest completed one is forgotten. @default 100_000 */
  readonly maxEntries?: number | undefined;
  /** How long an id is remembered after its last write: `ms`-style text or milliseconds. @default '30d' */
  readonly retention?: number | string | undefined;
  /** Milliseconds of a clock that never goes back, for tests. @default performance.now */
  readonly now?: (() => number) | undefined;
}

class Entry extends Linked<Entry> {
  readonly key: string;
  attempt = 0;
  fingerprint = '';
  finished: readonly string[] = [];
  leaseEnds = 0;
  forgetAt = 0;

  constructor(key: string) {
    super();
    this.key = key;
  }
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
  readonly #maxEntries: number;
  readonly #retention: number;
  readonly #now: () => number;
  readonly #entries = new Map<string, Entry>();
  // Each entry is in exactly one of these, oldest first, so that whom to forget is known without a search.
  readonly #running = new LinkedList<Entry>();
  readonly #released = new LinkedList<Entry>();
  readonly #completed = new LinkedList<Entry>();

  constructor(options: MemoryStoreOptions) {
    const { maxEntries = 100_000, retention, now = () => performance.now() } = options;
    refuseUnknownOptions(options, ['maxEntries', 'retention', 'now']);
    if (!Number.isSafeInteger(maxEntries) || maxEntries < 1) {
      throw new ConfigurationError(`maxEntries is ${String(maxEntries)}; give a whole number above 0.`);
    }
    this.#maxEntries = maxEntries;
    this.#retention = retentionMs(retention);
    this.#now = now;
  }

  async claim(key: string, { leaseMs, fingerprint }: ClaimRequest): Promise<ClaimResult> {
    const now = this.#now();
    this.#forgetExpired(now);
    let entry = this.#entries.get(key);
    if (entry && entry.forgetAt <= now) {
      this.#forget(entry);
      entry = undefined;
    }
    if (entry?.list === this.#completed) return { status: 'completed', fingerprint: entry.fingerprint };
    if (entry && entry.leaseEnds > now) {
      return { status: 'in_progress', retryAfterMs: entry.leaseEnds - now };
    }
    entry ??= this.#enter(key, now);
    entry.attempt += 1;
    entry.fingerprint = fingerprint;
    this.#running.append(entry);
    this.#extend(entry, leaseMs, now);
    return { status: 'claimed', claim: this.#ownership(entry) };
  }

  /** The attempt number is the token: it rises with every claim. An entry that was forgotten is in no list. */
  #ownership(entry: Entry): Claim {
    const { attempt, finished } = entry;
    const ownsIn = (list: LinkedList<Entry>) => entry.attempt === attempt && entry.list === list;
    return {
      attempt,
      finished,
      renew: async (leaseMs) => {
        if (!ownsIn(this.#running)) return false;
        this.#extend(entry, leaseMs, this.#now());
        return true;
      },
      complete: async () => {
        if (ownsIn(this.#completed)) return true;
        if (!ownsIn(this.#running)) return false;
        this.#completed.append(entry);
        this.#extend(entry, 0, this.#now());
        return true;
      },
      release: async (now) => {
        if (!ownsIn(this.#running)) return false;
        entry.finished = [...now];
        this.#released.append(entry);
        this.#extend(entry, 0, this.#now());
        return true;
      },
    };
  }

  #enter(key: string, now: number): Entry {
    if (this.#entries.size >= this.#maxEntries) this.#makeRoom(now);
    const entry = new Entry(key);
    this.#entries.set(key, entry);
    return entry;
  }

  /** Every write starts the retention anew; it never ends before the lease. */
  #extend(entry: Entry, leaseMs: number, now: number): void {
    entry.leaseEnds = now + leaseMs;
    entry.forgetAt = now + Math.max(leaseMs, this.#retention);
  }

  #makeRoom(now: number): void {
    const victim = this.#completed.first ?? this.#released.first ?? this.#oldestLapsed(now);
    if (!victim)
      throw new StoreError(`All ${this.#maxEntries} entries of the memory store are being worked on.`);
    this.#forget(victim);
  }

  #oldestLapsed(now: number): Entry | undefined {
    for (let entry = this.#running.first; entry; entry = entry.next) {
      if (entry.leaseEnds <= now) return entry;
    }
    return undefined;
  }

  #forgetExpired(now: number): void {
    this.#forgetOldest(this.#completed, now);
    this.#forgetOldest(this.#released, now);
  }

  /** At most two each time, so that no single claim pays for all. */
  #forgetOldest(list: LinkedList<Entry>, now: number): void {
    for (let left = 2; left > 0 && list.first && list.first.forgetAt <= now; left -= 1)
      this.#forget(list.first);
  }

  #forget(entry: Entry): void {
    entry.list?.remove(entry);
    this.#entries.delete(entry.key);
  }
}
