// The campaign of deliveries: workers whose store is behind a faulty proxy.
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { type Deliveries, deliverUnderFaults } from './deliveries.js';
import { bundleProgram, type Campaign, runAndJudge, startLedger, startOwnRedis } from './environment.js';
import { startProxy } from './faulty-proxy.js';
import { LEDGER, type Mode, RUNS, readLedger } from './merchant.js';
import { networkFaults, type Plan, planFaults, WORKER_FAULTS } from './nemesis.js';

export type FaultKind =
  | keyof typeof WORKER_FAULTS
  | keyof ReturnType<typeof networkFaults>
  | 'restart postgres'
  | 'restart redis';

type Load = Pick<Deliveries, 'events' | 'copies' | 'concurrency' | 'workers' | 'crowd' | 'drive'>;

export interface CampaignOptions extends Load {
  readonly mode: Mode;
  readonly plan: Plan<FaultKind>;
  readonly progress: (line: string) => void;
}

export function runCampaign({ mode, plan, progress, ...load }: CampaignOptions): Promise<Campaign> {
  return runAndJudge(async (defer) => {
    const program = bundleProgram('./worker.ts', defer);
    const { postgres, pool } = await startLedger(defer, [LEDGER, RUNS]);
    const redis = await startOwnRedis(defer);
    await postgresStore({ pool }).migrate();
    const proxy = await startProxy((mode === 'redis' ? redis : postgres).port);
    defer(() => proxy.close());
    // A crowd and a soak are about load, which notes would add to.
    const hasFaults = Object.keys(plan).length > 0;
    const { history } = await deliverUnderFaults({
      ...load,
      program,
      campaign: { mode, once: mode === 'once' },
      env: {
        ...{ MODE: mode, STORE_PORT: String(proxy.port), LEDGER_URL: postgres.url },
        RUNS: hasFaults ? 'yes' : '',
      },
      faults: planFaults(plan, {
        ...WORKER_FAULTS,
        ...networkFaults(proxy),
        'restart postgres': () => postgres.crash(),
        'restart redis': () => redis.crash(),
      }),
      ...(hasFaults && { notes: pool }),
      ledger: () => readLedger(pool),
      progress: (line) => progress(`${mode}: ${line}`),
    });
    return { history };
  });
}
