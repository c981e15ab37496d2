// The SQL of the MySQL and MariaDB store. Text is sent as hex, whatever the connection's charset.
import type { parseTable } from '../postgres/sql.js';
import { SqlStatement } from './placeholders.js';

// UTC, so neither the time zone of a session nor the hour that a clock repeats in autumn counts.
const NOW = 'UTC_TIMESTAMP(6)';
const NEVER = "TIMESTAMP'9999-12-31 00:00:00'";
const LONG_AGO = "TIMESTAMP'1000-01-01 00:00:00'";
const FORGOTTEN = `forget_at <= ${NOW}`;
const FREE = `LEAST(lease_ends, forget_at) <= ${NOW}`;

const fromNow = (parameter: string) => `${NOW} + INTERVAL CAST(${parameter} AS SIGNED) MICROSECOND`;

const migrate = (table: string) => `
CREATE TABLE IF NOT EXISTS ${table} (
  \`key\`       VARBINARY(1024) NOT NULL PRIMARY KEY, -- namespace, live or sandbox, id of the event
  token       VARBINARY(40) NOT NULL,    -- who owns the claim; starts with a hyphen once it is released
  attempt     INT UNSIGNED NOT NULL,
  finished    MEDIUMBLOB NOT NULL,       -- JSON: named handlers that succeeded on an earlier attempt
  fingerprint VARBINARY(256) NOT NULL,   -- stands for the bytes that are worked on, or were
  lease_ends  DATETIME(6) NOT NULL,      -- UTC; the year 1000 once released, 9999 once completed
  forget_at   DATETIME(6) NOT NULL,      -- UTC; the last write plus the retention
  claimed_at  DATETIME(6) NOT NULL,      -- UTC
  INDEX claimed_at (claimed_at)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC`;

// Changes no row that is there, and locks it.
const insert = (table: string) => `
INSERT INTO ${table} (\`key\`, token, attempt, finished, fingerprint, lease_ends, forget_at, claimed_at)
VALUES (UNHEX($1), $2, 1, '[]', UNHEX($3), ${fromNow('$4')}, ${fromNow('$5')}, ${NOW})
ON DUPLICATE KEY UPDATE token = token`;

// MySQL assigns from left to right, so each line may read what the lines above it have set. None does: some modes of
// MariaDB assign all at once.
const takeOver = (table: string) => `
UPDATE ${table} SET
  finished = CASE WHEN ${FORGOTTEN} THEN '[]' ELSE finished END,
  attempt = CASE WHEN ${FORGOTTEN} THEN 1 ELSE attempt + 1 END,
  token = $2, fingerprint = UNHEX($3), lease_ends = ${fromNow('$4')}, forget_at = ${fromNow('$5')}
WHERE \`key\` = UNHEX($1) AND ${FREE}`;

// Names the connection until the server restarts, and ids start over: the upper bits of UUID_SHORT() are the time of its
// start.
const SESSION = `CAST(CONCAT(CONNECTION_ID(), ' ', UUID_SHORT() >> 24) AS CHAR)`;

// Not of a transaction that is idle: a timeout of the server may be about to end it.
const executing = `
SELECT 'yes' AS executing FROM information_schema.processlist
WHERE CONCAT(id, ' ', UUID_SHORT() >> 24) = $1 AND command <> 'Sleep'`;

// A locking read: it sees what is committed now, and a proxy sends it to the server that takes the writes.
const read = (table: string, letterTable?: string, seen: Seen = 'as they were') => `
SELECT HEX(\`key\`) AS stored, CASE WHEN token = $2 THEN 'yes' ELSE 'no' END AS mine,
  CASE WHEN ${FREE} THEN 'yes' ELSE 'no' END AS free,
  CASE WHEN lease_ends = ${NEVER} THEN 'yes' ELSE 'no' END AS completed,
  CAST(attempt AS CHAR) AS attempt, HEX(finished) AS finished, HEX(fingerprint) AS fingerprint,
  CAST(TIMESTAMPDIFF(MICROSECOND, ${NOW}, lease_ends) AS CHAR) AS lease_left,
  CAST(@@SESSION.autocommit AS CHAR) AS autocommit, ${SESSION} AS session${
    letterTable ? `,\n  CASE WHEN ${hasLetter(letterTable, seen)} THEN 'true' ELSE 'false' END AS kept` : ''
  }
FROM ${table} WHERE \`key\` = UNHEX($1) FOR UPDATE`;

/**
 * A transaction sees letters as they were when it first looked. To see what was kept since, it has to lock them. So it does
 * right before the commit alone: until then the journal may keep one.
 */
type Seen = 'as they were' | 'as they are';

