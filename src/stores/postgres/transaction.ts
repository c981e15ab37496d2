// A claim that is a transaction: the event is remembered by the same commit as the handlers' writes.
import { StoreError } from '../../errors.js';
import type { Claim, ClaimRequest, ClaimResult } from '../store.js';
import { type Answer, Bid, type PostgresClaims, readAnswer } from './claim.js';
import { Loan } from './loan.js';
import type { PostgresClient } from './pool.js';
import { sqlState } from './statement.js';

/** What handlers get in their context. */
export interface InTransaction {
  readonly transaction: PostgresClient;
}

/** The longest idle time that Postgres takes. */
const LONGEST_IDLE = 2_147_483_647;
/** Somebody held the event for as long as we waited, so it may well take as long again. */
const RETRY_AFTER_MS = 1_000;

export async function claimInTransaction(
  claims: PostgresClaims,
  key: string,
  request: ClaimRequest,
): Promise<ClaimResult<InTransaction>> {
  const loan = new Loan(await claims.pool.connect(), request.leaseMs);
  const bid = new Bid(key, request, claims.retention);
  try {
    const answer = await claims.asking.again(() => begin(loan.client, claims, bid));
    if (answer.status === 'claimed')
      return { status: 'claimed', claim: new TransactionClaim(loan, answer, { claims, bid }) };
    await loan.rollBack();
    return answer;
  } catch (error) {
    loan.end(error as Error);
    throw error;
  }
}

async function begin(client: PostgresClient, { sql, asking }: PostgresClaims, bid: Bid): Promise<Answer> {
  try {
    await client.query({ text: sql.begin(idleMs(bid.leaseMs)) });
    return readAnswer(await asking.query(client, sql.claimInTransaction, bid.values));
  } catch (error) {
    if (sqlState(error) === '55P03') return { status: 'in_progress', retryAfterMs: RETRY_AFTER_MS };
    // The next try begins anew; if even this fails, what matters is why.
    await client.query({ text: 'ROLLBACK' }).catch(() => {});
    throw error;
  }
}

class TransactionClaim implements Claim<InTransaction> {
  readonly transactional = true;
  readonly attempt: number;
  readonly finished: readonly string[];
  readonly context: InTransaction;
  readonly #loan: Loan;
  readonly #claims: PostgresClaims;
  readonly #bid: Bid;
  #ping: Promise<void> | undefined;
  #commit: Promise<boolean> | undefined;
  #settling = false;

  constructor(
    loan: Loan,
    { attempt, finished }: Pick<Claim, 'attempt' | 'finished'>,
    { claims, bid }: { readonly claims: PostgresClaims; readonly bid: Bid },
  ) {
    this.#loan = loan;
    this.attempt = attempt;
    this.finished = finished;
    this.#claims = claims;
    this.#bid = bid;
    this.context = { transaction: lend(loan.client, () => this.#settling || loan.over) };
  }

  /** Whether the connection still lives, and with it the transaction. */
  async renew(leaseMs: number): Promise<boolean> {
    if (this.#settling || this.#loan.over) return false;
    // While a handler's own statement is under way the session is not idle, and asking would only queue behind it.
    const busy = this.#loan.client.readyForQuery === false;
    if (this.#ping || !busy) {
      this.#ping ??= this.#askConnection(leaseMs).finally(() => {
        this.#ping = undefined;
      });
      await this.#ping;
    }
    if (this.#loan.over) return false;
    this.#loan.extend(leaseMs);
    return true;
  }

  async #askConnection(leaseMs: number): Promise<void> {
    try {
      await this.#loan.client.query({
        text: this.#claims.sql.renewTransaction,
        values: [String(idleMs(leaseMs))],
      });
    } catch (error) {
      // A handler's statement has failed, so Postgres refuses everything but a rollback: it is there.
      if (sqlState(error) !== '25P02') throw error;
    }
  }

  /** The outcome of a commit does not change by asking again: whoever lost it is told the same. */
  complete(): Promise<boolean> {
    if (!this.#commit && this.#settling) return Promise.resolve(false);
    this.#settling = true;
    this.#commit ??= this.#complete();
    return this.#commit;
  }

  async #complete(): Promise<boolean> {
    const { client } = this.#loan;
    if (this.#loan.over) return false;
    const { sql, asking, retention } = this.#claims;
    const { key, token } = this.#bid;
    try {
      const mark = await asking.query(client, sql.completeInTransaction, [key, token, retention]);
      if (mark.rowCount !== 1) {
        throw new StoreError(
          'A handler has ended the transaction of its delivery; leave COMMIT and ROLLBACK to the store.',
        );
      }
      const { command } = await client.query({ text: 'COMMIT' });
      if (command !== 'COMMIT') throw new StoreError(`Postgres answered COMMIT with ${command}.`);
    } catch (error) {
      this.#loan.end(error as Error);
      throw error;
    }
    this.#loan.end();
    return true;
  }

  /** A rollback forgets everything, the finished handlers too: their writes are undone with the rest. */
  async release(): Promise<boolean> {
    if (this.#settling || this.#loan.over) return false;
    this.#settling = true;
    try {
      await this.#loan.rollBack();
    } catch (error) {
      this.#loan.end(error as Error);
      throw error;
    }
    return true;
  }
}

/** The client as handlers may use it: while it is theirs, and without the right to give it back. */
function lend(client: PostgresClient, ended: () => boolean): PostgresClient {
  return new Proxy(client, {
    get(target, property) {
      if (ended())
        throw new StoreError(
          'The transaction has ended; await every query of it before the handler resolves.',
        );
      if (property === 'release') return refuseRelease;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

function refuseRelease(): never {
  throw new StoreError('The transaction belongs to the store, which gives its client back to the pool.');
}

function idleMs(leaseMs: number): number {
  return Math.min(Math.max(Math.ceil(leaseMs), 1), LONGEST_IDLE);
}
