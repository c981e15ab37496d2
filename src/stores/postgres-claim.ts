// A claim in Postgres: the question and its answer, and the claim that one row keeps.
import { randomBytes } from 'node:crypto';
import { StoreError } from '../errors.js';
import { type PostgresPool, type PostgresReply, retried } from './postgres-pool.js';
import type { Sql } from './postgres-sql.js';
import type { Claim, ClaimRequest, ClaimResult } from './store.js';

export interface PostgresClaims {
  readonly pool: PostgresPool;
  readonly sql: Sql;
  readonly retention: number;
}

/** Who claims what; the values of the claim statement, in its order. */
export class Bid {
  readonly key: string;
  readonly token = randomBytes(16).toString('hex');
  readonly values: unknown[];

  constructor(key: string, { leaseMs, fingerprint }: ClaimRequest, retention: number) {
    this.key = key;
    this.values = [key, this.token, fingerprint, leaseMs, Math.max(leaseMs, retention)];
  }
}

export type Answer =
  | { readonly status: 'claimed'; readonly attempt: number; readonly finished: readonly string[] }
  | Exclude<ClaimResult, { status: 'claimed' }>;

interface ClaimRow {
  readonly claimed: boolean;
  readonly completed: boolean;
  readonly attempt: number;
  readonly fingerprint: string;
  readonly finished: string;
  readonly lease_left: number;
}

export function readAnswer(reply: PostgresReply): Answer {
  const row = reply.rows[0] as ClaimRow | undefined;
  if (!row) throw new StoreError('Postgres answered a claim without a row; a rule or trigger on the table?');
  if (row.claimed)
    return { status: 'claimed', attempt: Number(row.attempt), finished: JSON.parse(row.finished) };
  if (row.completed) return { status: 'completed', fingerprint: row.fingerprint };
  return { status: 'in_progress', retryAfterMs: Number(row.lease_left) };
}

/** Lease mode: every step is a statement that commits by itself. */
export async function claimRow(
  { pool, sql, retention }: PostgresClaims,
  key: string,
  request: ClaimRequest,
): Promise<ClaimResult> {
  const bid = new Bid(key, request, retention);
  const answer = readAnswer(await retried(() => pool.query({ text: sql.claim, values: bid.values })));
  if (answer.status !== 'claimed') return answer;
  const { attempt, finished } = answer;
  const set = async (text: string, ...values: unknown[]) => {
    const reply = await retried(() => pool.query({ text, values: [key, bid.token, ...values] }));
    return reply.rowCount === 1;
  };
  const claim: Claim = {
    attempt,
    finished,
    renew: (leaseMs) => set(sql.renew, leaseMs, Math.max(leaseMs, retention)),
    complete: () => set(sql.complete, retention),
    release: (now) => set(sql.release, retention, now),
  };
  return { status: 'claimed', claim };
}
