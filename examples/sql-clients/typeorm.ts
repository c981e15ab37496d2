// TypeORM.
import type { SqlDatabase } from 'payment-webhooks/stores/sql';
import { DataSource, type EntityManager } from 'typeorm';

export const dataSource = new DataSource({
  type: 'postgres',
  url: process.env.DATABASE_URL ?? 'postgres://localhost/postgres',
  extra: { max: 20, connectionTimeoutMillis: 1_500 },
});

export const database = {
  dialect: 'postgres',
  client: dataSource.manager,
  query: async (client, sql, values) => {
    const answer = await client.query(sql, values);
    // TypeORM answers UPDATE and DELETE with rows and a count, and everything else with rows.
    return Array.isArray(answer[0]) ? answer[0] : answer;
  },
  transaction: (work) => dataSource.transaction(work),
} satisfies SqlDatabase<EntityManager>;
