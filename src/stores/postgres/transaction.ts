// A claim that is a transaction: one commit remembers the event and keeps what the handlers wrote.

import type { Claim, ClaimRequest, ClaimResult } from '../../claims/idempotency-store.js';
import { StoreError } from '../../errors.js';
import { MAX_TIMER_MS } from '../../options/duration.js';
import { CheckedOutClient } from './checked-out-client.js';
import { type Answer, ClaimParameters, type Owner } from './claim.js';
import { type EventTable, sqlState, withRetry } from './event-table.js';
import { clientOfHandlers } from './handler-client.js';
import { Heartbeat } from './heartbeat.js';
import { keptAfterCommit } from './letter-tables.js';
import type { PostgresClient } from './pool.js';

/** What handlers get in their context. */
export interface InTransaction {
  readonly transaction: PostgresClient;
}

/** Another transaction held the event for as long as we waited, so it may well take as long again. */
const RETRY_AFTER_MS = 1_000;

export async function claimInTransaction(
  table: EventTable,
  key: string,
  request: ClaimRequest,
): Promise<ClaimResult<InTransaction>> {
  const checkedOut = new CheckedOutClient(await table.pool.connect(), request.leaseMs);
  const parameters = new ClaimParameters(key, request, table.retentionMs);
  try {
    const answer = await withRetry(() => begin(table, checkedOut.client, parameters));
    if (answer.status === 'claimed')
      return { status: 'claimed', claim: new TransactionClaim(table, checkedOut, answer) };
    // The row may not be on a synchronous replica yet, and after a 2xx nobody would send the event again. A commit waits.
    await (answer.status === 'completed' ? checkedOut.commit() : checkedOut.rollBack());
    return answer;
  } catch (error) {
    checkedOut.giveBack(error as Error);
    throw error;
  }
}

async function begin(
  table: EventTable,
  client: PostgresClient,
  parameters: ClaimParameters,
): Promise<Answer> {
  try {
    await client.query({ text: table.sql.begin(idleMs(parameters.leaseMs)) });
    const statement = table.sql.claimInTransaction(parameters.letterTable);
    return parameters.read(await table.query(client, statement, parameters.values), table.sql.exactKey);
  } catch (error) {
    if (sqlState(error) === '55P03') return { status: 'in_progress', retryAfterMs: RETRY_AFTER_MS };
    // The next try begins again. If the rollback fails too, the first error is the one to report.
    await client.query({ text: 'ROLLBACK' }).catch(() => {});
    throw error;
  }
}

class TransactionClaim implements Claim<InTransaction> {
  readonly transactional = true;
  readonly attempt: number;
  readonly finished: readonly string[];
  readonly context: InTransaction;
  kept: boolean | undefined;
  readonly #table: EventTable;
  readonly #checkedOut: CheckedOutClient;
  readonly #owner: Owner;
  readonly #heartbeat: Heartbeat;
  #commit: Promise<boolean> | undefined;
  #settling = false;

  constructor(table: EventTable, checkedOut: CheckedOutClient, owner: Owner) {
    this.#table = table;
    this.#checkedOut = checkedOut;
    this.#owner = owner;
    this.attempt = owner.attempt;
    this.finished = owner.finished;
    this.kept = owner.kept;
    this.#heartbeat = new Heartbeat({
      ping: (leaseMs) => this.#extendIdleTime(leaseMs),
      // A query would wait behind that of the handler, and the next version of pg queues none.
      isBusy: () => checkedOut.client.readyForQuery === false,
      isExecuting: () => this.#isExecuting(),
      hasEnded: () => this.#settling || checkedOut.returned,
    });
    this.context = {
      transaction: clientOfHandlers(checkedOut.client, {
        hasEnded: () => this.#settling || checkedOut.returned,
        isReturned: () => checkedOut.returned,
        busyWith: () => this.#heartbeat.turn(),
      }),
    };
  }

  get open(): boolean {
    return !this.#settling && !this.#checkedOut.returned;
  }

  /** Whether the transaction is open, as the server says. */
  async renew(leaseMs: number): Promise<boolean> {
    if (this.#settling || this.#checkedOut.returned) return false;
    const began = performance.now();
    const confirmed = await this.#heartbeat.confirm(leaseMs);
    if (!confirmed || this.#checkedOut.returned) return false;
    this.#checkedOut.extend(began + leaseMs - performance.now());
    return true;
  }

  async #isExecuting(): Promise<boolean> {
    const values = [this.#owner.session];
    const { rowCount } = await this.#table.pool.query({ text: this.#table.sql.executing, values });
    return rowCount === 1;
  }

  async #extendIdleTime(leaseMs: number): Promise<void> {
    try {
      const values = [String(idleMs(leaseMs))];
      await this.#checkedOut.client.query({ text: this.#table.sql.renewTransaction, values });
    } catch (error) {
      // A handler's statement has failed, so Postgres refuses everything but a rollback. The connection is open.
      if (sqlState(error) !== '25P02') throw error;
    }
  }

  /** The outcome of a commit never changes: a second call gets the same answer. */
  complete(): Promise<boolean> {
    if (!this.#commit && this.#settling) return Promise.resolve(false);
    this.#settling = true;
    this.#commit ??= this.#complete();
    return this.#commit;
  }

  async #complete(): Promise<boolean> {
    const pinged = this.#heartbeat.settled();
    if (pinged) await pinged;
    if (this.#checkedOut.returned) return false;
    try {
      await this.#markAndCommit();
    } catch (error) {
      this.#checkedOut.giveBack(error as Error);
      throw error;
    }
    return true;
  }

  async #markAndCommit(): Promise<void> {
    const { client } = this.#checkedOut;
    const { sql, retentionMs } = this.#table;
    const { key, token, letterTable } = this.#owner;
    const statement = sql.completeInTransaction(letterTable);
    const began = performance.now();
    const marked = await this.#table.query(client, statement, [key, token, retentionMs]);
    if (marked.rowCount !== 1) {
      throw new StoreError(
        'A handler has ended the transaction of its delivery. Leave COMMIT and ROLLBACK to the store.',
      );
    }
    await this.#checkedOut.commit();
    const [row] = marked.rows as readonly { readonly kept?: boolean }[];
    this.kept = keptAfterCommit(row?.kept, began);
  }

  /** A rollback forgets everything, also the finished handlers: their writes are undone with the rest. */
  async release(): Promise<boolean> {
    if (this.#settling || this.#checkedOut.returned) return false;
    this.#settling = true;
    const pinged = this.#heartbeat.settled();
    if (pinged) await pinged;
    if (this.#checkedOut.returned) return false;
    try {
      await this.#checkedOut.rollBack();
    } catch (error) {
      this.#checkedOut.giveBack(error as Error);
      throw error;
    }
    return true;
  }
}

/** Postgres takes no longer time than a timer of Node does. */
function idleMs(leaseMs: number): number {
  return Math.min(Math.max(Math.ceil(leaseMs), 1), MAX_TIMER_MS);
}
