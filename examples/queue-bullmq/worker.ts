// Works on the events in the queue. Start as many of these as the work needs.
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { processor } from 'payment-webhooks/queues/bullmq';
import { redisStore } from 'payment-webhooks/stores/redis';
import { QUEUE, REDIS_URL } from './queue.js';

/** How long the events of a worker that has crashed wait for another one, about. */
const PATIENCE_MS = Number(process.env.PATIENCE_MS ?? 30_000);

const client = new Redis(REDIS_URL);
client.on('error', ({ message }) => console.error(`Redis: ${message}`));

const processEvent = processor(
  {
    'transaction.paid': async (event) => {
      const { id, order_id } = event.payload.transaction;
      await client.rpush('ledger', `${order_id} paid by ${id}`);
    },
  },
  { store: redisStore({ sendCommand: (...args) => client.call(...args) }), lease: PATIENCE_MS },
);

const worker = new Worker(QUEUE, processEvent, {
  connection: { url: REDIS_URL },
  concurrency: 10,
  lockDuration: PATIENCE_MS,
  stalledInterval: PATIENCE_MS,
  // By default a job fails for good once two workers have crashed while working on it.
  maxStalledCount: 10,
});
worker.on('error', ({ message }) => console.error(`Worker: ${message}`));
worker.on('failed', (job, { message }) => console.error(`${job?.id}: ${message}`));
worker.on('ready', () => console.log(`Working on the events of the queue ${QUEUE}`));

process.once('SIGTERM', async () => {
  await worker.close();
  await client.quit();
});
