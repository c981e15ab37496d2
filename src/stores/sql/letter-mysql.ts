// The SQL of dead letters in MySQL and MariaDB, for a table that the user names.
import type { DeadLetterQuery } from '../../claims/dead-letter-store.js';
import { mysqlLetterTable } from './letter-mysql-table.js';
import { mysqlTable } from './mysql.js';
import { Statement } from './statement.js';

const NOW = 'UTC_TIMESTAMP(3)';
const EPOCH = `DATE'1970-01-01'`;

// Text and bytes travel as base64: no character set of a connection can change it, it needs no escapes, and it is shorter
// than hex.
const bytes = (parameter: number) => `FROM_BASE64($${parameter})`;
const text = (parameter: number) => `CONVERT(${bytes(parameter)} USING utf8mb4)`;
const integer = (parameter: number) => `CAST($${parameter} AS SIGNED)`;
const milliseconds = (parameter: number) => `INTERVAL ${integer(parameter)} * 1000 MICROSECOND`;
const sinceEpoch = (time: string) => `TIMESTAMPDIFF(MICROSECOND, ${EPOCH}, ${time}) DIV 1000`;

/** The first parameter of each statement says for how many milliseconds letters are kept. */
const OVER = `retained_from <= ${NOW} - ${milliseconds(1)}`;

/** A letter that is neither a tombstone nor over. */
const ALIVE = `discarded_at IS NULL AND NOT ${OVER}`;

const keep = (table: string) => `
INSERT INTO ${table}
  (id, \`key\`, fingerprint, namespace, event_name, event_id, sandbox, reason, code, attempts, issues, head, body, kept_at)
VALUES (${[2, 3, 4, 5, 6, 7].map(bytes).join(', ')}, ${integer(8)}, ${bytes(9)}, ${bytes(10)}, ${integer(11)},
  ${[12, 13, 14].map(bytes).join(', ')}, ${NOW})
ON DUPLICATE KEY UPDATE attempts = GREATEST(attempts + 1, VALUES(attempts)), reason = VALUES(reason),
  code = VALUES(code), issues = VALUES(issues), head = VALUES(head)`;

// A read that locks is one of the latest commit, and a proxy sends it where it sent the write.
const kept = (table: string) => `
SELECT TO_BASE64(id) AS id, @@autocommit AS autocommit FROM ${table}
WHERE \`key\` = ${bytes(2)} AND fingerprint = ${bytes(3)} AND ${ALIVE} FOR UPDATE`;

/** Makes room for a letter of the same event and bytes as one whose retention is over. */
const forget = (table: string) => `
DELETE FROM ${table} WHERE \`key\` = ${bytes(2)} AND fingerprint = ${bytes(3)} AND discarded_at IS NULL AND ${OVER}`;

const find = (table: string) => `
SELECT ${LISTED}, TO_BASE64(body) AS body FROM ${table} WHERE id = ${bytes(2)} AND ${ALIVE}`;

const update = (table: string) => `
UPDATE ${table} SET reason = ${bytes(3)}, code = ${bytes(4)}, issues = ${bytes(5)},
  attempts = COALESCE(${integer(6)}, attempts)
WHERE id = ${bytes(2)} AND ${ALIVE}`;

const isAlive = (table: string) =>
  `SELECT arrival FROM ${table} WHERE id = ${bytes(2)} AND ${ALIVE} FOR UPDATE`;

// The second comparison is exact also where somebody has given the column a case-insensitive collation.
const REMOVED = `
\`key\` = ${bytes(2)} AND HEX(\`key\`) = HEX(${bytes(2)}) AND (fingerprint = ${bytes(3)} OR reason IN ('failed', 'unfinished')) AND ${ALIVE}`;

const discard = (table: string) => `
UPDATE ${table} SET head = NULL, body = NULL, discarded_by = ${text(3)}, discarded_because = ${text(4)},
  token = ${bytes(5)}, discarded_at = ${NOW}
WHERE id = ${bytes(2)} AND ${ALIVE}`;

const isDiscarded = (table: string) =>
  `SELECT arrival FROM ${table} WHERE id = ${bytes(1)} AND token = ${bytes(2)} FOR UPDATE`;

/** How many rows are deleted at once. */
export const PRUNE_BATCH = 1_000;
const DUE = `${OVER} ORDER BY retained_from, arrival LIMIT ${PRUNE_BATCH}`;

const LISTED = `CAST(arrival AS CHAR) AS place, ${['id', '`key`', 'fingerprint', 'namespace', 'event_name', 'event_id', 'reason', 'code', 'issues', 'head'].map((column) => `TO_BASE64(${column}) AS ${column}`).join(', ')},
  sandbox, attempts, TO_BASE64(CAST(discarded_by AS BINARY)) AS discarded_by,
  TO_BASE64(CAST(discarded_because AS BINARY)) AS discarded_because,
  ${sinceEpoch('kept_at')} AS kept_ms, ${sinceEpoch('discarded_at')} AS discarded_ms`;

