// One worker process of pg-boss, whose effect is a row in the ledger.
import { processor } from 'payment-webhooks/queues/pg-boss';
import type { PostgresClient } from 'payment-webhooks/stores/postgres';
import { QUEUE, startBossProcess } from './boss-merchant.js';
import { INSERT, LEASE_MS } from './merchant.js';
import { work } from './worker-process.js';

const { pool, boss, store } = await startBossProcess('worker');

function pay({ id }: { readonly id: string }, context: { attempt: number; transaction?: PostgresClient }) {
  const { attempt, transaction = pool } = context;
  return work(() => transaction.query({ text: INSERT, values: [id, process.pid, attempt] }));
}

const processJob = processor({ '*': pay }, { store, lease: LEASE_MS, logger: false } as never);
for (let lane = 0; lane < 4; lane += 1) {
  await boss.work(QUEUE, { includeMetadata: true, pollingIntervalSeconds: 0.5 }, processJob);
}
// It takes no deliveries: this says that it works.
process.send?.(0);
