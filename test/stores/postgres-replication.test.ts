import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Pool } from 'pg';
import type { ClaimResult } from '../../src/claims/idempotency-store.js';
import { StoreError } from '../../src/errors.js';
import { postgresStore } from '../../src/stores/postgres.js';
import { sqlStore } from '../../src/stores/sql.js';
import { needing } from '../setup/platform.js';
import { overPg } from '../setup/sql-clients.js';
import { until } from '../setup/waiting.js';
import { connectionString, granted } from './worlds.js';

const schema = `replication_${randomBytes(6).toString('hex')}`;
const table = `${schema}.webhook_event`;
const request = { leaseMs: 60_000, fingerprint: 'a'.repeat(12) };

// The sessions of other tests commit asynchronously, so they do not wait for a replica either.
needing('postgres').describe('with a synchronous replica that is down', () => {
  const observer = new Pool({ connectionString });
  const name = `${schema}_store`;
  const open = (application_name: string) =>
    new Pool({ connectionString, options: '-c synchronous_commit=on', application_name });
  const [pool, probe] = [open(name), open(`${name}_probe`)] as const;
  const store = postgresStore({ pool, table });

  async function setReplicas(names: string): Promise<void> {
    await observer.query(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
    await observer.query('SELECT pg_reload_conf()');
    const shown = async () => (await observer.query('SHOW synchronous_standby_names')).rows[0];
    await until(async () => (await shown()).synchronous_standby_names === names);
    if (names !== '') await commitsWait();
  }

  /** The setting is in force once another process of the server has read it too, which no query shows. */
  async function commitsWait(): Promise<void> {
    for (let hasWaited = false; !hasWaited; ) {
      let isOver = false;
      const commit = probe.query(`INSERT INTO ${schema}.probe DEFAULT VALUES`).finally(() => {
        isOver = true;
      });
      await until(async () => isOver || (await waiting(`${name}_probe`)).length === 1);
      hasWaited = !isOver;
      if (hasWaited) await cancelWaiting(`${name}_probe`);
      await commit;
    }
  }

  async function waiting(application = name): Promise<number[]> {
    const { rows } = await observer.query<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity WHERE application_name = $1 AND wait_event = 'SyncRep'`,
      [application],
    );
    return rows.map(({ pid }) => pid);
  }

  /** Postgres answers such a commit with COMMIT and a warning. */
  async function cancelWaiting(application = name): Promise<void> {
    await until(async () => (await waiting(application)).length === 1);
    for (const pid of await waiting(application)) await observer.query('SELECT pg_cancel_backend($1)', [pid]);
  }

  beforeAll(async () => {
    await observer.query(`CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.probe (id integer)`);
    await postgresStore({ pool: observer, table }).migrate();
    await setReplicas('away');
  });
  afterAll(async () => {
    await observer.query('ALTER SYSTEM RESET synchronous_standby_names');
    await observer.query('SELECT pg_reload_conf()');
    await pool.end();
    await probe.end();
    await observer.query(`DROP SCHEMA ${schema} CASCADE`);
    await observer.end();
  });

  test('a commit whose wait was cancelled is not confirmed', async () => {
    const claim = granted(await store.claim('live:cancelled', request));
    const completed = claim.complete();
    await Promise.all([expect(completed).rejects.toThrow(StoreError), cancelWaiting()]);
    expect(pool.totalCount).toBe(0);
  });

  // Any client tells of a commit only that it ended, so here nobody knows of a wait that was cancelled.
  test.each([
    ['postgresStore', store],
    ['sqlStore', sqlStore({ ...overPg(pool), table })],
  ])('a duplicate is not answered before the replica has the row, by %s', async (by, each) => {
    await setReplicas('');
    const claim = granted(await each.claim(`live:${by}`, request));
    expect(await claim.complete()).toBe(true);
    await setReplicas('away');
    let answer: ClaimResult<object> | undefined;
    const answering = Promise.resolve(each.claim(`live:${by}`, request)).then((given) => {
      answer = given;
    });
    await until(async () => answer !== undefined || (await waiting()).length === 1);
    expect(answer).toBeUndefined();
    await setReplicas('');
    await answering;
    expect(answer).toEqual({ status: 'completed', fingerprint: request.fingerprint });
    await setReplicas('away');
  });

  test('a duplicate of that event is refused until the replica has the row', async () => {
    const refused = expect(store.claim('live:cancelled', request)).rejects.toThrow(StoreError);
    await Promise.all([refused, cancelWaiting()]);
    const answer = store.claim('live:cancelled', request);
    await until(async () => (await waiting()).length === 1);
    await setReplicas('');
    expect(await answer).toEqual({ status: 'completed', fingerprint: request.fingerprint });
  });
});
