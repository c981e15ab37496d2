// A claim in Postgres: the question and its answer, and the claim that one row keeps.
import { StoreError } from '../../errors.js';
import { newToken } from '../../token.js';
import type { Claim, ClaimRequest, ClaimResult } from '../store.js';
import type { PostgresPool, PostgresReply } from './pool.js';
import type { Sql } from './sql.js';
import type { Asking, Statement } from './statement.js';

export interface PostgresClaims {
  readonly pool: PostgresPool;
  readonly sql: Sql;
  readonly asking: Asking;
  readonly retention: number;
}

/** Who claims what; the values of the claim statement, in its order. */
export class Bid {
  readonly key: string;
  readonly leaseMs: number;
  readonly token = newToken('hex');
  readonly values: unknown[];

  constructor(key: string, { leaseMs, fingerprint }: ClaimRequest, retention: number) {
    this.key = key;
    this.leaseMs = leaseMs;
    this.values = [key, this.token, fingerprint, leaseMs, Math.max(leaseMs, retention)];
  }
}

export type Answer =
  | { readonly status: 'claimed'; readonly attempt: number; readonly finished: readonly string[] }
  | Exclude<ClaimResult, { status: 'claimed' }>;

interface ClaimRow {
  readonly claimed: boolean;
  readonly attempt: number;
  readonly finished: string;
  readonly fingerprint: string;
  /** Seconds; endless once completed. */
  readonly lease_left: number;
}

export function readAnswer(reply: PostgresReply): Answer {
  const row = reply.rows[0] as ClaimRow | undefined;
  if (!row) throw new StoreError('Postgres answered a claim without a row; a rule or trigger on the table?');
  if (row.claimed) return { status: 'claimed', attempt: row.attempt, finished: JSON.parse(row.finished) };
  if (row.lease_left === Number.POSITIVE_INFINITY)
    return { status: 'completed', fingerprint: row.fingerprint };
  return { status: 'in_progress', retryAfterMs: Math.max(row.lease_left * 1_000, 1) };
}

/** Lease mode: every step is a statement that commits by itself. */
export async function claimRow(
  { pool, sql, asking, retention }: PostgresClaims,
  key: string,
  request: ClaimRequest,
): Promise<ClaimResult> {
  const bid = new Bid(key, request, retention);
  const answer = readAnswer(await asking.again(() => asking.query(pool, sql.claim, bid.values)));
  if (answer.status !== 'claimed') return answer;
  const { attempt, finished } = answer;
  const set = async (statement: Statement, ...values: unknown[]) => {
    const all = [key, bid.token, ...values];
    return (await asking.again(() => asking.query(pool, statement, all))).rowCount === 1;
  };
  const claim: Claim = {
    attempt,
    finished,
    renew: (leaseMs) => set(sql.renew, leaseMs, Math.max(leaseMs, retention)),
    complete: () => set(sql.complete, retention),
    release: (now) => set(sql.release, retention, JSON.stringify(now)),
  };
  return { status: 'claimed', claim };
}
