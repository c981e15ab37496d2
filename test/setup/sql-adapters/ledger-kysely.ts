// A line of the ledger, written through Kysely.
import type { Transaction } from 'kysely';
import { database, db, type Tables } from './kysely.js';

export { database };
export const connect = async () => {};
export const write = async (transaction: Transaction<Tables>, payment: string, amount: string) => {
  await transaction.insertInto('ledger').values({ payment, amount }).execute();
};
export const close = () => db.destroy();
