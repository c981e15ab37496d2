// `once` in a receiver: deliveries over HTTP, replays, redrives and jobs, and what Postgres has committed after each.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import {
  type DeadLetterStore,
  type HandlerContext,
  memoryStore,
  NonRetriableError,
  type ReceiverOptions,
  RetryAfterError,
  type TransactionPaid,
} from 'payment-webhooks';
import { enqueue, processor } from 'payment-webhooks/queues';
import { postgresDeadLetters, postgresStore, type WithOnce } from 'payment-webhooks/stores/postgres';
import { redisStore } from 'payment-webhooks/stores/redis';
import { Pool, type PoolClient } from 'pg';
import { fixtures } from '../../src/fixtures/fixture.js';
import { captureLog } from '../setup/captured-log.js';
import { delivery } from '../setup/delivery.js';
import { duplicate, type Endpoint, failed, ignored, processed, startEndpoint } from '../setup/endpoint.js';
import { lettersOf } from '../setup/faulty-dead-letters.js';
import { faultyStore, hangs, rejects, repliesNever, times } from '../setup/faulty-store.js';
import { withRedis } from '../setup/own-redis.js';
import { needing } from '../setup/platform.js';
import { contextOf } from '../setup/queue-trial.js';
import { down, raise } from '../setup/raise.js';
import { tsx } from '../setup/shell.js';
import { gate, until } from '../setup/waiting.js';

type Context = HandlerContext & WithOnce<PoolClient>;
type Handle = (event: TransactionPaid, context: Context) => unknown;

const unavailable = { status: 503, body: { code: 'STORE_UNAVAILABLE' } };
const later = (seconds: string) => ({
  status: 503,
  headers: { 'retry-after': seconds },
  body: { code: 'RETRY_LATER' },
});

/** The event as a later retry may render it: with other bytes. */
const renderedAgain = (event: TransactionPaid) =>
  delivery({ ...event, payload: { ...event.payload, metadata: { type: 'other' } } });

const aborts = (signal: AbortSignal) =>
  new Promise<boolean>((resolve) => signal.addEventListener('abort', () => resolve(true)));

const errorsOf = ({ log }: Pick<Endpoint, 'log'>) => log.lines.filter(({ level }) => level === 50);