/** Nothing was kept before 1970, and no database counts as far as a Date does. */
const LAST_MS = Date.UTC(9999, 0);

/** Some of the letters: which, and the parameters that say so. */
interface Conditions {
  readonly text: string;
  readonly parameters: readonly unknown[];
}

/** A statement with its parameters, `$1` first. */
export interface MysqlQuestion {
  readonly statement: Statement;
  readonly parameters: readonly unknown[];
}

function where(query: DeadLetterQuery, retentionMs: number): Conditions {
  const parameters: unknown[] = [retentionMs, query.namespace];
  const conditions = [
    `namespace = ${bytes(2)} AND discarded_at IS ${query.discarded ? 'NOT NULL' : 'NULL'} AND NOT ${OVER}`,
  ];
  const { id, reason, eventId, eventName, eventNamePrefix, since } = query;
  for (const [column, value] of Object.entries({ id, reason, event_id: eventId, event_name: eventName }))
    if (value !== undefined) conditions.push(`${column} = ${bytes(parameters.push(value))}`);
  if (eventNamePrefix) {
    const length = parameters.push(Buffer.byteLength(eventNamePrefix));
    const prefix = parameters.push(eventNamePrefix);
    conditions.push(`LEFT(event_name, ${integer(length)}) = ${bytes(prefix)}`);
  }
  if (since !== undefined) {
    const ms = Math.min(Math.max(since.getTime(), 0), LAST_MS);
    conditions.push(`kept_at >= ${EPOCH} + ${milliseconds(parameters.push(ms))}`);
  }
  return { text: conditions.join(' AND '), parameters };
}

const ask = (text: string, parameters: readonly unknown[]): MysqlQuestion => ({
  statement: new Statement(text),
  parameters,
});

/** @param names for each reason at most so many; those of further ones are one group without a name */
function countGroups(table: string, { text, parameters }: Conditions, names: number): MysqlQuestion {
  const told = `CASE WHEN place <= ${integer(parameters.length + 1)} THEN event_name END`;
  const groups = `
SELECT TO_BASE64(reason) AS reason, TO_BASE64(${told}) AS event_name, CAST(SUM(letters) AS SIGNED) AS letters,
  ${sinceEpoch('MIN(oldest)')} AS oldest_ms
FROM (
  SELECT reason, event_name, COUNT(*) AS letters, MIN(kept_at) AS oldest,
    ROW_NUMBER() OVER (PARTITION BY reason ORDER BY MIN(arrival)) AS place
  FROM ${table} WHERE ${text} GROUP BY reason, event_name
) counted GROUP BY 1, 2`;
  return ask(groups, [...parameters, names]);
}

/**
 * @param page up to `limit` letters that arrived after `after`. The limit is part of the text: MySQL refuses one that
 *   comes as text.
 */
function list(
  table: string,
  { text, parameters }: Conditions,
  { limit, after }: { readonly limit: number; readonly after: string },
): MysqlQuestion {
  const place = integer(parameters.length + 1);
  const page = `WHERE ${text} AND arrival > ${place} ORDER BY arrival LIMIT ${Math.trunc(limit)}`;
  return ask(`SELECT ${LISTED} FROM ${table} ${page}`, [...parameters, BigInt(after)]);
}

export type MysqlLetterSql = ReturnType<typeof mysqlLetterSqlFor>;

/** @throws {ConfigurationError} if the table is not `name` or `schema.name` of letters, digits and underscores */
export function mysqlLetterSqlFor(name: unknown) {
  const table = mysqlTable(name);
  const statement = (text: string) => new Statement(text);
  return {
    table,
    migrate: mysqlLetterTable(table),
    keep: statement(keep(table)),
    kept: statement(kept(table)),
    forget: statement(forget(table)),
    find: statement(find(table)),
    update: statement(update(table)),
    isAlive: statement(isAlive(table)),
    removable: statement(`SELECT arrival FROM ${table} WHERE ${REMOVED} FOR UPDATE`),
    remove: statement(`DELETE FROM ${table} WHERE ${REMOVED}`),
    /** How many rows the statement before this one deleted, on the same connection. */
    removed: statement('SELECT ROW_COUNT() AS removed'),
    discard: statement(discard(table)),
    isDiscarded: statement(isDiscarded(table)),
    due: statement(`SELECT arrival FROM ${table} WHERE ${DUE}`),
    prune: statement(`DELETE FROM ${table} WHERE ${DUE}`),
    count: (query: DeadLetterQuery, retentionMs: number): MysqlQuestion => {
      const { text, parameters } = where(query, retentionMs);
      return ask(`SELECT COUNT(*) AS letters FROM ${table} WHERE ${text}`, parameters);
    },
    countGroups: (query: DeadLetterQuery, retentionMs: number, names: number) =>
      countGroups(table, where(query, retentionMs), names),
    list: (query: DeadLetterQuery, retentionMs: number, page: { limit: number; after: string }) =>
      list(table, where(query, retentionMs), page),
  };
}
