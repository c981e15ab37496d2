// What the compiler knows of `payment-webhooks/queues`: checked by `npm run typecheck`, never run.
import { type Outcome, receiver, type TransactionPaid, type WebhookError } from 'payment-webhooks';
import { enqueue, type Job, type JobVerdict, processor } from 'payment-webhooks/queues';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { Pool, type PoolClient } from 'pg';
import { z } from 'zod';
import { is } from './is.js';

const hooks = receiver();
const send = async (job: Job) => JSON.stringify(job);
hooks.on('*', enqueue(send));
hooks.onUnknown(enqueue((job, { log }) => log.info({ id: job.id }, job.name)));
receiver({ handlers: { '*': enqueue(send) } });

// @ts-expect-error an EventError has no event to pass on
hooks.onInvalid(enqueue(send));

// @ts-expect-error a queue is no function
enqueue({ add: send });

const work = processor({ 'transaction.paid': (event) => is<TransactionPaid>()(event) });
const { signal } = new AbortController();
const verdict: JobVerdict = await work({}, { queue: 'webhooks', attempt: 2, signal });
if (verdict.verdict === 'done') is<Outcome>()(verdict.outcome);
else if (verdict.verdict === 'later') is<number>()(verdict.delayMs);
else is<WebhookError>()(verdict.error);

// @ts-expect-error workers of different queues remember different events
work({});

processor(
  { 'refund.succeeded': (event) => is<Date>()(event.payload.at) },
  { events: { 'refund.succeeded': z.object({ at: z.coerce.date() }) } },
);

processor(
  { '*': (_event, { once }) => once((tx) => is<PoolClient>()(tx)) },
  { store: postgresStore({ pool: new Pool() }) },
);

// @ts-expect-error no declared event matches
processor({ 'refund.*': () => {} });
