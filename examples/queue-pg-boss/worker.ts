// Works on the events in the queue. Start as many of these as the work needs.
import { processor } from 'payment-webhooks/queues/pg-boss';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { Pool } from 'pg';
import { boss, DATABASE_URL, QUEUE, startBoss } from './queue.js';

const pool = new Pool({ connectionString: DATABASE_URL });
// What a handler writes inside `once` is committed once for each event, also when a job runs twice.
const store = postgresStore({ pool });

const processEvents = processor(
  {
    'transaction.paid': async (event, { once }) => {
      const { id, order_id } = event.payload.transaction;
      const line = `${order_id} paid by ${id}`;
      await once((tx) => tx.query('INSERT INTO queue_ledger (line) VALUES ($1)', [line]));
    },
  },
  { store },
);

await store.migrate();
// The lock is for processes that start at the same moment: IF NOT EXISTS alone does not keep them apart.
await pool.query(
  'SELECT pg_advisory_xact_lock(1042); CREATE TABLE IF NOT EXISTS queue_ledger (line text NOT NULL)',
);
await startBoss();
await boss.work(QUEUE, { includeMetadata: true, localConcurrency: 10 }, processEvents);
console.log(`Working on the events of the queue ${QUEUE}`);

process.once('SIGTERM', async () => {
  await boss.stop();
  await pool.end();
});
