// What the compiler knows of `payment-webhooks/queues/bullmq`: checked by `npm run typecheck`, never run.
import { Queue, Worker } from 'bullmq';
import {
  type EventOf,
  type Issue,
  type Outcome,
  receiver,
  type TransactionPaid,
  type WebhookEvent,
} from 'payment-webhooks';
import { enqueue, processor, type QueuedDelivery } from 'payment-webhooks/queues/bullmq';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { Pool, type PoolClient } from 'pg';
import { z } from 'zod';
import { is } from './is.js';

const connection = {};
const queue = new Queue('webhooks', { connection });
const events = { 'refund.succeeded': z.object({ refund: z.object({ at: z.coerce.date() }) }) };
const store = postgresStore({ pool: new Pool() });

// enqueue() fits wherever a receiver has an event.
const hooks = receiver({ events, store });
hooks.on('*', enqueue(queue));
hooks.on('refund.*', enqueue(queue), { name: 'queue' });
hooks.on('transaction.paid', enqueue(queue, { name: 'webhook', jobOptions: { attempts: 3, priority: 1 } }));
hooks.onUnknown(enqueue(queue));
receiver({ handlers: { '*': enqueue(queue) } });

// @ts-expect-error an EventError has no event to pass on
hooks.onInvalid(enqueue(queue));

// Queues that are typed by what is in them.
enqueue(new Queue<QueuedDelivery>('webhooks', { connection }));
enqueue(new Queue<QueuedDelivery, Outcome, 'transaction.paid'>('webhooks', { connection }));

// @ts-expect-error a worker is no queue
enqueue(new Worker('webhooks', null, { connection }));

// @ts-expect-error one job id for all events would lose all but the first
enqueue(queue, { jobOptions: { jobId: 'webhook' } });

// @ts-expect-error as would one deduplication
enqueue(queue, { jobOptions: { deduplication: { id: 'webhook' } } });

// A processor is what a worker takes, and its handlers are typed as in the receiver.
new Worker('webhooks', processor({ '*': () => {} }), { connection });
new Worker<QueuedDelivery, Outcome>('webhooks', processor({ '*': () => {} }), { connection });

processor({
  'transaction.paid': (event, { signal, log, attempt, rawBody, keyIndex }) => {
    is<TransactionPaid>()(event);
    is<AbortSignal>()(signal);
    is<number>()(attempt);
    is<number>()(keyIndex);
    is<Buffer>()(rawBody);
    log.info({}, 'paid');
  },
  '*': (event) => is<WebhookEvent>()(event),
});

processor(
  {
    'refund.succeeded': (event) => is<Date>()(event.payload.refund.at),
    'refund.*': (event) => is<EventOf<'refund.succeeded', typeof events>>()(event),
    '*': (event) => is<WebhookEvent<typeof events>>()(event),
  },
  { events },
);

processor({ 'transaction.paid': (_event, { once }) => once((tx) => is<PoolClient>()(tx)) }, { store });

processor({ '*': (_event, { issues }) => is<readonly Issue[] | undefined>()(issues) }, { drift: 'handle' });
// @ts-expect-error no such policy
processor({ '*': () => {} }, { drift: 'drop' });

// @ts-expect-error without a store in the database of the writes there is no once()
processor({ '*': (_event, { once }) => once(() => {}) });

// @ts-expect-error no declared event matches
processor({ 'refund.*': () => {} });

// @ts-expect-error the worker has no queue of unknown events
processor({ '*': () => {} }, { onUnknown: () => {} });

// The same handlers serve a receiver and a worker.
const handlers = { 'transaction.paid': async (event: TransactionPaid) => void event.payload.transaction.id };
receiver({ handlers });
processor(handlers);
