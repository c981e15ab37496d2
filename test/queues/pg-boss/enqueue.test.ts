import { beforeAll, describe, expect, test } from '@jest/globals';
import type { HandlerContext } from 'payment-webhooks';
import { type EnqueueOptions, enqueue, jobIdOf } from 'payment-webhooks/queues/pg-boss';
import { postgresStore, type WithOnce } from 'payment-webhooks/stores/postgres';
import { fixtures } from 'payment-webhooks/testing';
import type { PoolClient } from 'pg';
import { type BossTrial, liveJob, ownBossSchema, withMethods, withPostgres } from '../../setup/boss-trial.js';
import { captureLog } from '../../setup/captured-log.js';
import { delivery } from '../../setup/delivery.js';
import { startEndpoint } from '../../setup/endpoint.js';
import { BOSS_VERSION, REVIVED } from '../../setup/pg-boss.js';
import { contextOf } from '../../setup/queue-trial.js';
import { until } from '../../setup/waiting.js';

const paid = fixtures.transactionPaid;

withPostgres('enqueue() in a receiver', () => {
  const schema = ownBossSchema();
  const storeOf = () => postgresStore({ pool: schema.pool, table: `${schema.name}.webhook_event` });
  beforeAll(() => storeOf().migrate());

  /** A receiver without a store whose events go to a queue of its own. */
  async function receiving(queue: { create?: boolean; policy?: string } = {}, options: EnqueueOptions = {}) {
    const trial = await schema.start(queue);
    const { hooks, post, log } = await startEndpoint({ handlers: {}, store: false });
    hooks.on('*', enqueue(trial.boss, { queue: trial.queue, ...options }));
    return { post, log, ...trial };
  }

  test('gives jobs ten attempts with growing pauses and a long life, unless it is told otherwise', async () => {
    const usual = await receiving();
    await usual.post();
    expect(await usual.jobs()).toMatchObject([{ retry_limit: 9, retry_backoff: true, days: 3_650 }]);
    const own = await receiving({}, { jobOptions: { retryLimit: 3 } });
    await own.post();
    expect(await own.jobs()).toMatchObject([{ retry_limit: 3, retry_backoff: true }]);
  });

  test('is answered 500 while the queue does not exist, and the log says how to create it', async () => {
    const { post, log, boss, queue, jobs } = await receiving({ create: false });
    const event = delivery(paid());
    expect(await post(event)).toMatchObject({ status: 500, body: { code: 'HANDLER_FAILED' } });
    expect(log.lines).toContainEqual(
      expect.objectContaining({
        level: 50,
        msg: `Queue "${queue}" does not exist in pg-boss. Call "await boss.createQueue("${queue}")" before deliveries arrive.`,
      }),
    );
    await boss.createQueue(queue, { name: queue } as never);
    expect(await post(event)).toMatchObject({ status: 200 });
    expect(await jobs()).toHaveLength(1);
  });

  test('is answered 500 when the queue is deleted later', async () => {
    const { post, queue } = await receiving();
    expect(await post()).toMatchObject({ status: 200 });
    const other = await schema.another();
    await other.start();
    await schema.pool.query(`DELETE FROM ${schema.name}.job WHERE name = $1`, [queue]);
    await other.deleteQueue(queue);
    await other.stop({ graceful: false });
    expect(await post()).toMatchObject({ status: 500 });
  });

  test('is answered 500 by a queue whose policy keeps one job of many', async () => {
    const { post, log } = await receiving({ policy: 'short' });
    expect(await post()).toMatchObject({ status: 200 });
    expect(await post()).toMatchObject({ status: 500 });
    const said = { msg: expect.stringContaining('its policy is "short"') };
    expect(log.lines).toContainEqual(expect.objectContaining(said));
  });

  test('adds one job for copies that arrive at the same time, all of them answered 200 in the end', async () => {
    const { boss, queue, jobs } = await schema.start();
    const { hooks, post } = await startEndpoint({ handlers: {}, store: storeOf() as never });
    hooks.on('*', enqueue(boss, { queue }));
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

  test('commits a job that its handler sends inside once together with what it writes there', async () => {
    const { boss, queue, jobs } = await schema.start();
    const { hooks, post } = await startEndpoint({ handlers: {}, store: storeOf() as never });
    const ledger = `${schema.name}.ledger_of_jobs`;
    await schema.pool.query(`CREATE TABLE ${ledger} (event text)`);
    const ship = ({ id }: { id: string }, { once, attempt }: HandlerContext & WithOnce<PoolClient>) =>
      once(async (tx) => {
        await tx.query(`INSERT INTO ${ledger} VALUES ($1)`, [id]);
        const db = { executeSql: (text: string, values?: unknown[]) => tx.query(text, values) };
        await boss.send(queue, { id }, { db });
        if (attempt === 1) throw new Error('no');
      });
    hooks.on('transaction.paid', ship as never, { name: 'ship' });
    const committed = async () => [
      (await jobs()).length,
      (await schema.pool.query(`SELECT FROM ${ledger}`)).rows.length,
    ];
    const event = delivery(paid());
    expect(await post(event)).toMatchObject({ status: 500 });
    expect(await committed()).toEqual([0, 0]);
    expect(await post(event)).toMatchObject({ status: 200 });
    expect(await post(event)).toMatchObject({ status: 200 });
    expect(await committed()).toEqual([1, 1]);
  });

  test('is answered 500 when pg-boss has not been started', async () => {
    const { queue, jobs } = await schema.start();
    const { hooks, post } = await startEndpoint({ handlers: {}, store: false });
    hooks.on('*', enqueue(await schema.another(), { queue }));
    expect(await post()).toMatchObject({ status: 500, body: { code: 'HANDLER_FAILED' } });
    expect(await jobs()).toEqual([]);
  });
});

withPostgres('a job that exists already', () => {
  const schema = ownBossSchema();
  const event = paid({ id: 'evt-1' });
  const failing = async () => Promise.reject(new Error('no'));

  async function failForGood() {
    const trial = await schema.start();
    const { boss, queue } = trial;
    await enqueue(boss, { queue, jobOptions: { retryLimit: 0 } })(event, contextOf(event));
    await trial.work(failing);
    await trial.job('failed');
    await boss.offWork(queue);
    return trial;
  }

  test('is retried by the next delivery once it has failed for good', async () => {
    const trial = await failForGood();
    const log = captureLog();
    await enqueue(trial.boss, { queue: trial.queue })(event, contextOf(event, { log: log.logger }));
    expect(await trial.jobs()).toMatchObject([{ id: liveJob('evt-1'), state: REVIVED }]);
    expect(log.lines).toMatchObject([{ level: 40, msg: expect.stringContaining('retries') }]);
    await trial.work(async () => 'done');
    await trial.job('completed');
  });

  test('is retried once by deliveries that arrive at the same time', async () => {
    const trial = await failForGood();
    const pass = enqueue(trial.boss, { queue: trial.queue });
    await Promise.all(Array.from({ length: 10 }, () => pass(event, contextOf(event))));
    const once = BOSS_VERSION === 12 ? { state: 'retry', retry_limit: 1 } : { state: 'created' };
    expect(await trial.jobs()).toMatchObject([once]);
  });

  test('fails the delivery when it cannot be retried', async () => {
    const { boss, queue, jobs } = await failForGood();
    const broken = () => Promise.reject(new Error('out of order'));
    const without = withMethods(boss, { retry: broken, deleteJob: broken });
    await expect(enqueue(without, { queue })(event, contextOf(event))).rejects.toThrow('out of order');
    expect(await jobs()).toMatchObject([{ state: 'failed' }]);
  });

  test('is added again when it is deleted while its state is read', async () => {
    const trial = await failForGood();
    const { boss, queue } = trial;
    const read = BOSS_VERSION === 12 ? 'findJobs' : 'getJobById';
    let deleted = false;
    const removing = withMethods(boss, {
      [read]: async (...args: [string, never]) => {
        if (!deleted) await boss.deleteJob(queue, liveJob('evt-1'));
        deleted = true;
        return boss[read](...args);
      },
    });
    await enqueue(removing, { queue })(event, contextOf(event));
    expect(await trial.jobs()).toMatchObject([{ state: 'created' }]);
  });

  test('is added again when it is deleted just before it is retried', async () => {
    const trial = await failForGood();
    const { boss, queue } = trial;
    const removing = withMethods(boss, {
      retry: async (...args: [string, string]) => {
        await boss.deleteJob(queue, liveJob('evt-1'));
        return boss.retry(...args);
      },
    });
    await enqueue(removing, { queue })(event, contextOf(event));
    expect(await trial.jobs()).toHaveLength(1);
  });

  test('outlives the maintenance of pg-boss once it is revived, however long ago it had failed', async () => {
    const trial = await failForGood();
    const table = `${schema.name}.job`;
    const age = `UPDATE ${table} SET completed_on = now() - interval '60 days' WHERE name = $1`;
    await schema.pool.query(age, [trial.queue]);
    await enqueue(trial.boss, { queue: trial.queue })(event, contextOf(event));
    await trial.maintain();
    expect(await trial.jobs()).toHaveLength(1);
    await trial.work(async () => {});
    await trial.job('completed');
  });

  test('is told from that of another account only in the log: each account needs a queue of its own', async () => {
    const [trial, own] = [await schema.start(), await schema.start()];
    const receiving = async (privateKey: string, { boss, queue }: BossTrial) => {
      const endpoint = await startEndpoint({ privateKey, namespace: privateKey, handlers: {} });
      endpoint.hooks.on('*', enqueue(boss, { queue }));
      return endpoint;
    };
    const ours = await receiving('pri_acme', trial);
    expect(await ours.post(delivery(event, 'pri_acme'))).toMatchObject({ status: 200 });
    const theirs = paid({ id: event.id, payload: { transaction: { order_id: 'of-globex' } } });
    const shared = await receiving('pri_globex', trial);
    await shared.post(delivery(theirs, 'pri_globex'));
    const told = { level: 50, msg: expect.stringContaining('a queue for each account') };
    expect(shared.log.lines).toContainEqual(expect.objectContaining(told));
    const apart = await receiving('pri_globex', own);
    expect(await apart.post(delivery(theirs, 'pri_globex'))).toMatchObject({ status: 200 });
    expect((await own.jobs())[0]?.data.rawBody).toContain('of-globex');
    expect(ours.log.lines.concat(apart.log.lines)).not.toContainEqual(expect.objectContaining({ level: 50 }));
  });

  test('is left alone while it waits, once it is completed, and when someone has cancelled it', async () => {
    const trial = await schema.start();
    const pass = enqueue(trial.boss, { queue: trial.queue });
    await pass(event, contextOf(event));
    await pass(event, contextOf(event));
    expect(await trial.jobs()).toMatchObject([{ state: 'created' }]);
    await trial.boss.cancel(trial.queue, liveJob('evt-1'));
    const log = captureLog();
    await pass(event, contextOf(event, { log: log.logger }));
    expect(await trial.jobs()).toMatchObject([{ state: 'cancelled' }]);
    const msg = expect.stringMatching(/was cancelled.*boss\.resume\(\)/);
    expect(log.lines).toMatchObject([{ level: 40, msg }]);
    await trial.boss.resume(trial.queue, liveJob('evt-1'));
    await trial.work(async () => {});
    await trial.job('completed');
    await pass(event, contextOf(event));
    expect(await trial.jobs()).toMatchObject([{ state: 'completed' }]);
  });
});

describe('the id of a job', () => {
  test('is a UUID that depends on nothing but mode and id', () => {
    expect(jobIdOf({ id: 'evt-1', sandbox: false })).toBe('a861e5da-64a0-8a0a-96e1-a301e8792092');
    expect(jobIdOf({ id: 'evt-1', sandbox: false })).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
  });

  test('differs where modes differ, or event ids only in case', () => {
    const ids = ['a:b', 'A:b', 'a%3Ab'];
    const events = [true, false].flatMap((sandbox) => ids.map((id) => ({ id, sandbox })));
    expect(new Set(events.map(jobIdOf)).size).toBe(6);
  });
});

const never = () => Promise.reject(new Error('never called'));
const boss = { send: never, retry: never, deleteJob: never, getQueue: never };

test.each([
  ['no PgBoss', undefined, {}, 'enqueue() was given undefined. Pass a PgBoss'],
  ['an address', 'postgres://', {}, 'enqueue() was given "postgres://". Pass a PgBoss'],
  ['options of the wrong kind', boss, 'fast', 'The second argument of enqueue() is "fast"'],
  ['an unknown option', boss, { queues: 'a' }, 'Unknown option "queues". Did you mean "queue"?'],
  ['an empty name', boss, { queue: '' }, 'queue is "". Pass the name of a queue of pg-boss.'],
  ['job options of the wrong kind', boss, { jobOptions: 3 }, 'jobOptions is 3'],
  ['one id for all events', boss, { jobOptions: { id: 'a' } }, 'jobOptions.id would merge'],
  ['one key for all', boss, { jobOptions: { singletonKey: 'a' } }, 'jobOptions.singletonKey would merge'],
])('enqueue() refuses %s', (_what, given, options, message) => {
  expect(() => enqueue(given as never, options as never)).toThrow(message);
});
