import { expect, test } from '@jest/globals';
import { enqueue, processor } from 'payment-webhooks/queues/pg-boss';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { fixtures } from 'payment-webhooks/testing';
import { Pool } from 'pg';
import { startProxy } from '../lab/faults/faulty-proxy.js';
import { connectionString, liveJob, ownBossSchema, withPostgres } from '../setup/boss-trial.js';
import { delivery } from '../setup/delivery.js';
import { startEndpoint } from '../setup/endpoint.js';
import { newBoss } from '../setup/pg-boss.js';
import { contextOf } from '../setup/queue-trial.js';
import { tsx } from '../setup/shell.js';
import { until } from '../setup/waiting.js';

const paid = fixtures.transactionPaid;
/** Without the work that other processes may do. */
const ASIDE = { supervise: false, schedule: false } as const;

withPostgres('a worker of pg-boss', () => {
  const schema = ownBossSchema();

  test('that is killed in the middle of a job loses nothing: another one runs it', async () => {
    const store = postgresStore({ pool: schema.pool, table: `${schema.name}.webhook_event` });
    await store.migrate();
    const trial = await schema.start();
    const event = paid();
    const jobOptions = { expireInSeconds: 1, retryDelay: 0 };
    await enqueue(trial.boss, { queue: trial.queue, jobOptions })(event, contextOf(event));
    const dying = 'test/queues/pg-boss/dying-worker.ts';
    const { code } = await tsx([dying, connectionString, schema.name, trial.queue]);
    expect(code).not.toBe(0);
    expect(await trial.jobs()).toMatchObject([{ state: 'active', retry_count: 0 }]);
    const attempts: number[] = [];
    const handlers = { '*': (_: unknown, { attempt }: { attempt: number }) => void attempts.push(attempt) };
    await trial.work(processor(handlers, { store, logger: false }));
    await until(async () => {
      await trial.supervise();
      return (await trial.jobs())[0]?.state === 'completed';
    }, 60_000);
    expect(await trial.jobs()).toMatchObject([{ id: liveJob(event.id), output: { value: 'processed' } }]);
    // The number of the attempt that died is not used again.
    expect(attempts).toEqual([2]);
  }, 120_000);
});

withPostgres('while Postgres is down', () => {
  const schema = ownBossSchema();

  test.each([
    ['without a store', false],
    ['with a store in the same Postgres', true],
  ])(
    'no delivery is answered 2xx, and the retry finds one job: %s',
    async (_where, isStored) => {
      const trial = await schema.start();
      const { port } = new URL(connectionString);
      const proxy = await startProxy(Number(port));
      const behindProxy = connectionString.replace(`:${port}/`, `:${proxy.port}/`);
      const boss = await newBoss({ ...ASIDE, connectionString: behindProxy, schema: schema.name });
      boss.on('error', () => {});
      const pool = new Pool({ connectionString: behindProxy });
      pool.on('error', () => {});
      try {
        await boss.start();
        const store = postgresStore({ pool, table: `${schema.name}.webhook_event` });
        await store.migrate();
        const given = isStored ? (store as never) : false;
        const { hooks, post } = await startEndpoint({ handlers: {}, store: given });
        hooks.on('*', enqueue(boss, { queue: trial.queue }));
        expect(await post(delivery(paid()))).toMatchObject({ status: 200 });
        const event = delivery(paid());
        proxy.set('cut');
        for (let tries = 0; tries < 3; tries += 1) {
          expect([500, 503]).toContain((await post(event)).status);
        }
        proxy.set('open');
        await until(async () => (await post(event)).status === 200);
        expect(await trial.jobs()).toHaveLength(2);
      } finally {
        await boss.stop({ graceful: false });
        await pool.end();
        await proxy.close();
      }
    },
    90_000,
  );
});
