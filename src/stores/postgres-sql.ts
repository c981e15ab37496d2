// The SQL of the Postgres store, for a table of the user's choice.
import { createHash } from 'node:crypto';
import { ConfigurationError } from '../errors.js';

const TABLE = /^(?:([A-Za-z_][A-Za-z0-9_]{0,62})\.)?([A-Za-z_][A-Za-z0-9_]{0,62})$/;
const LONGEST_NAME = 63;

/** @throws {ConfigurationError} for anything but `name` or `schema.name` of plain letters, digits and underscores */
export function parseTable(table: unknown): { readonly table: string; readonly index: string } {
  const match = typeof table === 'string' ? TABLE.exec(table) : null;
  if (!match) {
    throw new ConfigurationError(
      `table is ${typeof table === 'string' ? JSON.stringify(table.slice(0, 80)) : `of type ${typeof table}`}; ` +
        'give "name" or "schema.name", each of at most 63 letters, digits and underscores, not starting with a digit.',
    );
  }
  const [, schema, name = ''] = match;
  return { table: schema === undefined ? `"${name}"` : `"${schema}"."${name}"`, index: indexName(name) };
}

/** Postgres would cut a long name to that of the table itself, and then find the index there already. */
function indexName(table: string): string {
  const index = `${table}_forget_at`;
  if (index.length <= LONGEST_NAME) return `"${index}"`;
  return `"${table.slice(0, 40)}_${createHash('sha256').update(table).digest('hex').slice(0, 12)}_forget_at"`;
}

export type Sql = ReturnType<typeof sqlFor>;

/** Every statement is complete in itself, and reads the clock of the server once. */
export function sqlFor({ table, index }: { readonly table: string; readonly index: string }) {
  const now = 'statement_timestamp()';
  const forgotten = `e.forget_at <= ${now}`;
  const free = `(${forgotten} OR e.completed_at IS NULL AND e.lease_ends <= ${now})`;
  const ifFree = (column: string) =>
    `${column} = CASE WHEN ${free} THEN excluded.${column} ELSE e.${column} END`;
  const inMs = (parameter: string) => `${now} + ${parameter} * interval '1 millisecond'`;
  // The row is written even when it stays as it is: otherwise a claim that lost a race would get no row at all.
  const claim = (more = '') => `
INSERT INTO ${table} AS e (key, token, attempt, finished, fingerprint, lease_ends, forget_at)
VALUES ($1, $2, 1, '{}', $3, ${inMs('$4')}, ${inMs('$5')})
ON CONFLICT (key) DO UPDATE SET
  ${ifFree('token')},
  attempt = CASE WHEN ${forgotten} THEN 1 WHEN ${free} THEN e.attempt + 1 ELSE e.attempt END,
  finished = CASE WHEN ${forgotten} THEN '{}' ELSE e.finished END,
  ${ifFree('fingerprint')},
  ${ifFree('lease_ends')},
  completed_at = CASE WHEN ${forgotten} THEN NULL ELSE e.completed_at END,
  ${ifFree('forget_at')}
RETURNING token = $2 AS claimed, completed_at IS NOT NULL AS completed, attempt, fingerprint,
  array_to_json(finished)::text AS finished,
  (extract(epoch FROM lease_ends - ${now}) * 1000)::float8 AS lease_left${more}`;

  const complete = `
UPDATE ${table} SET completed_at = ${now}, finished = '{}', forget_at = ${inMs('$3')}
WHERE key = $1 AND token = $2`;

  return {
    migrate: `
-- Two processes that start at once would both find no table, and one would fail to create it.
SELECT pg_advisory_xact_lock(hashtextextended('payment-webhooks', 0));
CREATE TABLE IF NOT EXISTS ${table} (
  key          text COLLATE "C" PRIMARY KEY,   -- namespace, live or sandbox, id of the event
  token        uuid,                           -- who owns the claim; null once it is released
  attempt      integer NOT NULL,
  finished     text[] NOT NULL,                -- named handlers that succeeded on an earlier attempt
  fingerprint  text NOT NULL,                  -- SHA-256 of the latest claim's bytes
  lease_ends   timestamptz NOT NULL,
  completed_at timestamptz,
  forget_at    timestamptz NOT NULL            -- the last write plus the retention
);
CREATE INDEX IF NOT EXISTS ${index} ON ${table} (forget_at);`,

    claim: claim(),

    renew: `
UPDATE ${table} SET lease_ends = ${inMs('$3')}, forget_at = ${inMs('$4')}
WHERE key = $1 AND token = $2 AND completed_at IS NULL`,

    complete,

    release: `
UPDATE ${table} SET token = NULL, lease_ends = '-infinity', finished = $4, forget_at = ${inMs('$3')}
WHERE key = $1 AND token = $2 AND completed_at IS NULL`,

    prune: `
DELETE FROM ${table} WHERE key IN (
  SELECT key FROM ${table} WHERE forget_at <= ${now} ORDER BY forget_at LIMIT $1 FOR UPDATE SKIP LOCKED
)`,

    // A duplicate waits for the transaction that works on the event, but not for long. The handlers' own statements
    // wait as they always did: the claim puts the setting back.
    begin: (idleMs: number) => `
BEGIN ISOLATION LEVEL READ COMMITTED;
SELECT set_config('payment_webhooks.lock_timeout', current_setting('lock_timeout'), true),
  set_config('lock_timeout', '1s', true),
  set_config('idle_in_transaction_session_timeout', '${idleMs}', true);`,

    claimInTransaction: claim(`,
  set_config('lock_timeout', current_setting('payment_webhooks.lock_timeout'), true) AS lock_timeout`),

    renewTransaction: `SELECT set_config('idle_in_transaction_session_timeout', $1, true)`,

    // Finds no row when a handler has ended the transaction: the row was then written by another one, or by none.
    completeInTransaction: `${complete} AND xmin = pg_current_xact_id_if_assigned()::xid`,
  };
}
