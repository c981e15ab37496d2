import { beforeAll, expect, test } from '@jest/globals';
import { type EnqueueOptions, enqueue } from 'payment-webhooks/queues/pg-boss';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { fixtures } from 'payment-webhooks/testing';
import type { Pool, PoolClient } from 'pg';
import { type BossTrial, liveJob, ownBossSchema, withMethods, withPostgres } from '../../setup/boss-trial.js';
import { delivery } from '../../setup/delivery.js';
import { startEndpoint } from '../../setup/endpoint.js';
import { REVIVED } from '../../setup/pg-boss.js';
import { contextOf } from '../../setup/queue-trial.js';
import { gate } from '../../setup/waiting.js';

const paid = fixtures.transactionPaid;

withPostgres('enqueue() in a transactional store', () => {
  const schema = ownBossSchema();
  const table = () => `${schema.name}.webhook_event`;
  const storeOf = (pool: Pool) => postgresStore({ pool, table: table(), transactional: true });

  beforeAll(async () => {
    await schema.pool.query(`CREATE TABLE ${schema.name}.ledger (event text NOT NULL)`);
    await storeOf(schema.pool).migrate();
  });

  async function receiving({ boss, queue }: BossTrial, options: EnqueueOptions = {}) {
    const endpoint = await startEndpoint({ handlers: {}, store: storeOf(schema.pool) as never });
    endpoint.hooks.on('*', enqueue(boss, { queue, ...options }));
    return endpoint;
  }

  const known = async (id: string) =>
    (await schema.pool.query(`SELECT 1 FROM ${table()} WHERE key LIKE '%' || $1`, [id])).rows.length;

  test('commits the job together with the claim, and not before', async () => {
    const trial = await schema.start();
    const { hooks, post } = await receiving(trial);
    const [added, finish] = [gate(), gate()];
    const pass = enqueue(trial.boss, { queue: trial.queue });
    hooks.on('transaction.paid', async (event, context) => {
      await pass(event, context);
      added.open();
      await finish.opened;
    });
    const event = paid();
    const answer = post(delivery(event));
    await added.opened;
    expect(await trial.jobs()).toEqual([]);
    finish.open();
    expect(await answer).toMatchObject({ status: 200 });
    expect(await trial.jobs()).toMatchObject([{ id: liveJob(event.id), state: 'created' }]);
    expect(await known(event.id)).toBe(1);
  });

  test('leaves neither claim nor job when another handler fails, and exactly one job after the retry', async () => {
    const trial = await schema.start();
    const { hooks, post } = await receiving(trial);
    let broken = true;
    hooks.on('transaction.paid', async (event, { transaction }: { transaction?: PoolClient } & object) => {
      await transaction?.query(`INSERT INTO ${schema.name}.ledger VALUES ($1)`, [event.id]);
      if (broken) throw new Error('no');
    });
    const event = paid();
    expect(await post(delivery(event))).toMatchObject({ status: 500 });
    expect([await trial.jobs(), await known(event.id)]).toEqual([[], 0]);
    broken = false;
    expect(await post(delivery(event))).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    expect(await post(delivery(event))).toMatchObject({ status: 200, body: { outcome: 'duplicate' } });
    expect(await trial.jobs()).toHaveLength(1);
    const written = await schema.pool.query(`SELECT 1 FROM ${schema.name}.ledger WHERE event = $1`, [
      event.id,
    ]);
    expect(written.rows).toHaveLength(1);
  });

  test('leaves neither when the connection dies before the commit', async () => {
    const trial = await schema.start();
    const { hooks, post } = await receiving(trial);
    let dying = true;
    hooks.on('transaction.paid', async (_event, { transaction }: { transaction?: PoolClient } & object) => {
      if (!dying) return;
      dying = false;
      const { rows } = (await transaction?.query('SELECT pg_backend_pid() AS pid')) ?? { rows: [] };
      await schema.pool.query('SELECT pg_terminate_backend($1)', [rows[0].pid]);
    });
    const event = paid();
    expect((await post(delivery(event))).status).toBeGreaterThanOrEqual(500);
    expect([await trial.jobs(), await known(event.id)]).toEqual([[], 0]);
    expect(await post(delivery(event))).toMatchObject({ status: 200 });
    expect(await trial.jobs()).toHaveLength(1);
  });

  test('adds one job for copies that arrive at the same time, all of them answered 200 in the end', async () => {
    const trial = await schema.start();
    const { post } = await receiving(trial);
    const event = delivery(paid());
    const untilAccepted = async () => {
      let status = 0;
      while (status !== 200) {
        ({ status } = await post(event));
        if (status !== 200) expect(status).toBe(503);
      }
    };
    await Promise.all(Array.from({ length: 20 }, untilAccepted));
    expect(await trial.jobs()).toHaveLength(1);
  });

  test('retries a job that had failed for good only if the delivery is committed', async () => {
    const trial = await schema.start();
    const { boss, queue } = trial;
    const event = paid();
    await enqueue(boss, { queue, jobOptions: { retryLimit: 0 } })(event, contextOf(event));
    await trial.work(async () => Promise.reject(new Error('no')));
    await trial.job('failed');
    await boss.offWork(queue);
    const { hooks, post } = await receiving(trial);
    let broken = true;
    const pass = enqueue(boss, { queue });
    hooks.on('transaction.paid', async (given, context) => {
      await pass(given, context);
      if (broken) throw new Error('no');
    });
    expect(await post(delivery(event))).toMatchObject({ status: 500 });
    expect(await trial.jobs()).toMatchObject([{ state: 'failed' }]);
    broken = false;
    expect(await post(delivery(event))).toMatchObject({ status: 200 });
    expect(await trial.jobs()).toMatchObject([{ state: REVIVED }]);
  });

  test('rolls back while the queue does not exist', async () => {
    const trial = await schema.start({ create: false });
    const { post } = await receiving(trial);
    const event = paid();
    expect(await post(delivery(event))).toMatchObject({ status: 500 });
    expect(await known(event.id)).toBe(0);
  });

  test('rolls back when the database of the store has no pg-boss', async () => {
    const trial = await schema.start();
    const { boss, queue } = trial;
    const elsewhere = withMethods(boss, {
      send: (
        name: string,
        data: object,
        options: { db: { executeSql(text: string, values: unknown[]): unknown } },
      ) => {
        const { db } = options;
        const moved = (text: string, values: unknown[]) =>
          db.executeSql(text.replaceAll(schema.name, 'nowhere'), values);
        return boss.send(name, data, { ...options, db: { executeSql: moved } } as never);
      },
    });
    const { post } = await receiving({ ...trial, boss: elsewhere, queue });
    const event = paid();
    expect(await post(delivery(event))).toMatchObject({ status: 500 });
    expect(await known(event.id)).toBe(0);
  });

  test.each([
    ['rows', (rows: unknown[]) => rows],
    ['{ rows }', (rows: unknown[]) => ({ rows })],
  ])('runs its statements by executeSql, which resolves with %s', async (_what, shaped) => {
    const trial = await schema.start();
    const texts: string[] = [];
    const { post } = await receiving(trial, {
      executeSql: async (client: PoolClient, text, values) => {
        texts.push(text);
        return shaped((await client.query(text, values)).rows);
      },
    });
    expect(await post(delivery(paid()))).toMatchObject({ status: 200 });
    expect(texts).toMatchObject([expect.stringContaining('INSERT INTO')]);
    expect(await trial.jobs()).toHaveLength(1);
  });

  test('adds the job by itself with executeSql: false', async () => {
    const trial = await schema.start();
    const { hooks, post } = await receiving(trial, { executeSql: false });
    const seen = gate<number>();
    hooks.on('transaction.paid', async () => {
      let found = 0;
      while (found === 0) found = (await trial.jobs()).length;
      seen.open(found);
    });
    expect(await post(delivery(paid()))).toMatchObject({ status: 200 });
    expect(await seen.opened).toBe(1);
  });

  test.each([
    ['a transaction that is not a client of pg', {}, 'Give enqueue() the option executeSql'],
    [
      'executeSql that resolves with something else',
      { executeSql: async () => 7 },
      'executeSql resolved with 7',
    ],
  ])('refuses %s', async (_what, options, message) => {
    const { boss, queue, jobs } = await schema.start();
    const event = paid();
    const context = { ...contextOf(event), transaction: { $queryRawUnsafe: () => {} } };
    await expect(enqueue(boss, { queue, ...options })(event, context)).rejects.toThrow(message);
    expect(await jobs()).toEqual([]);
  });
});
