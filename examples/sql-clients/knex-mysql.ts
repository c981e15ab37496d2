// Knex, with MySQL or MariaDB.
import knex, { type Knex } from 'knex';
import type { SqlDatabase } from 'payment-webhooks/stores/sql';

export const db = knex({
  client: 'mysql2',
  connection: process.env.MYSQL_URL ?? 'mysql://root@localhost/test',
  pool: { min: 0, max: 20 },
  acquireConnectionTimeout: 1_500,
});

export const database = {
  dialect: 'mysql',
  client: db,
  query: async (client, sql, values) => (await client.raw(sql, values))[0],
  transaction: (work) => db.transaction(work),
} satisfies SqlDatabase<Knex, Knex.Transaction>;
