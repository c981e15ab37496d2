// One worker process of pg-boss, whose effect is a row in the ledger.
import { processor } from 'payment-webhooks/queues/pg-boss';
import type { PostgresClient, WithOnce } from 'payment-webhooks/stores/postgres';
import { QUEUE, startBossProcess } from './boss-merchant.js';
import { INSERT, LEASE_MS } from './merchant.js';
import { work } from './worker-process.js';

const { pool, boss, store } = await startBossProcess('worker');

type Context = { readonly attempt: number } & WithOnce<PostgresClient>;

function pay({ id }: { readonly id: string }, { attempt, once }: Context) {
  const write = (client: PostgresClient | typeof pool) =>
    work(() => client.query({ text: INSERT, values: [id, process.pid, attempt] }));
  return store ? once(write) : write(pool);
}

const processJob = processor({ '*': pay as never }, { store, lease: LEASE_MS, logger: false } as never);
for (let lane = 0; lane < 4; lane += 1) {
  await boss.work(QUEUE, { includeMetadata: true, pollingIntervalSeconds: 0.5 }, processJob);
}
// It takes no deliveries: this says that it works.
process.send?.(0);
