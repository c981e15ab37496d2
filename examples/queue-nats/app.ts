// Puts every event into a queue. The answer 200 says that NATS has it, not that anybody has worked on it.
import express from 'express';
import { receiver } from 'payment-webhooks';
import { enqueue } from 'payment-webhooks/queues';
import { connectToQueue, JOBS } from './queue.js';

const { connection, stream } = await connectToQueue();

// NATS knows a second delivery of an event for two minutes, and the store of the workers for longer.
// They also decide about payloads that do not fit, and about events that are not declared.
const hooks = receiver({ store: false, drift: 'handle' });
// Resolves when the stream has it.
const add = enqueue((job) => stream.publish(JOBS, JSON.stringify(job), { msgID: job.id }));
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
  server.close(() => connection.close());
});
