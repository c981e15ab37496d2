// Puts every event into a queue. The answer 200 says that Postgres has it.
import express from 'express';
import { receiver } from 'payment-webhooks';
import { enqueue } from 'payment-webhooks/queues/pg-boss';
import { boss, QUEUE, startBoss } from './queue.js';

// The queue knows an event by the id of its job. A store here would keep a later delivery from reviving a job that has failed.
// The worker decides about payloads that do not fit, and about events that are not declared.
const hooks = receiver({ store: false, drift: 'handle' });
const add = enqueue(boss, { queue: QUEUE });
hooks.on('*', add);
hooks.onUnknown(add);

export const app = express();
app.post('/hooks', hooks);

if (process.argv[1] === import.meta.filename) {
  const port = Number(process.env.PORT ?? 3000);
  startBoss().then(() => {
    const server = app.listen(port, (error) => {
      if (error) throw error;
      console.log(`Listening on http://localhost:${port}/hooks`);
    });
    process.once('SIGTERM', async () => {
      await hooks.close();
      server.close(() => boss.stop());
    });
  });
}
