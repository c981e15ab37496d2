// PgBouncer in transaction mode: it is killed, its connections are, and its pool is exhausted; nothing of ours leaks.
import { setTimeout as pause } from 'node:timers/promises';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { Pool } from 'pg';
import { type Service, startPgBouncer, startPostgres } from '../../setup/services.js';
import { count } from '../history.js';
import { LEDGER, type Mode } from '../merchant.js';
import type { TopologyCampaign } from '../topologies.js';
import { killWorker, runTopologyCampaign, type Topology } from './campaign.js';

const DOWN_MS = 300;
const EXHAUSTED_S = 1.5;
const PROBE_MS = 20;
const noListener = () => {};

type FaultName = 'kill -9 of a worker' | 'PgBouncer killed' | 'its connections killed' | 'its pool exhausted';

const CAMPAIGNS: readonly {
  readonly faults: Partial<Record<FaultName, number>>;
  readonly poolSize: number;
}[] = [
  { faults: { 'kill -9 of a worker': 60 }, poolSize: 10 },
  { faults: { 'PgBouncer killed': 15, 'its connections killed': 15 }, poolSize: 10 },
  { faults: { 'its pool exhausted': 10 }, poolSize: 2 },
];

/** Another client of the same PgBouncer, whose session must be as Postgres gave it. */
class SessionProbe {
  readonly leaks = new Set<string>();
  readonly connections = new Set<number>();
  readonly #pool: Pool;
  #running: Promise<void>;
  #ended = false;

  constructor(url: string) {
    this.#pool = new Pool({ connectionString: url, max: 1, connectionTimeoutMillis: 500 });
    this.#pool.on('error', noListener);
    this.#running = this.#probe();
  }

  async #probe(): Promise<void> {
    for (; !this.#ended; await pause(PROBE_MS)) await this.look().catch(() => {});
  }

  async look(): Promise<void> {
    const { rows } = await this.#pool.query<{ pid: number; settings: string }>(
      `SELECT pg_backend_pid() AS pid, concat_ws(' ', current_setting('lock_timeout'),
        current_setting('idle_in_transaction_session_timeout'), current_setting('transaction_isolation')) AS settings`,
    );
    for (const { pid, settings } of rows) {
      this.connections.add(pid);
      if (settings !== '0 0 read committed') this.leaks.add(settings);
    }
  }

  /** Whether it would notice: a setting of a session, made by another client, has to be seen. */
  async wouldNotice(url: string): Promise<boolean> {
    const other = new Pool({ connectionString: url, max: 1 }).on('error', noListener);
    const before = this.leaks.size;
    try {
      for (let tries = 0; tries < 200 && this.leaks.size === before; tries += 1) {
        await other.query(`SET lock_timeout = '77s'`);
        await this.look();
      }
      return this.leaks.delete('77s 0 read committed');
    } finally {
      await other.end();
    }
  }

  async stop(): Promise<void> {
    this.#ended = true;
    await this.#running;
    await this.#pool.end();
  }
}

async function restart(bouncer: Service): Promise<void> {
  await bouncer.kill();
  await pause(DOWN_MS);
  await bouncer.start();
}

/** Transactions of others hold every connection to the server. */
async function exhaust({ url }: Service, poolSize: number): Promise<void> {
  const others = new Pool({ connectionString: url, max: poolSize }).on('error', noListener);
  const hold = () => others.query(`BEGIN; SELECT pg_sleep(${EXHAUSTED_S}); COMMIT`);
  await Promise.all(Array.from({ length: poolSize }, hold));
  await others.end();
}

async function start({ faults, poolSize }: (typeof CAMPAIGNS)[number]): Promise<Topology> {
  const postgres = await startPostgres(['fsync=off']);
  const admin = new Pool({ connectionString: postgres.url, max: 1 }).on('error', noListener);
  await admin.query(LEDGER);
  const bouncer = await startPgBouncer(postgres.port, [
    'pool_mode = transaction',
    `default_pool_size = ${poolSize}`,
    'max_client_conn = 500',
  ]);
  await migrate(bouncer);
  const probe = new SessionProbe(bouncer.url);
  const inject: Record<FaultName, Topology['faults'][number]['inject']> = {
    'kill -9 of a worker': killWorker,
    'PgBouncer killed': async () => void (await restart(bouncer)),
    'its connections killed': async () => void (await terminateOthers(admin)),
    'its pool exhausted': async () => void (await exhaust(bouncer, poolSize)),
  };
  const check = async () => [
    ...[...probe.leaks].map((settings) => `another client saw the settings of ours: ${settings}`),
    ...count(probe.connections.size < 2 ? 1 : 0, 'connection was all that the probe saw'),
    ...count((await probe.wouldNotice(bouncer.url)) ? 0 : 1, 'probe does not notice a setting that leaks'),
  ];
  return {
    store: bouncer.port,
    storeUrl: postgres.url,
    faults: Object.entries(faults).map(([name, times]) => ({ times, inject: inject[name as FaultName] })),
    check,
    stop: async () => {
      await probe.stop();
      await admin.end();
      await bouncer.stop();
      await postgres.stop();
    },
  };
}

/** Through PgBouncer, as an app does when it starts. */
async function migrate({ url }: Service): Promise<void> {
  const pool = new Pool({ connectionString: url, max: 1 }).on('error', noListener);
  await postgresStore({ pool }).migrate();
  await pool.end();
}

async function terminateOthers(admin: Pool): Promise<void> {
  await admin.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
  );
}

const PROMISES = {
  postgres: 'at least once, deduplicated',
  transactional: 'exactly once in the transaction',
} as const;

export const PGBOUNCER: readonly TopologyCampaign[] = (['postgres', 'transactional'] as const).flatMap(
  (mode: Mode & keyof typeof PROMISES) =>
    CAMPAIGNS.map((campaign) => ({
      name: `postgres, PgBouncer with ${campaign.poolSize} connections${mode === 'transactional' ? ', transactional' : ''}: ${Object.keys(campaign.faults).join(', ')}`,
      promise: PROMISES[mode],
      run: (progress) => runTopologyCampaign({ mode, calmMs: 500, start: () => start(campaign) }, progress),
    })),
);
