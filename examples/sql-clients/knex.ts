// Knex, with Postgres.
import knex, { type Knex } from 'knex';
import type { SqlDatabase } from 'payment-webhooks/stores/sql';

export const db = knex({
  client: 'pg',
  connection: process.env.DATABASE_URL ?? 'postgres://localhost/postgres',
  pool: { min: 0, max: 20 },
  acquireConnectionTimeout: 1_500,
});

export const database = {
  dialect: 'postgres',
  client: db,
  // Knex writes ? for a placeholder, and \? for a question mark.
  query: async (client, sql, values) =>
    (await client.raw(sql.replaceAll('?', '\\?').replaceAll(/\$\d+/g, '?'), values)).rows,
  transaction: (work) => db.transaction(work),
} satisfies SqlDatabase<Knex, Knex.Transaction>;
