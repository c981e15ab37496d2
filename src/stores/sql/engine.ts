// The engine of both SQL stores: a claim is a row, or a transaction around the whole delivery.

import type { Claim, ClaimRequest, ClaimResult, IdempotencyStore } from '../../claims/idempotency-store.js';
import { type ForgettableResult, lockOf } from '../../claims/lock-of-claim.js';
import { StoreError } from '../../errors.js';
import { hasCode, isLockTimeout, withRetry } from './conflicts.js';
import { type ClaimParameters, claimParameters, type Dialect, type Granted, tryClaim } from './dialect.js';
import { guardClient } from './handler-client.js';
import { Heartbeat } from './heartbeat.js';
import type { Connections, Session } from './session.js';

/** What handlers get in their context. */
export interface InTransaction<Transaction> {
  readonly transaction: Transaction;
}

export interface EngineOptions {
  readonly connections: Connections;
  readonly dialect: Dialect;
  readonly retentionMs: number;
  readonly transactional: boolean;
}

/** A store whose events are in a table. */
export interface TableStore<Extra extends object> extends IdempotencyStore<Extra> {
  /** Creates the table and its index unless they exist. Any number of processes may call it at once. */
  migrate(): Promise<void>;
  /**
   * Deletes expired rows, a thousand at a time, and resolves with their number. In MySQL, concurrent calls may count a row
   * twice, and leave some to the next call.
   */
  prune(): Promise<number>;
  /** Rejects unless events can be claimed: it claims a key that no event has, and deletes its row. */
  ping(): Promise<void>;
}

export function sqlEngine(options: EngineOptions): TableStore<object> {
  const { connections, dialect, retentionMs, transactional } = options;
  return {
    scope: 'shared',
    retentionMs,
    joins: ({ database }) => transactional && database === connections.client,
    claim: (key, request) =>
      transactional
        ? withRetry(() => claimInTransaction(options, key, request))
        : claimRow(options, key, request),
    completedWith: (key) => dialect.completedWith(connections.run, key),
    lock: (key, leaseMs) => lockOf((request) => claimRow(options, key, request), leaseMs),
    migrate: () => connections.migrate(dialect.migration),
    prune: async () => {
      for (let sum = 0; ; ) {
        const { pruned, more } = await dialect.prune(connections.run, retentionMs);
        sum += pruned;
        if (!more) return sum;
      }
    },
    ping: () =>
      connections.ping(async (run) => {
        await dialect.ping(run);
        await withRetry(() => tryClaim(run, dialect));
      }),
  };
}

/** Lease mode: every step commits by itself. */
async function claimRow(
  options: EngineOptions,
  key: string,
  request: ClaimRequest,
): Promise<ForgettableResult> {
  const { connections, dialect, retentionMs } = options;
  const { run } = connections;
  const owner = claimParameters(key, request, retentionMs);
  const answer = await dialect.claim(run, owner);
  if (answer.status !== 'claimed') return answer;
  const claim = {
    attempt: answer.attempt,
    finished: answer.finished,
    renew: (leaseMs: number) => dialect.renew(run, owner, leaseMs, Math.max(leaseMs, retentionMs)),
    complete: () => dialect.complete(run, owner, retentionMs),
    release: (finished: readonly string[]) => dialect.release(run, owner, retentionMs, finished),
    forget: () => dialect.forget(run, owner),
  };
  return { status: answer.status, claim };
}

/**
 * How much longer than the lease a transaction is held, here and by the server. The receiver aborts its handlers at the end of
 * the lease, and its timer can be late. No other delivery may begin before that.
 */
const GRACE_MS = 250;

/** Another transaction held the event for a whole second, and may well need another one. */
const RETRY_AFTER_MS = 1_000;

/** One commit remembers the event and keeps what the handlers wrote. */
async function claimInTransaction(
  options: EngineOptions,
  key: string,
  request: ClaimRequest,
): Promise<ClaimResult<InTransaction<unknown>>> {
  const { connections, dialect, retentionMs } = options;
  const parameters = claimParameters(key, request, retentionMs);
  const heldMs = request.leaseMs + GRACE_MS;
  const session = await connections.open(heldMs);
  try {
    const begun = session.begin(dialect.opening(heldMs));
    // If BEGIN fails, the claim fails too, so a client that pipelines may send both at once.
    if (!session.pipelines) await begun;
    const [answer] = await Promise.all([dialect.claimInTransaction(session.run, parameters), begun]);
    if (answer.status === 'claimed' && session.isOpen)
      return { status: 'claimed', claim: new TransactionClaim(options, session, parameters, answer) };
    // A commit waits for a synchronous replica, and a rollback does not: a failover could then lose the row after the 2xx,
    // when nobody sends the event again.
    const ended = await (answer.status === 'completed' ? session.commit() : session.rollBack());
    if (ended && answer.status !== 'claimed') return answer;
    throw new StoreError('The transaction ended before its claim was answered.');
  } catch (error) {
    if (isLockTimeout(error)) {
      await session.rollBack().catch(() => {});
      return { status: 'in_progress', retryAfterMs: RETRY_AFTER_MS };
    }
    await session.abort(error as Error);
    throw error;
  }
}

