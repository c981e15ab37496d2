// Puts every event into a queue. The answer 200 says that Redis has it, not that anybody has worked on it.
import { Queue } from 'bullmq';
import express from 'express';
import { receiver } from 'payment-webhooks';
import { enqueue } from 'payment-webhooks/queues/bullmq';
import { QUEUE, REDIS_URL } from './queue.js';

// While Redis is down a delivery fails at once, and not only at its timeout.
export const queue = new Queue(QUEUE, { connection: { url: REDIS_URL, enableOfflineQueue: false } });
queue.on('error', ({ message }) => console.error(`Redis: ${message}`));

// The queue knows an event by the id of its job, so nobody else has to remember it here.
// The worker decides about payloads that do not fit, and about events that are not declared.
const hooks = receiver({ store: false, drift: 'handle' });
const add = enqueue(queue);
hooks.on('*', add);
hooks.onUnknown(add);

export const app = express();
app.post('/hooks', hooks);

if (process.argv[1] === import.meta.filename) {
  const port = Number(process.env.PORT ?? 3000);
  queue.waitUntilReady().then(() => {
    const server = app.listen(port, (error) => {
      if (error) throw error;
      console.log(`Listening on http://localhost:${port}/hooks`);
    });
    process.once('SIGTERM', async () => {
      await hooks.close();
      server.close(() => queue.close());
    });
  });
}
