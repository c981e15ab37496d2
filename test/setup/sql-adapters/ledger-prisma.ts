// A line of the ledger, written through Prisma.
import type { Prisma } from './generated/client.js';
import { database, pool, prisma } from './prisma.js';

const { BRIEF } = process.env;
const brief: typeof database = {
  ...database,
  transaction: (work) => prisma.$transaction(work, { timeout: 100 }),
};

const chosen = BRIEF ? brief : database;

export { chosen as database };
export const connect = async () => {};
export const write = async (transaction: Prisma.TransactionClient, payment: string, amount: string) => {
  await transaction.ledger.create({ data: { payment, amount } });
};
export const close = () => prisma.$disconnect().then(() => pool.end());
