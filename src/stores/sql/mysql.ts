// The SQL of events in MySQL and MariaDB: each step writes, then reads the row back to see whose token it has.

import { newToken, type Owner } from '../../contracts/token.js';
import { StoreError } from '../../errors.js';
import { hasCode, NO_SAVEPOINT, refuseWithoutAutocommit, withRetry } from './conflicts.js';
import type { Row, RunSql } from './connections.js';
import {
  type Answer,
  type ClaimParameters,
  type CompletionParameters,
  checkKey,
  type Dialect,
  inexactKey,
  noRow,
  readAnswer,
  readCount,
  together,
  tryClaim,
  unreadable,
} from './dialect.js';
import type { FoundRow, OnceRow, Steps } from './once.js';
import { PRUNE_BATCH, parseTable, ROLLBACK, Statement } from './statement.js';

const MAX_KEY = 1_024;
const MAX_FINGERPRINT = 256;
/** Dates in MySQL end with the year 9999. */
const MAX_MICROSECONDS = 4e15;

/** MySQL cannot prepare SAVEPOINT, so a client that prepares every statement cannot set one. */
const NOT_PREPARED: ReadonlySet<unknown> = new Set(['ER_UNSUPPORTED_PS', 1295, '1295']);
const SAVEPOINT = 'payment_webhooks_once';

/**
 * Before a statement that locks what others have committed since the transaction first read. From 11.6 on, MariaDB answers it
 * with error 1020 and rolls the transaction back, unless told otherwise. A comment to MySQL and to earlier versions.
 */
const LOCK_LATEST = '/*M!110402 SET STATEMENT innodb_snapshot_isolation = OFF FOR */';

/** The quoted name. */
export function mysqlTable(name: unknown): string {
  return parseTable(name).table.replaceAll('"', '`');
}

export class MysqlDialect implements Dialect {
  readonly migration: string;
  readonly undo = UNDO_TO_SAVEPOINT;
  readonly #sql: ReturnType<typeof mysqlEventStatements>;

  /** @throws {ConfigurationError} if the table is not `name` or `schema.name` of letters, digits and underscores */
  constructor(name: unknown) {
    this.#sql = mysqlEventStatements(mysqlTable(name));
    this.migration = this.#sql.migration;
  }

