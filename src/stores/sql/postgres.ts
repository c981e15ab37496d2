// The SQL of events in Postgres: most steps of a claim are one statement.

import type { Owner } from '../../contracts/token.js';
import { StoreError } from '../../errors.js';
import { withRetry } from './conflicts.js';
import type { Reply, Row, RunSql } from './connections.js';
import {
  type Answer,
  type ClaimParameters,
  type CompletionParameters,
  checkKey,
  type Dialect,
  inexactKey,
  noRow,
  PING_KEY,
  readAnswer,
  together,
  tryClaim,
  unreadable,
} from './dialect.js';
import type { FoundRow, OnceRow, Steps } from './once.js';
import { PRUNE_BATCH, parseTable, Statement } from './statement.js';

// The server's clock, which is read once for each statement.
export const NOW = 'statement_timestamp()';

/** A setting that lasts as long as the transaction in which it is set, so it tells whether there is one. */
const ONCE = 'payment_webhooks.once';

/** Begins a migration. */
export const LOCK_MIGRATION = `
-- Two processes that start at once would both find no table, and one would fail to create it.
SELECT pg_advisory_xact_lock(hashtextextended('payment-webhooks', 0));`;

export class PostgresDialect implements Dialect {
  readonly migration: string;
  readonly undo = UNDO;
  readonly #sql: ReturnType<typeof eventStatements>;

  /** @throws {ConfigurationError} if the table is not `name` or `schema.name` of letters, digits and underscores */
  constructor(name: unknown) {
    const { table, index } = parseTable(name);
    this.#sql = eventStatements(table);
    this.migration = eventMigration(table, index('claimed_at'));
  }

