// One campaign: workers, a store behind a faulty proxy, a sender and a nemesis; and the verdict.
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { Pool } from 'pg';
import { bundle } from '../setup/bundle.js';
import { copyOfNew, type Service, startPostgres, startRedis } from '../setup/services.js';
import { checkHistory, type Verdict } from './check-history.js';
import { startProxy } from './faulty-proxy.js';
import { type History, recordsOf } from './history.js';
import { isTransactional, LEDGER, type Mode, RUNS, readLedger } from './merchant.js';
import { Nemesis, type Plan } from './nemesis.js';
import { recordDeliveries } from './record-deliveries.js';
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

export type Campaign = Verdict & {
  readonly seconds: number;
  readonly faults: number;
  readonly history: History;
};

/** Sends the load, instead of the one of the options. */
export type Drive = (run: {
  readonly sender: Sender;
  readonly workers: Workers;
  readonly progress: (line: string) => void;
}) => Promise<void>;

export async function runCampaign(options: CampaignOptions, drive?: Drive): Promise<Campaign> {
  const began = performance.now();
  const script = bundle(new URL('./worker.ts', import.meta.url));
  const postgres = await startPostgres(['fsync=off'], copyOfNew);
  const redis = await startRedis();
  const pool = new Pool({ connectionString: postgres.url, max: 4 });
  pool.on('error', () => {});
  try {
    for (const table of [LEDGER, RUNS]) await pool.query(table);
    await postgresStore({ pool }).migrate();
    const history = await injectFaults(options, { postgres, redis, pool, script, drive });
    const faults = recordsOf(history, 'fault').length;
    return {
      ...checkHistory(history),
      history,
      faults,
      seconds: Math.round((performance.now() - began) / 1_000),
    };
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
  const hasFaults = Object.keys(plan).length > 0;
  // A crowd and a soak are about load, which notes would add to.
  const env = {
    MODE: mode,
    STORE_PORT: String(proxy.port),
    LEDGER_URL: postgres.url,
    RUNS: hasFaults ? 'yes' : '',
  };
  const workers = await Workers.start(script, options.workers, env);
  const sender = new Sender(workers.port, copies);
  const nemesis = new Nemesis({
    workers,
    proxy,
    crashPostgres: () => postgres.crash(),
    crashRedis: () => redis.crash(),
  });
  try {
    return await recordDeliveries({
      ...{ campaign: { mode, transactional: isTransactional(mode) } },
      ...(hasFaults && { notes: pool }),
      ...{ sender, workers, concurrency },
      load: async (isOver) => {
        if (drive) return;
        if (!hasFaults) return sender.deliverShuffled(concurrency, options.events);
        return sender.deliver(concurrency, (events) => isOver() && events >= options.events);
      },
      inject: async () => {
        await drive?.({ sender, workers, progress: (line) => progress(`${mode}: ${line}`) });
        await nemesis.run(plan, (done, of) =>
          progress(`${mode}: ${done} of ${of} faults, ${sender.history.length} deliveries`),
        );
        return nemesis.faults;
      },
      ledger: () => readLedger(pool),
    });
  } finally {
    await workers.close();
    await proxy.close();
  }
}
