// Remembers event ids in Postgres, and keeps dead letters: each alone, or both as an inbox.

import type { DeadLetterStore } from '../contracts/dead-letter-store.js';
import type { WithOnce } from '../contracts/idempotency-store.js';
import type { Inbox } from '../contracts/inbox.js';
import { ConfigurationError } from '../errors.js';
import { anything, defineOptions, type OptionRule, RETENTION } from '../options/define-options.js';
import { inboxInTables, TABLE_RULES, type TableOptions } from './inbox/tables.js';
import { PostgresLetterRows } from './letters/postgres.js';
import { storedInSql } from './letters/sql-rows.js';
import { LETTER_RULES, type LetterOptions } from './letters/stored-letters.js';
import { sqlEngine, type TableStore } from './sql/engine.js';
import { type ClientOf, PgConnections, type PostgresPool } from './sql/pg-connections.js';
import { PostgresDialect } from './sql/postgres.js';
import { parseTable } from './sql/statement.js';

export type * from '../contracts/for-doors.js';
export type { PostgresClient, PostgresPool, PostgresQuery, PostgresReply } from './sql/pg-connections.js';

export interface PostgresInboxOptions<Pool extends PostgresPool = PostgresPool> extends TableOptions {
  /** A pool of `pg`. The inbox neither opens nor ends it. */
  readonly pool: Pool;
}

export interface PostgresInbox<Extra extends object = {}> extends Inbox<Extra> {
  readonly store: PostgresStore<Extra>;
  readonly deadLetters: PostgresDeadLetters;
}

/**
 * Event ids and dead letters that any number of processes share, in two tables that it creates and prunes. Handlers get `once`, for
 * writes that are committed exactly once.
 *
 * @throws {ConfigurationError} if pool is not a pool, the name of a table needs quotes, a key does not have 32 bytes, or
 *   retention is not a duration
 * @example
 * const inbox = postgresInbox({ pool: new Pool({ connectionString }) });
 * const hooks = receiver({ inbox });
 * hooks.on('transaction.paid', async (event, { once }) => {
 *   await once((tx) => tx.query('INSERT INTO ledger (payment) VALUES ($1)', [event.payload.transaction.id]));
 * }, { name: 'ledger' });
 */
export function postgresInbox<Pool extends PostgresPool>(
  options: PostgresInboxOptions<Pool>,
): PostgresInbox<WithOnce<ClientOf<Pool>>> {
  const { pool, ...tables } = POSTGRES_INBOX.read(options);
  const connections = new PgConnections(pool);
  const database = {
    connections,
    parse: parseTable,
    Dialect: PostgresDialect,
    Rows: PostgresLetterRows,
    files: '.sql',
  } as const;
  return inboxInTables(database, tables);
}

const POOL = anything<PostgresPool>();
const POSTGRES_INBOX = defineOptions({ pool: POOL, ...TABLE_RULES } satisfies Record<
  keyof PostgresInboxOptions,
  OptionRule<unknown>
>);

export interface PostgresStoreOptions<Pool extends PostgresPool = PostgresPool> {
  /** A pool of `pg`. The store neither opens nor ends it. */
  readonly pool: Pool;
  /** `name` or `schema.name`. @default 'webhook_event' */
  readonly table?: string | undefined;
  /** How long an id is remembered after its last write: `ms`-style string or milliseconds. @default '30d' */
  readonly retention?: number | string | undefined;
}

export interface PostgresStore<Extra extends object = {}> extends TableStore<Extra> {}

/**
 * A store that any number of processes share. Handlers get `once`, for writes that are committed exactly once.
 *
 * @throws {ConfigurationError} if pool is not a pool, the name of the table needs quotes, or retention is not a duration
 * @example
 * const store = postgresStore({ pool: new Pool({ connectionString }) });
 * await store.migrate();
 * const hooks = receiver({ store });
 * hooks.on('transaction.paid', async (event, { once }) => {
 *   await once((tx) => tx.query('INSERT INTO ledger (payment) VALUES ($1)', [event.payload.transaction.id]));
 * }, { name: 'ledger' });
 */
export function postgresStore<Pool extends PostgresPool>(
  options: PostgresStoreOptions<Pool>,
): PostgresStore<WithOnce<ClientOf<Pool>>> {
  if ((options as { readonly transactional?: unknown } | undefined)?.transactional !== undefined)
    throw new ConfigurationError(
      'transactional does not exist any more. Remove it, and write inside once in your handlers: await once((tx) => tx.query(…)).',
    );
  const { pool, table, retention } = POSTGRES_STORE.read(options);
  const connections = new PgConnections(pool);
  const dialect = new PostgresDialect(table);
  return sqlEngine({ connections, dialect, retentionMs: retention });
}

const POSTGRES_STORE = defineOptions({
  pool: POOL,
  table: anything('webhook_event'),
  retention: RETENTION,
} satisfies Record<keyof PostgresStoreOptions, OptionRule<unknown>>);

export interface PostgresDeadLettersOptions extends LetterOptions {
  /** A pool of `pg`. The store neither opens nor ends it. */
  readonly pool: PostgresPool;
  /** `name` or `schema.name`. @default 'dead_letter' */
  readonly table?: string | undefined;
}

export interface PostgresDeadLetters extends DeadLetterStore {
  /** Creates the table and its indexes unless they exist. Any number of processes may call it at once. */
  migrate(): Promise<void>;
  /** Deletes expired letters and tombstones, a thousand at a time, and resolves with their number. */
  prune(): Promise<number>;
}

/**
 * Dead letters that any number of processes share.
 *
 * @throws {ConfigurationError} if pool is not a pool, the name of the table needs quotes, a key does not have 32 bytes, or
 *   retention is not a duration
 * @example
 * const deadLetters = postgresDeadLetters({ pool, encryptionKeys: [process.env.LETTER_KEY ?? ''], retention: '90d' });
 * await deadLetters.migrate();
 * const hooks = receiver({ store: postgresStore({ pool, retention: '90d' }), deadLetters });
 */
export function postgresDeadLetters(options: PostgresDeadLettersOptions): PostgresDeadLetters {
  const { pool, table, encryptionKeys, retention } = POSTGRES_LETTERS.read(options);
  const rows = new PostgresLetterRows(new PgConnections(pool), table, retention);
  return storedInSql(rows, encryptionKeys);
}

const POSTGRES_LETTERS = defineOptions({
  pool: POOL,
  table: anything('dead_letter'),
  ...LETTER_RULES,
} satisfies Record<keyof PostgresDeadLettersOptions, OptionRule<unknown>>);
