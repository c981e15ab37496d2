// The options of sqlStore() and sqlDeadLetters() for pools of pg and mysql2, as an app writes them.
import type { Pool as MysqlPool, PoolConnection } from 'mysql2/promise';
import type { Pool, PoolClient } from 'pg';

/** Options of `sqlStore` and `sqlDeadLetters`, as for any pool of `pg`. */
export function pgDatabase(pool: Pool) {
  return {
    dialect: 'postgres' as const,
    client: pool,
    query: async (client: Pool | PoolClient, sql: string, values: unknown[]) =>
      (await client.query(sql, values)).rows,
    transaction: async (work: (transaction: PoolClient) => Promise<void>) => {
      const client = await pool.connect();
      try {
        await client.query('BEGIN');
        await work(client);
        await client.query('COMMIT');
      } catch (error) {
        await client.query('ROLLBACK');
        throw error;
      } finally {
        client.release();
      }
    },
  };
}

/** The same for a pool of `mysql2`. */
export function mysqlDatabase(pool: MysqlPool, protocol: 'query' | 'execute' = 'execute') {
  return {
    dialect: 'mysql' as const,
    client: pool,
    query: async (client: MysqlPool | PoolConnection, sql: string, values: unknown[]) => {
      const [rows] =
        protocol === 'query'
          ? await client.query(sql, values)
          : await client.execute(sql, values as (string | null)[]);
      return rows;
    },
    transaction: async (work: (transaction: PoolConnection) => Promise<void>) => {
      const connection = await pool.getConnection();
      try {
        await connection.beginTransaction();
        await work(connection);
        await connection.commit();
      } catch (error) {
        await connection.rollback();
        throw error;
      } finally {
        connection.release();
      }
    },
  };
}
