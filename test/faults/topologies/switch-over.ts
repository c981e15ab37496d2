// Postgres with a streaming replica, synchronous or not: it takes over by plan, or because the primary is lost for good.
import { setTimeout as pause } from 'node:timers/promises';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { Pool } from 'pg';
import { count } from '../history.js';
import { LEDGER, type Mode } from '../merchant.js';
import type { Sent } from '../sender.js';
import type { TopologyCampaign } from '../topologies.js';
import { runTopologyCampaign, type Topology } from './campaign.js';
import { PostgresPair } from './postgres-pair.js';

const FAULTS = 8;
/** Between two faults; longer than it takes to be calm again. */
const CALM_MS = 2_500;
const MOST_BEHIND_MS = 500;
/** How long no server takes writes, and how much of that is not looked at: requests that began before or ended after. */
const READ_ONLY_MS = 2_500;
const EDGE_MS = 900;

type FaultName = 'planned' | 'kill -9 of the primary' | 'primary left read-only';

/** While no server takes writes: the store says so, and nothing is answered 2xx. */
class ReadOnlyTimes {
  readonly #times: { readonly from: number; readonly until: number }[] = [];
  readonly #wrong: string[] = [];
  readonly #pool: Pool;

  constructor(url: string) {
    this.#pool = new Pool({ connectionString: url, max: 1, idleTimeoutMillis: 0 }).on('error', () => {});
  }

  ping(): Promise<string> {
    const pinged = postgresStore({ pool: this.#pool }).ping();
    return pinged.then(
      () => 'writable',
      (error: Error) => (error.message.includes('is read-only') ? 'read-only' : error.message),
    );
  }

  async expect(wanted: string): Promise<void> {
    const answer = await this.ping();
    if (answer !== wanted) this.#wrong.push(`a ping said ${answer}, and the server is ${wanted}`);
  }

  async begin(): Promise<void> {
    const from = Date.now();
    await this.expect('read-only');
    await pause(READ_ONLY_MS);
    await this.expect('read-only');
    this.#times.push({ from, until: Date.now() });
  }

  violations(sent: readonly Sent[]): string[] {
    const accepted = sent
      .flatMap(({ attempts }) => attempts)
      .filter(({ status }) => status !== undefined && status < 300);
    const during = accepted.filter(({ at }) =>
      this.#times.some(({ from, until }) => from + EDGE_MS < at && at < until - EDGE_MS),
    );
    return [...this.#wrong, ...count(during.length, 'answers were 2xx while no server took writes')];
  }

  stop(): Promise<void> {
    return this.#pool.end();
  }
}

async function start(fault: FaultName, synchronous: boolean): Promise<Topology> {
  const pair = await PostgresPair.start(synchronous);
  const times = new ReadOnlyTimes(pair.url);
  const setUp = new Pool({ connectionString: pair.url, max: 1 }).on('error', () => {});
  await setUp.query(LEDGER);
  await postgresStore({ pool: setUp }).migrate();
  await setUp.end();
  const inject: Record<FaultName, () => Promise<void>> = {
    planned: () => pair.switchOver(),
    'kill -9 of the primary': () => pair.killPrimary(Math.random() * MOST_BEHIND_MS),
    'primary left read-only': async () => {
      await times.expect('writable');
      await pair.demotePrimary(() => times.begin());
      // The old primary was there until now, and the pool had a connection to it.
      await times.expect('writable');
    },
  };
  return {
    store: pair.front.port,
    storeUrl: pair.url,
    faults: [{ times: FAULTS, inject: async () => void (await inject[fault]()) }],
    check: (sent) => times.violations(sent),
    stop: async () => {
      await times.stop();
      await pair.stop();
    },
  };
}

const MODES = {
  postgres: { words: '', promise: 'at least once, deduplicated' },
  transactional: { words: ', transactional', promise: 'exactly once in the transaction' },
  pipelined: { words: ', pipelined', promise: 'exactly once in the transaction' },
} as const;

const CAMPAIGNS: readonly (readonly [FaultName, boolean])[] = [
  ['planned', false],
  ['planned', true],
  ['kill -9 of the primary', false],
  ['kill -9 of the primary', true],
  ['primary left read-only', false],
];

export const SWITCH_OVER: readonly TopologyCampaign[] = (
  ['postgres', 'transactional', 'pipelined'] as const
).flatMap((mode: Mode & keyof typeof MODES) =>
  CAMPAIGNS.map(([fault, synchronous]) => ({
    name: `postgres, ${synchronous ? 'synchronous' : 'asynchronous'} replica${MODES[mode].words}: ${fault}`,
    promise: MODES[mode].promise,
    run: (progress) =>
      runTopologyCampaign(
        {
          mode,
          calmMs: CALM_MS,
          mayLose: !synchronous && fault === 'kill -9 of the primary',
          start: () => start(fault, synchronous),
        },
        progress,
      ),
  })),
);
