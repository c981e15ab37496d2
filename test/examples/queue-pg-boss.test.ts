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
import { onPostgres, withPostgres } from './on-postgres.js';

// The Node that pg-boss 12 needs. The door itself is tested with version 10 on older ones.
const suite = runsHere('22.12') ? withPostgres : describe.skip;
const privateKey = 'pri_example';

suite('the example queue-pg-boss', () => {
  const example = onPostgres(privateKey, {
    load: async () => ({
      ...(await import('../../examples/queue-pg-boss/app.js')),
      ...(await import('../../examples/queue-pg-boss/queue.js')),
      pool: new Pool({ connectionString: process.env.DATABASE_URL }),
    }),
    prepare: ({ startBoss }) => startBoss(),
    end: ({ boss }) => boss.stop({ graceful: false }),
  });

  const jobsOf = (id: string) => example().boss.findJobs('webhooks', { id: liveJob(id) });

  test('answers 200 once the event is in the queue, adds one job for copies, and revives it once it has failed', async () => {
    const event = fixtures.transactionPaid();
    const add = async () => {
      const answer = await deliver(example().app, event, { privateKey });
      expect(answer).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    };
    await add();
    await add();
    expect(await jobsOf(event.id)).toMatchObject([{ state: 'created' }]);
    await example().pool.query("UPDATE pgboss.job SET state = 'failed' WHERE id = $1", [liveJob(event.id)]);
    await add();
    expect(await jobsOf(event.id)).toMatchObject([{ state: 'retry' }]);
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
      const cwd = join(ROOT, 'examples/queue-pg-boss');
      worker = await startUntil('Working on the events', work?.script ?? '', {}, cwd);
      const lines = async () =>
        (await example().pool.query('SELECT line FROM queue_ledger')).rows.map(({ line }) => line);
      await until(async () => (await lines()).includes('order-1042 paid by txn-1'));
    }, 120_000);
  });
});
