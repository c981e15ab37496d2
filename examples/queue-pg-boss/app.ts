// Puts every event into a queue. The answer 200 says that Postgres has it.
import express from 'express';
import { receiver } from 'payment-webhooks';
import { enqueue } from 'payment-webhooks/queues/pg-boss';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { Pool } from 'pg';
import { boss, DATABASE_URL, QUEUE, startBoss } from './queue.js';

export const pool = new Pool({ connectionString: DATABASE_URL, connectionTimeoutMillis: 1_000 });

const store = postgresStore({ pool });

export async function prepare(): Promise<void> {
  await store.migrate();
  await startBoss();
}

// The worker decides about payloads that do not fit, and about events that are not declared.
const hooks = receiver({ store, drift: 'handle' });
const add = enqueue(boss, { queue: QUEUE });
hooks.on('*', add);
hooks.onUnknown(add);

export const app = express();
app.post('/hooks', hooks);

if (process.argv[1] === import.meta.filename) {
  const port = Number(process.env.PORT ?? 3000);
  prepare().then(() => {
    const server = app.listen(port, (error) => {
      if (error) throw error;
      console.log(`Listening on http://localhost:${port}/hooks`);
    });
    process.once('SIGTERM', async () => {
      await hooks.close();
      server.close(async () => {
        await boss.stop();
        await pool.end();
      });
    });
  });
}