  async ping(run: RunSql): Promise<void> {
    const row = await this.#ping(run);
    if (typeof row?.readonly !== 'string') throw unreadable();
    if (row.readonly !== '0' && row.readonly !== 'OFF')
      throw new StoreError('This MySQL is read-only, so no event can be claimed. Connect to the primary.');
    if (row.ids !== '2') throw inexactKey(this.#sql.exactKey);
    await withRetry(() => tryClaim(run, this));
  }

  async #ping(run: RunSql): Promise<Row | undefined> {
    return (await run(this.#sql.ping, [])).rows[0];
  }

  async prune(run: RunSql, retentionMs: number) {
    const values = [microseconds(retentionMs)];
    const pruned = readCount((await run(this.#sql.countDue, values)).rows[0]?.due);
    await run(this.#sql.prune, values);
    return { pruned, more: pruned === PRUNE_BATCH };
  }

  async claim(run: RunSql, parameters: ClaimParameters, isKnown = false): Promise<Answer> {
    return answerOf(await this.#claim(run, parameters, isKnown));
  }

  async #claim(run: RunSql, parameters: ClaimParameters, isKnown: boolean): Promise<Row | undefined> {
    const { key, fingerprint, leaseMs, keepMs } = parameters;
    refuseLongest(key, fingerprint);
    const values = [...idOfRow(parameters), hex(fingerprint), microseconds(leaseMs), microseconds(keepMs)];
    // The row may be pruned before it is read. Then the event is new.
    for (const last of [false, true]) {
      if (!isKnown || last) await run(this.#sql.insert, values);
      const row = await this.#read(run, parameters);
      if (!row) continue;
      checkKey(row.storedkey, hex(key).toUpperCase(), this.#sql.exactKey);
      if (row.mine === 'yes' || row.free !== 'yes') return row;
      await run(this.#sql.takeOver, values);
      const taken = await this.#read(run, parameters);
      if (taken || last) return taken;
    }
    // MySQL reads by comparing bytes, but finds duplicates by the collation of the column.
    if ((await this.#ping(run))?.ids === '1') throw inexactKey(this.#sql.exactKey);
    return undefined;
  }

  /** Events that are known are left out, since an insert would wait for a row that is locked. */
  async claimTogether(run: RunSql, calls: readonly ClaimParameters[]) {
    for (const { key, fingerprint } of calls) refuseLongest(key, fingerprint);
    const known = await together(run, this.#sql.known, calls, AS_HEX);
    const fresh = calls.filter(({ token }) => !known.has(token));
    await together(run, this.#sql.insertTogether, fresh, AS_HEX);
    return together(run, this.#sql.confirm, fresh, AS_HEX);
  }

  async completeTogether(run: RunSql, calls: readonly CompletionParameters[]) {
    const rows = calls.flatMap((call) => call.rows);
    const written = rows.length > 0 ? await together(run, this.#sql.confirm, rows, AS_HEX) : new Set();
    const ready = calls.filter((call) => call.rows.every(({ token }) => written.has(token)));
    await together(run, this.#sql.completeTogether, ready, AS_HEX);
    return together(run, this.#sql.confirmCompleted, ready, AS_HEX);
  }

  async renew(run: RunSql, owner: Owner, leaseMs: number, keepMs: number): Promise<boolean> {
    await run(this.#sql.renew, [...idOfRow(owner), microseconds(leaseMs), microseconds(keepMs)]);
    const row = await this.#read(run, owner);
    return row?.mine === 'yes' && row.completed === 'no';
  }

  async complete(run: RunSql, owner: Owner, keepMs: number, fingerprint?: string): Promise<boolean> {
    const values = [...idOfRow(owner), microseconds(keepMs)];
    if (fingerprint === undefined) await run(this.#sql.complete, values);
    else await run(this.#sql.completeWith, [...values, hex(fingerprint)]);
    const row = await this.#read(run, owner);
    return row?.mine === 'yes' && row.completed === 'yes';
  }

  /** Rows are read first: a statement that changes the table would wait for one that is not committed yet. */
  async completeAfter(run: RunSql, call: CompletionParameters) {
    const missing: string[] = [];
    for (const row of call.rows) {
      const [written] = (await run(this.#sql.written, idOfRow(row))).rows;
      if (!written) missing.push(row.key);
    }
    return missing.length > 0 ? missing : this.complete(run, call, call.keepMs, call.fingerprint);
  }

  async release(run: RunSql, owner: Owner, keepMs: number, finished: readonly string[]) {
    return (await this.#release(run, owner, keepMs, finished)) !== undefined;
  }

  async forget(run: RunSql, owner: Owner): Promise<boolean> {
    const released = await this.#release(run, owner, 0, []);
    if (released) await run(this.#sql.forget, idOfRow(released));
    return released !== undefined;
  }

  /** A new token identifies this release. @returns the new owner of the row, unless the claim was lost */
  async #release(run: RunSql, owner: Owner, keepMs: number, finished: readonly string[]) {
    const released: Owner = { key: owner.key, token: `-${newToken()}` };
    const values = [microseconds(keepMs), hex(JSON.stringify(finished)), released.token];
    await run(this.#sql.release, [...idOfRow(owner), ...values]);
    return (await this.#read(run, released))?.mine === 'yes' ? released : undefined;
  }

  *writeRow(row: OnceRow): Steps<FoundRow | undefined> {
    const { key, fingerprint, keepMs } = row;
    refuseLong('The key of an event with the name of a handler', key, MAX_KEY);
    try {
      yield [SET_SAVEPOINT, []];
      yield [UNDO_TO_SAVEPOINT, []];
    } catch (error) {
      if (hasCode(error, NO_SAVEPOINT)) return undefined;
      if (hasCode(error, NOT_PREPARED)) throw new StoreError(PREPARED);
      throw error;
    }
    yield [this.#sql.writeRow, [...idOfRow(row), hex(fingerprint), microseconds(keepMs)]];
    const { rows } = yield [this.#sql.readRow, [hex(key)]];
    // MySQL reads by comparing bytes, but finds duplicates by the collation of the column.
    if (!rows[0]) throw inexactKey(this.#sql.exactKey);
    checkKey(rows[0].storedkey, hex(key).toUpperCase(), this.#sql.exactKey);
    return { token: unhex(rows[0].token), fingerprint: unhex(rows[0].fingerprint) };
  }

  *hasRow(row: OnceRow): Steps<boolean> {
    const { rows } = yield [this.#sql.written, idOfRow(row)];
    return rows.length > 0;
  }

  /** Without autocommit, a DELETE begins a transaction of its own. What the work has written since is undone first. */
  forgetRow(row: OnceRow) {
    return [[ROLLBACK, []] as const, [this.#sql.forget, idOfRow(row)] as const, [COMMIT, []] as const];
  }

  opening(): string {
    return '';
  }

  readOpening(): never {
    throw noRow();
  }

  /** The event before its writes: a claim that comes in between skips them, and finds at its end that they are gone. */
  async forgetEvent(run: RunSql, key: string): Promise<number | readonly string[]> {
    const read = () => this.#read(run, { key, token: '' });
    const before = await read();
    if (before?.completed === 'no' && before.free === 'no') return Number(before.remaining) / 1_000;
    // Read before the event is gone: what a later claim writes has other tokens.
    const writes = (await run(this.#sql.writes, [hex(`${key} `), hex(`${key}!`)])).rows;
    await run(this.#sql.forgetEvent, [hex(key)]);
    const running = await read();
    if (running) return Number(running.remaining) / 1_000;
    for (const { storedkey, token } of writes) await run(this.#sql.forget, [storedkey, unhex(token)]);
    return [...(before ? [key] : []), ...writes.map((row) => unhex(row.storedkey))];
  }

  async completedWith(run: RunSql, key: string): Promise<string | undefined> {
    const row = await this.#read(run, { key, token: '' });
    if (row && row.storedkey === undefined) throw unreadable();
    const isOfKey = row?.storedkey === hex(key).toUpperCase();
    // A completed row is free once its retention has expired.
    return isOfKey && row.completed === 'yes' && row.free === 'no' ? unhex(row.fingerprint) : undefined;
  }

  async #read(run: RunSql, owner: Owner): Promise<Row | undefined> {
    const [row] = (await run(this.#sql.read, idOfRow(owner))).rows;
    // Something may have turned it off on this connection of the pool.
    refuseWithoutAutocommit(row);
    return row;
  }
}

function answerOf(row: Row | undefined): Answer {
  if (!row) return readAnswer(undefined);
  const status = row.mine === 'yes' ? 'claimed' : row.completed === 'yes' ? 'completed' : 'in_progress';
  const { attempt, finished, fingerprint, remaining } = row;
  return readAnswer({
    status,
    attempt,
    finished: unhex(finished),
    fingerprint: unhex(fingerprint),
    remaining: Number(remaining) / 1_000,
  });
}

function idOfRow({ key, token }: Owner): [string, string] {
  return [hex(key), token];
}

function refuseLongest(key: string, fingerprint: string): void {
  refuseLong('The key of an event', key, MAX_KEY);
  refuseLong('A fingerprint', fingerprint, MAX_FINGERPRINT);
}

/** Outside of strict mode MySQL truncates text that is too long, so two events could become one. */
function refuseLong(what: string, text: string, most: number): void {
  const bytes = Buffer.from(text);
  // UTF-8 turns every lone surrogate into the same character.
  if (bytes.length > most || bytes.toString() !== text)
    throw new StoreError(`${what} has ${bytes.length} bytes; the table takes ${most}, of well-formed text.`);
}

function hex(text: string): string {
  return Buffer.from(text).toString('hex');
}

function unhex(text: unknown): string {
  return Buffer.from(String(text), 'hex').toString();
}

function microseconds(ms: number): number {
  return Math.min(Math.max(Math.round(ms * 1_000), 0), MAX_MICROSECONDS);
}

const AS_HEX = { text: hex, ms: microseconds };

// UTC, so neither the time zone of a session nor daylight saving time matters.
const UTC_NOW = 'UTC_TIMESTAMP(6)';
const NEVER = "TIMESTAMP'9999-12-31 00:00:00'";
const IS_FREE = `LEAST(lease_ends, forget_at) <= ${UTC_NOW}`;

const SET_SAVEPOINT = new Statement(`SAVEPOINT ${SAVEPOINT}`, { prepared: false });
const UNDO_TO_SAVEPOINT = new Statement(`ROLLBACK TO SAVEPOINT ${SAVEPOINT}`, { prepared: false });
const COMMIT = new Statement('COMMIT', { prepared: false });
const PREPARED =
  'This MySQL cannot prepare SAVEPOINT, which once() needs. Let query() send text, such as query() of mysql2 instead of execute().';

/** Text is sent as hex, so the connection's charset does not matter. @param table the quoted name */
function mysqlEventStatements(table: string) {
  const statement = (text: string) => new Statement(text, { prepared: false });
  const fromNow = (parameter: string) => `${UTC_NOW} + INTERVAL CAST(${parameter} AS SIGNED) MICROSECOND`;
  const forgotten = `forget_at <= ${UTC_NOW}`;
  const owned = 'WHERE `key` = UNHEX($1) AND token = $2';
  // An event that was claimed within the retention is still remembered, so the index excludes most of the table. Skips rows
  // that a transaction has locked.
  const oldest = `
SELECT \`key\` AS k FROM ${table}
WHERE claimed_at <= ${UTC_NOW} - INTERVAL CAST($1 AS SIGNED) MICROSECOND AND ${forgotten}
ORDER BY claimed_at LIMIT ${PRUNE_BATCH} FOR UPDATE SKIP LOCKED`;
  // By the primary key, whatever the optimizer expects of JSON.
  const together = `JSON_TABLE($1, '$[*]' COLUMNS (k VARCHAR(2048) PATH '$.k', t VARCHAR(40) PATH '$.t', f VARCHAR(512) PATH '$.f',
  l BIGINT PATH '$.l', m BIGINT PATH '$.m')) c`;
  const found = `${together} STRAIGHT_JOIN ${table} e FORCE INDEX (PRIMARY) ON e.\`key\` = UNHEX(c.k)`;
  // In a session without autocommit, what it has written is not committed.
  const confirm = (condition: string) => `
SELECT c.t AS token FROM ${found} WHERE e.token = c.t AND @@SESSION.autocommit = 1 ${condition} FOR UPDATE SKIP LOCKED`;
  return {
    known: statement(`SELECT c.t AS token FROM ${found}`),
    insertTogether: statement(`
INSERT INTO ${table} (\`key\`, token, attempt, finished, fingerprint, lease_ends, forget_at, claimed_at)
SELECT UNHEX(c.k), c.t, 1, '[]', UNHEX(c.f), ${fromNow('c.l')}, ${fromNow('c.m')}, ${UTC_NOW} FROM ${together}
ON DUPLICATE KEY UPDATE token = ${table}.token`),
    confirm: statement(confirm('')),
    // Its table of rows that are not locked is complete before the first row is changed.
    completeTogether: statement(`
UPDATE (
  SELECT e.\`key\` AS k, c.m, c.f FROM ${found} WHERE e.token = c.t LIMIT 1000 FOR UPDATE SKIP LOCKED
) free STRAIGHT_JOIN ${table} e FORCE INDEX (PRIMARY) ON e.\`key\` = free.k
SET e.lease_ends = ${NEVER}, e.finished = '[]', e.forget_at = ${fromNow('free.m')},
  e.fingerprint = COALESCE(UNHEX(free.f), e.fingerprint)`),
    confirmCompleted: statement(confirm(`AND e.lease_ends = ${NEVER}`)),
    migration: `
CREATE TABLE IF NOT EXISTS ${table} (
  \`key\`       VARBINARY(1024) NOT NULL PRIMARY KEY, -- namespace, live or sandbox, id of the event, and the handler for writes inside once
  token       VARBINARY(40) NOT NULL,    -- who owns the claim; starts with a hyphen once it is released
  attempt     INT UNSIGNED NOT NULL,
  finished    MEDIUMBLOB NOT NULL,       -- JSON: named handlers that succeeded on an earlier attempt
  fingerprint VARBINARY(256) NOT NULL,   -- stands for the bytes that are worked on, or were
  lease_ends  DATETIME(6) NOT NULL,      -- UTC; the year 1000 once released, 9999 once completed
  forget_at   DATETIME(6) NOT NULL,      -- UTC; the last write plus the retention
  claimed_at  DATETIME(6) NOT NULL,      -- UTC
  INDEX claimed_at (claimed_at)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC`,
    exactKey: `ALTER TABLE ${table} MODIFY \`key\` VARBINARY(1024) NOT NULL`,
    // Locks an existing row without changing it.
    insert: statement(`
INSERT INTO ${table} (\`key\`, token, attempt, finished, fingerprint, lease_ends, forget_at, claimed_at)
VALUES (UNHEX($1), $2, 1, '[]', UNHEX($3), ${fromNow('$4')}, ${fromNow('$5')}, ${UTC_NOW})
ON DUPLICATE KEY UPDATE token = token`),
    // MySQL assigns from left to right, and some modes of MariaDB all at once. So no line reads a column that one above it sets.
    takeOver: statement(`
UPDATE ${table} SET
  finished = CASE WHEN ${forgotten} THEN '[]' ELSE finished END,
  attempt = CASE WHEN ${forgotten} THEN 1 ELSE attempt + 1 END,
  token = $2, fingerprint = UNHEX($3), lease_ends = ${fromNow('$4')}, forget_at = ${fromNow('$5')}
WHERE \`key\` = UNHEX($1) AND ${IS_FREE}`),
    read: statement(readOf(table)),
    renew: statement(`
UPDATE ${table} SET lease_ends = ${fromNow('$3')}, forget_at = ${fromNow('$4')}
${owned} AND lease_ends < ${NEVER}`),
    complete: statement(`
UPDATE ${table} SET lease_ends = ${NEVER}, finished = '[]', forget_at = ${fromNow('$3')}
${owned}`),
    completeWith: statement(`
UPDATE ${table} SET lease_ends = ${NEVER}, finished = '[]', forget_at = ${fromNow('$3')}, fingerprint = UNHEX($4)
${owned}`),
    release: statement(`
UPDATE ${table} SET token = $5, lease_ends = TIMESTAMP'1000-01-01 00:00:00', finished = UNHEX($4), forget_at = ${fromNow('$3')}
${owned} AND lease_ends < ${NEVER}`),
    forget: statement(`DELETE FROM ${table} ${owned}`),
    // Waits for another transaction that has inserted the row. A row whose retention is over is new.
    writeRow: statement(`${LOCK_LATEST}
INSERT INTO ${table} (\`key\`, token, attempt, finished, fingerprint, lease_ends, forget_at, claimed_at)
VALUES (UNHEX($1), $2, 1, '[]', UNHEX($3), ${NEVER}, ${fromNow('$4')}, ${UTC_NOW})
ON DUPLICATE KEY UPDATE
  token = CASE WHEN ${forgotten} THEN VALUES(token) ELSE token END,
  fingerprint = CASE WHEN ${forgotten} THEN VALUES(fingerprint) ELSE fingerprint END,
  forget_at = GREATEST(forget_at, VALUES(forget_at))`),
    // A locking read sees the latest commit, whatever the transaction has read before.
    readRow: statement(`${LOCK_LATEST}
SELECT HEX(\`key\`) AS storedkey, HEX(token) AS token, HEX(fingerprint) AS fingerprint
FROM ${table} WHERE \`key\` = UNHEX($1) FOR UPDATE`),
    // Skips a row that is not committed, which a session with READ UNCOMMITTED would see.
    written: statement(`SELECT 'yes' AS written FROM ${table} ${owned} FOR UPDATE SKIP LOCKED`),
    forgetEvent: statement(
      `DELETE FROM ${table} WHERE \`key\` = UNHEX($1) AND (lease_ends = ${NEVER} OR ${IS_FREE})`,
    ),
    // Everything between the key with a space and the key with the next character.
    writes: statement(
      `SELECT HEX(\`key\`) AS storedkey, HEX(token) AS token FROM ${table} WHERE \`key\` > UNHEX($1) AND \`key\` < UNHEX($2)`,
    ),
    countDue: statement(`SELECT CAST(COUNT(*) AS CHAR) AS due FROM (${oldest}) due`),
    // Checks each row again: it may have been claimed in between. In the other order, which MySQL prefers for a small table, it
    // would read each row, and wait for those that are locked.
    prune: statement(`
DELETE t FROM (${oldest}) due STRAIGHT_JOIN ${table} t FORCE INDEX (PRIMARY) ON due.k = t.\`key\`
WHERE t.${forgotten}`),
    // Fails without the table, and reads none of its rows. Compares two ids as the key column does.
    ping: statement(`
SELECT CAST(@@GLOBAL.read_only AS CHAR) AS readonly, CAST(COUNT(DISTINCT id) AS CHAR) AS ids
FROM (SELECT \`key\` AS id FROM ${table} WHERE FALSE UNION ALL SELECT 'a' UNION ALL SELECT 'A') ids`),
  };
}

// A locking read sees the latest commit, and proxies send it to the primary. Its columns have no name that MySQL 8 reserves,
// such as `stored`, and none that clients rename, such as `stored_key`.
const readOf = (table: string) => `
SELECT HEX(\`key\`) AS storedkey, CASE WHEN token = $2 THEN 'yes' ELSE 'no' END AS mine,
  CASE WHEN ${IS_FREE} THEN 'yes' ELSE 'no' END AS free,
  CASE WHEN lease_ends = ${NEVER} THEN 'yes' ELSE 'no' END AS completed,
  CAST(attempt AS CHAR) AS attempt, HEX(finished) AS finished, HEX(fingerprint) AS fingerprint,
  CAST(TIMESTAMPDIFF(MICROSECOND, ${UTC_NOW}, lease_ends) AS CHAR) AS remaining,
  CAST(@@SESSION.autocommit AS CHAR) AS autocommit
FROM ${table} WHERE \`key\` = UNHEX($1) FOR UPDATE`;
