import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { deliver, fixtures } from 'payment-webhooks/testing';
import { Pool } from 'pg';
import { runsHere } from '../consumers/node-version.js';
import { liveJob } from '../setup/boss-trial.js';
import { needing } from '../setup/platform.js';
import { followReadme, type Session } from '../setup/readme.js';
import { ROOT, type Running, startUntil } from '../setup/shell.js';
import { until } from '../setup/waiting.js';

const url = process.env.TEST_POSTGRES_URL ?? '';
// The Node that pg-boss 12 needs. The door itself is tested with version 10 on older ones.
const withPostgres = runsHere('22.12') ? needing('postgres').describe : describe.skip;
const database = `example_${randomBytes(6).toString('hex')}`;
const privateKey = 'pri_example';

withPostgres('the example queue-pg-boss', () => {
  const admin = new Pool({ connectionString: url, max: 1 });
  let pool: Pool;
  let example: typeof import('../../examples/queue-pg-boss/app.js');
  let boss: typeof import('../../examples/queue-pg-boss/queue.js').boss;

  beforeAll(async () => {
    await admin.query(`CREATE DATABASE ${database}`);
    process.env.DATABASE_URL = Object.assign(new URL(url), { pathname: database }).href;
    process.env.SERVICE_PRIVATE_KEY = privateKey;
    example = await import('../../examples/queue-pg-boss/app.js');
    ({ boss } = await import('../../examples/queue-pg-boss/queue.js'));
    ({ pool } = example);
    // A second is too short for a connection on a busy machine.
    pool.options.connectionTimeoutMillis = 20_000;
    await example.prepare();
  }, 90_000);

  afterAll(async () => {
    await boss?.stop({ graceful: false });
    await pool?.end();
    await admin.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
    await admin.end();
  });

  const jobsOf = async (id: string) => boss.findJobs('webhooks', { id: liveJob(id) });

  test('answers 200 once the event is in the queue, and adds one job for copies', async () => {
    const event = fixtures.transactionPaid();
    const first = await deliver(example.app, event, { privateKey });
    expect(first).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    const second = await deliver(example.app, event, { privateKey });
    expect(second).toMatchObject({ status: 200, body: { outcome: 'duplicate' } });
    expect(await jobsOf(event.id)).toMatchObject([{ state: 'created' }]);
  });

  needing('curl').describe('by its README', () => {
    let session: Session;
    let worker: Running | undefined;
    beforeAll(async () => {
      session = await followReadme('queue-pg-boss');
    }, 120_000);
    afterAll(async () => {
      await worker?.stop();
      await session?.end();
    });

    test('takes an event while no worker runs, and works on it when one does', async () => {
      const [send, work] = session.commands;
      expect(await session.type(send?.script ?? '')).toBe(send?.shown);
      worker = await startUntil(
        'Working on the events',
        work?.script ?? '',
        {},
        join(ROOT, 'examples/queue-pg-boss'),
      );
      const lines = async () =>
        (await pool.query('SELECT line FROM queue_ledger')).rows.map(({ line }) => line);
      await until(async () => (await lines()).includes('order-1042 paid by txn-1'));
    }, 120_000);
  });
});