needing('postgres').describe('once in a receiver with postgresStore()', () => {
  const connectionString = process.env.TEST_POSTGRES_URL ?? '';
  const pool = new Pool({ connectionString, max: 10 });
  const schema = `once_${randomBytes(6).toString('hex')}`;
  const table = `${schema}.webhook_event`;
  const store = postgresStore({ pool, table });
  const deadLetters = postgresDeadLetters({ pool, table: `${schema}.dead_letter` });

  beforeAll(async () => {
    await pool.query(`CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.ledger (event text, handler text)`);
    await store.migrate();
    await deadLetters.migrate();
  });
  afterAll(async () => {
    await pool.query(`DROP SCHEMA ${schema} CASCADE`);
    await pool.end();
  });

  const write = (tx: PoolClient, { id }: { id: string }, handler = 'ledger') =>
    tx.query(`INSERT INTO ${schema}.ledger VALUES ($1, $2)`, [id, handler]);
  const written = async ({ id }: { id: string }, handler = 'ledger') =>
    (await pool.query(`SELECT FROM ${schema}.ledger WHERE event = $1 AND handler = $2`, [id, handler])).rows
      .length;
  const pay: Handle = (event, { once }) => once((tx) => write(tx, event));

  /** A transaction as a handler begins it: what `work` throws rolls it back. */
  async function inTransaction(work: (tx: PoolClient) => unknown): Promise<void> {
    const tx = await pool.connect();
    try {
      await tx.query('BEGIN');
      await work(tx);
      await tx.query('COMMIT');
    } catch (error) {
      await tx.query('ROLLBACK');
      throw error;
    } finally {
      tx.release();
    }
  }

  /** An endpoint with these handlers, by name. */
  async function start(handlers: Readonly<Record<string, Handle>>, options: object = {}) {
    const namespace = randomBytes(6).toString('hex');
    const given = { handlers: {}, store, namespace, ...options } as ReceiverOptions;
    const endpoint = await startEndpoint(given);
    for (const [name, handler] of Object.entries(handlers))
      endpoint.hooks.on('transaction.paid', handler as never, { name });
    return endpoint;
  }
  type Given = ReceiverOptions<{}, object, DeadLetterStore>;

  const handlerError = (endpoint: Pick<Endpoint, 'log'>) =>
    errorsOf(endpoint).find(({ msg }) => msg === 'a handler failed')?.error;

  /** A store whose process ends before it releases a claim. */
  const crashing = () => faultyStore({ release: rejects }, { store: store as never });
  const dying: Handle = async (...given) => {
    await pay(...given);
    throw new Error('the process ends');
  };
  /** From then on another delivery may have the event. */
  const endLease = ({ id }: { id: string }) =>
    pool.query(`UPDATE ${table} SET lease_ends = '-infinity' WHERE key LIKE $1`, [`%:${id}`]);

  /** An attempt that commits its writes in a process that ends before it completes the event. */
  async function crash(event: TransactionPaid, namespace: string, options: object = {}) {
    const { post } = await start({ ledger: dying }, { store: crashing(), namespace, ...options });
    expect(await post(delivery(event))).toMatchObject(failed);
    expect(await written(event)).toBe(1);
    await endLease(event);
  }

  describe('a delivery', () => {
    test.each<[string, Handle]>([
      ['once(work)', pay],
      ['once(tx, work)', (event, { once }) => inTransaction((tx) => once(tx, () => write(tx, event)))],
    ])(
      'of a handler with a name commits what it writes in %s, and its retry is a duplicate',
      async (_, handler) => {
        const event = fixtures.transactionPaid();
        const endpoint = await start({ ledger: handler });
        expect(await endpoint.post(delivery(event))).toMatchObject(processed);
        expect(await endpoint.post(delivery(event))).toMatchObject(duplicate);
        expect(await written(event)).toBe(1);
        expect(errorsOf(endpoint)).toEqual([]);
      },
    );

    test('after a crash skips the work, and is processed', async () => {
      const event = fixtures.transactionPaid();
      await crash(event, 'crashed');
      const results: unknown[] = [];
      const handler: Handle = async (event, { once, attempt }) =>
        void results.push(await once((tx) => write(tx, event)), attempt);
      const endpoint = await start({ ledger: handler }, { namespace: 'crashed', deadLetters });
      expect(await endpoint.post(delivery(event))).toMatchObject(processed);
      expect(results).toEqual([undefined, 2]);
      expect(await written(event)).toBe(1);
      expect(endpoint.records.at(-1)).not.toHaveProperty('conflict');
      expect(await lettersOf(endpoint.hooks)).toEqual([]);
    });

    test('after a crash with other bytes is a conflict: 200, one error line, and a letter that stays', async () => {
      const event = fixtures.transactionPaid();
      await crash(event, 'rendered');
      const endpoint = await start({ ledger: pay }, { namespace: 'rendered', deadLetters });
      const changed = renderedAgain(event);
      expect(await endpoint.post(changed)).toMatchObject(processed);
      expect(await written(event)).toBe(1);
      expect(endpoint.records.at(-1)).toMatchObject({ outcome: 'processed', conflict: true });
      expect(errorsOf(endpoint)).toMatchObject([{ msg: expect.stringContaining('with other bytes') }]);
      // The event is completed with the bytes whose writes are committed.
      expect(await endpoint.post(changed)).toMatchObject(duplicate);
      expect(endpoint.records.at(-1)).toMatchObject({ outcome: 'duplicate', conflict: true });
      expect(await endpoint.post(delivery(event))).toMatchObject(duplicate);
      expect(endpoint.records.at(-1)).not.toHaveProperty('conflict');
      expect(await lettersOf(endpoint.hooks)).toMatchObject([{ reason: 'conflict', eventId: event.id }]);
    });

    test('after a crash with other bytes stays a conflict over attempts at which another handler fails', async () => {
      const event = fixtures.transactionPaid();
      await crash(event, 'failing');
      const mail: Handle = (_, { attempt }) => attempt < 4 && down();
      const endpoint = await start({ ledger: pay, mail }, { namespace: 'failing', deadLetters });
      const changed = renderedAgain(event);
      await until(async () => (await endpoint.post(changed)).status === 200);
      expect(endpoint.records.at(-1)).toMatchObject({ outcome: 'processed', conflict: true });
      expect(await lettersOf(endpoint.hooks)).toMatchObject([{ reason: 'conflict' }]);
      expect(await written(event)).toBe(1);
    });

    test('needs one connection at a time, with its dead letter and a replay', async () => {
      const one = new Pool({ connectionString, max: 1 });
      const stores = {
        store: postgresStore({ pool: one, table }),
        deadLetters: postgresDeadLetters({ pool: one, table: `${schema}.dead_letter` }),
      };
      const event = fixtures.transactionPaid();
      const failing: Handle = (event, { once, attempt }) =>
        once((tx) => write(tx, event).then(() => attempt === 1 && down()));
      const endpoint = await start({ ledger: failing }, { ...stores, journal: true });
      expect(await endpoint.post(delivery(event))).toMatchObject(failed);
      expect(await endpoint.hooks.deadLetters?.replay()).toMatchObject({ processed: 1 });
      expect(await written(event)).toBe(1);
      await one.end();
    });
  });

  describe('is never answered 200 without the writes', () => {
    const swallowed = async (run: () => unknown) => {
      try {
        await run();
      } catch {}
    };

    test.each<[string, Handle]>([
      ['its work throws', (event, { once }) => swallowed(() => once((tx) => write(tx, event).then(down)))],
      [
        'a statement fails',
        (_, { once }) => swallowed(() => once((tx) => tx.query('SELECT nothing FROM nowhere'))),
      ],
      [
        'a statement fails, and its error is caught inside, so that the commit rolls back',
        (event, { once }) =>
          swallowed(() =>
            once(async (tx) => {
              await write(tx, event);
              await swallowed(() => tx.query('SELECT nothing FROM nowhere'));
            }),
          ),
      ],
      [
        'the connection breaks before the work',
        (event, { once }) =>
          swallowed(() =>
            once(async (tx) => {
              const { processID } = tx as unknown as { processID: number };
              await pool.query('SELECT pg_terminate_backend($1::int)', [processID]);
              await write(tx, event);
            }),
          ),
      ],
      [
        'its own transaction is rolled back after once() has resolved',
        (event, { once }) =>
          swallowed(() => inTransaction((tx) => once(tx, () => write(tx, event)).then(down))),
      ],
      [
        'it is given a pool',
        (event, { once }) => swallowed(() => once(pool as never, () => write(pool as never, event))),
      ],
      ['it is given no work', (_, { once }) => swallowed(() => once(undefined as never))],
    ])('if %s, and the handler swallows that', async (_, handler) => {
      const event = fixtures.transactionPaid();
      const first: Handle = (...given) => (given[1].attempt === 1 ? handler : pay)(...given);
      const endpoint = await start({ ledger: first });
      expect(await endpoint.post(delivery(event))).toMatchObject(failed);
      expect(await written(event)).toBe(0);
      expect(await endpoint.post(delivery(event))).toMatchObject(processed);
      expect(await written(event)).toBe(1);
    });

    test('if a later call in the handler succeeds, it is', async () => {
      const event = fixtures.transactionPaid();
      const handler: Handle = async (event, { once }) => {
        await swallowed(() => once(down));
        await once((tx) => write(tx, event));
      };
      expect(await (await start({ ledger: handler })).post(delivery(event))).toMatchObject(processed);
      expect(await written(event)).toBe(1);
    });

    test('if once() is not awaited', async () => {
      const event = fixtures.transactionPaid();
      const committing = gate();
      const handler: Handle = (event, { once, attempt }) => {
        if (attempt > 1) return pay(event, { once } as Context);
        void once((tx) => write(tx, event).then(() => committing.opened));
      };
      const endpoint = await start({ ledger: handler });
      expect(await endpoint.post(delivery(event))).toMatchObject(failed);
      expect(handlerError(endpoint)).toMatchObject({ message: expect.stringContaining('Await once()') });
      committing.open();
      expect(await endpoint.post(delivery(event))).toMatchObject(processed);
      expect(await written(event)).toBe(1);
    });

    test.each<[string, (...given: Parameters<Handle>) => unknown]>([
      [
        'once(work)',
        (event, { once, signal }) =>
          once(async (tx) => {
            if (!(await aborts(signal))) await write(tx, event);
          }),
      ],
      [
        'once(tx, work)',
        (event, { once, signal }) =>
          inTransaction((tx) =>
            once(tx, async () => {
              if (!(await aborts(signal))) await write(tx, event);
            }),
          ),
      ],
    ])('if the handler returns early inside %s because its signal has aborted', async (_, givesUp) => {
      const event = fixtures.transactionPaid();
      const namespace = event.id;
      const first = await start({ ledger: givesUp as Handle }, { timeout: 50, namespace });
      expect(await first.post(delivery(event))).toMatchObject({ body: { code: 'HANDLER_TIMEOUT' } });
      await until(() => first.hooks.inFlight === 0);
      const second = await start({ ledger: pay }, { namespace });
      expect(await second.post(delivery(event))).toMatchObject(processed);
      expect(await written(event)).toBe(1);
    });

    test('if the transaction around it is not committed yet, and its retry waits for it', async () => {
      const event = fixtures.transactionPaid();
      const [wrote, commit] = [gate(), gate()];
      let committing: Promise<void> | undefined;
      const handler: Handle = async (event, { once, attempt }) => {
        if (attempt > 1) return once((tx) => write(tx, event));
        committing = inTransaction(async (tx) => {
          await once(tx, () => write(tx, event));
          wrote.open();
          await commit.opened;
        });
        await wrote.opened;
      };
      const endpoint = await start({ ledger: handler });
      expect(await endpoint.post(delivery(event))).toMatchObject(failed);
      expect(handlerError(endpoint)).toMatchObject({
        message: expect.stringContaining('The writes of once() are not committed'),
      });
      const retry = endpoint.post(delivery(event));
      commit.open();
      await committing;
      expect(await retry).toMatchObject(processed);
      expect(await written(event)).toBe(1);
    });

    test.each([
      ['fails', down, failed],
      ['refuses the event for good', () => raise(new NonRetriableError()), failed],
    ] as const)(
      'nor counts as a success for the next attempt, if another handler %s',
      async (_, other, answered) => {
        const event = fixtures.transactionPaid();
        const rolledBack: Handle = (event, { once, attempt }) =>
          attempt === 1
            ? swallowed(() => inTransaction((tx) => once(tx, () => write(tx, event)).then(down)))
            : once((tx) => write(tx, event));
        const mail: Handle = (_, { attempt }) => attempt === 1 && other();
        const endpoint = await start({ ledger: rolledBack, mail });
        expect(await endpoint.post(delivery(event))).toMatchObject(answered);
        expect(await endpoint.post(delivery(event))).toMatchObject(processed);
        expect(await written(event)).toBe(1);
      },
    );

    test.each([
      ['does not arrive', hangs, processed],
      ['is done, and its reply is lost', repliesNever, duplicate],
    ] as const)('if the completion %s: 503, and the retry finds one write', async (_, fault, answered) => {
      const event = fixtures.transactionPaid();
      const faulty = faultyStore({ complete: times(3, fault) }, { store: store as never });
      const endpoint = await start({ ledger: pay }, { store: faulty, deadLetters });
      expect(await endpoint.post(delivery(event))).toMatchObject(unavailable);
      expect(await lettersOf(endpoint.hooks)).toMatchObject([
        { reason: 'failed', code: 'STORE_UNAVAILABLE' },
      ]);
      if (answered === processed) await endLease(event);
      expect(await endpoint.post(delivery(event))).toMatchObject(answered);
      expect(await written(event)).toBe(1);
      expect(await lettersOf(endpoint.hooks)).toEqual([]);
    });

    test('if a refused event is completed, and nobody knows whether it is', async () => {
      const event = fixtures.transactionPaid();
      const faulty = faultyStore({ complete: hangs }, { store: store as never });
      const mail: Handle = () => raise(new NonRetriableError());
      const endpoint = await start({ ledger: pay, mail }, { store: faulty });
      expect(await endpoint.post(delivery(event))).toMatchObject(unavailable);
    });
  });

  test('a call after its handler has ended is refused, logged once at error, and ends no process', async () => {
    const event = fixtures.transactionPaid();
    const { code, stdout } = await tsx(['test/receiver/late-once.ts', connectionString, schema, event.id]);
    expect(code).toBe(0);
    const [answer, ...lines] = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(answer).toEqual([200, 'processed']);
    expect(lines.filter(({ level }) => level === 50)).toEqual([
      expect.objectContaining({
        msg: expect.stringContaining('once() was called after its handler had ended'),
        handler: 'ledger',
        eventId: event.id,
      }),
    ]);
    expect(await written(event)).toBe(0);
  });

  describe('what a handler throws inside rolls its writes back', () => {
    test.each([
      ['RetryAfterError', () => raise(new RetryAfterError('30s')), later('30'), processed, 1],
      ['NonRetriableError', () => raise(new NonRetriableError()), ignored, duplicate, 0],
      ['any other error', down, failed, processed, 1],
    ] as const)('%s', async (_, thrown, first, second, writes) => {
      const event = fixtures.transactionPaid();
      const handler: Handle = (event, { once, attempt }) =>
        once(async (tx) => {
          await write(tx, event);
          if (attempt === 1) thrown();
        });
      const endpoint = await start({ ledger: handler });
      expect(await endpoint.post(delivery(event))).toMatchObject(first);
      expect(await written(event)).toBe(0);
      expect(await endpoint.post(delivery(event))).toMatchObject(second);
      expect(await written(event)).toBe(writes);
    });
  });

  describe('two handlers of one event', () => {
    test('write each for themselves, and if one fails, the other does not write again', async () => {
      const event = fixtures.transactionPaid();
      const stock: Handle = (event, { once, attempt }) =>
        once((tx) => write(tx, event, 'stock').then(() => attempt < 3 && down()));
      const endpoint = await start({ ledger: pay, stock });
      const counts = async () => [await written(event), await written(event, 'stock')];
      for (const attempt of [1, 2]) {
        expect(await endpoint.post(delivery(event))).toMatchObject(failed);
        expect([attempt, ...(await counts())]).toEqual([attempt, 1, 0]);
      }
      expect(await endpoint.post(delivery(event))).toMatchObject(processed);
      expect(await counts()).toEqual([1, 1]);
    });

    test('the one whose writes are known to be committed runs no more, whatever the other does', async () => {
      const event = fixtures.transactionPaid();
      const ran: number[] = [];
      const ledger: Handle = (event, context) => {
        ran.push(context.attempt);
        return pay(event, context);
      };
      const mail: Handle = (_, { attempt }) => attempt < 5 && down();
      const endpoint = await start({ ledger, mail });
      await until(async () => (await endpoint.post(delivery(event))).status === 200);
      expect(ran).toEqual([1, 2]);
      expect(await written(event)).toBe(1);
    });
  });

  describe('a handler of an object', () => {
    const byPattern = (handlers: Readonly<Record<string, Handle>>) =>
      startEndpoint({ store, namespace: randomBytes(6).toString('hex'), handlers } as Given);

    test('writes once by its pattern', async () => {
      const event = fixtures.transactionPaid();
      const stock: Handle = (event, { once, attempt }) =>
        once((tx) => write(tx, event, 'stock').then(() => attempt === 1 && down()));
      const endpoint = await byPattern({ '*': stock, 'transaction.paid': pay });
      expect(await endpoint.post(delivery(event))).toMatchObject(failed);
      expect(await endpoint.post(delivery(event))).toMatchObject(processed);
      expect([await written(event), await written(event, 'stock')]).toEqual([1, 1]);
    });

    test.each(['transaction.paid', 'transaction.*', '*'])(
      'and one of on() with its pattern as its name are refused: %s',
      async (name) => {
        const { hooks } = await byPattern({ [name]: pay });
        expect(() => hooks.on('transaction.paid', () => {}, { name })).toThrow(
          `Two handlers of one event are named "${name}"`,
        );
        hooks.on('transaction.paid', () => {}, { name: 'another' });
      },
    );
  });

  describe('an event that failed is written once', () => {
    const failsFirst: Handle = (event, { once, attempt }) =>
      once((tx) => write(tx, event).then(() => attempt === 1 && down()));

    test('by a replay', async () => {
      const event = fixtures.transactionPaid();
      const endpoint = await start({ ledger: failsFirst }, { deadLetters });
      expect(await endpoint.post(delivery(event))).toMatchObject(failed);
      expect(await endpoint.hooks.deadLetters?.replay()).toMatchObject({ processed: 1 });
      expect(await endpoint.post(delivery(event))).toMatchObject(duplicate);
      expect(await written(event)).toBe(1);
      expect(await lettersOf(endpoint.hooks)).toEqual([]);
    });

    test('by a replay that skips what a crash had committed', async () => {
      const event = fixtures.transactionPaid();
      const namespace = 'replayed';
      const endpoint = await start({ ledger: pay }, { deadLetters, namespace });
      await crash(event, namespace, { deadLetters });
      expect(await endpoint.hooks.deadLetters?.replay()).toMatchObject({ processed: 1 });
      expect(await written(event)).toBe(1);
      expect(await lettersOf(endpoint.hooks)).toEqual([]);
    });

    test('by a redrive', async () => {
      const event = fixtures.transactionPaid();
      const redrive = { delays: [10], every: 50 };
      const { hooks, post } = await start({ ledger: failsFirst }, { deadLetters, redrive });
      expect(await post(delivery(event))).toMatchObject(failed);
      await hooks.start();
      await until(async () => (await lettersOf(hooks)).length === 0);
      await hooks.close();
      expect(await written(event)).toBe(1);
    });

    test('by a worker of a queue, and skipped after a crash', async () => {
      const event = fixtures.transactionPaid();
      const sent: string[] = [];
      await enqueue((job) => sent.push(JSON.stringify(job)))(event, contextOf(event));
      const logger = captureLog().logger;
      const work = processor({ 'transaction.paid': failsFirst as never }, { store: store as never, logger });
      const job = { queue: schema };
      expect(await work(sent[0], job)).toMatchObject({ verdict: 'failed' });
      expect(await written(event)).toBe(0);
      const dead = processor({ 'transaction.paid': dying as never }, { store: crashing() as never, logger });
      expect(await dead(sent[0], job)).toMatchObject({ verdict: 'failed' });
      expect(await written(event)).toBe(1);
      await endLease(event);
      expect(await work(sent[0], job)).toMatchObject({ verdict: 'done', outcome: 'processed' });
      expect(await work(sent[0], job)).toMatchObject({ verdict: 'done', outcome: 'duplicate' });
      expect(await written(event)).toBe(1);
    });
  });

  test('in a handler without a name is refused, and the message shows how to name it', async () => {
    const event = fixtures.transactionPaid();
    const endpoint = await start({});
    endpoint.hooks.on('transaction.paid', pay as never);
    expect(await endpoint.post(delivery(event))).toMatchObject(failed);
    expect(handlerError(endpoint)).toMatchObject({
      message: expect.stringMatching(/^once\(\) needs a handler with a name/),
    });
    expect(await written(event)).toBe(0);
  });

  test('in a handler without a name that swallows the refusal is answered 500', async () => {
    const endpoint = await start({});
    const handler: Handle = async (...given) =>
      Promise.resolve()
        .then(() => pay(...given))
        .catch(() => {});
    endpoint.hooks.on('transaction.paid', handler as never);
    expect(await endpoint.post()).toMatchObject(failed);
  });
});

