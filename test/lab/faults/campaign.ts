// The campaign of deliveries: workers whose store is behind a faulty proxy.
import { postgresStore } from 'payment-webhooks/stores/postgres';
import type { Bug } from '../interleavings/bugs.js';
import { type StoreName, startDatabase } from './databases.js';
import { type Deliveries, deliverUnderFaults } from './deliveries.js';
import { bundleProgram, type Campaign, runAndJudge, startLedger, startOwnRedis } from './environment.js';
import { startProxy } from './faulty-proxy.js';
import { LEDGER, type Mode, RUNS, readLedger } from './merchant.js';
import { networkFaults, type Plan, planFaults, WORKER_FAULTS } from './nemesis.js';

export type FaultKind =
  | keyof typeof WORKER_FAULTS
  | keyof ReturnType<typeof networkFaults>
  | 'restart redis'
  // Of its database.
  | (string & {});

type Load = Pick<
  Deliveries,
  'events' | 'copies' | 'fewestCopies' | 'concurrency' | 'workers' | 'crowd' | 'drive'
>;

export interface CampaignOptions extends Load {
  readonly mode: Mode;
  /** @default 'postgresStore' */
  readonly store?: StoreName | undefined;
  readonly plan: Plan<FaultKind>;
  readonly bug?: Bug | undefined;
  readonly progress: (line: string) => void;
}

export function runCampaign(options: CampaignOptions): Promise<Campaign> {
  const { mode, store = 'postgresStore', plan, bug, progress, ...load } = options;
  return runAndJudge(async (defer) => {
    const program = bundleProgram('./worker.ts', defer, bug);
    const ledger = await startLedger(defer, [LEDGER, RUNS]);
    const { postgres, pool } = ledger;
    const redis = await startOwnRedis(defer);
    await postgresStore({ pool }).migrate();
    const database = await startDatabase(store, ledger, defer);
    const proxy = await startProxy((mode === 'redis' ? redis : database).port);
    defer(() => proxy.close());
    // A crowd and a soak are about load, which notes would add to.
    const hasFaults = Object.keys(plan).length > 0;
    const { history } = await deliverUnderFaults({
      ...load,
      program,
      campaign: { mode, once: mode === 'once' },
      env: {
        ...{ MODE: mode, STORE: store, STORE_PORT: String(proxy.port), LEDGER_URL: postgres.url },
        RUNS: hasFaults ? 'yes' : '',
      },
      faults: planFaults(plan, {
        ...WORKER_FAULTS,
        ...networkFaults(proxy),
        ...database.faults,
        'restart redis': () => redis.crash(),
      }),
      ...(hasFaults && { notes: pool }),
      ledger: () => (mode === 'once' ? database.readLedger() : readLedger(pool)),
      progress: (line) => progress(`${mode}, ${store}: ${line}`),
    });
    return { history };
  });
}
