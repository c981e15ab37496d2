// The campaign of deliveries: workers whose store is behind a faulty proxy.
import { setTimeout as pause } from 'node:timers/promises';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import type { Pool } from 'pg';
import type { Bug } from '../interleavings/bugs.js';
import { type Deliveries, deliverUnderFaults } from './deliveries.js';
import { bundleProgram, type Campaign, runAndJudge, startLedger, startOwnRedis } from './environment.js';
import { startProxy } from './faulty-proxy.js';
import { LEDGER, type Mode, RUNS, readLedger } from './merchant.js';
import { networkFaults, type Plan, planFaults, WORKER_FAULTS } from './nemesis.js';

export type FaultKind =
  | keyof typeof WORKER_FAULTS
  | keyof ReturnType<typeof networkFaults>
  | 'restart postgres'
  | 'restart redis'
  | keyof ReturnType<typeof statementFaults>;

type Load = Pick<
  Deliveries,
  'events' | 'copies' | 'fewestCopies' | 'concurrency' | 'workers' | 'crowd' | 'drive'
>;

export interface CampaignOptions extends Load {
  readonly mode: Mode;
  readonly plan: Plan<FaultKind>;
  readonly bug?: Bug | undefined;
  readonly progress: (line: string) => void;
}

export function runCampaign({ mode, plan, bug, progress, ...load }: CampaignOptions): Promise<Campaign> {
  return runAndJudge(async (defer) => {
    const program = bundleProgram('./worker.ts', defer, bug);
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
        ...statementFaults(pool),
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

/** What happens to statements that carry the calls of many deliveries. */
function statementFaults(pool: Pool) {
  const others =
    "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND query LIKE '%json_to_recordset%'";
  const forAWhile = () => pause(500 + Math.random() * 1_000);
  return {
    'statements cancelled': async () => {
      for (let time = 0; time < 50; time += 1) {
        await pool.query(
          `SELECT pg_cancel_backend(pid) FROM pg_stat_activity ${others} AND state = 'active'`,
        );
        await pause(10);
      }
    },
    'connections terminated': async () => {
      await pool.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity ${others}`);
    },
    'rows locked': async () => {
      const client = await pool.connect();
      await client.query('BEGIN');
      await client.query('SELECT FROM webhook_event ORDER BY claimed_at DESC LIMIT 20 FOR UPDATE');
      await forAWhile();
      await client.query('COMMIT');
      client.release();
    },
    'writes refused by a trigger': async () => {
      await pool.query(`CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF random() < 0.05 THEN RAISE EXCEPTION 'refused'; END IF; RETURN NEW; END $$;
        CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON webhook_event FOR EACH ROW EXECUTE FUNCTION refuse()`);
      await forAWhile();
      await pool.query('DROP TRIGGER refuse ON webhook_event');
    },
  };
}
