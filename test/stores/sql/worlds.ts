// The same tests on Postgres and MariaDB: a table of events, a ledger, and a way to see and end connections.
import { randomBytes } from 'node:crypto';
import type { Pool as MysqlPool, PoolConnection } from 'mysql2/promise';
import { type SqlStore, sqlStore } from 'payment-webhooks/stores/sql';
import { Pool as PgPool, type PoolClient } from 'pg';
import type { OwnMariadb } from '../../setup/own-mariadb.js';
import { overMysql2, overPg } from '../../setup/sql-clients.js';
import { until } from '../../setup/waiting.js';

/** A statement of a handler, whatever its client. */
export type Send = (sql: string, values?: string[]) => Promise<Record<string, unknown>[]>;

export interface Opened {
  readonly store: SqlStore<{ transaction: object }>;
  readonly key: string;
  /** By a connection of its pool. */
  readonly run: Send;
  /** Whether every connection is back in its pool. */
  idle(): boolean;
}

export interface World {
  readonly url: string;
  readonly table: string;
  readonly ledger: string;
  /** The `?` of its statements. */
  readonly placeholder: string;
  /** Sees what is committed, and is never short of a connection. */
  readonly observe: Send;
  open(options?: { max?: number; table?: string }): Opened;
  /** Statements in the transaction that a handler is given. */
  sending(transaction: object): Send;
  /** Ends the connection of a transaction from outside. */
  terminate(transaction: object): Promise<void>;
  close(): Promise<void>;
}

export async function postgresWorld(url: string): Promise<World> {
  const schema = `sql_${randomBytes(6).toString('hex')}`;
  const observer = new PgPool({ connectionString: url });
  const pools: PgPool[] = [];
  const observe: Send = async (sql, values) => (await observer.query(sql, values)).rows;
  const table = `${schema}.webhook_event`;
  await observe(`CREATE SCHEMA ${schema}`);
  await observe(`CREATE TABLE ${schema}.ledger (event text NOT NULL)`);
  await sqlStore({ ...overPg(observer), table }).migrate();
  const sending =
    (transaction: object): Send =>
    async (sql, values) =>
      (await (transaction as PoolClient).query(sql, values)).rows;
  return {
    ...{ url, table, ledger: `${schema}.ledger`, placeholder: '$1', observe, sending },
    open: ({ max = 5, ...changed } = {}) => {
      const pool = new PgPool({ connectionString: url, max });
      pool.on('error', () => {});
      pools.push(pool);
      return {
        store: sqlStore({ ...overPg(pool), table, ...changed }),
        key: `live:${pools.length}`,
        run: async (sql, values) => (await pool.query(sql, values)).rows,
        idle: () => pool.totalCount === pool.idleCount,
      };
    },
    terminate: async (transaction) => {
      const { processID } = transaction as { processID: number };
      await observe('SELECT pg_terminate_backend($1::int)', [String(processID)]);
    },
    close: async () => {
      for (const pool of pools) {
        await until(() => pool.totalCount === pool.idleCount);
        await pool.end();
      }
      await observer.query(`DROP SCHEMA ${schema} CASCADE`);
      await observer.end();
    },
  };
}

export async function mariadbWorld(mariadb: OwnMariadb, verb: 'query' | 'execute'): Promise<World> {
  const observer = mariadb.pool({ connectionLimit: 50 });
  const pools: MysqlPool[] = [];
  const observe: Send = async (sql, values) => (await observer.query(sql, values))[0] as never;
  const schema = `transaction_${verb}`;
  const table = `${schema}.webhook_event`;
  await observe(`CREATE DATABASE ${schema}`);
  await observe(`CREATE TABLE ${schema}.ledger (event VARBINARY(255) NOT NULL) ENGINE=InnoDB`);
  await sqlStore({ ...overMysql2(observer, verb), table }).migrate();
  const sending =
    (transaction: object): Send =>
    async (sql, values) =>
      (await (transaction as PoolConnection).query(sql, values))[0] as never;
  const isIdle = (pool: MysqlPool) => {
    const { _allConnections: all, _freeConnections: free } = pool.pool as unknown as Record<
      string,
      { length: number }
    >;
    return all?.length === free?.length;
  };
  return {
    ...{ url: mariadb.server.url, table, ledger: `${schema}.ledger`, placeholder: '?', observe, sending },
    open: ({ max = 5, ...changed } = {}) => {
      const pool = mariadb.pool({ connectionLimit: max });
      pools.push(pool);
      return {
        store: sqlStore({ ...overMysql2(pool, verb), table, ...changed }),
        key: `live:${pools.length}`,
        run: async (sql, values) => (await pool.query(sql, values))[0] as never,
        idle: () => isIdle(pool),
      };
    },
    terminate: async (transaction) => {
      await observe(`KILL ${(transaction as PoolConnection).threadId}`);
    },
    close: async () => {
      await until(() => pools.every(isIdle));
    },
  };
}
