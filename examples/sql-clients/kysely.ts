// Kysely over pg.
import { CompiledQuery, Kysely, PostgresDialect, type Transaction } from 'kysely';
import type { SqlDatabase } from 'payment-webhooks/stores/sql';
import { Pool } from 'pg';

export interface Tables {
  ledger: { payment: string; amount: string };
}

export const pool = new Pool({
  connectionString: process.env.DATABASE_URL ?? 'postgres://localhost/postgres',
  max: 20,
  connectionTimeoutMillis: 1_500,
});
// Without a listener, a lost connection ends the process: the first is for idle ones, the second for those in use.
pool.on('error', console.error).on('connect', (client) => client.on('error', console.error));
export const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });

export const database = {
  dialect: 'postgres',
  client: db,
  query: async (client, sql, values) => (await client.executeQuery(CompiledQuery.raw(sql, values))).rows,
  transaction: (work) => db.transaction().execute(work),
} satisfies SqlDatabase<Kysely<Tables>, Transaction<Tables>>;
