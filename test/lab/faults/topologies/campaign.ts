// One campaign on a topology: workers, senders that retry, the faults of the topology, and the verdict.
import type { Pool } from 'pg';
import { quietPool } from '../../../setup/quiet-pool.js';
import { groupByEvent } from '../check-history.js';
import { deliverUnderFaults } from '../deliveries.js';
import { bundleProgram, type Campaign, type Defer, runAndJudge, startLedger } from '../environment.js';
import { LEASE_MS, LEDGER, type LedgerRow, type Mode, RUNS, readLedger } from '../merchant.js';
import type { Inject } from '../nemesis.js';
import { type Sent, shuffled } from '../sender.js';
import { countUndone, measureOutage, type Outage } from './measures.js';
import type { RedisClient } from './redis-clients.js';
import { CONFIRMED, type Confirmed, wasForgotten } from './witness.js';

export interface TopologyFigures extends Campaign, Outage {
  /** Events whose completion the store had confirmed, and did not know any more: a replica did not have it. */
  readonly forgotten: number;
}

export interface Topology {
  /** Where the workers reach the store: a port, or some nodes of a cluster or the sentinels, with the client to use. */
  readonly store: number | { readonly client: RedisClient; readonly ports: readonly number[] };
  /** Where the ledger of handlers that write inside `once` is read at the end. */
  readonly storeUrl?: string;
  /** Each is injected as often as it says. */
  readonly faults: readonly { readonly times: number; readonly inject: Inject }[];
  /** What else has to hold, in sentences that say that it does not. */
  check?(sent: readonly Sent[]): Promise<readonly string[]> | readonly string[];
}

export interface TopologyPlan {
  readonly mode: Mode;
  /** Between two faults, on average. */
  readonly calmMs: number;
  readonly leaseMs?: number;
  readonly concurrency?: number;
  /** Of every other event; of the rest two. */
  readonly fewestCopies?: number;
  /** No fault is injected after these, so that a campaign ends within eight minutes. */
  readonly mostMs?: number;
  /** What was confirmed may be gone with the server that confirmed it. */
  readonly mayLose?: boolean;
  start(defer: Defer): Promise<Topology>;
}

export interface TopologyCampaign extends TopologyPlan {
  /** Its database first, as in `redis cluster, ioredis: kill -9 of a master`. */
  readonly name: string;
}

/** A lease longer than a failover takes, as the default is; and what one fault did is over when the next begins. */
export const REDIS_PLAN = {
  ...({ mode: 'redis', calmMs: 2_000, leaseMs: 10_000, concurrency: 24, fewestCopies: 1 } as const),
  mostMs: 3 * 60_000,
};

export function runTopologyCampaign(
  { mode, mayLose = false, ...plan }: TopologyPlan,
  progress: (line: string) => void,
): Promise<TopologyFigures> {
  return runAndJudge(async (defer) => {
    const program = bundleProgram('./worker.ts', defer);
    // Without faults: the ledger of handlers that do not write inside `once`, and what the workers note.
    const { postgres: effects, pool } = await startLedger(defer, [LEDGER, RUNS, CONFIRMED]);
    const topology = await plan.start(defer);
    const { store, storeUrl = effects.url } = topology;
    const once = mode === 'once';
    const faults = topology.faults.flatMap(({ times, inject }) =>
      Array.from({ length: times }, () => ({ kind: 'topology', inject })),
    );
    const { history, sent, rows, later, ...delivered } = await deliverUnderFaults({
      ...{ mostMs: 5 * 60_000, ...plan, progress },
      campaign: { mode, once, mayLose },
      program,
      env: {
        ...{ MODE: mode, LEDGER_URL: effects.url, TOPOLOGY: 'yes' },
        LEASE: String(plan.leaseMs ?? LEASE_MS),
        ...(typeof store === 'number'
          ? { STORE_PORT: String(store), RUNS: 'yes' }
          : { REDIS_CLIENT: store.client, REDIS_PORTS: JSON.stringify(store.ports) }),
      },
      events: 0,
      faults: shuffled(faults),
      ...(typeof store === 'number' && { notes: pool }),
      ledger: () => readLedgerAt(once ? storeUrl : effects.url),
      findings: (all) => topology.check?.(all) ?? [],
    });
    const forgotten = once ? countUndone(sent, rows) : await countForgotten(pool, [...rows, ...later]);
    return { history, forgotten, ...measureOutage(sent, delivered.faults) };
  });
}

async function readLedgerAt(url: string): Promise<LedgerRow[]> {
  const pool = quietPool(url);
  return readLedger(pool).finally(() => pool.end());
}

/** Of the events with more than one row. */
async function countForgotten(pool: Pool, ledger: readonly LedgerRow[]): Promise<number> {
  const { rows } = await pool.query<Confirmed>('SELECT event_id AS event, step, attempt FROM confirmed');
  const confirmed = groupByEvent(rows);
  const ranTwice = [...groupByEvent(ledger)].filter(([, runs]) => runs.length > 1);
  return ranTwice.filter(([id]) => wasForgotten(confirmed.get(id) ?? [])).length;
}
