// One campaign on a topology: workers, senders that retry, the faults of the topology, and the verdict.
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'pg';
import { bundle } from '../../setup/bundle.js';
import { startPostgres } from '../../setup/services.js';
import { checkHistory, groupByEvent } from '../check-history.js';
import {
  isTransactional,
  LEASE_MS,
  LEDGER,
  type LedgerRow,
  type Mode,
  RUNS,
  readLedger,
} from '../merchant.js';
import type { InjectedFault } from '../nemesis.js';
import { recordDeliveries } from '../record-deliveries.js';
import { Sender, type Sent } from '../sender.js';
import { shuffled } from '../shuffled.js';
import type { TopologyFigures } from '../topologies.js';
import { Workers } from '../workers.js';
import { countUndone, measureOutage } from './measures.js';
import type { RedisClient } from './redis-clients.js';
import { CONFIRMED, type Confirmed, wasForgotten } from './witness.js';

export interface Topology {
  /** Where the workers reach the store: a port, or some nodes of a cluster or the sentinels, with the client to use. */
  readonly store: number | { readonly client: RedisClient; readonly ports: readonly number[] };
  /** Where the ledger of transactional handlers is read at the end. */
  readonly storeUrl?: string;
  /** Which program the next worker is; else that of the working tree. */
  readonly program?: () => string;
  /** Each is injected as often as it says. Resolves with the worker that it ended. */
  readonly faults: readonly {
    readonly times: number;
    inject(workers: Workers): Promise<number | undefined>;
  }[];
  /**
   * What else has to hold, in sentences that say that it does not.
   *
   * @param notes what the workers wrote down
   */
  check?(sent: readonly Sent[], notes: Pool): Promise<readonly string[]> | readonly string[];
  stop(): Promise<void>;
}

export interface CampaignPlan {
  readonly mode: Mode;
  /** Between two faults, on average. */
  readonly calmMs: number;
  readonly leaseMs?: number;
  readonly concurrency?: number;
  /** Of every other event; of the rest two. */
  readonly fewestCopies?: number;
  /** No fault is injected after these, so that a campaign ends within eight minutes. */
  readonly mostMs?: number;
  /** So many events are delivered three times each, in random order, and the faults come in theirs. */
  readonly crowd?: number;
  /** What was confirmed may be gone with the server that confirmed it. */
  readonly mayLose?: boolean;
  start(): Promise<Topology>;
}

const WORKERS = 4;

/** A lease longer than a failover takes, as the default is; and what one fault did is over when the next begins. */
export const REDIS_PLAN = {
  ...({ mode: 'redis', calmMs: 2_000, leaseMs: 10_000, concurrency: 24, fewestCopies: 1 } as const),
  mostMs: 3 * 60_000,
};

export async function runTopologyCampaign(
  plan: CampaignPlan,
  progress: (line: string) => void,
): Promise<TopologyFigures> {
  const began = performance.now();
  const script = bundle(new URL('../worker.ts', import.meta.url));
  // Without faults: the ledger of handlers that are not in a transaction, and what the workers note.
  const effects = await startPostgres(['fsync=off']);
  const pool = new Pool({ connectionString: effects.url, max: 4 }).on('error', () => {});
  try {
    for (const table of [LEDGER, RUNS, CONFIRMED]) await pool.query(table);
    const topology = await plan.start();
    try {
      const figures = await underLoad({ plan, topology, pool, script, effects: effects.url }, progress);
      return { ...figures, seconds: Math.round((performance.now() - began) / 1_000) };
    } finally {
      await topology.stop();
    }
  } finally {
    await pool.end();
    await effects.stop();
    rmSync(dirname(script), { recursive: true, force: true });
  }
}

interface Running {
  readonly plan: CampaignPlan;
  readonly topology: Topology;
  readonly pool: Pool;
  readonly script: string;
  readonly effects: string;
}

