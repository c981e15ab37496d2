// One worker process of pg-boss, whose effect is a row in the ledger.
import { setTimeout as pause } from 'node:timers/promises';
import { processor } from 'payment-webhooks/queues/pg-boss';
import { type PostgresClient, postgresStore } from 'payment-webhooks/stores/postgres';
import { Pool } from 'pg';
import { newBoss } from '../setup/pg-boss.js';
import { type BossMode, QUEUE, TABLES } from './boss-merchant.js';
import { INSERT, LEASE_MS } from './merchant.js';

const { MODE, POSTGRES_URL: connectionString = '' } = process.env as {
  MODE: BossMode;
  POSTGRES_URL?: string;
};
const pool = new Pool({ connectionString, max: 20 });
const store = postgresStore({ pool, table: TABLES.worker, transactional: true });
const boss = await newBoss({ connectionString, supervise: false, schedule: false, max: 5 });
boss.on('error', () => {});
await boss.start();

async function pay(
  event: { readonly id: string },
  context: { readonly attempt: number; readonly transaction?: PostgresClient },
): Promise<void> {
  await pause(Math.random() * 20);
  // Before the effect, so that a failure alone never explains a second row.
  if (Math.random() < 0.03) throw new Error('a failure of its own');
  await (context.transaction ?? pool).query({
    text: INSERT,
    values: [event.id, process.pid, context.attempt],
  });
  // The time between the effect and the end of the job.
  await pause(Math.random() * 20);
}

const work = processor({ '*': pay }, {
  store: MODE === 'one commit' ? store : false,
  lease: LEASE_MS,
  logger: false,
} as never);
for (let lane = 0; lane < 4; lane += 1) {
  await boss.work(QUEUE, { includeMetadata: true, pollingIntervalSeconds: 0.5 }, work);
}
// It takes no deliveries: this says that it works.
process.send?.(0);
