// The constants and types that workers, sender and checks share.

/** Where event ids are remembered; `transactional` commits the ledger's row with the claim. */
export type Mode = 'postgres' | 'transactional' | 'redis';

export const PRIVATE_KEY = 'pri_campaign';
export const LEASE_MS = 2_000;
/** What a failing handler throws; no answer may contain it. */
export const HANDLER_TEXT = 'the card of Ada Example';

export const LEDGER = `CREATE TABLE IF NOT EXISTS ledger (
  event_id text NOT NULL, worker integer NOT NULL, attempt integer NOT NULL,
  at timestamptz NOT NULL DEFAULT clock_timestamp())`;
export const INSERT = 'INSERT INTO ledger (event_id, worker, attempt) VALUES ($1, $2, $3)';

export interface LedgerRow {
  readonly event_id: string;
  readonly worker: number;
  readonly attempt: number;
  /** Milliseconds since 1970. */
  readonly at: number;
}
