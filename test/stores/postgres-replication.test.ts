import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Pool } from 'pg';
import type { ClaimResult } from '../../src/contracts/idempotency-store.js';
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
  /** Its transactions alone wait for the replica. */
  const store = postgresStore({
    pool: { query: observer.query.bind(observer), on: pool.on.bind(pool), connect: () => pool.connect() },
    table,
  } as unknown as { readonly pool: Pool; readonly table: string });

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

  /** An attempt at one event: an earlier one may have crashed. */
  async function attempt() {
    const claim = granted(await store.claim('live:cancelled', request));
    await claim.release([]);
    const handler = claim.forHandler?.('pay');
    if (!handler) throw new Error('no once');
    return handler.context.once;
  }

  test('writes of once(work) are not confirmed if the wait for it was cancelled, nor is a retry that finds them', async () => {
    for (const works of [1, 0]) {
      let ran = 0;
      const once = await attempt();
      const writing = once(() => {
        ran += 1;
      });
      await Promise.all([expect(writing).rejects.toThrow('a failover may undo the commit'), cancelWaiting()]);
      expect(ran).toBe(works);
    }
    const again = (await attempt())(() => 'ran');
    await until(async () => (await waiting()).length === 1);
    await setReplicas('');
    expect(await again).toBeUndefined();
    await setReplicas('away');
  });

  // Any client tells of a commit only that it ended, so here nobody knows of a wait that was cancelled.
  test.each([
    ['postgresStore', postgresStore({ pool, table })],
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
});
