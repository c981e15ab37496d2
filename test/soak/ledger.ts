// Holds the ledger against what was sent: every good event once, and nothing else.
import type { Pool } from 'pg';
import type { StoreName } from './merchant.js';

/** The ids of one sender's events at one store: `prefix-1` to `prefix-made`. */
export interface Sent {
  readonly prefix: string;
  readonly made: number;
}

export interface Balance {
  readonly store: StoreName;
  readonly events: number;
  readonly missing: number;
  readonly doubled: number;
  /** Rows of events that were never signed with the key. */
  readonly forged: number;
}

const BALANCE = `
WITH sent AS (
  SELECT prefix || '-' || number AS event_id
  FROM unnest($1::text[], $2::int[]) AS sender (prefix, made), generate_series(1, made) AS number
), ran AS (
  SELECT event_id, count(*) AS times FROM ledger GROUP BY event_id
)
SELECT split_part(event_id, '-', 1) AS store,
  count(sent.event_id)::int AS events,
  (count(*) FILTER (WHERE ran.event_id IS NULL))::int AS missing,
  (count(*) FILTER (WHERE times > 1))::int AS doubled,
  (count(*) FILTER (WHERE sent.event_id IS NULL))::int AS forged
FROM sent FULL JOIN ran USING (event_id)
GROUP BY store`;

export async function balance(pool: Pool, sent: readonly Sent[]): Promise<Balance[]> {
  const values = [sent.map(({ prefix }) => prefix), sent.map(({ made }) => made)];
  return (await pool.query<Balance>(BALANCE, values)).rows;
}
