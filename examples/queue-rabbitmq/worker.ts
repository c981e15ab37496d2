// Works on the events in the queue. Start as many of these as the work needs.
import { setTimeout as pause } from 'node:timers/promises';
import type { ConsumeMessage } from 'amqplib';
import { processor } from 'payment-webhooks/queues';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { Pool } from 'pg';
import { connectToQueue, DATABASE_URL, QUEUE } from './queue.js';

const MAX_ATTEMPTS = 10;
/** RabbitMQ takes a message away after 30 minutes without an answer. */
const MAX_HELD_MS = 20 * 60_000;
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

const { channel, close } = await connectToQueue();
const running = new Set<Promise<void>>();

/**
 * RabbitMQ cannot delay a message, so it is held here, unacknowledged: if this worker dies, another one gets it. A waiting
 * queue with a time to live for each message would block behind the longest.
 */
async function settle(message: ConsumeMessage): Promise<void> {
  const heldUntil = Date.now() + MAX_HELD_MS;
  for (let attempt = 1; Date.now() < heldUntil; ) {
    const end = await work(message.content, { queue: QUEUE, attempt });
    if (end.verdict === 'done') return channel.ack(message);
    if (end.verdict !== 'later') console.error(`${message.properties.messageId}: ${end.error.message}`);
    // To the queue of failed events.
    if (end.verdict === 'never' || attempt === MAX_ATTEMPTS) return channel.nack(message, false, false);
    if (end.verdict === 'failed') attempt += 1;
    await pause(Math.min(end.verdict === 'later' ? end.delayMs : 500 * 2 ** attempt, 60_000));
  }
  channel.nack(message);
}

await channel.prefetch(CONCURRENCY);
const { consumerTag } = await channel.consume(QUEUE, (message) => {
  if (!message) return;
  const settled = settle(message).finally(() => running.delete(settled));
  running.add(settled);
});
console.log(`Working on the events of the queue ${QUEUE}`);

process.once('SIGTERM', async () => {
  await channel.cancel(consumerTag);
  await Promise.all(running);
  await close();
  await pool.end();
});
