// The options of sqlStore() and sqlDeadLetters() for pools of pg and mysql2, and for a client like libSQL, as an app writes them.
import type { Pool as MysqlPool, PoolConnection } from 'mysql2/promise';
import { type SqlDatabase, sqliteDatabase } from 'payment-webhooks/stores/sql';
import type { Pool as PgPool, PoolClient } from 'pg';
import type { Sqlite } from './open-sqlite.js';

export function overPg(pool: PgPool) {
  return {
    dialect: 'postgres',
    client: pool,
    query: async (client, sql, values) => (await client.query(sql, values)).rows,
    transaction: async (work: (client: PoolClient) => Promise<void>) => {
      const client = await pool.connect();
      // A connection that breaks while a handler works: the commit will say so.
      const onError = () => {};
      client.on('error', onError);
      try {
        await client.query('BEGIN');
        await work(client);
        await client.query('COMMIT');
        client.release();
      } catch (error) {
        await client.query('ROLLBACK; BEGIN').catch(() => {});
        client.release(true);
        throw error;
      } finally {
        client.off('error', onError);
      }
    },
  } satisfies SqlDatabase<PgPool, PoolClient>;
}

/** @param verb `execute` prepares every statement on the server; `query` sends them as text */
export function overMysql2(pool: MysqlPool, verb: 'query' | 'execute' = 'execute') {
  return {
    dialect: 'mysql',
    client: pool,
    query: async (client, sql, values) => {
      const [rows] = verb === 'query' ? await client.query(sql, values) : await client.execute(sql, values);
      return rows;
    },
    transaction: async (work: (connection: PoolConnection) => Promise<void>) => {
      const connection = await pool.getConnection();
      try {
        await connection.query('SET autocommit = 0');
        await work(connection);
        await connection.commit();
        await connection.query('SET autocommit = 1');
        connection.release();
      } catch (error) {
        connection.destroy();
        throw error;
      }
    },
  } satisfies SqlDatabase<MysqlPool, PoolConnection>;
}

/** As libSQL, which answers with promises, and whose transactions have a connection of their own. */
export function overTwoSqlite(outside: Sqlite, inside: Sqlite) {
  const client = { of: 'promises' };
  return {
    dialect: 'sqlite',
    client,
    query: async (by: object, sql: string, values: (string | Buffer | null)[]) => {
      const connection = by === client ? outside : inside;
      return sqliteDatabase(connection).query(connection, sql, values);
    },
    transaction: async (work: (tx: object) => Promise<void>) => {
      inside.exec('BEGIN IMMEDIATE');
      try {
        await work({});
        inside.exec('COMMIT');
      } catch (error) {
        inside.exec('ROLLBACK');
        throw error;
      }
    },
  } satisfies SqlDatabase<object, object>;
}
