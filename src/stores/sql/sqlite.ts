// The SQL of events in SQLite: each step of a claim is one statement, which commits by itself.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Owner } from '../../contracts/token.js';
import { ConfigurationError } from '../../errors.js';
import { saysInside } from './conflicts.js';
import type { RunSql } from './connections.js';
import {
  type Answer,
  type ClaimParameters,
  type CompletionParameters,
  checkKey,
  type Dialect,
  inexactKey,
  noRow,
  readAnswer,
  together,
  unreadable,
} from './dialect.js';
import type { FoundRow, OnceRow, Steps } from './once.js';
import { PRUNE_BATCH, parseTable, ROLLBACK, Statement } from './statement.js';

/** A row that another process forgets in between is looked for again. */
const MAX_LOOKS = 5;
/** More than a century in milliseconds. Larger numbers would be confused with a completed event. */
const MAX_MS = 4e15;

const BEGIN = new Statement('BEGIN', { prepared: false });
/** Memory that is attached has no file, and cannot outlive the row. */
const ATTACHED = new Statement("SELECT name FROM pragma_database_list WHERE name <> 'main' AND file <> ''", {
  prepared: false,
});
const BEGIN_ROW = new Statement('SAVEPOINT payment_webhooks_once', { prepared: false });
const UNDO_ROW = new Statement('ROLLBACK TO payment_webhooks_once', { prepared: false });

/**
 * The quoted name.
 *
 * @throws {ConfigurationError} if it has a schema: a commit to attached files is not atomic in WAL mode
 */
export function sqliteTable(name: unknown, option = 'table'): ReturnType<typeof parseTable> {
  const parsed = parseTable(name, option);
  if (parsed.table.includes('.'))
    throw new ConfigurationError(
      `${option} is ${JSON.stringify(name)}. Pass a name without a schema: SQLite does not commit to attached files at once.`,
    );
  return parsed;
}

export class SqliteDialect implements Dialect {
  readonly migration: string;
  readonly undo = UNDO_ROW;
  readonly #sql: ReturnType<typeof sqliteStatements>;

  /** @throws {ConfigurationError} if the table is not a name of letters, digits and underscores */
  constructor(name: unknown) {
    const { table, index } = sqliteTable(name);
    this.#sql = sqliteStatements(table);
    this.migration = sqliteMigration(table, index('claimed_at'));
  }

