// Puts every event into a queue. The answer 200 says that RabbitMQ has it, not that anybody has worked on it.
import express from 'express';
import { receiver } from 'payment-webhooks';
import { enqueue } from 'payment-webhooks/queues';
import { connectToQueue, QUEUE } from './queue.js';

const { channel, close } = await connectToQueue();

// RabbitMQ takes a second delivery of an event for another job: the store of the workers knows better.
// They also decide about payloads that do not fit, and about events that are not declared.
const hooks = receiver({ store: false, drift: 'handle' });
const add = enqueue(async (job) => {
  channel.sendToQueue(QUEUE, Buffer.from(JSON.stringify(job)), { persistent: true, messageId: job.id });
  // Resolves when RabbitMQ has it on disk.
  await channel.waitForConfirms();
});
hooks.on('*', add);
hooks.onUnknown(add);

const app = express();
app.post('/hooks', hooks);

const port = Number(process.env.PORT ?? 3000);
const server = app.listen(port, (error) => {
  if (error) throw error;
  console.log(`Listening on http://localhost:${port}/hooks`);
});
process.once('SIGTERM', async () => {
  await hooks.close();
  server.close(close);
});
