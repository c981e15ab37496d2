// A line of the ledger, written through Drizzle.
import { pgTable, text } from 'drizzle-orm/pg-core';
import { database, pool, type Transaction } from './drizzle.js';

const ledger = pgTable('ledger', { payment: text().notNull(), amount: text().notNull() });

export { database };
export const connect = async () => {};
export const write = async (transaction: Transaction, payment: string, amount: string) => {
  await transaction.insert(ledger).values({ payment, amount });
};
export const close = () => pool.end();
