// One campaign on a Redis topology: workers with one client, senders that retry, and a fault again and again.
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'pg';
import { bundle } from '../../setup/bundle.js';
import { startPostgres } from '../../setup/services.js';
import { checkHistory, groupRows } from '../check-history.js';
import { LEDGER, type LedgerRow } from '../merchant.js';
import type { InjectedFault } from '../nemesis.js';
import { Sender } from '../sender.js';
import type { TopologyFigures } from '../topologies.js';
import { Workers } from '../workers.js';
import { measureOutage } from './outage.js';
import type { RedisClient } from './redis-clients.js';
import { CONFIRMED, type Confirmed, wasForgotten } from './witness.js';

export interface RedisTopology {
  /** What the clients are told: some nodes of the cluster, or the sentinels. */
  readonly ports: readonly number[];
  /** One fault; resolves when every server is up again and has its part. */
  fault(): Promise<void>;
  stop(): Promise<void>;
}

export interface RedisCampaign {
  readonly client: RedisClient;
  readonly faults: number;
  start(): Promise<RedisTopology>;
}

const WORKERS = 4;
/** Longer than a failover takes, as the default is. */
const LEASE_MS = 10_000;
const CONCURRENCY = 24;
/** Between two faults, so that what one did is over when the next begins. */
const CALM_MS = 2_000;
/** No fault is injected after these, so that with those that are running a campaign ends within eight minutes. */
const MOST_MS = 3 * 60_000;

export async function runRedisCampaign(
  campaign: RedisCampaign,
  progress: (line: string) => void,
): Promise<TopologyFigures> {
  const began = performance.now();
  const script = bundle(new URL('../worker.ts', import.meta.url));
  const postgres = await startPostgres(['fsync=off']);
  const pool = new Pool({ connectionString: postgres.url, max: 4 });
  pool.on('error', () => {});
  try {
    await pool.query(LEDGER);
    await pool.query(CONFIRMED);
    const topology = await campaign.start();
    try {
      const figures = await underLoad({ campaign, topology, pool, script, ledger: postgres.url }, progress);
      return { ...figures, seconds: Math.round((performance.now() - began) / 1_000) };
    } finally {
      await topology.stop();
    }
  } finally {
    await pool.end();
    await postgres.stop();
    rmSync(dirname(script), { recursive: true, force: true });
  }
}

interface Running {
  readonly campaign: RedisCampaign;
  readonly topology: RedisTopology;
  readonly pool: Pool;
  readonly script: string;
  readonly ledger: string;
}

async function underLoad(
  { campaign, topology, pool, script, ledger }: Running,
  progress: (line: string) => void,
): Promise<Omit<TopologyFigures, 'seconds'>> {
  const env = { MODE: 'redis', LEDGER_URL: ledger, REDIS_CLIENT: campaign.client, LEASE: String(LEASE_MS) };
  const workers = await Workers.start(script, WORKERS, {
    ...env,
    REDIS_PORTS: JSON.stringify(topology.ports),
  });
  const sender = new Sender(workers.port, 2, 1);
  try {
    let over = false;
    const load = sender.deliver(CONCURRENCY, () => over);
    const faults = await inject(campaign, topology, (done) =>
      progress(`${done} of ${campaign.faults} faults, ${sender.history.length} deliveries`),
    );
    over = true;
    sender.calm = true;
    const calmSince = Date.now() + LEASE_MS;
    await load;
    const rows = await readLedger(pool);
    const sent = sender.history;
    const replayed = await sender.replay(CONCURRENCY);
    const rowsAfterReplay = await readLedger(pool);
    const unexplainedExits = workers.unexplained;
    const history = { mode: 'redis', sent, replayed, rows, rowsAfterReplay, faults, calmSince } as const;
    const { attempts: _, ...verdict } = checkHistory({ ...history, unexplainedExits });
    const forgotten = await countForgotten(pool, rowsAfterReplay);
    return { ...verdict, faults: faults.length, forgotten, ...measureOutage(sent, faults) };
  } finally {
    await workers.close();
  }
}

async function inject(
  campaign: RedisCampaign,
  topology: RedisTopology,
  progress: (done: number) => void,
): Promise<InjectedFault[]> {
  const end = performance.now() + MOST_MS;
  const faults: InjectedFault[] = [];
  while (faults.length < campaign.faults && performance.now() < end) {
    await pause(CALM_MS);
    const from = Date.now();
    await topology.fault();
    faults.push({ kind: 'topology', worker: undefined, from, until: Date.now() });
    progress(faults.length);
  }
  await pause(CALM_MS);
  return faults;
}

async function readLedger(pool: Pool): Promise<LedgerRow[]> {
  const { rows } = await pool.query<LedgerRow>(
    'SELECT event_id, worker, attempt, (extract(epoch FROM at) * 1000)::float8 AS at FROM ledger',
  );
  return rows;
}

/** Of the events with more than one row. */
async function countForgotten(pool: Pool, ledger: readonly LedgerRow[]): Promise<number> {
  const { rows } = await pool.query<Confirmed>('SELECT * FROM confirmed');
  const confirmed = groupRows(rows);
  const ranTwice = [...groupRows(ledger)].filter(([, runs]) => runs.length > 1);
  return ranTwice.filter(([id]) => wasForgotten(confirmed.get(id) ?? [])).length;
}
