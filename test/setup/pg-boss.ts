// pg-boss as it runs on this Node: the newest, or version 10 where Node is too old for it.
import type { PgBoss } from 'pg-boss';
import { runsHere } from '../consumers/node-version.js';

export const BOSS_VERSION = runsHere('22.12') ? 12 : 10;

/** The state of a job that had failed for good, after a new delivery of its event. Version 10 adds it again. */
export const REVIVED = BOSS_VERSION === 12 ? 'retry' : 'created';

export async function newBoss(options: ConstructorParameters<typeof PgBoss>[0] & object): Promise<PgBoss> {
  if (BOSS_VERSION === 12) return new (await import('pg-boss')).PgBoss(options);
  const { default: Boss } = await import('pg-boss-10');
  return new Boss(options as ConstructorParameters<typeof Boss>[0] & object) as unknown as PgBoss;
}