const hasLetter = (table: string, seen: Seen) =>
  `EXISTS (SELECT 1 FROM ${table} l WHERE l.\`key\` = UNHEX($1) AND l.discarded_at IS NULL${seen === 'as they are' ? ' LOCK IN SHARE MODE' : ''})`;

const renew = (table: string) => `
UPDATE ${table} SET lease_ends = ${fromNow('$3')}, forget_at = ${fromNow('$4')}
WHERE \`key\` = UNHEX($1) AND token = $2 AND lease_ends < ${NEVER}`;

const complete = (table: string) => `
UPDATE ${table} SET lease_ends = ${NEVER}, finished = '[]', forget_at = ${fromNow('$3')}
WHERE \`key\` = UNHEX($1) AND token = $2`;

const release = (table: string) => `
UPDATE ${table} SET token = $5, lease_ends = ${LONG_AGO}, finished = UNHEX($4), forget_at = ${fromNow('$3')}
WHERE \`key\` = UNHEX($1) AND token = $2 AND lease_ends < ${NEVER}`;

const forget = (table: string) => `DELETE FROM ${table} WHERE \`key\` = UNHEX($1) AND token = $2`;

/** How many rows are deleted at once. */
export const PRUNE_BATCH = 1_000;

// An event that was claimed within the retention is still remembered, so the index excludes most of the table. Rows that a
// transaction works on are left to the next time.
const oldest = (table: string) => `
SELECT \`key\` AS k FROM ${table}
WHERE claimed_at <= ${NOW} - INTERVAL CAST($1 AS SIGNED) MICROSECOND AND ${FORGOTTEN}
ORDER BY claimed_at LIMIT ${PRUNE_BATCH} FOR UPDATE SKIP LOCKED`;

const countDue = (table: string) => `SELECT CAST(COUNT(*) AS CHAR) AS due FROM (${oldest(table)}) due`;

// What is claimed between the two statements is not deleted. In the other order, which MySQL prefers for a small table,
// each row is read, and a row that somebody works on is waited for.
const prune = (table: string) => `
DELETE t FROM (${oldest(table)}) due STRAIGHT_JOIN ${table} t FORCE INDEX (PRIMARY) ON due.k = t.\`key\`
WHERE t.${FORGOTTEN}`;

/** Reads no row of the table, and fails without it. Counts two ids as the key column compares them. */
const ping = (table: string) => `
SELECT CAST(@@GLOBAL.read_only AS CHAR) AS read_only, CAST(COUNT(DISTINCT id) AS CHAR) AS ids
FROM (SELECT \`key\` AS id FROM ${table} WHERE FALSE UNION ALL SELECT 'a' UNION ALL SELECT 'A') ids`;

// A duplicate waits for the transaction that works on the event, but only for a second. The setting is of the session, so
// it is set back before a handler runs.
const waitASecond = `SET @payment_webhooks_wait = @@SESSION.innodb_lock_wait_timeout, SESSION innodb_lock_wait_timeout = 1`;
const waitAsBefore = `SET SESSION innodb_lock_wait_timeout = @payment_webhooks_wait`;

export type MysqlSql = ReturnType<typeof mysqlSqlFor>;

/** The name as MySQL quotes it. */
export function quoted({ table }: ReturnType<typeof parseTable>): string {
  return table.replaceAll('"', '`');
}

export function savepoint(verb: 'SAVEPOINT' | 'RELEASE SAVEPOINT', token: string): SqlStatement {
  return new SqlStatement('mysql', `${verb} payment_webhooks_${token}`);
}

/** @param table as MySQL quotes it */
export function mysqlSqlFor(table: string) {
  const statement = (text: string) => new SqlStatement('mysql', text);
  const reads = new Map<string, SqlStatement>();
  return {
    migrate: migrate(table),
    exactKey: `ALTER TABLE ${table} MODIFY \`key\` VARBINARY(1024) NOT NULL`,
    insert: statement(insert(table)),
    takeOver: statement(takeOver(table)),
    read: statement(read(table)),
    /** Asks in passing whether there is a dead letter, so that an event without one costs no statement. */
    readWithLetter: (letterTable: string | undefined, seen: Seen) => {
      const text = read(table, letterTable, seen);
      const known = reads.get(text) ?? statement(text);
      reads.set(text, known);
      return known;
    },
    renew: statement(renew(table)),
    complete: statement(complete(table)),
    release: statement(release(table)),
    forget: statement(forget(table)),
    countDue: statement(countDue(table)),
    prune: statement(prune(table)),
    ping: statement(ping(table)),
    waitASecond: statement(waitASecond),
    waitAsBefore: statement(waitAsBefore),
    executing: statement(executing),
    alive: statement('SELECT 1 AS alive'),
  };
}
