// A claim in Postgres: its parameters, its answer, and the claim that one row keeps.

import type { Claim, ClaimRequest, ClaimResult } from '../../claims/idempotency-store.js';
import type { ForgettableResult } from '../../claims/lock-of-claim.js';
import { newToken } from '../../claims/token.js';
import { StoreError } from '../../errors.js';
import type { EventTable } from './event-table.js';
import { letterTableOf } from './letter-tables.js';
import type { PostgresReply } from './pool.js';
import { inexactKey, type Statement } from './sql.js';

/** Who owns a claim, and what it knows of earlier ones. */
export interface Owner extends Pick<Claim, 'attempt' | 'finished' | 'kept'> {
  readonly key: string;
  readonly token: string;
  /** Names the transaction of the claim on the server. */
  readonly session?: string | undefined;
  /** Where the claim looks for dead letters of its event. */
  readonly letterTable?: string | undefined;
}

export type Answer = ({ readonly status: 'claimed' } & Owner) | Exclude<ClaimResult, { status: 'claimed' }>;

interface ClaimRow {
  readonly key: string;
  readonly claimed: boolean;
  readonly attempt: number;
  readonly finished: string;
  readonly fingerprint: string;
  /** Seconds; infinite once completed. */
  readonly lease_left: number;
  /** Only where the claim looks for dead letters. */
  readonly kept?: boolean;
  /** Only in a transaction. */
  readonly session?: string;
}

export class ClaimParameters {
  readonly leaseMs: number;
  readonly letterTable: string | undefined;
  /** In the order of the claim statements. */
  readonly values: unknown[];
  readonly #key: string;
  readonly #token = newToken('hex');

  constructor(key: string, { leaseMs, fingerprint, deadLetters }: ClaimRequest, retentionMs: number) {
    this.leaseMs = leaseMs;
    this.letterTable = letterTableOf(deadLetters);
    this.values = [key, this.#token, fingerprint, leaseMs, Math.max(leaseMs, retentionMs)];
    this.#key = key;
  }

  /** The answer of a claim statement. */
  read(reply: PostgresReply, exactKey: string): Answer {
    const row = reply.rows[0] as ClaimRow | undefined;
    if (!row)
      throw new StoreError(
        'Postgres answered a claim without a row. Check the table for rules and triggers.',
      );
    if (row.key !== this.#key) throw inexactKey(exactKey);
    if (row.claimed) return this.granted(row.attempt, JSON.parse(row.finished), row);
    if (row.lease_left === Number.POSITIVE_INFINITY)
      return { status: 'completed', fingerprint: row.fingerprint };
    return { status: 'in_progress', retryAfterMs: Math.max(row.lease_left * 1_000, 1) };
  }

  granted(
    attempt: number,
    finished: readonly string[],
    { kept, session }: Pick<ClaimRow, 'kept' | 'session'> = {},
  ): Answer {
    const { letterTable } = this;
    return {
      status: 'claimed',
      key: this.#key,
      token: this.#token,
      attempt,
      finished,
      kept,
      session,
      letterTable,
    };
  }
}

/** Lease mode: every step is a statement that commits by itself. */
export async function claimRow(
  table: EventTable,
  key: string,
  request: ClaimRequest,
): Promise<ForgettableResult<RowClaim>> {
  const parameters = new ClaimParameters(key, request, table.retentionMs);
  // Most claims are the first of their event. A plain insert costs less than the statement that can take over.
  const inserted = await table.run(table.sql.claimNew, parameters.values);
  const answer =
    inserted.rowCount === 1
      ? parameters.granted(1, [])
      : parameters.read(await table.run(table.sql.claim, parameters.values), table.sql.exactKey);
  return answer.status === 'claimed' ? { status: 'claimed', claim: new RowClaim(table, answer) } : answer;
}

class RowClaim implements Claim {
  readonly attempt: number;
  readonly finished: readonly string[];
  readonly #table: EventTable;
  readonly #owner: Owner;

  constructor(table: EventTable, owner: Owner) {
    this.#table = table;
    this.#owner = owner;
    this.attempt = owner.attempt;
    this.finished = owner.finished;
  }

  renew(leaseMs: number): Promise<boolean> {
    const { sql, retentionMs } = this.#table;
    return this.#write(sql.renew, leaseMs, Math.max(leaseMs, retentionMs));
  }

  complete(): Promise<boolean> {
    const { sql, retentionMs } = this.#table;
    return this.#write(sql.complete, retentionMs);
  }

  release(finished: readonly string[]): Promise<boolean> {
    const { sql, retentionMs } = this.#table;
    return this.#write(sql.release, retentionMs, JSON.stringify(finished));
  }

  forget(): Promise<boolean> {
    return this.#write(this.#table.sql.forget);
  }

  async #write(statement: Statement, ...values: unknown[]): Promise<boolean> {
    const { key, token } = this.#owner;
    const { rowCount } = await this.#table.run(statement, [key, token, ...values]);
    return rowCount === 1;
  }
}
