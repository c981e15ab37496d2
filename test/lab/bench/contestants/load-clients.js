// The clients of a store under load, and a handler of two statements; both receivers get the same.
import { Redis } from 'ioredis';
import { createPool } from 'mysql2/promise';
import { Pool } from 'pg';

const { BENCH_STORE: name, BENCH_STORE_URL: url } = process.env;
const CONNECTIONS = 20;

export const store = name;
export const redis = name === 'redis' ? new Redis(url) : undefined;
export const mysql = name === 'mysql' ? createPool({ uri: url, connectionLimit: CONNECTIONS }) : undefined;
export const pool =
  name === 'postgres' || name === 'once' ? new Pool({ connectionString: url, max: CONNECTIONS }) : undefined;

await pool?.query(
  'CREATE TABLE IF NOT EXISTS paid_order (id text PRIMARY KEY, status text NOT NULL, paid_at timestamptz)',
);

await mysql?.query(
  'CREATE TABLE IF NOT EXISTS paid_order (id varchar(255) PRIMARY KEY, status varchar(20) NOT NULL, paid_at datetime(6))',
);

/** Marks an order as paid: with the client of the transaction, where there is one. */
export async function handle({ id }, client = pool) {
  if (redis) {
    await redis.call('HSET', `order:${id}`, 'status', 'open');
    await redis.call('HSET', `order:${id}`, 'status', 'paid');
  }
  if (mysql) {
    await mysql.execute("INSERT IGNORE INTO paid_order (id, status) VALUES (?, 'open')", [id]);
    await mysql.execute("UPDATE paid_order SET status = 'paid', paid_at = NOW(6) WHERE id = ?", [id]);
  }
  if (!client) return;
  await client.query({ name: 'order', text: INSERT, values: [id] });
  await client.query({ name: 'paid', text: UPDATE, values: [id] });
}

const INSERT = `INSERT INTO paid_order (id, status) VALUES ($1, 'open') ON CONFLICT DO NOTHING`;
const UPDATE = `UPDATE paid_order SET status = 'paid', paid_at = now() WHERE id = $1`;
