// Dead letters in SQLite, through any client. Bytes are read as hex, because clients return them as different types.
import type { Connections } from '../sql/connections.js';
import { SQLITE_NOW, sqliteTable } from '../sql/sqlite.js';
import { type ReturningDialect, ReturningLetterRows } from './returning-rows.js';
import { textOf } from './sql-rows.js';

// Without AUTOINCREMENT a letter could take the place of one that was removed, behind the cursor of a page.
export const sqliteLetterTable = (table: string, index: (columns: string) => string) => `
CREATE TABLE IF NOT EXISTS ${table} (
  arrival     INTEGER PRIMARY KEY AUTOINCREMENT, -- the order in which letters were first kept
  id          TEXT NOT NULL,
  key         TEXT NOT NULL,    -- namespace, live or sandbox, id of the event
  fingerprint TEXT NOT NULL,    -- SHA-256 of the bytes
  namespace   TEXT NOT NULL,
  event_name  TEXT NOT NULL,
  event_id    TEXT NOT NULL,
  sandbox     INTEGER NOT NULL,
  reason      TEXT NOT NULL,
  code        TEXT,
  attempts    INTEGER NOT NULL,
  issues      BLOB NOT NULL,    -- where the payload does not fit; sealed where there are keys
  head        BLOB,             -- headers and the index of the private key; sealed where there are keys
  body        BLOB,             -- the bytes of the event; sealed where there are keys
  kept_at     INTEGER NOT NULL DEFAULT (${SQLITE_NOW}), -- in milliseconds since 1970
  discarded_at      INTEGER,    -- of a tombstone, which has neither head nor body
  discarded_by      TEXT,
  discarded_because TEXT
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS ${index('id')} ON ${table} (id);
CREATE UNIQUE INDEX IF NOT EXISTS ${index('event')} ON ${table} (key, fingerprint) WHERE discarded_at IS NULL;
CREATE INDEX IF NOT EXISTS ${index('arrival')} ON ${table} (namespace, arrival);
CREATE INDEX IF NOT EXISTS ${index('retention')} ON ${table} (COALESCE(discarded_at, kept_at));`;

const BLOBS: ReadonlySet<string> = new Set(['issues', 'head', 'body']);

/** Every parameter is text or null. */
const integer = (parameter: number) => `CAST($${parameter} AS INTEGER)`;

const sqliteFragments: Omit<ReturningDialect, 'table' | 'migration'> = {
  now: SQLITE_NOW,
  greatest: 'MAX',
  skipLocked: '',
  expired: (row = '') => `COALESCE(${row}discarded_at, ${row}kept_at) <= ${SQLITE_NOW} - ${integer(1)}`,
  bytes: (parameter) => `$${parameter}`,
  boolean: integer,
  number: integer,
  time: integer,
  prefix: (parameter) => `instr(event_name, $${parameter}) = 1`,
  sameKey: (parameter) => `key = $${parameter} COLLATE BINARY`,
  // Of null, hex() is an empty string.
  select: (expression) =>
    BLOBS.has(expression) ? `CASE WHEN ${expression} IS NOT NULL THEN hex(${expression}) END` : expression,
  milliseconds: (time) => time,
  sent: (value) => (typeof value === 'boolean' ? Number(value) : value),
  text: textOf,
  blob: (value) => Buffer.from(textOf(value), 'hex'),
};

export class SqliteLetterRows extends ReturningLetterRows {
  /** @throws {ConfigurationError} if the table is not a name of letters, digits and underscores */
  constructor(connections: Connections, name: unknown, retentionMs: number) {
    const { table, index } = sqliteTable(name);
    super(
      connections,
      { ...sqliteFragments, table, migration: sqliteLetterTable(table, index) },
      retentionMs,
    );
  }
}
