// Dead letters in MySQL and MariaDB through any client. Writes are read back to confirm them.
import type { Discarded, ProcessedEvent } from '../../contracts/dead-letter-store.js';
import { newToken } from '../../contracts/token.js';
import { StoreError } from '../../errors.js';
import type { Connections, Row } from '../sql/connections.js';
import { unreadable } from '../sql/dialect.js';
import { mysqlTable } from '../sql/mysql.js';
import { PRUNE_BATCH, Statement } from '../sql/statement.js';
import {
  bufferOf,
  type LetterDialect,
  readRow,
  SqlLetterRows,
  selected,
  textOf,
  valuesOf,
} from './sql-rows.js';
import type { FullRow, NewRow, RowChange } from './stored-letters.js';

/** Another process may remove a letter before its id is read, or the letter may have expired. */
const KEEP_TRIES = 4;

export const mysqlLetterTable = (table: string) => `
CREATE TABLE IF NOT EXISTS ${table} (
  arrival       bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, -- the order in which letters were first kept
  id            varbinary(255) NOT NULL,  -- bytes: collations of text ignore case or trailing spaces
  \`key\`         varbinary(512) NOT NULL,  -- namespace, live or sandbox, id of the event
  fingerprint   varbinary(64) NOT NULL,   -- SHA-256 of the bytes
  namespace     varbinary(255) NOT NULL,
  event_name    varbinary(255) NOT NULL,
  event_id      varbinary(255) NOT NULL,
  sandbox       tinyint NOT NULL,
  reason        varbinary(32) NOT NULL,
  code          varbinary(64),
  attempts      int NOT NULL,
  issues        longblob NOT NULL,        -- where the payload does not fit; sealed where there are keys
  head          longblob,                 -- headers and the index of the private key; sealed where there are keys
  body          longblob,                 -- the bytes of the event; sealed where there are keys
  kept_at       datetime(3) NOT NULL,     -- UTC, like all times here
  discarded_at      datetime(3),          -- of a tombstone, which has neither head nor body
  discarded_by      text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  discarded_because text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  token         varbinary(32),            -- random: by it a call knows that it discarded the letter
  retained_from datetime(3) GENERATED ALWAYS AS (COALESCE(discarded_at, kept_at)) STORED,
  letter        tinyint GENERATED ALWAYS AS (CASE WHEN discarded_at IS NULL THEN 1 END) STORED,
  UNIQUE KEY event (\`key\`, fingerprint, letter), -- there may be many tombstones: null is not equal to null
  KEY id (id),
  KEY arrival (namespace, arrival),
  KEY retention (retained_from),
  CHECK (discarded_at IS NOT NULL OR (head IS NOT NULL AND body IS NOT NULL))
) ENGINE=InnoDB;`;

const UTC_MILLISECOND = 'UTC_TIMESTAMP(3)';
const EPOCH = `DATE'1970-01-01'`;

// Text and bytes are sent as base64: no connection charset changes it, it needs no escapes, and it is shorter than hex.
const bytes = (parameter: number) => `FROM_BASE64($${parameter})`;
const utf8 = (parameter: number) => `CONVERT(${bytes(parameter)} USING utf8mb4)`;
const number = (parameter: number) => `CAST($${parameter} AS SIGNED)`;
const interval = (parameter: number) => `INTERVAL ${number(parameter)} * 1000 MICROSECOND`;

const EXPIRED = `retained_from <= ${UTC_MILLISECOND} - ${interval(1)}`;

const mysqlFragments: Omit<LetterDialect, 'table' | 'migration'> = {
  expired: () => EXPIRED,
  bytes,
  number,
  time: (parameter) => `${EPOCH} + ${interval(parameter)}`,
  prefix: (parameter) => `LEFT(event_name, LENGTH(${bytes(parameter)})) = ${bytes(parameter)}`,
  // As bytes, so that the connection's charset does not matter.
  select: (expression) =>
    `TO_BASE64(${expression.startsWith('discarded_') ? `CAST(${expression} AS BINARY)` : expression.replace(/^key$/, '`key`')})`,
  milliseconds: (time) => `TIMESTAMPDIFF(MICROSECOND, ${EPOCH}, ${time}) DIV 1000`,
  sent: (value) => {
    if (ArrayBuffer.isView(value)) return bufferOf(value).toString('base64');
    if (typeof value === 'string') return Buffer.from(value).toString('base64');
    if (typeof value === 'boolean') return Number(value);
    return typeof value === 'number' ? Math.round(value) : value;
  },
  text: (value) => mysqlFragments.blob(value).toString(),
  blob: (value) => Buffer.from(textOf(value), 'base64'),
};