describe('in a store whose handlers have no once', () => {
  const client = new Redis(process.env.TEST_REDIS_URL ?? '', { lazyConnect: true });
  const prefix = `once:${randomBytes(6).toString('hex')}:`;
  afterAll(() => client.disconnect());
  const redis = redisStore({ sendCommand: (...args: [string, ...string[]]) => client.call(...args), prefix });
  const NEEDS =
    /^once\(\) needs an inbox in the database of its writes, by a client with transactions: postgresInbox\(\), sqlInbox\(\)/;

  const refusesOnce = async (store: ReceiverOptions['store']) => {
    for (const isSwallowed of [false, true]) {
      const endpoint = await startEndpoint({ handlers: {}, store });
      let ran = false;
      const handler: Handle = async (_, { once }) => {
        const call = async () => once(() => (ran = true));
        await (isSwallowed ? call().catch(() => {}) : call());
      };
      endpoint.hooks.on('transaction.paid', handler as never, { name: 'ledger' });
      expect(await endpoint.post()).toMatchObject(failed);
      expect(ran).toBe(false);
      expect(errorsOf(endpoint)[0]).toMatchObject({ error: { message: expect.stringMatching(NEEDS) } });
    }
  };

  test('memoryStore() refuses it, also if the handler swallows the error', () => refusesOnce(memoryStore()));
  test('store: false refuses it, also if the handler swallows the error', () => refusesOnce(false));
  withRedis('redisStore()', () => {
    test('refuses it, also if the handler swallows the error', () => refusesOnce(redis));
  });

  test('context.transaction is refused in words that name once', async () => {
    const handler = (_: unknown, { transaction }: HandlerContext & { transaction?: unknown }) => transaction;
    const endpoint = await startEndpoint({ handlers: { 'transaction.paid': handler } });
    expect(await endpoint.post()).toMatchObject(failed);
    expect(errorsOf(endpoint)[0]).toMatchObject({
      error: { message: expect.stringMatching(/^context\.transaction does not exist\. Use once: /) },
    });
  });
});
