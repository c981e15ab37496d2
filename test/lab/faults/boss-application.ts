// One application process: a receiver that puts events into the queue, and takes its time before it answers.
import { setTimeout as pause } from 'node:timers/promises';
import { receiver } from 'payment-webhooks';
import { enqueue } from 'payment-webhooks/queues/pg-boss';
import { JOB_OPTIONS, QUEUE, startBossProcess } from './boss-merchant.js';
import { LEASE_MS, PRIVATE_KEY } from './merchant.js';
import { serve } from './worker-process.js';

const { boss, store } = await startBossProcess('application');
const pass = enqueue(boss, { queue: QUEUE, jobOptions: JOB_OPTIONS });
const hooks = receiver({ privateKey: PRIVATE_KEY, store: store as never, lease: LEASE_MS, logger: false });
hooks.on('*', async (event, context) => {
  await pause(Math.random() * 10);
  await pass(event, context);
  // Long enough for a kill to fall between the job and the completion, or the answer.
  await pause(Math.random() * 30);
  if (Math.random() < 0.03) throw new Error('a failure of its own');
});
serve(hooks);