function mysqlLetterStatements(table: string) {
  const statement = (text: string) => new Statement(text);
  // Neither a tombstone nor expired.
  const alive = `discarded_at IS NULL AND NOT ${EXPIRED}`;
  const ofEvent = `\`key\` = ${bytes(2)} AND fingerprint = ${bytes(3)}`;
  const due = `${EXPIRED} ORDER BY retained_from, arrival LIMIT ${PRUNE_BATCH}`;
  // The second comparison is exact even if the column has a case-insensitive collation.
  const removed = `
\`key\` = ${bytes(2)} AND HEX(\`key\`) = HEX(${bytes(2)}) AND (fingerprint = ${bytes(3)} OR reason IN ('failed', 'unfinished')) AND ${alive}`;
  return {
    keep: statement(`
INSERT INTO ${table}
  (id, \`key\`, fingerprint, namespace, event_name, event_id, sandbox, reason, code, attempts, issues, head, body, kept_at)
VALUES (${[2, 3, 4, 5, 6, 7].map(bytes).join(', ')}, ${number(8)}, ${bytes(9)}, ${bytes(10)}, ${number(11)},
  ${[12, 13, 14].map(bytes).join(', ')}, ${UTC_MILLISECOND})
ON DUPLICATE KEY UPDATE attempts = GREATEST(attempts + 1, VALUES(attempts)), reason = VALUES(reason),
  code = VALUES(code), issues = VALUES(issues), head = VALUES(head)`),
    // A locking read sees the latest commit, and proxies send it to the primary.
    kept: statement(
      `SELECT TO_BASE64(id) AS id, @@autocommit AS autocommit FROM ${table} WHERE ${ofEvent} AND ${alive} FOR UPDATE`,
    ),
    /** Makes room for a letter of the same event and bytes as one that has expired. */
    forget: statement(`DELETE FROM ${table} WHERE ${ofEvent} AND discarded_at IS NULL AND ${EXPIRED}`),
    replaceBody: statement(`UPDATE ${table} SET body = ${bytes(3)} WHERE id = ${bytes(2)} AND ${alive}`),
    find: statement(
      `SELECT ${selected(mysqlFragments)}, TO_BASE64(body) AS body FROM ${table} WHERE id = ${bytes(2)} AND ${alive}`,
    ),
    update: statement(`
UPDATE ${table} SET reason = ${bytes(3)}, code = ${bytes(4)}, issues = ${bytes(5)},
  attempts = COALESCE(${number(6)}, attempts)
WHERE id = ${bytes(2)} AND ${alive}`),
    isAlive: statement(`SELECT arrival FROM ${table} WHERE id = ${bytes(2)} AND ${alive} FOR UPDATE`),
    removable: statement(`SELECT arrival FROM ${table} WHERE ${removed} FOR UPDATE`),
    remove: statement(`DELETE FROM ${table} WHERE ${removed}`),
    discard: statement(`
UPDATE ${table} SET head = NULL, body = NULL, discarded_by = ${utf8(3)}, discarded_because = ${utf8(4)},
  token = ${bytes(5)}, discarded_at = ${UTC_MILLISECOND}
WHERE id = ${bytes(2)} AND ${alive}`),
    isDiscarded: statement(
      `SELECT arrival FROM ${table} WHERE id = ${bytes(2)} AND token = ${bytes(5)} FOR UPDATE`,
    ),
    due: statement(`SELECT arrival FROM ${table} WHERE ${due}`),
    prune: statement(`DELETE FROM ${table} WHERE ${due}`),
  };
}

export class MysqlLetterRows extends SqlLetterRows {
  readonly #sql: ReturnType<typeof mysqlLetterStatements>;

  /** @throws {ConfigurationError} if the table is not `name` or `schema.name` of letters, digits and underscores */
  constructor(connections: Connections, name: unknown, retentionMs: number) {
    const table = mysqlTable(name);
    super(connections, { ...mysqlFragments, table, migration: mysqlLetterTable(table) }, retentionMs);
    this.#sql = mysqlLetterStatements(table);
  }

  async keep(row: NewRow): Promise<string> {
    const event = [row.key, row.fingerprint];
    for (let attempt = 1; attempt <= KEEP_TRIES; attempt += 1) {
      await this.run(this.#sql.keep, valuesOf(row));
      const [kept] = (await this.run(this.#sql.kept, event)).rows;
      if (kept) return idOf(kept);
      await this.run(this.#sql.forget, event);
    }
    throw new StoreError(
      'MySQL does not have a dead letter that was just written. Check that client commits each statement (autocommit).',
    );
  }

  replaceBody(id: string, body: Buffer): Promise<unknown> {
    return this.run(this.#sql.replaceBody, [id, body]);
  }

  async find(id: string): Promise<FullRow | undefined> {
    const [row] = (await this.run(this.#sql.find, [id])).rows;
    return row && readRow(row, mysqlFragments);
  }

  /** A letter that exists afterwards existed before: an id is never used twice. */
  async update(id: string, { reason, code, issues, attempts }: RowChange): Promise<boolean> {
    await this.run(this.#sql.update, [id, reason, code, issues, attempts]);
    return (await this.run(this.#sql.isAlive, [id])).rows.length > 0;
  }

  async remove({ key, fingerprint }: ProcessedEvent): Promise<number> {
    const event = [key, fingerprint];
    const { length } = (await this.run(this.#sql.removable, event)).rows;
    if (length > 0) await this.run(this.#sql.remove, event);
    return length;
  }

  async discard(id: string, { by, because }: Pick<Discarded, 'by' | 'because'>): Promise<boolean> {
    const given = [id, by, because, newToken()];
    await this.run(this.#sql.discard, given);
    return (await this.run(this.#sql.isDiscarded, given)).rows.length > 0;
  }

  /** Two processes that prune at once may count the same rows. */
  async prune() {
    const { length: pruned } = (await this.run(this.#sql.due, [])).rows;
    if (pruned > 0) await this.run(this.#sql.prune, []);
    return { pruned, more: pruned === PRUNE_BATCH };
  }
}

/** Without autocommit the letter would be lost with its connection. */
function idOf({ id, autocommit }: Row): string {
  if (autocommit === undefined) throw unreadable();
  if (Number(autocommit) === 1) return mysqlFragments.text(id);
  throw new StoreError('client does not commit each statement. Leave autocommit of MySQL at 1.');
}
