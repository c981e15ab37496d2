// pg by hand, as a pattern for a driver that has no transaction(callback). For pg itself take postgresStore().
import type { SqlDatabase } from 'payment-webhooks/stores/sql';
import { Pool, type PoolClient } from 'pg';

export const pool = new Pool({
  connectionString: process.env.DATABASE_URL ?? 'postgres://localhost/postgres',
  max: 20,
  connectionTimeoutMillis: 1_500,
});
// Without a listener, a lost connection ends the process: the first is for idle ones, the second for those in use.
pool.on('error', console.error).on('connect', (client) => client.on('error', console.error));

export const database = {
  dialect: 'postgres',
  client: pool,
  query: async (client, sql, values) => (await client.query(sql, values)).rows,
  transaction: async (work) => {
    const client = await pool.connect();
    try {
      await client.query('BEGIN');
      await work(client);
      await client.query('COMMIT');
      client.release();
    } catch (error) {
      // A part of the work may still be writing: in a transaction that ends with the connection.
      await client.query('ROLLBACK; BEGIN').catch(() => {});
      client.release(true);
      throw error;
    }
  },
} satisfies SqlDatabase<Pool, PoolClient>;