async function underLoad(
  { plan, topology, pool, script, effects }: Running,
  progress: (line: string) => void,
): Promise<Omit<TopologyFigures, 'seconds'>> {
  const { mode, crowd, mayLose = false, leaseMs = LEASE_MS, concurrency = 16, fewestCopies } = plan;
  const { store, storeUrl = effects } = topology;
  const transactional = isTransactional(mode);
  const workers = await Workers.start(topology.program ?? script, WORKERS, {
    ...{
      MODE: mode,
      LEDGER_URL: effects,
      LEASE: String(leaseMs),
      TOPOLOGY: 'yes',
      MIGRATE: crowd ? 'yes' : '',
    },
    ...(typeof store === 'number'
      ? { STORE_PORT: String(store), RUNS: 'yes' }
      : { REDIS_CLIENT: store.client, REDIS_PORTS: JSON.stringify(store.ports) }),
  });
  const sender = new Sender(workers.port, crowd ? 3 : 2, crowd ? 3 : fewestCopies);
  let last: readonly LedgerRow[] = [];
  const ledger = async () => {
    const rows = await readLedgerAt(transactional ? storeUrl : effects);
    last = rows;
    return rows;
  };
  let faults: readonly InjectedFault[] = [];
  let undone = 0;
  try {
    const history = await recordDeliveries({
      ...{
        campaign: { mode, transactional, mayLose },

        sender,
        workers,
        concurrency,
        leaseMs,
        ledger,
      },
      ...(typeof store === 'number' && { notes: pool }),
      load: (isOver) =>
        crowd ? sender.deliverShuffled(4 * concurrency, crowd) : sender.deliver(concurrency, isOver),
      inject: async () => {
        faults = await inject(plan, topology, workers, (done) =>
          progress(`${done} faults, ${sender.history.length} deliveries`),
        );
        return faults;
      },
      findings: (sent) => {
        undone = countUndone(sent, last);
        return topology.check?.(sent, pool) ?? [];
      },
    });
    const { attempts: _, ...verdict } = checkHistory(history);
    const forgotten = transactional ? undone : await countForgotten(pool, last);
    return {
      ...verdict,
      history,
      faults: faults.length,
      forgotten,
      ...measureOutage(sender.history, faults),
    };
  } finally {
    await workers.close();
  }
}

async function inject(
  { calmMs, crowd, mostMs = 5 * 60_000 }: CampaignPlan,
  topology: Topology,
  workers: Workers,
  progress: (done: number) => void,
): Promise<InjectedFault[]> {
  const end = performance.now() + mostMs;
  const faults: InjectedFault[] = [];
  const all = topology.faults.flatMap((one) => Array<(typeof topology.faults)[number]>(one.times).fill(one));
  for (const fault of crowd ? all : shuffled(all)) {
    await pause(calmMs * (0.5 + Math.random()));
    if (performance.now() > end) break;
    const from = Date.now();
    const worker = await fault.inject(workers);
    faults.push({ kind: 'topology', ...(worker !== undefined && { worker }), from, until: Date.now() });
    progress(faults.length);
  }
  await pause(calmMs);
  return faults;
}

export async function killWorker(workers: Workers): Promise<number | undefined> {
  const worker = workers.any();
  if (worker) await workers.end(worker, 'SIGKILL');
  return worker?.process.pid;
}

async function readLedgerAt(connectionString: string): Promise<LedgerRow[]> {
  const pool = new Pool({ connectionString, max: 1 }).on('error', () => {});
  return readLedger(pool).finally(() => pool.end());
}

/** Of the events with more than one row. */
async function countForgotten(pool: Pool, ledger: readonly LedgerRow[]): Promise<number> {
  const { rows } = await pool.query<Confirmed>('SELECT event_id AS event, step, attempt FROM confirmed');
  const confirmed = groupByEvent(rows);
  const ranTwice = [...groupByEvent(ledger)].filter(([, runs]) => runs.length > 1);
  return ranTwice.filter(([id]) => wasForgotten(confirmed.get(id) ?? [])).length;
}