  /** Takes the lock for a write and changes nothing. A full disk or damaged pages show only in a claim. */
  async ping(run: RunSql): Promise<void> {
    await run(this.#sql.lock, []);
    const [row] = (await run(this.#sql.ping, [])).rows;
    if (row?.ids === undefined) throw unreadable();
    if (row.ids !== '2') throw inexactKey(this.#sql.exactKey);
  }

  async prune(run: RunSql, retentionMs: number) {
    const { count: pruned } = await run(this.#sql.prune, [ms(retentionMs)]);
    const more = pruned === PRUNE_BATCH;
    // A synchronous driver would otherwise let nothing else run before the last batch.
    if (more) await nextTurn();
    return { pruned, more };
  }

  async claim(run: RunSql, { key, token, fingerprint, leaseMs, keepMs }: ClaimParameters): Promise<Answer> {
    const values = [key, token, fingerprint, ms(leaseMs), ms(keepMs)];
    for (let look = 1; look <= MAX_LOOKS; look += 1) {
      const [claimed] = (await run(this.#sql.claim, values)).rows;
      const [row] = claimed ? [claimed] : (await run(this.#sql.read, [key, token])).rows;
      if (row) checkKey(row.key, key, this.#sql.exactKey);
      if (row && row.status !== 'free') return readAnswer(row);
    }
    throw noRow();
  }

  claimTogether(run: RunSql, calls: readonly ClaimParameters[]) {
    return together(run, this.#sql.claimTogether, calls, { ms });
  }

  completeTogether(run: RunSql, calls: readonly CompletionParameters[]) {
    return together(run, this.#sql.completeTogether, calls, { ms });
  }

  renew(run: RunSql, { key, token }: Owner, leaseMs: number, keepMs: number): Promise<boolean> {
    return hasChanged(run, this.#sql.renew, [key, token, ms(leaseMs), ms(keepMs)]);
  }

  complete(run: RunSql, { key, token }: Owner, keepMs: number): Promise<boolean> {
    return hasChanged(run, this.#sql.complete, [key, token, ms(keepMs)]);
  }

  release(run: RunSql, { key, token }: Owner, keepMs: number, finished: readonly string[]) {
    return hasChanged(run, this.#sql.release, [key, token, ms(keepMs), JSON.stringify(finished)]);
  }

  forget(run: RunSql, { key, token }: Owner): Promise<boolean> {
    return hasChanged(run, this.#sql.forget, [key, token]);
  }

  /** Rows that are missing may have been committed since, so the event is completed once more. */
  async completeAfter(run: RunSql, { key, token, keepMs, rows, fingerprint }: CompletionParameters) {
    const written = JSON.stringify(rows.map((row) => ({ k: row.key, t: row.token })));
    const values = [key, token, ms(keepMs), written, fingerprint ?? null];
    const complete = () => hasChanged(run, this.#sql.completeAfter, values);
    if (await complete()) return true;
    const missing = (await run(this.#sql.missing, [written])).rows;
    return missing.length > 0 ? missing.map((row) => String(row.k)) : complete();
  }

  *writeRow({ key, token, fingerprint, keepMs }: OnceRow): Steps<FoundRow | undefined> {
    // Inside a transaction BEGIN fails and changes nothing. Without one it takes no lock, and is undone.
    let isInside = false;
    try {
      yield [BEGIN, []];
    } catch (error) {
      if (!saysInside(error, 'within a transaction')) throw error;
      isInside = true;
    }
    if (!isInside) {
      yield [ROLLBACK, []];
      return undefined;
    }
    const [attached] = (yield [ATTACHED, []]).rows;
    // After a crash, the main file would have the row, and the other none of the writes.
    if (attached)
      throw new ConfigurationError(
        `once() was called on a connection with the attached file ${JSON.stringify(attached.name)}, and SQLite commits each file by ` +
          'itself. Open a connection without it for the inbox, and write with that one inside once().',
      );
    yield [BEGIN_ROW, []];
    const { rows } = yield [this.#sql.writeRow, [key, token, fingerprint, ms(keepMs)]];
    const [row] = rows;
    if (!row) throw noRow();
    checkKey(row.key, key, this.#sql.exactKey);
    return { token: String(row.token), fingerprint: String(row.fingerprint) };
  }

  forgetRow({ key, token }: OnceRow) {
    return [[this.#sql.forget, [key, token]] as const];
  }

  opening(): string {
    return '';
  }

  readOpening(): never {
    throw noRow();
  }

  /** The event before its writes: a claim that comes in between skips them, and finds at its end that they are gone. */
  async forgetEvent(run: RunSql, key: string): Promise<number | readonly string[]> {
    const read = async () => (await run(this.#sql.read, [key, ''])).rows[0];
    const before = await read();
    if (before?.status === 'in_progress') return Number(before.remaining);
    // Read before the event is gone: what a later claim writes has other tokens.
    const writes = (await run(this.#sql.writes, [key])).rows;
    const event = await run(this.#sql.forgetEvent, [key]);
    const row = await read();
    if (row?.status === 'in_progress') return Number(row.remaining);
    for (const written of writes) await run(this.#sql.forget, [written.key, written.token]);
    return [...event.rows, ...writes].map((forgotten) => String(forgotten.key));
  }

  async completedWith(run: RunSql, key: string): Promise<string | undefined> {
    const [row] = (await run(this.#sql.read, [key, ''])).rows;
    if (row && typeof row.fingerprint !== 'string') throw unreadable();
    return row?.key === key && row.status === 'completed' ? (row.fingerprint as string) : undefined;
  }
}

async function hasChanged(run: RunSql, statement: Statement, values: readonly unknown[]): Promise<boolean> {
  return (await run(statement, values)).count === 1;
}

/** Rounded milliseconds, which SQLite reads from text. */
function ms(value: number): number {
  return Math.min(Math.max(Math.round(value), 0), MAX_MS);
}

/** Milliseconds since 1970, the same throughout a statement. */
export const SQLITE_NOW = "CAST(ROUND(unixepoch('subsec') * 1000) AS INTEGER)";
/** node:sqlite throws on an integer that JavaScript cannot hold. */
const NEVER_MS = '9000000000000000';

const sqliteMigration = (table: string, index: string) => `
CREATE TABLE IF NOT EXISTS ${table} (
  key         TEXT NOT NULL PRIMARY KEY, -- namespace, live or sandbox, id of the event, and the handler for writes inside once
  token       TEXT,                      -- who owns the claim; null once it is released
  attempt     INTEGER NOT NULL,
  finished    TEXT NOT NULL,             -- JSON: named handlers that succeeded on an earlier attempt
  fingerprint TEXT NOT NULL,             -- stands for the bytes that are worked on, or were
  lease_ends  INTEGER NOT NULL,          -- milliseconds since 1970; 0 once released, 9e15 once completed
  forget_at   INTEGER NOT NULL,          -- the last write plus the retention
  claimed_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- Not on forget_at: each write changes that, and would then have to touch every index.
CREATE INDEX IF NOT EXISTS ${index} ON ${table} (claimed_at);`;

/** @param table the quoted name */
function sqliteStatements(table: string) {
  const statement = (text: string) => new Statement(text, { prepared: false });
  const fromNow = (parameter: string) => `${SQLITE_NOW} + CAST(${parameter} AS INTEGER)`;
  const forgotten = `e.forget_at <= ${SQLITE_NOW}`;
  const isFree = `MIN(e.lease_ends, e.forget_at) <= ${SQLITE_NOW}`;
  const owned = 'WHERE key = $1 AND token = $2';
  const insert = (leaseEnds: string, keepMs: string) => `
INSERT INTO ${table} AS e (key, token, attempt, finished, fingerprint, lease_ends, forget_at, claimed_at)
VALUES ($1, $2, 1, '[]', $3, ${leaseEnds}, ${fromNow(keepMs)}, ${SQLITE_NOW})`;
  // The rows of once that are not committed, or belong to another call.
  const missing = (rows: string) => `
SELECT r.value ->> 'k' AS k FROM json_each(${rows}) AS r
WHERE NOT EXISTS (SELECT 1 FROM ${table} AS o WHERE o.key = r.value ->> 'k' AND o.token = r.value ->> 't')`;
  return {
    // Never the row of another event, which a key column that ignores case would find too.
    claim: statement(`${insert(fromNow('$4'), '$5')}
ON CONFLICT (key) DO UPDATE SET
  token = excluded.token,
  attempt = CASE WHEN ${forgotten} THEN 1 ELSE e.attempt + 1 END,
  finished = CASE WHEN ${forgotten} THEN '[]' ELSE e.finished END,
  fingerprint = excluded.fingerprint, lease_ends = excluded.lease_ends, forget_at = excluded.forget_at
WHERE ${isFree} AND e.key = excluded.key COLLATE BINARY
RETURNING key, 'claimed' AS status, CAST(attempt AS TEXT) AS attempt, finished, fingerprint, '0' AS remaining`),
    // WHERE, or SQLite would take ON for a condition of the join.
    claimTogether: statement(`
INSERT INTO ${table} (key, token, attempt, finished, fingerprint, lease_ends, forget_at, claimed_at)
SELECT c.value ->> 'k', c.value ->> 't', 1, '[]', c.value ->> 'f', ${fromNow("c.value ->> 'l'")}, ${fromNow("c.value ->> 'm'")}, ${SQLITE_NOW}
FROM json_each($1) AS c WHERE true
ON CONFLICT (key) DO NOTHING RETURNING token`),
    completeTogether: statement(`
UPDATE ${table} AS e SET lease_ends = ${NEVER_MS}, finished = '[]', forget_at = ${fromNow("c.value ->> 'm'")},
  fingerprint = COALESCE(c.value ->> 'f', e.fingerprint)
FROM json_each($1) AS c
WHERE e.key = c.value ->> 'k' AND e.token = c.value ->> 't' AND NOT EXISTS (${missing("c.value -> 'r'")})
RETURNING token`),
    read: statement(`
SELECT key, fingerprint, CAST(lease_ends - ${SQLITE_NOW} AS TEXT) AS remaining, CAST(attempt AS TEXT) AS attempt, finished,
  CASE WHEN token = $2 AND lease_ends < ${NEVER_MS} THEN 'claimed' WHEN ${isFree} THEN 'free' WHEN lease_ends = ${NEVER_MS} THEN 'completed' ELSE 'in_progress' END AS status
FROM ${table} AS e WHERE key = $1`),
    renew: statement(`
UPDATE ${table} SET lease_ends = ${fromNow('$3')}, forget_at = ${fromNow('$4')}
${owned} AND lease_ends < ${NEVER_MS}`),
    complete: statement(`
UPDATE ${table} SET lease_ends = ${NEVER_MS}, finished = '[]', forget_at = ${fromNow('$3')}
${owned}`),
    completeAfter: statement(`
UPDATE ${table} SET lease_ends = ${NEVER_MS}, finished = '[]', forget_at = ${fromNow('$3')},
  fingerprint = COALESCE($5, fingerprint)
${owned} AND NOT EXISTS (${missing('$4')})`),
    missing: statement(missing('$1')),
    // A row whose retention is over is new.
    writeRow: statement(`${insert(NEVER_MS, '$4')}
ON CONFLICT (key) DO UPDATE SET
  token = CASE WHEN ${forgotten} THEN excluded.token ELSE e.token END,
  fingerprint = CASE WHEN ${forgotten} THEN excluded.fingerprint ELSE e.fingerprint END,
  forget_at = MAX(e.forget_at, excluded.forget_at)
RETURNING key, token, fingerprint`),
    release: statement(`
UPDATE ${table} SET token = NULL, lease_ends = 0, finished = $4, forget_at = ${fromNow('$3')}
${owned} AND lease_ends < ${NEVER_MS}`),
    forget: statement(`DELETE FROM ${table} ${owned}`),
    forgetEvent: statement(`
DELETE FROM ${table} AS e WHERE key = $1 COLLATE BINARY AND (lease_ends = ${NEVER_MS} OR ${isFree}) RETURNING key`),
    // Everything between the key with a space and the key with the next character, which is how the index is sorted.
    writes: statement(`
SELECT key, token FROM ${table} WHERE key > $1 || ' ' AND key < $1 || '!' AND substr(key, 1, length($1) + 1) = $1 || ' '`),
    // An event that was claimed within the retention is still remembered, so the index excludes most of the table.
    prune: statement(`
DELETE FROM ${table} WHERE key IN (
  SELECT key FROM ${table} WHERE claimed_at <= ${SQLITE_NOW} - CAST($1 AS INTEGER) AND forget_at <= ${SQLITE_NOW}
  ORDER BY claimed_at LIMIT ${PRUNE_BATCH})`),
    lock: statement(`DELETE FROM ${table} WHERE key IS NULL`),
    // Compares two ids as the key column does.
    ping: statement(`
SELECT CAST(count(DISTINCT key) AS TEXT) AS ids
FROM (SELECT key FROM ${table} WHERE 0 UNION ALL SELECT 'a' UNION ALL SELECT 'A')`),
    exactKey: `ALTER TABLE ${table} RENAME TO ${table.replace(/"$/, '_inexact"')}; then call migrate() and copy its rows.`,
  };
}
