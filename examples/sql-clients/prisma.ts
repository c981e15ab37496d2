// Prisma 7, with the driver adapter for pg.
import { PrismaPg } from '@prisma/adapter-pg';
import type { SqlDatabase } from 'payment-webhooks/stores/sql';
import { Pool } from 'pg';
import { type Prisma, PrismaClient } from './generated/client.js';

export const pool = new Pool({
  connectionString: process.env.DATABASE_URL ?? 'postgres://localhost/postgres',
  max: 20,
  connectionTimeoutMillis: 1_500,
});
// Without a listener, a lost connection ends the process: the first is for idle ones, the second for those in use.
pool.on('error', console.error).on('connect', (client) => client.on('error', console.error));
export const prisma = new PrismaClient({ adapter: new PrismaPg(pool) });

export const database = {
  dialect: 'postgres',
  client: prisma,
  query: (client, sql, values) => client.$queryRawUnsafe(sql, ...values),
  // Prisma ends a transaction after 5 seconds unless told otherwise: { timeout: 15_000 } as its second argument.
  transaction: (work) => prisma.$transaction(work),
} satisfies SqlDatabase<PrismaClient, Prisma.TransactionClient>;
