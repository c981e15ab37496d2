// PgBouncer in transaction mode: it is killed, its connections are, and its pool is exhausted; nothing of ours leaks.
import { setTimeout as pause } from 'node:timers/promises';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { Pool } from 'pg';
import { quietPool } from '../../../setup/quiet-pool.js';
import { type Service, startPgBouncer } from '../../../setup/services.js';
import { type Defer, startLedger } from '../environment.js';
import { count } from '../history.js';
import { LEDGER } from '../merchant.js';
import { type Inject, KILL } from '../nemesis.js';
import type { Topology, TopologyCampaign } from './campaign.js';

const DOWN_MS = 300;
const EXHAUSTED_S = 1.5;
const PROBE_MS = 20;

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
function probeSessions(url: string, defer: Defer) {
  const leaks = new Set<string>();
  const connections = new Set<number>();
  const pool = new Pool({ connectionString: url, max: 1, connectionTimeoutMillis: 500 });
  pool.on('error', () => {});
  const look = async () => {
    const { rows } = await pool.query<{ pid: number; settings: string }>(
      `SELECT pg_backend_pid() AS pid, concat_ws(' ', current_setting('lock_timeout'),
        current_setting('idle_in_transaction_session_timeout'), current_setting('transaction_isolation')) AS settings`,
    );
    for (const { pid, settings } of rows) {
      connections.add(pid);
      if (settings !== '0 0 read committed') leaks.add(settings);
    }
  };
  let ended = false;
  const probe = async () => {
    for (; !ended; await pause(PROBE_MS)) await look().catch(() => {});
  };
  const running = probe();
  defer(async () => {
    ended = true;
    await running;
    await pool.end();
  });
  /** A setting of a session, made by another client, has to be seen. */
  const wouldNotice = async () => {
    const other = quietPool(url);
    const before = leaks.size;
    try {
      for (let tries = 0; tries < 200 && leaks.size === before; tries += 1) {
        await other.query(`SET lock_timeout = '77s'`);
        await look();
      }
      return leaks.delete('77s 0 read committed');
    } finally {
      await other.end();
    }
  };
  return { leaks, connections, wouldNotice };
}

async function restart(bouncer: Service): Promise<void> {
  await bouncer.kill();
  await pause(DOWN_MS);
  await bouncer.start();
}

/** Transactions of others hold every connection to the server. */
async function exhaust({ url }: Service, poolSize: number): Promise<void> {
  const others = quietPool(url, poolSize);
  const hold = () => others.query(`BEGIN; SELECT pg_sleep(${EXHAUSTED_S}); COMMIT`);
  await Promise.all(Array.from({ length: poolSize }, hold));
  await others.end();
}

async function start({ faults, poolSize }: (typeof CAMPAIGNS)[number], defer: Defer): Promise<Topology> {
  const { postgres, pool: admin } = await startLedger(defer, [LEDGER]);
  const bouncer = await startPgBouncer(postgres.port, [
    'pool_mode = transaction',
    `default_pool_size = ${poolSize}`,
    'max_client_conn = 500',
  ]);
  defer(() => bouncer.stop());
  await migrate(bouncer);
  const probe = probeSessions(bouncer.url, defer);
  const inject: Record<FaultName, Inject> = {
    'kill -9 of a worker': KILL.inject,
    'PgBouncer killed': () => restart(bouncer),
    'its connections killed': () => terminateOthers(admin),
    'its pool exhausted': () => exhaust(bouncer, poolSize),
  };
  const check = async () => [
    ...[...probe.leaks].map((settings) => `another client saw the settings of ours: ${settings}`),
    ...count(probe.connections.size < 2 ? 1 : 0, 'connection was all that the probe saw'),
    ...count((await probe.wouldNotice()) ? 0 : 1, 'probe does not notice a setting that leaks'),
  ];
  return {
    store: bouncer.port,
    storeUrl: postgres.url,
    faults: Object.entries(faults).map(([name, times]) => ({ times, inject: inject[name as FaultName] })),
    check,
  };
}

/** Through PgBouncer, as an app does when it starts. */
async function migrate({ url }: Service): Promise<void> {
  const pool = quietPool(url);
  await postgresStore({ pool }).migrate();
  await pool.end();
}

async function terminateOthers(admin: Pool): Promise<void> {
  await admin.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
  );
}

export const PGBOUNCER: readonly TopologyCampaign[] = (['postgres', 'once'] as const).flatMap((mode) =>
  CAMPAIGNS.map((campaign) => ({
    name: `postgres, PgBouncer with ${campaign.poolSize} connections${mode === 'once' ? ', once' : ''}: ${Object.keys(campaign.faults).join(', ')}`,
    mode,
    calmMs: 500,
    start: (defer) => start(campaign, defer),
  })),
);
