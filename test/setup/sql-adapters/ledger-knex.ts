// A line of the ledger, written through Knex.
import type { Knex } from 'knex';
import { database, db } from './knex.js';

export { database };
export const connect = async () => {};
export const write = async (transaction: Knex.Transaction, payment: string, amount: string) => {
  await transaction('ledger').insert({ payment, amount });
};
export const close = () => db.destroy();
