// Drizzle over pg.
import { sql as fragment } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import type { SqlDatabase } from 'payment-webhooks/stores/sql';
import { Pool } from 'pg';

export const pool = new Pool({
  connectionString: process.env.DATABASE_URL ?? 'postgres://localhost/postgres',
  max: 20,
  connectionTimeoutMillis: 1_500,
});
// Without a listener, a lost connection ends the process: the first is for idle ones, the second for those in use.
pool.on('error', console.error).on('connect', (client) => client.on('error', console.error));
export const db = drizzle({ client: pool });
export type Transaction = Parameters<Parameters<typeof db.transaction>[0]>[0];

export const database = {
  dialect: 'postgres',
  client: db,
  query: async (client, sql, values) => {
    const [first = '', ...others] = sql.split(/\$\d+/).map((text) => fragment.raw(text));
    const chunks = others.flatMap((text, index) => [fragment.param(values[index]), text]);
    return (await client.execute(fragment.join([first, ...chunks]))).rows;
  },
  transaction: (work) => db.transaction(work),
} satisfies SqlDatabase<typeof db, Transaction>;
