// Starts what a soak needs: the servers, the workers and the senders.
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { Pool } from 'pg';
import { LEDGER } from '../faults/merchant.js';
import { bundle } from '../setup/bundle.js';
import { startPostgres, startRedis } from '../setup/services.js';
import { type PerStore, SENDERS, STORES, type StoreName, storeNames } from './merchant.js';
import { Sender, type Start, Worker } from './processes.js';

export type CleanUp = () => unknown;

export interface Setup {
  readonly pool: Pool;
  readonly workers: readonly Worker[];
  readonly senders: readonly Sender[];
}

/** Adds a clean-up for each thing that it starts, so that a stop in the middle leaves nothing behind. */
export async function prepare(failed: Start['failed'], cleanUps: CleanUp[]): Promise<Setup> {
  const [workerScript, senderScript] = ['worker', 'sender'].map((name) => {
    const script = bundle(new URL(`./${name}.ts`, import.meta.url));
    cleanUps.push(() => rmSync(dirname(script), { recursive: true, force: true }));
    return script;
  }) as [string, string];
  const postgres = await startPostgres();
  cleanUps.push(() => postgres.stop());
  const redis = await startRedis();
  cleanUps.push(() => redis.stop());
  const pool = new Pool({ connectionString: postgres.url, max: 2 }).on('error', () => {});
  cleanUps.push(() => pool.end());
  await pool.query(LEDGER);
  await postgresStore({ pool }).migrate();
  await postgresStore({ pool, table: 'in_transaction' }).migrate();

  const started = <Started extends Worker | Sender>(process: Started): Started => {
    cleanUps.push(() => process.end());
    return process;
  };
  const env = { REDIS_URL: redis.url, POSTGRES_URL: postgres.url };
  const workers = storeNames
    .flatMap((store) => Array<StoreName>(STORES[store]).fill(store))
    .map((store) => started(new Worker(store, { script: workerScript, env, failed })));
  const ports = await portsOf(workers);
  const senders = SENDERS.map((name) =>
    started(new Sender({ script: senderScript, args: [JSON.stringify({ name, ports })], failed })),
  );
  await Promise.all(senders.map(({ ready }) => ready));
  return { pool, workers, senders };
}

async function portsOf(workers: readonly Worker[]): Promise<PerStore<number[]>> {
  const ports: Record<string, number[]> = {};
  for (const { ready, store } of workers) {
    const message = await ready;
    if (message.kind === 'ready') ports[store] = [...(ports[store] ?? []), message.port];
  }
  return ports as PerStore<number[]>;
}
