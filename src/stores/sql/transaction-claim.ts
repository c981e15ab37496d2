// A claim that is a transaction: one commit holds the claim and the handlers' writes.
import type { Claim, ClaimRequest, ClaimResult } from '../../claims/idempotency-store.js';
import { StoreError } from '../../errors.js';
import { clientOfHandlers } from '../postgres/handler-client.js';
import { Heartbeat } from '../postgres/heartbeat.js';
import { keptAfterCommit } from '../postgres/letter-tables.js';
import { hasCode, isLockTimeout, withRetry } from './conflicts.js';
import type { Database, RunStatement, RunTransaction } from './database.js';
import { type ClaimParameters, claimParameters, type EventRows, type Granted } from './event-rows.js';
import { HeldTransaction } from './held-transaction.js';

/** What handlers get in their context. */
export interface InTransaction<Transaction> {
  readonly transaction: Transaction;
}

/** What a store in transactional mode needs to know. */
export interface TransactionStore<Transaction> {
  readonly database: Database<object, Transaction>;
  readonly begin: RunTransaction<Transaction>;
  readonly rows: EventRows;
  readonly retentionMs: number;
}

/** Another transaction held the event for as long as we waited, so it may well take as long again. */
const RETRY_AFTER_MS = 1_000;
/** A statement of a handler has failed, so Postgres refuses everything but a rollback. The connection is open. */
const FAILED: ReadonlySet<unknown> = new Set(['25P02']);

export function claimInTransaction<Transaction>(
  store: TransactionStore<Transaction>,
  key: string,
  request: ClaimRequest,
): Promise<ClaimResult<InTransaction<Transaction>>> {
  return withRetry(() => tryToClaim(store, key, request));
}

async function tryToClaim<Transaction>(
  store: TransactionStore<Transaction>,
  key: string,
  request: ClaimRequest,
): Promise<ClaimResult<InTransaction<Transaction>>> {
  const { rows, database, retentionMs } = store;
  const parameters = claimParameters(key, request, retentionMs);
  const held = new HeldTransaction(store.begin, request.leaseMs);
  const transaction = await held.begun;
  const run = database.within(transaction);
  try {
    const answer = await rows.claimInTransaction(run, parameters);
    if (answer.status === 'claimed' && held.open) {
      const session = { held, transaction, run };
      return { status: 'claimed', claim: new TransactionClaim(store, session, { ...answer, ...parameters }) };
    }
    // The row may not be on a synchronous replica yet, and after a 2xx nobody would send the event again. A commit waits.
    // Both throw where the transaction has ended meanwhile.
    await (answer.status === 'completed' ? held.commit() : held.rollBack());
    return answer as Exclude<typeof answer, Granted>;
  } catch (error) {
    // If the rollback fails too, the first error is the one to report.
    if (held.open) await held.rollBack().catch(() => {});
    if (isLockTimeout(error)) return { status: 'in_progress', retryAfterMs: RETRY_AFTER_MS };
    throw error;
  }
}

interface Session<Transaction> {
  readonly held: HeldTransaction<Transaction>;
  readonly transaction: Transaction;
  readonly run: RunStatement;
}

class TransactionClaim<Transaction> implements Claim<InTransaction<Transaction>> {
  readonly transactional = true;
  readonly attempt: number;
  readonly finished: readonly string[];
  readonly context: InTransaction<Transaction>;
  kept: boolean | undefined;
  readonly #store: TransactionStore<Transaction>;
  readonly #session: Session<Transaction>;
  readonly #owner: ClaimParameters;
  readonly #heartbeat: Heartbeat;
  #commit: Promise<boolean> | undefined;
  #released = false;

  constructor(
    store: TransactionStore<Transaction>,
    session: Session<Transaction>,
    owner: ClaimParameters & Granted,
  ) {
    this.#store = store;
    this.#session = session;
    this.#owner = owner;
    this.attempt = owner.attempt;
    this.finished = owner.finished;
    this.kept = owner.kept;
    this.context = { transaction: forHandlers(session) };
    this.#heartbeat = new Heartbeat({
      ping: (leaseMs) => this.#ping(leaseMs),
      isBusy: () => false,
      isExecuting: () => store.rows.isExecuting(store.database.run, owner.session),
      hasEnded: () => this.#commit !== undefined || !session.held.open,
    });
  }

  /** Once the transaction has ended, its connection may work for others. */
  get open(): boolean {
    return this.#session.held.open;
  }

  /** Whether the transaction is open, as the server says. */
  async renew(leaseMs: number): Promise<boolean> {
    const { held } = this.#session;
    const began = performance.now();
    const confirmed = await this.#heartbeat.confirm(leaseMs);
    if (!confirmed || this.#commit || !held.open) return false;
    held.extend(began + leaseMs - performance.now());
    return true;
  }

  async #ping(leaseMs: number): Promise<void> {
    const { held, run } = this.#session;
    try {
      await this.#store.rows.renewTransaction(run, leaseMs);
    } catch (error) {
      if (!hasCode(error, FAILED))
        held.break(new StoreError('The transaction is not there any more.', { cause: error }));
    }
  }

  /** The outcome of a commit never changes: a second call gets the same answer. */
  complete(): Promise<boolean> {
    if (!this.#commit && this.#released) return Promise.resolve(false);
    this.#commit ??= this.#complete();
    return this.#commit;
  }

  async #complete(): Promise<boolean> {
    const { held, run } = this.#session;
    const { rows, database, retentionMs } = this.#store;
    await this.#heartbeat.settled();
    const began = performance.now();
    const completing = () =>
      rows.completeInTransaction(run, this.#owner, retentionMs, this.#owner.letterTable);
    const marked = held.open ? await this.#mark(held, completing()) : undefined;
    await held.commit();
    this.kept = keptAfterCommit(marked?.kept, began);
    // What a client says of a commit is not enough: Postgres may have answered it with ROLLBACK, and nobody looked.
    if (await rows.isCompleted(database.run, this.#owner)) return true;
    throw new StoreError('transaction resolved, but its writes are not committed.');
  }

  async #mark<Marked>(
    held: HeldTransaction<Transaction>,
    marking: Promise<Marked | undefined>,
  ): Promise<Marked> {
    try {
      const marked = await marking;
      if (marked) return marked;
      throw new StoreError(
        'A handler has ended the transaction of its delivery. Leave COMMIT and ROLLBACK to the store.',
      );
    } catch (error) {
      if (held.open) await held.rollBack().catch(() => {});
      throw error;
    }
  }

  /** A rollback forgets everything, also the finished handlers: their writes are undone with the rest. */
  async release(): Promise<boolean> {
    const { held } = this.#session;
    if (this.#commit || this.#released || !held.open) return false;
    this.#released = true;
    await this.#heartbeat.settled();
    if (!held.open) return false;
    await held.rollBack();
    return true;
  }
}

/** ORMs refuse a transaction that has ended. A bare connection would run the statement by itself, or for another event. */
function forHandlers<Transaction>({ held, transaction }: Session<Transaction>): Transaction {
  if (!isConnection(transaction)) return transaction;
  const hasEnded = () => !held.open;
  return clientOfHandlers(transaction, { hasEnded, isReturned: hasEnded, busyWith: () => undefined });
}

/** Of a pool, to which it goes back. */
function isConnection(transaction: unknown): transaction is object {
  return typeof transaction === 'object' && transaction !== null && 'release' in transaction;
}
