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
  sqlDeadLetters,
  sqlStore,
  type WithOnce,
} from 'payment-webhooks/stores/sql';
import { Pool } from 'pg';
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
 * `odd session` is one of a server that was set up in ways that change what text, times and backslashes are.
 */
const CLIENTS = ['pg pool', 'pg', 'mysql2 query', 'mysql2 execute', 'mysql2 in an odd session'] as const;
export type SqlClient = (typeof CLIENTS)[number];
type OfPostgres = 'pg pool' | 'pg';

export const isPostgres = (client: SqlClient): client is OfPostgres => client.startsWith('pg');
const serverOf = (client: SqlClient) => needing(isPostgres(client) ? 'postgres' : 'mariadbd');

/** Those whose server this run has. */
export const clients = CLIENTS.filter((client) => serverOf(client).missing.length === 0);

/** Like `describe` for each of them; `%s` in the name is the client. */
export function describeEachClient(name: string, tests: (client: SqlClient) => void): void {
  for (const client of CLIENTS) serverOf(client).describe(name.replace('%s', client), () => tests(client));
}

/** A function that opens letters through any of these; the server is there for the tests of this file. */
export function sqlServers(used: readonly SqlClient[] = clients): (client: SqlClient) => Promise<SqlLetters> {
  const mariadb = used.every(isPostgres) ? undefined : ownMariadb();
  return (client) =>
    sqlLetters(client, (isPostgres(client) ? process.env.TEST_POSTGRES_URL : mariadb?.server.url) ?? '');
}

const ODD = `SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES,PIPES_AS_CONCAT,ONLY_FULL_GROUP_BY', time_zone = '-11:00',
  collation_connection = 'latin1_german1_ci', innodb_snapshot_isolation = ON`;

/** @param url of the server that the client speaks to */
async function sqlLetters(client: SqlClient, url: string): Promise<SqlLetters> {
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

function withMysql(uri: string, schema: string, client: Exclude<SqlClient, OfPostgres>): SqlLetters {
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
