// The options of sqlStore() and sqlDeadLetters() for pools of pg and mysql2, as an app writes them.
import type { Pool as MysqlPool, PoolConnection } from 'mysql2/promise';
import type { SqlDatabase } from 'payment-webhooks/stores/sql';
import type { Pool as PgPool, PoolClient } from 'pg';

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
