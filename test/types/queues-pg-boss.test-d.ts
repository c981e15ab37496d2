// What the compiler knows of `payment-webhooks/queues/pg-boss`: checked by `npm run typecheck`, never run.
import { receiver, type TransactionPaid } from 'payment-webhooks';
import { enqueue, jobIdOf, processor } from 'payment-webhooks/queues/pg-boss';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { Pool, type PoolClient } from 'pg';
import { PgBoss } from 'pg-boss';
import PgBoss10 from 'pg-boss-10';
import { z } from 'zod';
import { is } from './is.js';

const boss = new PgBoss('postgres://localhost/postgres');
const boss10 = new PgBoss10('postgres://localhost/postgres');
const events = { 'refund.succeeded': z.object({ refund: z.object({ at: z.coerce.date() }) }) };
const store = postgresStore({ pool: new Pool() });

// enqueue() fits wherever a receiver has an event.
const hooks = receiver({ events, store });
hooks.on('*', enqueue(boss));
hooks.on('refund.*', enqueue(boss10), { name: 'queue' });
hooks.onUnknown(enqueue(boss, { queue: 'unknown' }));
receiver({ handlers: { '*': enqueue(boss) } });

// @ts-expect-error an EventError has no event to pass on
hooks.onInvalid(enqueue(boss));

// @ts-expect-error a pool is no PgBoss
enqueue(new Pool());

// Job options are those of the version that is installed.
enqueue(boss, { jobOptions: { retryLimit: 3, priority: 1, heartbeatSeconds: 10, deadLetter: 'failed' } });
enqueue(boss10, { jobOptions: { retryLimit: 3, expireInMinutes: 5 } });
// @ts-expect-error version 12 has no such option
enqueue(boss, { jobOptions: { expireInMinutes: 5 } });
// @ts-expect-error one job id for all events would lose all but the first
enqueue(boss, { jobOptions: { id: 'webhook' } });
// @ts-expect-error as would one singleton key
enqueue(boss10, { jobOptions: { singletonKey: 'webhook' } });

// @ts-expect-error the id of the job makes one job of an event, without a common commit
enqueue(boss, { executeSql: false });

is<string>()(jobIdOf({ id: 'evt-1', sandbox: false }));

// A processor is what a worker takes, and its handlers are typed as in the receiver.
boss.work('webhooks', processor({ '*': () => {} }));
boss.work('webhooks', { includeMetadata: true, localConcurrency: 10 }, processor({ '*': () => {} }));
boss10.work('webhooks', { includeMetadata: true }, processor({ '*': () => {} }));

processor(
  {
    'transaction.paid': async (event, { once }) => {
      is<TransactionPaid>()(event);
      await once((tx) => is<PoolClient>()(tx));
    },
    'refund.succeeded': (event) => is<Date>()(event.payload.refund.at),
  },
  { events, store },
);

// @ts-expect-error no declared event matches
processor({ 'refund.*': () => {} });
