// Postgres with a streaming replica, synchronous or not: it takes over by plan, or because the primary is lost for good.
import { setTimeout as pause } from 'node:timers/promises';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { Pool } from 'pg';
import { quietPool } from '../../../setup/quiet-pool.js';
import type { Defer } from '../environment.js';
import { count } from '../history.js';
import { LEDGER } from '../merchant.js';
import type { Sent } from '../sender.js';
import type { Topology, TopologyCampaign } from './campaign.js';
import { startPostgresPair } from './postgres-pair.js';

const FAULTS = 8;
/** Between two faults; longer than it takes to be calm again. */
const CALM_MS = 2_500;
const MOST_BEHIND_MS = 500;
/** How long no server takes writes, and how much of that is not looked at: requests that began before or ended after. */
const READ_ONLY_MS = 2_500;
const EDGE_MS = 900;

type FaultName = 'planned' | 'kill -9 of the primary' | 'primary left read-only';

/** While no server takes writes: the store says so, and nothing is answered 2xx. */
function watchReadOnlyTimes(url: string, defer: Defer) {
  const times: { readonly from: number; readonly until: number }[] = [];
  const wrong: string[] = [];
  const pool = new Pool({ connectionString: url, max: 1, idleTimeoutMillis: 0 }).on('error', () => {});
  defer(() => pool.end());
  const ask = () =>
    postgresStore({ pool })
      .ping()
      .then(
        () => 'writable',
        ({ message }: Error) => (message.includes('is read-only') ? 'read-only' : message),
      );
  const expect = async (wanted: 'writable' | 'read-only') => {
    const answer = await ask();
    if (answer !== wanted) wrong.push(`a ping said ${answer}, and the server is ${wanted}`);
  };
  return {
    expect,
    async begin(): Promise<void> {
      const from = Date.now();
      // Each session of Postgres reads the new setting by itself, on a busy machine a little later.
      while ((await ask()) === 'writable' && Date.now() - from < EDGE_MS) await pause(20);
      await expect('read-only');
      await pause(READ_ONLY_MS);
      await expect('read-only');
      times.push({ from, until: Date.now() });
    },
    violations(sent: readonly Sent[]): string[] {
      const during = sent
        .flatMap(({ attempts }) => attempts)
        .filter(({ status }) => status !== undefined && status < 300)
        .filter(({ at }) => times.some(({ from, until }) => from + EDGE_MS < at && at < until - EDGE_MS));
      return [...wrong, ...count(during.length, 'answers were 2xx while no server took writes')];
    },
  };
}

async function start(fault: FaultName, synchronous: boolean, defer: Defer): Promise<Topology> {
  const pair = await startPostgresPair(synchronous, defer);
  const times = watchReadOnlyTimes(pair.url, defer);
  const setUp = quietPool(pair.url);
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
    store: pair.port,
    storeUrl: pair.url,
    faults: [{ times: FAULTS, inject: inject[fault] }],
    check: (sent) => times.violations(sent),
  };
}

const CAMPAIGNS: readonly (readonly [FaultName, boolean])[] = [
  ['planned', false],
  ['planned', true],
  ['kill -9 of the primary', false],
  ['kill -9 of the primary', true],
  ['primary left read-only', false],
];

export const SWITCH_OVER: readonly TopologyCampaign[] = (['postgres', 'once'] as const).flatMap((mode) =>
  CAMPAIGNS.map(([fault, synchronous]) => ({
    name: `postgres, ${synchronous ? 'synchronous' : 'asynchronous'} replica${mode === 'postgres' ? '' : `, ${mode}`}: ${fault}`,
    mode,
    calmMs: CALM_MS,
    mayLose: !synchronous && fault === 'kill -9 of the primary',
    start: (defer) => start(fault, synchronous, defer),
  })),
);
