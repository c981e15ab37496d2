// A line of the ledger, written through TypeORM.
import type { EntityManager } from 'typeorm';
import { database, dataSource } from './typeorm.js';

export { database };
export const connect = () => dataSource.initialize();
export const write = async (transaction: EntityManager, payment: string, amount: string) => {
  await transaction.createQueryBuilder().insert().into('ledger').values({ payment, amount }).execute();
};
export const close = () => dataSource.destroy();
