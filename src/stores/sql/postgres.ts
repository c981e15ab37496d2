// The SQL of events in Postgres: most steps of a claim are one statement.

import type { Claim } from '../../claims/idempotency-store.js';
import type { Owner } from '../../claims/token.js';
import { StoreError } from '../../errors.js';
import { MAX_TIMER_MS } from '../../options/duration.js';
import {
  type Answer,
  type ClaimParameters,
  checkKey,
  type Dialect,
  inexactKey,
  PING_KEY,
  readAnswer,
  readKept,
  tryClaim,
  unreadable,
} from './dialect.js';
import type { Reply, RunSql } from './session.js';
import { PRUNE_BATCH, parseTable, Statement } from './statement.js';

// The server's clock, which is read once for each statement.
export const NOW = 'statement_timestamp()';

/** Such a transaction sees letters as of its start, so letters that were kept since are looked for after the commit. */
export const SEES_THE_PAST = "current_setting('transaction_isolation') NOT LIKE 'read %'";

/** A setting that a transaction sets to its own id when it completes a claim. */
const COMPLETED_IN = 'payment_webhooks.completed_in';

/**
 * Divides by zero unless this transaction has completed a claim. Postgres skips the rest of a message after a failed
 * statement, so nothing else can be committed, even if earlier messages were lost.
 */
export const COMMIT_IF_COMPLETED = `
SELECT 1 / COALESCE(current_setting('${COMPLETED_IN}', true) = pg_current_xact_id_if_assigned()::text, false)::int;
COMMIT`;

/** Begins a migration. */
export const LOCK_MIGRATION = `
-- Two processes that start at once would both find no table, and one would fail to create it.
SELECT pg_advisory_xact_lock(hashtextextended('payment-webhooks', 0));`;

export class PostgresDialect implements Dialect {
  readonly migration: string;
  readonly #sql: ReturnType<typeof eventStatements>;
  readonly #inTransaction = new Map<string | undefined, ReturnType<typeof statementsInTransaction>>();

  /** @throws {ConfigurationError} if the table is not `name` or `schema.name` of letters, digits and underscores */
  constructor(name: unknown) {
    const { table, index } = parseTable(name);
    this.#sql = eventStatements(table);
    this.migration = eventMigration(table, index('claimed_at'));
  }

