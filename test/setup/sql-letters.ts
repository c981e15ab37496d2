// Dead letters in a SQL database, through each client that tests have: adapters as users write them.
import { randomBytes } from 'node:crypto';
import type { Connection as CallbackConnection } from 'mysql2';
import { createPool } from 'mysql2/promise';
import { postgresDeadLetters, postgresStore } from 'payment-webhooks/stores/postgres';
import {
  type RunTransaction,
  type SqlDatabase,
  type SqlDeadLetters,
  type SqlDeadLettersOptions,
  type SqlStore,
  type SqlValue,
  sqlDeadLetters,
  sqliteDatabase,
  sqlStore,
  type WithOnce,
} from 'payment-webhooks/stores/sql';
import { Pool } from 'pg';
import { openSqlite, sqliteFile } from './open-sqlite.js';
import { ownMariadb } from './own-mariadb.js';
import { needing } from './platform.js';
import { overMysql2, overPg } from './sql-clients.js';

type Given = Pick<SqlDeadLettersOptions, 'table' | 'encryptionKeys' | 'retention'>;

/** One client of one database, in a schema of its own. */
export interface SqlLetters {
  readonly schema: string;
  /** What an app gives to both of its stores. */
  readonly database: SqlDatabase<object, unknown> & { readonly transaction: RunTransaction<unknown> };
  open(options?: Given): SqlDeadLetters;
  /** As an app has them: a store with `once`, and its letters. */
  stores(options?: Given): {
    readonly store: SqlStore<WithOnce<object>>;
    readonly deadLetters: SqlDeadLetters;
  };
  /** Runs a statement beside the store, in the words of the dialect. */
  run(sql: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  /** Statements that went through `query` since the last call. */
  taken(): number;
  /** The same schema through connections of their own. */
  again(): SqlLetters;
  close(): Promise<void>;
}

/**
 * `pg pool` is that of postgresStore() and postgresDeadLetters(); the others are given to sqlStore() and sqlDeadLetters().
 * `odd session` is one of a server that was set up in ways that change what text, times and backslashes are. `sqlite` is a
 * file, by better-sqlite3 or node:sqlite.
 */
const OF_POSTGRES = ['pg pool', 'pg'] as const;
const OF_MYSQL = ['mysql2 query', 'mysql2 execute', 'mysql2 in an odd session'] as const;
const CLIENTS = [...OF_POSTGRES, ...OF_MYSQL, 'sqlite'] as const;
export type SqlClient = (typeof CLIENTS)[number];
type OfPostgres = (typeof OF_POSTGRES)[number];
type OfMysql = (typeof OF_MYSQL)[number];

export const isPostgres = (client: SqlClient): client is OfPostgres => client.startsWith('pg');
export const isMysql = (client: SqlClient): client is OfMysql => client.startsWith('mysql2');

function serverOf(client: SqlClient) {
  if (client === 'sqlite') return needing('SQLite');
  return needing(isPostgres(client) ? 'postgres' : 'mariadbd');
}

/** Those whose server this run has. */
export const clients = CLIENTS.filter((client) => serverOf(client).missing.length === 0);

/** Like `describe` for each of them; `%s` in the name is the client. */
export function describeEachClient<Client extends SqlClient = SqlClient>(
  name: string,
  tests: (client: Client) => void,
  used: readonly Client[] = CLIENTS as readonly SqlClient[] as readonly Client[],
): void {
  for (const client of used) serverOf(client).describe(name.replace('%s', client), () => tests(client));
}

/** A function that opens letters through any of these; the server is there for the tests of this file. */
export function sqlServers(used: readonly SqlClient[] = clients): (client: SqlClient) => Promise<SqlLetters> {
  const mariadb = used.some((client) => isMysql(client) && clients.includes(client))
    ? ownMariadb()
    : undefined;
  return async (client) =>
    client === 'sqlite'
      ? withSqlite()
      : sqlLetters(client, (isPostgres(client) ? process.env.TEST_POSTGRES_URL : mariadb?.server.url) ?? '');
}

const ODD = `SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES,PIPES_AS_CONCAT,ONLY_FULL_GROUP_BY', time_zone = '-11:00',
  collation_connection = 'latin1_german1_ci', innodb_snapshot_isolation = ON`;

/** @param url of the server that the client speaks to */
async function sqlLetters(client: OfPostgres | OfMysql, url: string): Promise<SqlLetters> {
  const schema = `letters_${randomBytes(6).toString('hex')}`;
  const opened = isPostgres(client) ? withPg(url, schema, client) : withMysql(url, schema, client);
  await opened.run(`CREATE SCHEMA ${schema}`);
  return {
    ...opened,
    close: async () => {
      await opened.run(`DROP SCHEMA ${schema}${isPostgres(client) ? ' CASCADE' : ''}`);
      await opened.close();
    },
  };
}

function lettersOn<Client extends object, Transaction extends object>(
  database: SqlDeadLettersOptions<Client, Transaction>,
  schema: string,
): Pick<SqlLetters, 'schema' | 'database' | 'open' | 'stores' | 'taken'> {
  let taken = 0;
  const counted: typeof database = {
    ...database,
    query: (...given) => {
      taken += 1;
      return database.query(...given);
    },
  };
  return {
    schema,
    database: counted as unknown as SqlLetters['database'],
    open: (options) => sqlDeadLetters({ ...counted, table: `${schema}.dead_letter`, ...options }),
    stores: (options) => ({
      store: sqlStore({ ...counted, table: `${schema}.webhook_event` }) as unknown as SqlStore<
        WithOnce<object>
      >,
      deadLetters: sqlDeadLetters({ ...counted, table: `${schema}.dead_letter`, ...options }),
    }),
    taken: () => {
      const before = taken;
      taken = 0;
      return before;
    },
  };
}

function withPg(connectionString: string, schema: string, client: OfPostgres): SqlLetters {
  const pool = new Pool({ connectionString, max: 20 });
  pool.on('error', () => {});
  const table = `${schema}.dead_letter`;
  return {
    ...lettersOn(overPg(pool), schema),
    ...(client === 'pg pool' && {
      open: (options?: Given) => postgresDeadLetters({ pool, table, ...options }),
      stores: (options?: Given) => ({
        store: postgresStore({ pool, table: `${schema}.webhook_event` }) as SqlStore<WithOnce<object>>,
        deadLetters: postgresDeadLetters({ pool, table, ...options }),
      }),
    }),
    run: async (sql, values) => (await pool.query(sql, values)).rows,
    again: () => withPg(connectionString, schema, client),
    close: () => pool.end(),
  };
}

function withMysql(uri: string, schema: string, client: OfMysql): SqlLetters {
  const pool = createPool({ uri, connectionLimit: 20 });
  if (client === 'mysql2 in an odd session')
    pool.on(
      'connection',
      (connection) => void (connection as unknown as CallbackConnection).query(ODD, () => {}),
    );
  const database = overMysql2(pool, client === 'mysql2 execute' ? 'execute' : 'query');
  // What later versions of MariaDB take for more than a comment.
  const query: typeof database.query = (by, sql, values) =>
    database.query(by, sql.replace('/*M!110402', '/*M!'), values);
  return {
    ...lettersOn({ ...database, query }, schema),
    run: async (sql, values) => (await pool.query(sql, values))[0] as Record<string, unknown>[],
    again: () => withMysql(uri, schema, client),
    close: () => pool.end(),
  };
}

/** Its file is gone with the last connection. @param given the file of another one */
function withSqlite(given = sqliteFile()): SqlLetters {
  const db = openSqlite(given.file);
  const database = sqliteDatabase(db);
  // Every connection has a schema of this name, which statements beside the store may use.
  const schema = 'main';
  const inMain = (options: Given = {}) => ({
    ...options,
    table: (options.table ?? 'dead_letter').replace('main.', ''),
  });
  const on = lettersOn(database as unknown as SqlDeadLettersOptions<object, object>, schema);
  return {
    ...on,
    open: (options) => on.open(inMain(options)),
    stores: (options) => ({
      store: sqlStore(on.database) as unknown as SqlStore<WithOnce<object>>,
      deadLetters: sqlDeadLetters({ ...on.database, ...inMain(options) }),
    }),
    run: async (sql, values = []) => {
      const sent = values.map((value) => (typeof value === 'boolean' ? String(Number(value)) : value));
      const rows = database.query(db, sql, sent as SqlValue[]) as Record<string, unknown>[];
      const read = (value: unknown) => (value instanceof Uint8Array ? Buffer.from(value) : value);
      return rows.map((row) =>
        Object.fromEntries(Object.entries(row).map(([name, value]) => [name, read(value)])),
      );
    },
    again: () => withSqlite({ ...given, remove: () => {} }),
    close: async () => {
      db.close();
      given.remove();
    },
  };
}
