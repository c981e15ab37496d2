// The SQL of the Postgres store, for a table of the user's choice.
import { createHash } from 'node:crypto';
import { ConfigurationError } from '../../errors.js';
import { Statement } from './statement.js';

// Every statement reads the clock of the server once, and no other clock.
const NOW = 'statement_timestamp()';
const FORGOTTEN = `e.forget_at <= ${NOW}`;
const FREE = `LEAST(e.lease_ends, e.forget_at) <= ${NOW}`;

const migrate = (table: string, index: string) => `
-- Two processes that start at once would both find no table, and one would fail to create it.
SELECT pg_advisory_xact_lock(hashtextextended('payment-webhooks', 0));
CREATE TABLE IF NOT EXISTS ${table} (
  key         text COLLATE "C" PRIMARY KEY, -- namespace, live or sandbox, id of the event
  token       uuid,                         -- who owns the claim; null once it is released
  attempt     integer NOT NULL,
  finished    text NOT NULL,                -- JSON: named handlers that succeeded on an earlier attempt
  fingerprint text NOT NULL,                -- SHA-256 of the bytes that are worked on, or were
  lease_ends  timestamptz NOT NULL,         -- -infinity once released, infinity once completed
  forget_at   timestamptz NOT NULL,         -- the last write plus the retention
  claimed_at  timestamptz NOT NULL DEFAULT statement_timestamp()
);
-- Not on forget_at: each write changes that, and would then have to touch every index.
CREATE INDEX IF NOT EXISTS ${index} ON ${table} (claimed_at);`;

// The row is written even when it stays as it is: otherwise a claim that lost a race would get no row at all.
const claim = (table: string) => `
INSERT INTO ${table} AS e (key, token, attempt, finished, fingerprint, lease_ends, forget_at)
VALUES ($1, $2, 1, '[]', $3, ${fromNow('$4')}, ${fromNow('$5')})
ON CONFLICT (key) DO UPDATE SET
  ${ifFree('token')},
  attempt = CASE WHEN ${FORGOTTEN} THEN 1 WHEN ${FREE} THEN e.attempt + 1 ELSE e.attempt END,
  finished = CASE WHEN ${FORGOTTEN} THEN '[]' ELSE e.finished END,
  ${ifFree('fingerprint')},
  ${ifFree('lease_ends')},
  ${ifFree('forget_at')}
RETURNING token = $2 AS claimed, attempt, finished, fingerprint,
  date_part('epoch', lease_ends) - date_part('epoch', ${NOW}) AS lease_left`;

const renew = (table: string) => `
UPDATE ${table} SET lease_ends = ${fromNow('$3')}, forget_at = ${fromNow('$4')}
WHERE key = $1 AND token = $2 AND lease_ends < 'infinity'`;

const complete = (table: string) => `
UPDATE ${table} SET lease_ends = 'infinity', finished = '[]', forget_at = ${fromNow('$3')}
WHERE key = $1 AND token = $2`;

const release = (table: string) => `
UPDATE ${table} SET token = NULL, lease_ends = '-infinity', finished = $4, forget_at = ${fromNow('$3')}
WHERE key = $1 AND token = $2 AND lease_ends < 'infinity'`;

// What was claimed within the retention is remembered still, so the index leaves out most of the table.
const prune = (table: string) => `
DELETE FROM ${table} WHERE key IN (
  SELECT key FROM ${table} WHERE claimed_at <= ${NOW} - $1 * interval '1 millisecond' AND forget_at <= ${NOW}
  ORDER BY claimed_at LIMIT $2 FOR UPDATE SKIP LOCKED
)`;

// A duplicate waits for the transaction that works on the event, but not for long. The handlers' own statements
// wait as they always did: the claim puts the setting back.
const begin = (idleMs: number) => `
BEGIN ISOLATION LEVEL READ COMMITTED;
SELECT set_config('payment_webhooks.lock_timeout', current_setting('lock_timeout'), true),
  set_config('lock_timeout', '1s', true),
  set_config('idle_in_transaction_session_timeout', '${idleMs}', true);`;

const claimInTransaction = (table: string) => `${claim(table)},
  set_config('lock_timeout', current_setting('payment_webhooks.lock_timeout'), true) AS lock_timeout`;

const renewTransaction = `SELECT set_config('idle_in_transaction_session_timeout', $1, true)`;

// Finds no row when a handler has ended the transaction: the row was then written by another one, or by none.
const completeInTransaction = (table: string) =>
  `${complete(table)} AND xmin = pg_current_xact_id_if_assigned()::xid`;

function ifFree(column: string): string {
  return `${column} = CASE WHEN ${FREE} THEN excluded.${column} ELSE e.${column} END`;
}

function fromNow(parameter: string): string {
  return `${NOW} + ${parameter} * interval '1 millisecond'`;
}

export type Sql = ReturnType<typeof sqlFor>;

/** @throws {ConfigurationError} for a table that is not `name` or `schema.name` of letters, digits and underscores */
export function sqlFor(name: unknown) {
  const { table, index } = parseTable(name);
  return {
    migrate: migrate(table, index),
    claim: new Statement(claim(table)),
    renew: new Statement(renew(table)),
    complete: new Statement(complete(table)),
    release: new Statement(release(table)),
    prune: new Statement(prune(table)),
    begin,
    claimInTransaction: new Statement(claimInTransaction(table)),
    renewTransaction,
    completeInTransaction: new Statement(completeInTransaction(table)),
  };
}

const TABLE = /^(?:([A-Za-z_][A-Za-z0-9_]{0,62})\.)?([A-Za-z_][A-Za-z0-9_]{0,62})$/;
const LONGEST_NAME = 63;

function parseTable(table: unknown): { readonly table: string; readonly index: string } {
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
  const index = `${table}_claimed_at`;
  return index.length <= LONGEST_NAME
    ? `"${index}"`
    : `"${table.slice(0, 40)}_${createHash('sha256').update(table).digest('hex').slice(0, 16)}"`;
}