  async ping(run: RunSql): Promise<void> {
    const { readonly, ids } = (await run(this.#sql.ping, [])).rows[0] ?? {};
    if (readonly === undefined) throw unreadable();
    if (readonly !== 'off')
      throw new StoreError(
        'This Postgres is read-only, or this session is, so no event can be claimed. Connect to the primary, and leave default_transaction_read_only off.',
      );
    if (ids !== '2') throw inexactKey(this.#sql.exactKey);
  }

  async prune(run: RunSql, retentionMs: number) {
    const { count: pruned } = await run(this.#sql.prune, [retentionMs, PRUNE_BATCH]);
    return { pruned, more: pruned === PRUNE_BATCH };
  }

  async claim(run: RunSql, parameters: ClaimParameters): Promise<Answer> {
    const values = claimValues(parameters);
    // Most claims are the first of their event. A plain insert costs less than the statement that can take over.
    const { count } = await run(this.#sql.claimNew, values);
    if (count === 1) return { status: 'claimed', attempt: 1, finished: [] };
    return this.#answer(await run(this.#sql.claim, values), parameters);
  }

  #answer({ rows: [row] }: Reply, { key }: Owner): Answer {
    if (row) checkKey(row.key, key, this.#sql.exactKey);
    return readAnswer(row);
  }

  renew(run: RunSql, { key, token }: Owner, leaseMs: number, keepMs: number): Promise<boolean> {
    return this.#hasWritten(run, key, run(this.#sql.renew, [key, token, leaseMs, keepMs]));
  }

  complete(run: RunSql, { key, token }: Owner, keepMs: number): Promise<boolean> {
    return this.#hasWritten(run, key, run(this.#sql.complete, [key, token, keepMs]));
  }

  release(run: RunSql, { key, token }: Owner, keepMs: number, finished: readonly string[]) {
    return this.#hasWritten(run, key, run(this.#sql.release, [key, token, keepMs, JSON.stringify(finished)]));
  }

  forget(run: RunSql, { key, token }: Owner): Promise<boolean> {
    return this.#hasWritten(run, key, run(this.#sql.forget, [key, token]));
  }

  /** Row-level security hides rows without an error, which would look like a lost claim. */
  async #hasWritten(run: RunSql, key: string, reply: Promise<Reply>): Promise<boolean> {
    if (await hasWritten(reply)) return true;
    const isPing = key.startsWith(PING_KEY);
    if (!isPing && (await hasWritten(run(this.#sql.isRestricted, [])))) await tryClaim(run, this);
    return false;
  }

  // The claim restores the setting, so that the statements of handlers wait as usual.
  opening(leaseMs: number): string {
    return `SELECT set_config('payment_webhooks.lock_timeout', current_setting('lock_timeout'), true),
  set_config('lock_timeout', '1s', true), set_config('idle_in_transaction_session_timeout', '${idleMs(leaseMs)}', true)`;
  }

  async claimInTransaction(run: RunSql, parameters: ClaimParameters): Promise<Answer> {
    const { claim } = this.#statementsFor(parameters.letterTable);
    return this.#answer(await run(claim, claimValues(parameters)), parameters);
  }

  async renewTransaction(run: RunSql, leaseMs: number): Promise<void> {
    await run(this.#sql.renewTransaction, [idleMs(leaseMs)]);
  }

  async isExecuting(run: RunSql, session: string | undefined): Promise<boolean> {
    return hasWritten(run(this.#sql.executing, [session]));
  }

  async completeInTransaction(
    run: RunSql,
    { key, token, letterTable }: ClaimParameters,
    keepMs: number,
    ahead = false,
  ): Promise<Pick<Claim, 'kept'> | undefined> {
    const { complete, completeAhead } = this.#statementsFor(letterTable);
    const { rows, count } = await run(ahead ? completeAhead : complete, [key, token, keepMs]);
    return count === 1 ? readKept(rows[0]?.kept) : undefined;
  }

  async completedWith(run: RunSql, key: string): Promise<string | undefined> {
    const [row] = (await run(this.#sql.completedWith, [key])).rows;
    if (row && typeof row.fingerprint !== 'string') throw unreadable();
    return row?.fingerprint as string | undefined;
  }

  isCompleted(run: RunSql, { key, token }: Owner): Promise<boolean> {
    return hasWritten(run(this.#sql.completed, [key, token]));
  }

  /** Prepared once for each table of letters. */
  #statementsFor(letterTable: string | undefined) {
    const statements =
      this.#inTransaction.get(letterTable) ?? statementsInTransaction(this.#sql, letterTable);
    this.#inTransaction.set(letterTable, statements);
    return statements;
  }
}

async function hasWritten(reply: Promise<Reply>): Promise<boolean> {
  return (await reply).count === 1;
}

function claimValues({ key, token, fingerprint, leaseMs, keepMs }: ClaimParameters): unknown[] {
  return [key, token, fingerprint, leaseMs, keepMs];
}

/** Postgres and `setTimeout` share the same maximum. */
function idleMs(leaseMs: number): number {
  return Math.min(Math.max(Math.ceil(leaseMs), 1), MAX_TIMER_MS);
}

const eventMigration = (table: string, index: string) => `${LOCK_MIGRATION}
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

/** @param table the quoted name */
function eventStatements(table: string) {
  const fromNow = (parameter: string) => `${NOW} + ${parameter}::float8 * interval '1 millisecond'`;
  const forgotten = `e.forget_at <= ${NOW}`;
  // Never the row of another event, which a case-insensitive column would find too.
  const free = `(e.key::text COLLATE "C" = excluded.key::text AND LEAST(e.lease_ends, e.forget_at) <= ${NOW})`;
  const ifFree = (column: string) =>
    `${column} = CASE WHEN ${free} THEN excluded.${column} ELSE e.${column} END`;
  const owned = 'WHERE key = $1 AND token = $2::uuid';
  const insert = `
INSERT INTO ${table} AS e (key, token, attempt, finished, fingerprint, lease_ends, forget_at)
VALUES ($1, $2::uuid, 1, '[]', $3, ${fromNow('$4')}, ${fromNow('$5')})`;
  // Writes the row even if nothing changes: otherwise a claim that lost a race would get no row. The key is cast, so that a
  // prepared claim survives a change of the column's type or collation.
  const claim = new Statement(`${insert}
ON CONFLICT (key) DO UPDATE SET
  ${ifFree('token')},
  attempt = CASE WHEN ${forgotten} THEN 1 WHEN ${free} THEN e.attempt + 1 ELSE e.attempt END,
  finished = CASE WHEN ${forgotten} THEN '[]' ELSE e.finished END,
  ${ifFree('fingerprint')},
  ${ifFree('lease_ends')},
  ${ifFree('forget_at')}
RETURNING key::text COLLATE "C" AS key,
  CASE WHEN token = $2::uuid THEN 'claimed' WHEN lease_ends = 'infinity' THEN 'completed' ELSE 'in_progress' END AS status,
  attempt::text AS attempt, finished, fingerprint,
  ((date_part('epoch', lease_ends) - date_part('epoch', ${NOW})) * 1000)::text AS remaining`);
  return {
    claim,
    // Inserts one row if the event is new, otherwise none.
    claimNew: new Statement(`${insert} ON CONFLICT (key) DO NOTHING`),
    renew: new Statement(`
UPDATE ${table} SET lease_ends = ${fromNow('$3')}, forget_at = ${fromNow('$4')}
${owned} AND lease_ends < 'infinity'`),
    complete: new Statement(`
UPDATE ${table} SET lease_ends = 'infinity', finished = '[]', forget_at = ${fromNow('$3')}
${owned}`),
    release: new Statement(`
UPDATE ${table} SET token = NULL, lease_ends = '-infinity', finished = $4, forget_at = ${fromNow('$3')}
${owned} AND lease_ends < 'infinity'`),
    forget: new Statement(`DELETE FROM ${table} ${owned}`),
    completedWith: new Statement(
      `SELECT fingerprint FROM ${table} WHERE key = $1 AND key::text COLLATE "C" = $1::text AND lease_ends = 'infinity' AND forget_at > ${NOW}`,
    ),
    completed: new Statement(`SELECT 'yes' AS completed FROM ${table} ${owned} AND lease_ends = 'infinity'`),
    // An event that was claimed within the retention is still remembered, so the index excludes most of the table.
    prune: new Statement(`
DELETE FROM ${table} WHERE key IN (
  SELECT key FROM ${table} WHERE claimed_at <= ${NOW} - $1::float8 * interval '1 millisecond' AND forget_at <= ${NOW}
  ORDER BY claimed_at LIMIT $2::int FOR UPDATE SKIP LOCKED
)`),
    // Fails without the table, and reads none of its rows. Compares two ids as the key column does.
    ping: unprepared(`
SELECT current_setting('transaction_read_only') AS readonly, count(DISTINCT key)::text AS ids
FROM (SELECT key FROM ${table} WHERE false UNION ALL SELECT 'a' UNION ALL SELECT 'A') ids`),
    isRestricted: unprepared(`SELECT 'yes' AS restricted WHERE row_security_active('${table}')`),
    renewTransaction: unprepared(`SELECT set_config('idle_in_transaction_session_timeout', $1, true)`),
    // On another connection: Postgres may be about to end the idle transaction.
    executing: unprepared(`
SELECT 'yes' AS executing FROM pg_stat_activity WHERE concat_ws(' ', pid, backend_xid) = $1 AND state = 'active'`),
    exactKey: `ALTER TABLE ${table} ALTER COLUMN key TYPE text COLLATE "C"`,
  };
}

/** `session` identifies the transaction while its backend lives. */
function statementsInTransaction(sql: ReturnType<typeof eventStatements>, letterTable: string | undefined) {
  const claim = `${sql.claim.text},
  set_config('lock_timeout', current_setting('payment_webhooks.lock_timeout'), true) AS lock_timeout,
  concat_ws(' ', pg_backend_pid(), pg_current_xact_id()::xid) AS session`;
  // Matches no row if a handler has ended the transaction: another one wrote the row, or none did.
  const complete = `${sql.complete.text} AND xmin = pg_current_xact_id_if_assigned()::xid`;
  const mark = `set_config('${COMPLETED_IN}', pg_current_xact_id()::text, true)`;
  if (letterTable === undefined)
    return {
      claim: new Statement(claim),
      complete: new Statement(complete),
      completeAhead: new Statement(`${complete}\nRETURNING ${mark}`),
    };
  // Also looks for a dead letter, so that an event without one costs no further statement.
  const kept = `EXISTS (SELECT FROM ${letterTable} l WHERE l.key = $1 AND l.discarded_at IS NULL)`;
  const completeWithLetter = `${complete}\nRETURNING (${kept} OR ${SEES_THE_PAST})::text AS kept`;
  return {
    claim: new Statement(`${claim},\n  (${kept})::text AS kept`),
    complete: new Statement(completeWithLetter),
    completeAhead: new Statement(`${completeWithLetter}, ${mark}`),
  };
}

function unprepared(text: string): Statement {
  return new Statement(text, { prepared: false });
}