  async ping(run: RunSql): Promise<void> {
    const { readonly, ids } = (await run(this.#sql.ping, [])).rows[0] ?? {};
    if (typeof readonly !== 'string') throw unreadable();
    if (readonly !== 'off')
      throw new StoreError(
        'This Postgres is read-only, or this session is, so no event can be claimed. Connect to the primary, and leave default_transaction_read_only off.',
      );
    if (ids !== '2') throw inexactKey(this.#sql.exactKey);
    await withRetry(() => tryClaim(run, this));
  }

  async prune(run: RunSql, retentionMs: number) {
    const { count: pruned } = await run(this.#sql.prune, [retentionMs, PRUNE_BATCH]);
    return { pruned, more: pruned === PRUNE_BATCH };
  }

  async claim(run: RunSql, parameters: ClaimParameters, isKnown = false): Promise<Answer> {
    const values = claimValues(parameters);
    // Most claims are the first of their event. A plain insert costs less than the statement that can take over.
    const isNew = !isKnown && (await hasWritten(run(this.#sql.claimNew, values)));
    if (isNew) return { status: 'claimed', attempt: 1, finished: [] };
    return this.#answer(await run(this.#sql.claim, values), parameters);
  }

  claimTogether(run: RunSql, calls: readonly ClaimParameters[]) {
    return together(run, this.#sql.claimTogether, calls);
  }

  completeTogether(run: RunSql, calls: readonly CompletionParameters[]) {
    return together(run, this.#sql.completeTogether, calls);
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

  /** Rows that are missing may have been committed since, so the event is completed once more. */
  async completeAfter(run: RunSql, { key, token, keepMs, rows, fingerprint }: CompletionParameters) {
    const written = JSON.stringify(rows.map((row) => ({ k: row.key, t: row.token })));
    const values = [key, token, keepMs, written, fingerprint ?? null];
    const complete = () => hasWritten(run(this.#sql.completeAfter, values));
    if (await complete()) return true;
    const missing = (await run(this.#sql.missing, [written])).rows;
    return missing.length > 0 ? missing.map((row) => String(row.k)) : complete();
  }

  *writeRow(row: OnceRow): Steps<FoundRow | undefined> {
    yield [this.#sql.ask, [row.token]];
    const { rows } = yield [this.#sql.writeRow, [row.key, row.token, row.fingerprint, row.keepMs]];
    return rows[0] && this.#found(row, rows[0]);
  }

  forgetRow({ key, token }: OnceRow) {
    return [[this.#sql.forget, [key, token]] as const];
  }

  opening({ key, token, fingerprint, keepMs }: OnceRow): string {
    return `SELECT ${LIMIT_IDLE};\n${this.#sql.openingRow([key, token, fingerprint, String(keepMs)].map(literal))}`;
  }

  readOpening(row: OnceRow, { rows }: Reply): FoundRow {
    if (!rows[0]) throw noRow();
    return this.#found(row, rows[0]);
  }

  #found({ key }: OnceRow, row: Row): FoundRow {
    checkKey(row.key, key, this.#sql.exactKey);
    return { token: String(row.token).replaceAll('-', ''), fingerprint: String(row.fingerprint) };
  }

  /** The event before its writes: a claim that comes in between skips them, and finds at its end that they are gone. */
  async forgetEvent(run: RunSql, key: string): Promise<number | readonly string[]> {
    const readRunning = async () => (await run(this.#sql.remaining, [key])).rows[0];
    const before = await readRunning();
    if (before) return Number(before.remaining);
    // Read before the event is gone: what a later claim writes has other tokens.
    const writes = (await run(this.#sql.writes, [key])).rows;
    const event = await run(this.#sql.forgetEvent, [key]);
    const running = await readRunning();
    if (running) return Number(running.remaining);
    for (const row of writes) await run(this.#sql.forget, [row.key, row.token]);
    return [...event.rows, ...writes].map((row) => String(row.key));
  }

  async completedWith(run: RunSql, key: string): Promise<string | undefined> {
    const [row] = (await run(this.#sql.completedWith, [key])).rows;
    if (row && typeof row.fingerprint !== 'string') throw unreadable();
    return row?.fingerprint as string | undefined;
  }
}

async function hasWritten(reply: Promise<Reply>): Promise<boolean> {
  return (await reply).count === 1;
}

function claimValues({ key, token, fingerprint, leaseMs, keepMs }: ClaimParameters): unknown[] {
  return [key, token, fingerprint, leaseMs, keepMs];
}

/** In any setting of `standard_conforming_strings` and `backslash_quote`. */
function literal(text: string): string {
  return `E'${text.replace(/[\\']/g, '$&$&')}'`;
}

/** A host that lost its power would otherwise hold the row for hours. */
const LIMIT_IDLE = `CASE WHEN current_setting('idle_in_transaction_session_timeout') = '0'
  THEN set_config('idle_in_transaction_session_timeout', '60s', true) END AS idle`;

/** True. Ends the wait for a lock with an error, and with the statement the setting ends too. */
const BRIEF_WAIT = "(SELECT set_config('lock_timeout', '50ms', true)) <> ''";

/** The conversion fails with this text in its message. Postgres then only accepts a rollback. */
const UNDO = unprepared("SELECT 'the work of once() failed, so its transaction is rolled back'::int AS undo");

const eventMigration = (table: string, index: string) => `${LOCK_MIGRATION}
CREATE TABLE IF NOT EXISTS ${table} (
  key         text COLLATE "C" PRIMARY KEY, -- namespace, live or sandbox, id of the event, and the handler for writes inside once
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
  const remaining = `((date_part('epoch', lease_ends) - date_part('epoch', ${NOW})) * 1000)::text`;
  const running = `(lease_ends < 'infinity' AND LEAST(lease_ends, forget_at) > ${NOW})`;
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
  ${remaining} AS remaining`);
  // The rows of once that are not committed, or belong to another call. With EXISTS Postgres would read the whole of a new table.
  const missing = (rows: string) => `
  SELECT r.k FROM json_to_recordset(${rows}::json) AS r(k text, t uuid)
  WHERE (SELECT o.token FROM ${table} o WHERE o.key = r.k) IS DISTINCT FROM r.t`;
  // Waits for another transaction that has inserted the row. A row whose retention is over is new.
  const writeRow = ([key, token, fingerprint, keepMs]: readonly string[], where: string) => `
INSERT INTO ${table} AS e (key, token, attempt, finished, fingerprint, lease_ends, forget_at)
SELECT ${key}, ${token}::uuid, 1, '[]', ${fingerprint}, 'infinity', ${fromNow(`${keepMs}`)} ${where}
ON CONFLICT (key) DO UPDATE SET
  token = CASE WHEN ${forgotten} THEN excluded.token ELSE e.token END,
  fingerprint = CASE WHEN ${forgotten} THEN excluded.fingerprint ELSE e.fingerprint END,
  forget_at = GREATEST(e.forget_at, excluded.forget_at)
RETURNING key::text COLLATE "C" AS key, token::text AS token, fingerprint`;
  return {
    claim,
    // Together with others, so a row that another transaction has locked must not keep them all waiting.
    claimTogether: new Statement(`
INSERT INTO ${table} (key, token, attempt, finished, fingerprint, lease_ends, forget_at)
SELECT c.k, c.t, 1, '[]', c.f, ${fromNow('c.l')}, ${fromNow('c.m')}
FROM json_to_recordset($1::json) AS c(k text, t uuid, f text, l float8, m float8) WHERE ${BRIEF_WAIT}
ON CONFLICT (key) DO NOTHING RETURNING token::text AS token`),
    // By "one = 1" Postgres expects few calls, and finds each row by its key. Expecting a hundred it would read the whole table.
    completeTogether: new Statement(`
UPDATE ${table} AS e SET lease_ends = 'infinity', finished = '[]', forget_at = ${fromNow('c.m')},
  fingerprint = COALESCE(c.f, e.fingerprint)
FROM json_to_recordset($1::json) AS c(one int, k text, t uuid, m float8, f text, r json)
WHERE c.one = 1 AND ${BRIEF_WAIT} AND e.key = c.k AND e.token = c.t AND NOT EXISTS (${missing('c.r')})
RETURNING e.token::text AS token`),
    // Inserts one row if the event is new, otherwise none.
    claimNew: new Statement(`${insert} ON CONFLICT (key) DO NOTHING`),
    renew: new Statement(`
UPDATE ${table} SET lease_ends = ${fromNow('$3')}, forget_at = ${fromNow('$4')}
${owned} AND lease_ends < 'infinity'`),
    complete: new Statement(`
UPDATE ${table} SET lease_ends = 'infinity', finished = '[]', forget_at = ${fromNow('$3')}
${owned}`),
    completeAfter: new Statement(`
UPDATE ${table} SET lease_ends = 'infinity', finished = '[]', forget_at = ${fromNow('$3')},
  fingerprint = COALESCE($5::text, fingerprint)
${owned} AND NOT EXISTS (${missing('$4')})`),
    missing: new Statement(missing('$1')),
    // Outside of a transaction both settings end with the statement.
    ask: unprepared(`SELECT set_config('${ONCE}', $1::uuid::text, true) AS once, ${LIMIT_IDLE}`),
    writeRow: unprepared(
      writeRow(
        ['$1::text', '$2', '$3::text', '$4'],
        `WHERE current_setting('${ONCE}', true) = $2::uuid::text`,
      ),
    ),
    openingRow: (values: readonly string[]) => writeRow(values, ''),
    release: new Statement(`
UPDATE ${table} SET token = NULL, lease_ends = '-infinity', finished = $4, forget_at = ${fromNow('$3')}
${owned} AND lease_ends < 'infinity'`),
    forget: new Statement(`DELETE FROM ${table} ${owned}`),
    forgetEvent: unprepared(`
DELETE FROM ${table} WHERE key = $1 AND key::text COLLATE "C" = $1::text AND NOT ${running}
RETURNING key::text COLLATE "C" AS key`),
    // Everything between the key with a space and the key with the next character, which is how the index is sorted.
    writes: unprepared(`
SELECT key::text COLLATE "C" AS key, token::text AS token FROM ${table}
WHERE key > $1::text || ' ' AND key < $1::text || '!' AND starts_with(key::text, $1::text || ' ')`),
    remaining: unprepared(`SELECT ${remaining} AS remaining FROM ${table} WHERE key = $1 AND ${running}`),
    completedWith: new Statement(
      `SELECT fingerprint FROM ${table} WHERE key = $1 AND key::text COLLATE "C" = $1::text AND lease_ends = 'infinity' AND forget_at > ${NOW}`,
    ),
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
    exactKey: `ALTER TABLE ${table} ALTER COLUMN key TYPE text COLLATE "C"`,
  };
}

function unprepared(text: string): Statement {
  return new Statement(text, { prepared: false });
}
