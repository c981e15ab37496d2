// What the applications, the workers and the campaign of pg-boss share.
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { newBoss } from '../../setup/pg-boss.js';
import { quietPool } from '../../setup/quiet-pool.js';

/** `once`: both sides have a store, and workers write inside `once`. `queue alone`: no store at all. */
export type BossMode = 'once' | 'queue alone';

export const QUEUE = 'webhooks';
/** A job may be in the hands of many workers that are killed; each time another gets it after 5 s. */
export const JOB_OPTIONS = { retryLimit: 100, retryDelay: 0, retryBackoff: false, expireInSeconds: 5 };
/** The two sides remember events apart, as two services with their own tables would. */
export const TABLES = { application: 'received_event', worker: 'processed_event' } as const;

/** What the environment of a process asks for. */
export async function startBossProcess(side: keyof typeof TABLES) {
  const { MODE, POSTGRES_URL: connectionString = '' } = process.env;
  const pool = quietPool(connectionString, 20);
  const boss = await newBoss({ connectionString, supervise: false, schedule: false, max: 5 });
  boss.on('error', () => {});
  await boss.start();
  const store = MODE === 'once' && postgresStore({ pool, table: TABLES[side] });
  return { pool, boss, store };
}
