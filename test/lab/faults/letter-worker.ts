// One worker of the campaign of dead letters: a receiver that keeps them, and after the fix replays them all the time.
import { setTimeout as pause } from 'node:timers/promises';
import { receiver, StoreError, type WithOnce } from 'payment-webhooks';
import type { PoolClient } from 'pg';
import { z } from 'zod';
import { quietPool } from '../../setup/quiet-pool.js';
import { sharedStores } from '../../setup/shared-stores.js';
import { EVENTS, type Phase, SCHEMA, storesOf } from './letter-merchant.js';
import { LEASE_MS, type Mode, noteRun, PRIVATE_KEY } from './merchant.js';
import { serve } from './worker-process.js';

const { MODE, PHASE, JOURNAL, POSTGRES_URL, REDIS_URL } = process.env as {
  MODE: Mode;
  PHASE: Phase;
  JOURNAL: string;
  POSTGRES_URL: string;
  REDIS_URL: string;
};

const ledger = quietPool(POSTGRES_URL, 10);
const pool = quietPool(POSTGRES_URL, 20);
const { store, deadLetters } = sharedStores(storesOf(MODE), SCHEMA, { pool, redisUrl: REDIS_URL });

interface Paid {
  readonly id: string;
  readonly event_name: string;
  readonly payload: { readonly version?: number };
}

async function handle(
  { id, event_name, payload: { version = 1 } }: Paid,
  { once }: Partial<WithOnce<PoolClient>>,
) {
  const insert = `INSERT INTO ${SCHEMA}.ledger (event_id, version, worker) VALUES ($1, $2, $3)`;
  const row = { text: insert, values: [id, version, process.pid] };
  await pause(Math.random() * 20);
  // Inside once a handler that fails takes its row back.
  const write = async (client: PoolClient | typeof ledger) => {
    if (MODE === 'once') await client.query(row);
    if (PHASE === 'before' && event_name === EVENTS.failed) throw new Error('the bank is down');
    if (MODE !== 'once') await client.query(row);
  };
  await (MODE === 'once' && once ? once(write) : write(ledger));
  // The time between effect and completion, long enough for a kill to fall into.
  await pause(Math.random() * 20);
}

const any = z.looseObject({});
const metadata = z.looseObject({ metadata: z.record(z.string(), z.unknown()) });

const hooks = receiver({
  privateKey: PRIVATE_KEY,
  store,
  deadLetters,
  journal: JOURNAL === 'true',
  lease: LEASE_MS,
  timeout: 3_000,
  logger: false,
  events: {
    [EVENTS.failed]: any,
    [EVENTS.conflict]: any,
    [EVENTS.invalid]: PHASE === 'before' ? metadata : any,
    ...(PHASE === 'after' && { [EVENTS.unknown]: any }),
  },
});
const run = (event: unknown, context: Partial<WithOnce<PoolClient>>) =>
  noteRun(ledger, (event as Paid).id, () => handle(event as Paid, context));
hooks.on('*', run, { name: 'book' });

serve(hooks);
if (PHASE === 'after') void replayForever();

async function replayForever(): Promise<void> {
  for (;;) {
    try {
      await hooks.deadLetters.replay({ concurrency: 3 });
    } catch (error) {
      // The store did not answer in time: a replay can be started again at any point.
      if (!StoreError.is(error)) throw error;
    }
    await pause(50);
  }
}
