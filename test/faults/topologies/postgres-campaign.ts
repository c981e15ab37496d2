// One campaign on a Postgres topology: workers, senders that retry, the faults of the topology, and the verdict.
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'pg';
import { bundle } from '../../setup/bundle.js';
import { startPostgres } from '../../setup/services.js';
import { checkHistory, count, groupRows, type History } from '../check-history.js';
import { LEASE_MS, LEDGER, type LedgerRow, type Mode } from '../merchant.js';
import type { InjectedFault } from '../nemesis.js';
import { Sender, type Sent } from '../sender.js';
import { shuffled } from '../shuffled.js';
import type { TopologyFigures } from '../topologies.js';
import { Workers } from '../workers.js';
import { measureOutage } from './outage.js';
import { countOverlaps, RUNS } from './runs.js';
import { countUndone } from './undone.js';
import { CONFIRMED, type Confirmed, wasForgotten } from './witness.js';

export interface PostgresTopology {
  /** Where the workers reach the store. */
  readonly storePort: number;
  /** Where the ledger of transactional handlers is read at the end. */
  readonly storeUrl: string;
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

export interface PostgresCampaign {
  readonly mode: Mode;
  readonly calmMs: number;
  /** So many events are delivered three times each, in random order, and the faults come in theirs. */
  readonly crowd?: number;
  /** See {@link History.mayLose}. */
  readonly mayLose?: boolean;
  start(): Promise<PostgresTopology>;
}

const WORKERS = 4;
const CONCURRENCY = 16;
/** No fault is injected after these, so that a campaign ends within eight minutes. */
const MOST_MS = 5 * 60_000;

export async function runPostgresCampaign(
  campaign: PostgresCampaign,
  progress: (line: string) => void,
): Promise<TopologyFigures> {
  const began = performance.now();
  const script = bundle(new URL('./postgres-worker.ts', import.meta.url));
  // Without faults: the ledger of handlers that are not in a transaction, and what the workers note.
  const effects = await startPostgres(['fsync=off']);
  const pool = new Pool({ connectionString: effects.url, max: 4 }).on('error', () => {});
  try {
    for (const table of [LEDGER, CONFIRMED, RUNS]) await pool.query(table);
    const topology = await campaign.start();
    try {
      const figures = await underLoad({ campaign, topology, pool, script, effects: effects.url }, progress);
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
  readonly campaign: PostgresCampaign;
  readonly topology: PostgresTopology;
  readonly pool: Pool;
  readonly script: string;
  readonly effects: string;
}

async function underLoad(
  { campaign, topology, pool, script, effects }: Running,
  progress: (line: string) => void,
): Promise<Omit<TopologyFigures, 'seconds'>> {
  const { mode, crowd, mayLose = false } = campaign;
  const env = {
    MODE: mode,
    STORE_PORT: String(topology.storePort),
    LEDGER_URL: effects,
    MIGRATE: crowd ? 'yes' : '',
  };
  const workers = await Workers.start(topology.program ?? script, WORKERS, env);
  const sender = new Sender(workers.port, crowd ? 3 : 2);
  const ledger = () => readLedger(mode === 'transactional' ? topology.storeUrl : effects);
  try {
    let over = false;
    const load = crowd
      ? sender.deliverShuffled(4 * CONCURRENCY, crowd)
      : sender.deliver(CONCURRENCY, () => over);
    const faults = await inject(campaign, topology, workers, (done) =>
      progress(`${done} faults, ${sender.history.length} deliveries`),
    );
    over = true;
    sender.calm = true;
    const calmSince = Date.now() + LEASE_MS;
    await load;
    const rows = await ledger();
    const { history: sent } = sender;
    const more = (await topology.check?.(sent, pool)) ?? [];
    const replayed = await sender.replay(CONCURRENCY);
    const rowsAfterReplay = await ledger();
    const unexplainedExits = [
      ...workers.unexplained,
      ...more,
      // What ends a connection ends its claim, while the handler may go on for a moment.
      ...(faults.every(({ worker }) => worker !== undefined)
        ? count(await countOverlaps(pool, faults), 'events had two runs at the same time')
        : []),
    ];
    const history: History = {
      mode,
      sent,
      replayed,
      rows,
      rowsAfterReplay,
      faults,
      calmSince,
      unexplainedExits,
      mayLose,
    };
    const { attempts: _, ...verdict } = checkHistory(history);
    const forgotten =
      mode === 'transactional' ? countUndone(sent, rows) : await countForgotten(pool, rowsAfterReplay);
    return { ...verdict, faults: faults.length, forgotten, ...measureOutage(sent, faults) };
  } finally {
    await workers.close();
  }
}

async function inject(
  { calmMs, crowd }: PostgresCampaign,
  topology: PostgresTopology,
  workers: Workers,
  progress: (done: number) => void,
): Promise<InjectedFault[]> {
  const end = performance.now() + MOST_MS;
  const faults: InjectedFault[] = [];
  const all = topology.faults.flatMap((one) => Array<(typeof topology.faults)[number]>(one.times).fill(one));
  for (const fault of crowd ? all : shuffled(all)) {
    await pause(calmMs * (0.5 + Math.random()));
    if (performance.now() > end) break;
    const from = Date.now();
    const worker: number | undefined = await fault.inject(workers);
    faults.push({ kind: 'topology', worker, from, until: Date.now() });
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

export async function readLedger(connectionString: string): Promise<LedgerRow[]> {
  const pool = new Pool({ connectionString, max: 1 }).on('error', () => {});
  try {
    const { rows } = await pool.query<LedgerRow>(
      'SELECT event_id, worker, attempt, (extract(epoch FROM at) * 1000)::float8 AS at FROM ledger',
    );
    return rows;
  } finally {
    await pool.end();
  }
}

/** Of the events with more than one row. */
export async function countForgotten(pool: Pool, ledger: readonly LedgerRow[]): Promise<number> {
  const { rows } = await pool.query<Confirmed>('SELECT * FROM confirmed');
  const confirmed = groupRows(rows);
  const ranTwice = [...groupRows(ledger)].filter(([, runs]) => runs.length > 1);
  return ranTwice.filter(([id]) => wasForgotten(confirmed.get(id) ?? [])).length;
}
