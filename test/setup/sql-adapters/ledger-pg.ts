// A line of the ledger, written through pg.
import type { PoolClient } from 'pg';
import { database, pool } from './pg.js';

export { database };
export const connect = async () => {};
export const write = async (transaction: PoolClient, payment: string, amount: string) => {
  await transaction.query('INSERT INTO ledger (payment, amount) VALUES ($1, $2)', [payment, amount]);
};
export const close = () => pool.end();
