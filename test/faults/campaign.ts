// One campaign: workers, a store behind a faulty proxy, a sender and a nemesis; and the verdict.
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { Pool } from 'pg';
import { bundle } from '../setup/bundle.js';
import { type Service, startPostgres, startRedis } from '../setup/services.js';
import { checkHistory, type Verdict } from './check-history.js';
import { startProxy } from './faulty-proxy.js';
import { LEASE_MS, LEDGER, type LedgerRow, type Mode } from './merchant.js';
import { Nemesis, type Plan } from './nemesis.js';
import { Sender } from './sender.js';
import { Workers } from './workers.js';

export interface CampaignOptions {
  readonly mode: Mode;
  /** At least; the sender continues while the nemesis does. */
  readonly events: number;
  readonly copies: number;
  readonly concurrency: number;
  readonly workers: number;
  /** Without faults the copies of all events are delivered in random order; else those of one event at the same time. */
  readonly plan: Plan;
  readonly progress: (line: string) => void;
}

export type Campaign = Verdict & { readonly seconds: number; readonly faults: number };

/** Sends the load by itself, instead of the one of the options. */
export type Drive = (run: {
  readonly sender: Sender;
  readonly workers: Workers;
  readonly progress: (line: string) => void;
}) => Promise<void>;

export async function runCampaign(options: CampaignOptions, drive?: Drive): Promise<Campaign> {
  const began = performance.now();
  const script = bundle(new URL('./worker.ts', import.meta.url));
  const postgres = await startPostgres(['fsync=off']);
  const redis = await startRedis();
  const pool = new Pool({ connectionString: postgres.url, max: 4 });
  pool.on('error', () => {});
  try {
    await pool.query(LEDGER);
    await postgresStore({ pool }).migrate();
    const verdict = await injectFaults(options, { postgres, redis, pool, script, drive });
    return { ...verdict, seconds: Math.round((performance.now() - began) / 1_000) };
  } finally {
    await pool.end();
    await Promise.all([postgres.stop(), redis.stop()]);
    rmSync(dirname(script), { recursive: true, force: true });
  }
}

interface Servers {
  readonly postgres: Service;
  readonly redis: Service;
  readonly pool: Pool;
  readonly script: string;
  readonly drive: Drive | undefined;
}

async function injectFaults(options: CampaignOptions, { postgres, redis, pool, script, drive }: Servers) {
  const { mode, copies, concurrency, plan, progress } = options;
  const proxy = await startProxy((mode === 'redis' ? redis : postgres).port);
  const env = { MODE: mode, STORE_PORT: String(proxy.port), LEDGER_URL: postgres.url };
  const workers = await Workers.start(script, options.workers, env);
  const sender = new Sender(workers.port, copies);
  const nemesis = new Nemesis({
    workers,
    proxy,
    crashPostgres: () => postgres.crash(),
    crashRedis: () => redis.crash(),
  });
  try {
    let over = Object.keys(plan).length === 0;
    const load = drive
      ? drive({ sender, workers, progress: (line) => progress(`${mode}: ${line}`) })
      : over
        ? sender.deliverShuffled(concurrency, options.events)
        : sender.deliver(concurrency, (events) => over && events >= options.events);
    await nemesis.run(plan, (done, of) =>
      progress(`${mode}: ${done} of ${of} faults, ${sender.history.length} deliveries`),
    );
    if (drive) await load;
    over = true;
    sender.calm = true;
    // The claims of the last killed workers keep their leases for as long.
    const calmSince = Date.now() + LEASE_MS;
    await load;
    const rows = await readLedger(pool);
    const replayed = await sender.replay(concurrency);
    const rowsAfterReplay = await readLedger(pool);
    const { faults } = nemesis;
    const { history: sent } = sender;
    const unexplainedExits = workers.unexplained;
    const verdict = checkHistory({
      mode,
      sent,
      replayed,
      rows,
      rowsAfterReplay,
      faults,
      calmSince,
      unexplainedExits,
    });
    return { ...verdict, faults: faults.length };
  } finally {
    await workers.close();
    await proxy.close();
  }
}

async function readLedger(pool: Pool): Promise<LedgerRow[]> {
  const { rows } = await pool.query<LedgerRow>(
    'SELECT event_id, worker, attempt, (extract(epoch FROM at) * 1000)::float8 AS at FROM ledger',
  );
  return rows;
}
