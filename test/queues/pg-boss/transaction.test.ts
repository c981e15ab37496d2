import { beforeAll, expect, test } from '@jest/globals';
import { type EnqueueOptions, enqueue } from 'payment-webhooks/queues/pg-boss';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { fixtures } from 'payment-webhooks/testing';
import type { Pool, PoolClient } from 'pg';
import { liveJob, ownBossSchema, withPostgres } from '../../setup/boss-trial.js';
import { delivery } from '../../setup/delivery.js';
import { startEndpoint } from '../../setup/endpoint.js';
import { REVIVED } from '../../setup/pg-boss.js';
import { contextOf } from '../../setup/queue-trial.js';
import { gate, until } from '../../setup/waiting.js';

const paid = fixtures.transactionPaid;

withPostgres('enqueue() in a transactional store', () => {
  const schema = ownBossSchema();
  const table = () => `${schema.name}.webhook_event`;
  const storeOf = (pool: Pool) => postgresStore({ pool, table: table(), transactional: true });

  beforeAll(async () => {
    await schema.pool.query(`CREATE TABLE ${schema.name}.ledger (event text NOT NULL)`);
    await storeOf(schema.pool).migrate();
  });

  /** A receiver whose events go to a queue of its own. */
  async function receiving(options: EnqueueOptions = {}, started = schema.start()) {
    const trial = await started;
    const { hooks, post } = await startEndpoint({ handlers: {}, store: storeOf(schema.pool) as never });
    hooks.on('*', enqueue(trial.boss, { queue: trial.queue, ...options }));
    return { hooks, post, ...trial };
  }

  const known = async (id: string) =>
    (await schema.pool.query(`SELECT 1 FROM ${table()} WHERE key LIKE '%' || $1`, [id])).rows.length;

  test('commits the job together with the claim, and not before', async () => {
    const { hooks, post, boss, queue, jobs } = await receiving();
    const [added, finish] = [gate(), gate()];
    const pass = enqueue(boss, { queue });
    hooks.on('transaction.paid', async (event, context) => {
      await pass(event, context);
      added.open();
      await finish.opened;
    });
    const event = paid();
    const answer = post(delivery(event));
    await added.opened;
    expect(await jobs()).toEqual([]);
    finish.open();
    expect(await answer).toMatchObject({ status: 200 });
    expect(await jobs()).toMatchObject([{ id: liveJob(event.id), state: 'created' }]);
    expect(await known(event.id)).toBe(1);
  });

  test('leaves neither claim nor job when another handler fails, and exactly one job after the retry', async () => {
    const { hooks, post, jobs } = await receiving();
    let broken = true;
    hooks.on('transaction.paid', async (event, { transaction }: { transaction?: PoolClient } & object) => {
      await transaction?.query(`INSERT INTO ${schema.name}.ledger VALUES ($1)`, [event.id]);
      if (broken) throw new Error('no');
    });
    const event = paid();
    expect(await post(delivery(event))).toMatchObject({ status: 500 });
    expect([await jobs(), await known(event.id)]).toEqual([[], 0]);
    broken = false;
    expect(await post(delivery(event))).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    expect(await post(delivery(event))).toMatchObject({ status: 200, body: { outcome: 'duplicate' } });
    expect(await jobs()).toHaveLength(1);
    const ledger = `SELECT 1 FROM ${schema.name}.ledger WHERE event = $1`;
    expect((await schema.pool.query(ledger, [event.id])).rows).toHaveLength(1);
  });

  test('leaves neither when the connection dies before the commit', async () => {
    const { hooks, post, jobs } = await receiving();
    let dying = true;
    hooks.on('transaction.paid', async (_event, { transaction }: { transaction?: PoolClient } & object) => {
      if (!dying) return;
      dying = false;
      const { rows } = (await transaction?.query('SELECT pg_backend_pid() AS pid')) ?? { rows: [] };
      await schema.pool.query('SELECT pg_terminate_backend($1)', [rows[0].pid]);
    });
    const event = paid();
    expect((await post(delivery(event))).status).toBeGreaterThanOrEqual(500);
    expect([await jobs(), await known(event.id)]).toEqual([[], 0]);
    expect(await post(delivery(event))).toMatchObject({ status: 200 });
    expect(await jobs()).toHaveLength(1);
  });

  test('adds one job for copies that arrive at the same time, all of them answered 200 in the end', async () => {
    const { post, jobs } = await receiving();
    const event = delivery(paid());
    const untilAccepted = () =>
      until(async () => {
        const { status } = await post(event);
        if (status !== 200) expect(status).toBe(503);
        return status === 200;
      });
    await Promise.all(Array.from({ length: 20 }, untilAccepted));
    expect(await jobs()).toHaveLength(1);
  });

  test('retries a job that had failed for good only if the delivery is committed', async () => {
    const trial = await schema.start();
    const { boss, queue } = trial;
    const event = paid();
    await enqueue(boss, { queue, jobOptions: { retryLimit: 0 } })(event, contextOf(event));
    await trial.work(async () => Promise.reject(new Error('no')));
    await trial.job('failed');
    await boss.offWork(queue);
    const { hooks, post } = await receiving({}, Promise.resolve(trial));
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
    const { post } = await receiving({}, schema.start({ create: false }));
    const event = paid();
    expect(await post(delivery(event))).toMatchObject({ status: 500 });
    expect(await known(event.id)).toBe(0);
  });

  test('rolls back when the database of the store has no pg-boss', async () => {
    const executeSql = (client: PoolClient, text: string, values: unknown[]) =>
      client.query(text.replaceAll(schema.name, 'nowhere'), values);
    const { post } = await receiving({ executeSql });
    const event = paid();
    expect(await post(delivery(event))).toMatchObject({ status: 500 });
    expect(await known(event.id)).toBe(0);
  });

  test.each([
    ['rows', (rows: unknown[]) => rows],
    ['{ rows }', (rows: unknown[]) => ({ rows })],
  ])('runs its statements by executeSql, which resolves with %s', async (_what, shaped) => {
    const texts: string[] = [];
    const { post, jobs } = await receiving({
      executeSql: async (client: PoolClient, text, values) => {
        texts.push(text);
        return shaped((await client.query(text, values)).rows);
      },
    });
    expect(await post(delivery(paid()))).toMatchObject({ status: 200 });
    expect(texts).toMatchObject([expect.stringContaining('INSERT INTO')]);
    expect(await jobs()).toHaveLength(1);
  });

  test('adds the job by itself with executeSql: false', async () => {
    const { hooks, post, jobs } = await receiving({ executeSql: false });
    // Before the commit.
    hooks.on('transaction.paid', () => until(async () => (await jobs()).length === 1));
    expect(await post(delivery(paid()))).toMatchObject({ status: 200 });
  });

  test.each([
    ['a transaction that is not a client of pg', {}, 'Give enqueue() the option executeSql'],
    ['executeSql that resolves with 7', { executeSql: async () => 7 }, 'executeSql resolved with 7'],
  ])('refuses %s', async (_what, options, message) => {
    const { boss, queue, jobs } = await schema.start();
    const event = paid();
    const context = { ...contextOf(event), transaction: { $queryRawUnsafe: () => {} } };
    await expect(enqueue(boss, { queue, ...options })(event, context)).rejects.toThrow(message);
    expect(await jobs()).toEqual([]);
  });
});
