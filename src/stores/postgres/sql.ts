// The SQL of the Postgres store, for a table that the user names.
import { createHash } from 'node:crypto';
import { ConfigurationError, StoreError, show } from '../../errors.js';

export class Statement {
  readonly text: string;
  /** By which each connection prepares it once. */
  readonly name: string;

  constructor(text: string) {
    this.text = text;
    this.name = `payment_webhooks_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
  }
}

// Every statement takes the time from the server, and takes it once.
export const NOW = 'statement_timestamp()';
const FORGOTTEN = `e.forget_at <= ${NOW}`;
// Never the row of another event, which a column that ignores case finds too.
const FREE = `(e.key::text COLLATE "C" = excluded.key::text AND LEAST(e.lease_ends, e.forget_at) <= ${NOW})`;

export const migrate = (table: string, index: string) => `
-- Two processes that start at once would both find no table, and one would fail to create it.
SELECT pg_advisory_xact_lock(hashtextextended('payment-webhooks', 0));
CREATE TABLE IF NOT EXISTS ${table} (
  key         text COLLATE "C" PRIMARY KEY, -- namespace, live or sandbox, id of the event
  token       uuid,                         -- who owns the claim; null once it is released
  attempt     integer NOT NULL,
  finished    text NOT NULL,                -- JSON: named handlers that succeeded on an earlier attempt
  fingerprint text NOT NULL,                -- stands for the bytes that are worked on, or were
  lease_ends  timestamptz NOT NULL,         -- -infinity once released, infinity once completed
  forget_at   timestamptz NOT NULL,         -- the last write plus the retention
  claimed_at  timestamptz NOT NULL DEFAULT statement_timestamp()
);
-- Not on forget_at: each write changes that, and would then have to touch every index.
CREATE INDEX IF NOT EXISTS ${index} ON ${table} (claimed_at);`;

const insert = (table: string) => `
INSERT INTO ${table} AS e (key, token, attempt, finished, fingerprint, lease_ends, forget_at)
VALUES ($1, $2::uuid, 1, '[]', $3, ${fromNow('$4')}, ${fromNow('$5')})`;

// Changes one row if the event is new, and none otherwise.
export const claimNew = (table: string) => `${insert(table)} ON CONFLICT (key) DO NOTHING`;

// The row is written even if nothing in it changes: otherwise a claim that lost a race would get no row.
export const upsert = (table: string) => `${insert(table)}
ON CONFLICT (key) DO UPDATE SET
  ${ifFree('token')},
  attempt = CASE WHEN ${FORGOTTEN} THEN 1 WHEN ${FREE} THEN e.attempt + 1 ELSE e.attempt END,
  finished = CASE WHEN ${FORGOTTEN} THEN '[]' ELSE e.finished END,
  ${ifFree('fingerprint')},
  ${ifFree('lease_ends')},
  ${ifFree('forget_at')}`;

/** Of one type and collation whatever the column has: otherwise a prepared claim would fail once that is changed. */
export const STORED_KEY = `key::text COLLATE "C" AS key`;

const claim = (table: string) => `${upsert(table)}
RETURNING ${STORED_KEY}, token = $2::uuid AS claimed, attempt, finished, fingerprint,
  date_part('epoch', lease_ends) - date_part('epoch', ${NOW}) AS lease_left`;

export const renew = (table: string) => `
UPDATE ${table} SET lease_ends = ${fromNow('$3')}, forget_at = ${fromNow('$4')}
WHERE key = $1 AND token = $2::uuid AND lease_ends < 'infinity'`;

export const complete = (table: string) => `
UPDATE ${table} SET lease_ends = 'infinity', finished = '[]', forget_at = ${fromNow('$3')}
WHERE key = $1 AND token = $2::uuid`;

export const release = (table: string) => `
UPDATE ${table} SET token = NULL, lease_ends = '-infinity', finished = $4, forget_at = ${fromNow('$3')}
WHERE key = $1 AND token = $2::uuid AND lease_ends < 'infinity'`;

/** Releases a lock. */
export const forget = (table: string) => `DELETE FROM ${table} WHERE key = $1 AND token = $2::uuid`;

// An event that was claimed within the retention is still remembered, so the index excludes most of the table.
export const prune = (table: string) => `
DELETE FROM ${table} WHERE key IN (
  SELECT key FROM ${table} WHERE claimed_at <= ${NOW} - $1::float8 * interval '1 millisecond' AND forget_at <= ${NOW}
  ORDER BY claimed_at LIMIT $2::int FOR UPDATE SKIP LOCKED
)`;

// A duplicate waits for the transaction that works on the event, but only for a second. The claim then restores the
// setting, so that the handlers' own statements wait as before.
const begin = (idleMs: number) => `
BEGIN ISOLATION LEVEL READ COMMITTED;
${setTimeouts(`'${idleMs}'`)};`;

export const setTimeouts = (idleMs: string) => `
SELECT set_config('payment_webhooks.lock_timeout', current_setting('lock_timeout'), true),
  set_config('lock_timeout', '1s', true), set_config('idle_in_transaction_session_timeout', ${idleMs}, true)`;

// Whether there is a dead letter is asked in passing, so that an event without one costs no statement.
const claimInTransaction = (table: string, letterTable: string | undefined) =>
  `${claim(table)}, ${RESTORED}, ${SESSION}${letterTable ? `,\n  ${hasLetter(letterTable)} AS kept` : ''}`;

export const RESTORED = `
  set_config('lock_timeout', current_setting('payment_webhooks.lock_timeout'), true) AS lock_timeout`;

/** Names the transaction, as long as its backend lives. */
export const SESSION = `concat_ws(' ', pg_backend_pid(), pg_current_xact_id()::xid) AS session`;

/** Not of a transaction that is idle: Postgres may be about to end it. */
export const executing = `
SELECT 'yes' AS executing FROM pg_stat_activity WHERE concat_ws(' ', pid, backend_xid) = $1 AND state = 'active'`;

export const hasLetter = (letterTable: string) =>
  `EXISTS (SELECT FROM ${letterTable} l WHERE l.key = $1 AND l.discarded_at IS NULL)`;

export const renewTransaction = `SELECT set_config('idle_in_transaction_session_timeout', $1, true)`;

// Finds no row if a handler has ended the transaction: another transaction wrote the row, or none did.
export const completeInTransaction = (table: string) =>
  `${complete(table)} AND xmin = pg_current_xact_id_if_assigned()::xid`;

function ifFree(column: string): string {
  return `${column} = CASE WHEN ${FREE} THEN excluded.${column} ELSE e.${column} END`;
}

function fromNow(parameter: string): string {
  return `${NOW} + ${parameter}::float8 * interval '1 millisecond'`;
}

/** Reads no row of the table, and fails without it. Counts two ids as the key column compares them. */
export const ping = (table: string) => `
SELECT current_setting('transaction_read_only') AS read_only, count(DISTINCT key)::text AS ids
FROM (SELECT key FROM ${table} WHERE false UNION ALL SELECT 'a' UNION ALL SELECT 'A') ids`;

/** @throws {StoreError} unless the server takes writes, and its table tells ids apart */
export function checkPing(row: unknown, exactKey: string): void {
  const { read_only, ids } = (row ?? {}) as { readonly read_only?: unknown; readonly ids?: unknown };
  if (read_only !== 'off')
    throw new StoreError('This Postgres is read-only, so no event can be claimed. Connect to the primary.');
  if (ids !== '2') throw inexactKey(exactKey);
}

/** What fixes a key column that ignores case. */
export const exactKey = (table: string) => `ALTER TABLE ${table} ALTER COLUMN key TYPE text COLLATE "C"`;

/** @param exactKey the statement that fixes it */
export function inexactKey(exactKey: string): StoreError {
  return new StoreError(`The key column takes the ids of different events for the same. Run: ${exactKey}`);
}

export type Sql = ReturnType<typeof sqlFor>;

/** @throws {ConfigurationError} if the table is not `name` or `schema.name` of letters, digits and underscores */
export function sqlFor(name: unknown) {
  const { table, index } = parseTable(name);
  return {
    migrate: migrate(table, index('claimed_at')),
    claimNew: new Statement(claimNew(table)),
    claim: new Statement(claim(table)),
    renew: new Statement(renew(table)),
    complete: new Statement(complete(table)),
    release: new Statement(release(table)),
    forget: new Statement(forget(table)),
    prune: new Statement(prune(table)),
    ping: ping(table),
    exactKey: exactKey(table),
    begin,
    claimInTransaction: eachOnce((letterTable) => claimInTransaction(table, letterTable)),
    renewTransaction,
    executing,
    completeInTransaction: eachOnce(
      (letterTable) =>
        `${completeInTransaction(table)}${letterTable ? ` RETURNING ${hasLetter(letterTable)} AS kept` : ''}`,
    ),
  };
}

/** A claim names and prepares its statement once for each table of letters. */
function eachOnce(
  text: (letterTable: string | undefined) => string,
): (letterTable: string | undefined) => Statement {
  const statements = new Map<string | undefined, Statement>();
  return (letterTable) => {
    const statement = statements.get(letterTable) ?? new Statement(text(letterTable));
    statements.set(letterTable, statement);
    return statement;
  };
}

const TABLE = /^(?:([A-Za-z_][A-Za-z0-9_]{0,62})\.)?([A-Za-z_][A-Za-z0-9_]{0,62})$/;
const MAX_NAME = 63;

/** The name as SQL has it, and the names of its indexes. */
export function parseTable(table: unknown): {
  readonly table: string;
  readonly index: (columns: string) => string;
} {
  const match = typeof table === 'string' ? TABLE.exec(table) : null;
  if (!match) {
    throw new ConfigurationError(
      `table is ${show(table)}. Give "name" or "schema.name". Each has at most 63 letters, digits and underscores, ` +
        'and does not start with a digit.',
    );
  }
  const [, schema, name = ''] = match;
  return {
    table: schema === undefined ? `"${name}"` : `"${schema}"."${name}"`,
    index: (columns) => indexName(name, columns),
  };
}

/** Postgres would cut a long name to the name of the table, and then find that it exists. */
function indexName(table: string, columns: string): string {
  const index = `${table}_${columns}`;
  // The name of an index of earlier versions stays.
  const hashed = columns === 'claimed_at' ? table : index;
  return index.length <= MAX_NAME
    ? `"${index}"`
    : `"${table.slice(0, 40)}_${createHash('sha256').update(hashed).digest('hex').slice(0, 16)}"`;
}
