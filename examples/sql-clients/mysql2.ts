// mysql2 by hand, with MySQL or MariaDB.
import { createPool, type Pool, type PoolConnection } from 'mysql2/promise';
import type { SqlDatabase } from 'payment-webhooks/stores/sql';

export const pool = createPool({
  uri: process.env.MYSQL_URL ?? 'mysql://root@localhost/test',
  connectionLimit: 20,
});

export const database = {
  dialect: 'mysql',
  client: pool,
  query: async (client, sql, values) => (await client.query(sql, values))[0],
  transaction: async (work) => {
    const connection = await pool.getConnection();
    try {
      // The next statement begins a transaction. With autocommit, MySQL would commit what follows a deadlock.
      await connection.query('SET autocommit = 0');
      await work(connection);
      await connection.commit();
      await connection.query('SET autocommit = 1');
      connection.release();
    } catch (error) {
      // Not back into the pool: a part of the work may still be writing.
      connection.destroy();
      throw error;
    }
  },
} satisfies SqlDatabase<Pool, PoolConnection>;