/** A handler's statement failed, so Postgres only accepts a rollback. The connection is fine. */
const FAILED: ReadonlySet<unknown> = new Set(['25P02']);

class TransactionClaim implements Claim<InTransaction<unknown>> {
  readonly transactional = true;
  readonly attempt: number;
  readonly finished: readonly string[];
  readonly context: InTransaction<unknown>;
  kept: boolean | undefined;
  readonly #options: EngineOptions;
  readonly #session: Session;
  readonly #parameters: ClaimParameters;
  readonly #heartbeat: Heartbeat;
  #commit: Promise<boolean> | undefined;
  #settling = false;

  constructor(options: EngineOptions, session: Session, parameters: ClaimParameters, granted: Granted) {
    this.#options = options;
    this.#session = session;
    this.#parameters = parameters;
    this.attempt = granted.attempt;
    this.finished = granted.finished;
    this.kept = granted.kept;
    const { connections, dialect } = options;
    this.#heartbeat = new Heartbeat({
      ping: (leaseMs) => this.#ping(leaseMs),
      isBusy: () => session.isBusy === true,
      isExecuting: () => dialect.isExecuting(connections.run, granted.session),
      hasEnded: () => !this.open,
    });
    this.context = { transaction: this.#forHandlers() };
  }

  /** Once the transaction has ended, its connection may be used for another event. */
  get open(): boolean {
    return !this.#settling && this.#session.isOpen;
  }

  #forHandlers(): unknown {
    const session = this.#session;
    if (!session.outlives) return session.transaction;
    return guardClient(session.transaction as object, {
      hasEnded: () => !this.open,
      isReturned: () => !session.isOpen,
      // The queries of a client that does not say whether it is busy need not be promises.
      busyWith: () => (session.isBusy === undefined ? undefined : this.#heartbeat.pendingPing()),
    });
  }

  /** Whether the server still has the transaction open. */
  async renew(leaseMs: number): Promise<boolean> {
    const began = performance.now();
    const confirmed = await this.#heartbeat.confirm(leaseMs);
    if (!confirmed || !this.#session.isOpen) return false;
    this.#session.extend(began + leaseMs + GRACE_MS - performance.now());
    return true;
  }

  async #ping(leaseMs: number): Promise<void> {
    try {
      await this.#options.dialect.renewTransaction(this.#session.run, leaseMs + GRACE_MS);
    } catch (cause) {
      if (!hasCode(cause, FAILED))
        void this.#session.abort(new StoreError('The transaction no longer exists.', { cause }));
    }
  }

  /** The outcome of a commit never changes, so a second call gets the same answer. */
  complete(): Promise<boolean> {
    if (!this.#commit && this.#settling) return Promise.resolve(false);
    this.#settling = true;
    this.#commit ??= this.#complete();
    return this.#commit;
  }

  async #complete(): Promise<boolean> {
    const pinged = this.#heartbeat.pingInFlight();
    if (pinged) await pinged;
    const session = this.#session;
    const { connections, dialect } = this.#options;
    const began = performance.now();
    const marking = session.isOpen ? this.#mark() : undefined;
    // The commit of a session that pipelines fails by itself unless the mark is there.
    if (!session.pipelines) await marking;
    const committing = session.commit(() => dialect.isCompleted(connections.run, this.#parameters));
    const [marked, committed] = await Promise.all([marking, committing]);
    if (!committed) return false;
    this.kept = keptAfterCommit(marked?.kept, began);
    return true;
  }

  async #mark(): Promise<Pick<Claim, 'kept'>> {
    const { dialect, retentionMs } = this.#options;
    const { run, pipelines } = this.#session;
    try {
      const marked = await dialect.completeInTransaction(run, this.#parameters, retentionMs, pipelines);
      if (marked) return marked;
      throw new StoreError(
        'A handler has ended the transaction of its delivery. Leave COMMIT and ROLLBACK to the store.',
      );
    } catch (error) {
      await this.#session.abort(error as Error);
      throw error;
    }
  }

  /** A rollback forgets everything, including finished handlers: their writes are rolled back too. */
  async release(): Promise<boolean> {
    if (!this.open) return false;
    this.#settling = true;
    const pinged = this.#heartbeat.pingInFlight();
    if (pinged) await pinged;
    return this.#session.isOpen && this.#session.rollBack();
  }
}

/** A delivery that kept the event waits up to a second for this commit. Only a slower commit can leave its letter behind. */
const LONG_COMMIT_MS = 500;

/**
 * Whether there may be a letter once the commit is confirmed.
 *
 * @param kept what the completing statement saw; undefined if it did not look
 * @param began when that statement was sent, by the monotonic clock
 */
function keptAfterCommit(kept: boolean | undefined, began: number): boolean | undefined {
  return kept === false ? performance.now() - began > LONG_COMMIT_MS : kept;
}
