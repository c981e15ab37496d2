// Works on the events in the queue. Start as many of these as the work needs.
import type { JsMsg } from '@nats-io/jetstream';
import { processor } from 'payment-webhooks/queues';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { Pool } from 'pg';
import { ACK_WAIT_MS, connectToQueue, DATABASE_URL, FAILED, QUEUE } from './queue.js';

const CONCURRENCY = 10;

const pool = new Pool({ connectionString: DATABASE_URL, max: 2 * CONCURRENCY });
// What a handler writes inside `once` is committed once for each event, also when a job runs twice.
const store = postgresStore({ pool });
await store.migrate();
// The lock is for processes that start at the same moment: IF NOT EXISTS alone does not keep them apart.
await pool.query(
  'SELECT pg_advisory_xact_lock(1042); CREATE TABLE IF NOT EXISTS queue_ledger (line text NOT NULL)',
);

const work = processor(
  {
    'transaction.paid': async (event, { once }) => {
      const { id, order_id } = event.payload.transaction;
      const line = `${order_id} paid by ${id}`;
      await once((tx) => tx.query('INSERT INTO queue_ledger (line) VALUES ($1)', [line]));
    },
  },
  { store },
);

const { connection, stream } = await connectToQueue();

async function settle(message: JsMsg): Promise<void> {
  const attempt = message.info.deliveryCount;
  // Says that this worker is alive, or NATS would give the event to another one.
  const alive = setInterval(() => message.working(), ACK_WAIT_MS / 3);
  const end = await work(message.data, { queue: QUEUE, attempt });
  clearInterval(alive);
  if (end.verdict === 'done') return message.ack();
  if (end.verdict === 'later') return message.nak(end.delayMs);
  console.error(`${message.seq}: ${end.error.message}`);
  if (end.verdict === 'failed') return message.nak(Math.min(500 * 2 ** attempt, 60_000));
  await stream.publish(FAILED, message.data);
  message.term();
}

const consumer = await stream.consumers.get(QUEUE, 'workers');
const lanes = await Promise.all(
  Array.from({ length: CONCURRENCY }, () => consumer.consume({ max_messages: 1 })),
);
const working = lanes.map(async (lane) => {
  // An event whose end could not be reported is delivered again.
  for await (const message of lane) await settle(message).catch(({ message }) => console.error(message));
});
console.log(`Working on the events of the queue ${QUEUE}`);

process.once('SIGTERM', async () => {
  await Promise.all(lanes.map((lane) => lane.close()));
  await Promise.all(working);
  await connection.drain();
  await pool.end();
});
