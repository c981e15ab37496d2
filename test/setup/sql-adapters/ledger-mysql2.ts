// A line of the ledger, written through mysql2.
import type { PoolConnection } from 'mysql2/promise';
import { database, pool } from './mysql2.js';

export { database };
export const connect = async () => {};
export const write = async (transaction: PoolConnection, payment: string, amount: string) => {
  await transaction.query('INSERT INTO ledger (payment, amount) VALUES (?, ?)', [payment, amount]);
};
export const close = () => pool.end();
