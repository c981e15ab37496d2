// Handlers with the same serial value: in turns, in one process and in several, and what becomes of a delivery that waits.
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import {
  ConfigurationError,
  memoryDeadLetters,
  memoryStore,
  type ReceiverOptions,
  type TransactionPaid,
} from 'payment-webhooks';
import { Pool, type PoolClient } from 'pg';
import { createClient } from 'redis';
import type { IdempotencyStore } from '../../src/contracts/idempotency-store.js';
import { fixtures } from '../../src/fixtures/fixture.js';
import { postgresStore, type WithOnce } from '../../src/stores/postgres.js';
import { redisStore } from '../../src/stores/redis.js';
import { afterwards } from '../setup/afterwards.js';
import { delivery, receivable } from '../setup/delivery.js';
import { startReceiver } from '../setup/endpoint.js';
import { answers, type Fault, faultyStore, rejects, repliesAfter, times } from '../setup/faulty-store.js';
import { needing } from '../setup/platform.js';
import { down, raise } from '../setup/raise.js';
import { gate, PATIENT, until } from '../setup/waiting.js';

const paid = (order: string) => fixtures.transactionPaid({ payload: { transaction: { order_id: order } } });
const serial = (event: TransactionPaid) => event.payload.transaction.order_id;

/** A receiver whose handler is serial, and a way to deliver to it. */
function start(options: ReceiverOptions, work: (order: string) => unknown) {
  const { hooks, log, letters, post } = startReceiver({ handlers: {}, ...options });
  hooks.on('transaction.paid', (event) => work(serial(event)), { serial });
  const deliver = async (event: TransactionPaid) => {
    const { body, ...answer } = await post(delivery(event));
    return { ...answer, ...(body as { outcome?: string; code?: string }) };
  };
  return { hooks, deliver, letters, log };
}

/** Handlers that say when two with one value run at once. */
function watched() {
  const running = new Set<string>();
  const seen = { overlaps: 0, handled: 0, most: 0 };
  const work = async (order: string) => {
    if (running.has(order)) seen.overlaps += 1;
    running.add(order);
    seen.most = Math.max(seen.most, running.size);
    await pause(Math.random() * 4);
    running.delete(order);
    seen.handled += 1;
  };
  return { seen, work };
}

const statusesOf = async (answers: readonly (Promise<{ status: number }> | undefined)[]) =>
  new Set((await Promise.all(answers)).map((answer) => answer?.status));
const ALL_WELL = new Set([200]);

/** The handler of a receiver has the turn of order `o`, until it is told to end. */
async function holdTurn(options: ReceiverOptions) {
  const work = gate();
  const { hooks, deliver } = start(options, () => work.opened);
  const held = deliver(paid('o'));
  await until(() => hooks.inFlight === 1);
  return async () => {
    work.open();
    expect(await held).toMatchObject({ status: 200 });
  };
}

const schema = `serial_${randomBytes(6).toString('hex')}`;
const table = `${schema}.webhook_event`;
const postgresUrl = process.env.TEST_POSTGRES_URL ?? '';
const redisUrl = process.env.TEST_REDIS_URL ?? '';
const prefix = `test:${randomBytes(6).toString('hex')}:`;

function openPool(max = 8): Pool {
  const pool = new Pool({ connectionString: postgresUrl, max });
  afterwards(() => pool.end());
  return pool;
}

type Open = () => Promise<IdempotencyStore<object>>;
/** Each call is a store as another process would have it: nothing is shared but the server. */
const shared: [string, string, Open][] = [
  [
    'Redis',
    'redis-server',
    async () => {
      const client = await createClient({ url: redisUrl }).connect();
      afterwards(() => client.close());
      return redisStore({ sendCommand: (...args) => client.sendCommand(args), prefix });
    },
  ],
  ['Postgres', 'postgres', async () => postgresStore({ pool: openPool(), table })],
];

const admin = new Pool({ connectionString: postgresUrl });

/** The keys of serial values that the servers still have. */
async function remembered(): Promise<string[]> {
  const keys: string[] = [];
  if (postgresUrl) {
    const { rows } = await admin.query(`SELECT key FROM ${table} WHERE key LIKE '%:serial:%'`);
    keys.push(...rows.map(({ key }) => key));
  }
  if (redisUrl) {
    const client = await createClient({ url: redisUrl }).connect();
    keys.push(...(await client.keys(`${prefix}*:serial:*`)));
    await client.close();
  }
  return keys;
}

beforeAll(async () => {
  if (!postgresUrl) return;
  await admin.query(`CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.counter (name text PRIMARY KEY, n int)`);
  await postgresStore({ pool: admin, table }).migrate();
});
afterAll(async () => {
  if (postgresUrl) await admin.query(`DROP SCHEMA ${schema} CASCADE`);
  await admin.end();
});

/** A memory store that takes its time with events, and the order in which claims of events and locks ended. */
function slowWithEvents() {
  const ends: string[] = [];
  const end = (what: string): Fault => {
    return async (real) => {
      await pause(5);
      const done = await real();
      ends.push(what);
      return done;
    };
  };
  const [complete, release] = [end('complete event'), end('release event')];
  const { claim } = faultyStore({ claim: repliesAfter(400), complete, release });
  return { store: { ...faultyStore({ release: end('release lock') }), claim }, ends };
}

describe('the lock of a serial value', () => {
  test.each([
    ['completed', () => {}, 'complete event'],
    ['released', down, 'release event'],
  ])('is released when the claim of the event has been %s', async (_, work, end) => {
    const { store, ends } = slowWithEvents();
    const { deliver } = start({ store }, work);
    await deliver(paid('order-1'));
    expect(ends).toEqual([end, 'release lock']);
  });

  test('leaves handlers all of the time that waiting for it has not used, however long the claim takes', async () => {
    const { store } = slowWithEvents();
    const work = gate();
    const { hooks, deliver, log } = start({ store, timeout: 700 }, () => work.opened);
    expect(await deliver(paid('order-1'))).toMatchObject({ status: 503, code: 'HANDLER_TIMEOUT' });
    work.open();
    await hooks.close();
    const { hint } = log.lines.find(({ msg }) => msg === 'delivery') as { hint: string };
    expect(Number(/Not finished after (\d+) ms/.exec(hint)?.[1])).toBeGreaterThan(350);
  });
});

describe('with one value, handlers never run at the same time', () => {
  test('in one process, where they run in the order of arrival', async () => {
    const handled: string[] = [];
    const { hooks } = startReceiver({ handlers: {} });
    const { seen, work } = watched();
    const run = (event: TransactionPaid) => handled.push(serial(event)) && work('same');
    hooks.on('transaction.paid', run, { serial: () => 'same' });
    const orders = Array.from({ length: 40 }, (_, n) => `o${n}`);
    const answers = orders.map((order) => hooks.receive(receivable(paid(order))));
    expect(await statusesOf(answers)).toEqual(ALL_WELL);
    expect(seen).toMatchObject({ overlaps: 0, handled: 40 });
    expect(handled).toEqual(orders);
  });

  test('whichever receiver of one store they belong to', async () => {
    const { seen, work } = watched();
    const store = memoryStore();
    const receivers = [start({ store }, work), start({ store }, work)];
    const deliveries = Array.from({ length: 40 }, (_, n) => receivers[n % 2]?.deliver(paid(`o${n % 4}`)));
    expect(await statusesOf(deliveries)).toEqual(ALL_WELL);
    expect(seen).toMatchObject({ overlaps: 0, handled: 40 });
    expect(seen.most).toBeGreaterThan(1);
  });

  for (const [name, program, open] of shared)
    needing(program).test(
      `in any process through ${name}`,
      async () => {
        const { seen, work } = watched();
        const stores = await Promise.all([open(), open(), open()]);
        const deliveries = stores.flatMap((store) => {
          const { deliver } = start({ ...PATIENT, store }, work);
          return Array.from({ length: 20 }, (_, n) => deliver(paid(`o${n % 5}`)));
        });
        expect(await statusesOf(deliveries)).toEqual(ALL_WELL);
        expect(seen).toMatchObject({ overlaps: 0, handled: 60 });
        expect(seen.most).toBeGreaterThan(1);
        expect(await remembered()).toEqual([]);
      },
      60_000,
    );

  needing('postgres').test(
    'and each sees what the one before it has written inside once, in pools of one connection',
    async () => {
      await admin.query(`INSERT INTO ${schema}.counter VALUES ('c', 0)`);
      const count = (_: object, { once }: WithOnce<PoolClient>) =>
        once(async (tx) => {
          const { rows } = await tx.query(`SELECT n FROM ${schema}.counter WHERE name = 'c'`);
          await pause(2);
          await tx.query(`UPDATE ${schema}.counter SET n = $1 WHERE name = 'c'`, [rows[0].n + 1]);
        });
      const receivers = [openPool(1), openPool(1)].map((pool) => {
        const store = postgresStore({ pool, table });
        const { hooks } = startReceiver({ ...PATIENT, handlers: {}, store });
        return hooks.on('transaction.paid', count as never, { serial, name: 'count' });
      });
      const sent = Array.from({ length: 20 }, (_, n) => receivers[n % 2]?.receive(receivable(paid('same'))));
      expect(await statusesOf(sent)).toEqual(ALL_WELL);
      const { rows } = await admin.query(`SELECT n FROM ${schema}.counter WHERE name = 'c'`);
      expect(rows).toEqual([{ n: 20 }]);
    },
    60_000,
  );

  test('two of one event take turns, in the order of registration', async () => {
    const steps: string[] = [];
    const { hooks } = startReceiver({ handlers: {} });
    for (const name of ['first', 'second']) {
      const handler = async () => {
        steps.push(`${name} begins`);
        await pause(5);
        steps.push(`${name} ends`);
      };
      hooks.on('transaction.paid', handler, { name, serial });
    }
    const other = gate();
    hooks.on('transaction.paid', () => other.open(), { serial: () => 'other' });
    expect(await hooks.receive(receivable(paid('o')))).toMatchObject({ status: 200 });
    await other.opened;
    expect(steps).toEqual(['first begins', 'first ends', 'second begins', 'second ends']);
  });
});

test('values that are no well-formed text are different values', async () => {
  const { hooks } = startReceiver({ handlers: {}, timeout: 1_000 });
  hooks.on('transaction.paid', () => {}, { serial: () => '\ud800' });
  hooks.on('transaction.paid', () => {}, { serial: () => '\ud801' });
  expect(await hooks.receive(receivable(paid('o')))).toMatchObject({ status: 200 });
});

/** Two handlers with one value: the first waits for the test, and all that begin are noted. */
function firstAndSecond(options: ReceiverOptions) {
  const holding = gate();
  const begun: string[] = [];
  const { hooks, deploy } = startReceiver({ handlers: {}, ...options });
  hooks.on('transaction.paid', () => begun.push('first') && holding.opened, { serial });
  hooks.on('transaction.paid', () => begun.push('second'), { serial });
  return { hooks, deploy, holding, begun };
}

describe('when a claim is lost', () => {
  const losing = faultyStore({ renew: answers({ value: false }) });
  test.each<[string, IdempotencyStore]>([
    ['the event', { ...faultyStore(), claim: losing.claim }],
    ['the serial value', { ...losing, claim: faultyStore().claim }],
  ])('that of %s, no handler begins after another', async (_, store) => {
    const lost = gate();
    const { hooks, holding, begun } = firstAndSecond({ store, lease: 2_000 });
    hooks.on('transaction.paid', async (_, { signal }) => {
      await once(signal, 'abort');
      lost.open();
      throw signal.reason;
    });
    const answer = hooks.receive(receivable(paid('o')));
    await lost.opened;
    holding.open();
    expect((await answer).status).toBeGreaterThan(499);
    expect(begun).toEqual(['first']);
  });

  test('while the event loop was blocked, no handler begins after another', async () => {
    const { hooks, holding, begun } = firstAndSecond({ lease: 200 });
    const answer = hooks.receive(receivable(paid('o')));
    await until(() => begun.length === 1);
    for (const end = performance.now() + 300; performance.now() < end; );
    // Before any timer can tell: another process may have the event by now.
    holding.open();
    expect((await answer).status).toBeGreaterThan(499);
    expect(begun).toEqual(['first']);
  });

  test('because maxHandlerTime is over, no handler begins after another', async () => {
    const options = { store: memoryStore(), lease: 200, timeout: 50, maxHandlerTime: 300 };
    const { hooks, deploy, holding, begun } = firstAndSecond(options);
    const elsewhere = { 'transaction.paid': () => begun.push('elsewhere') };
    const other = deploy({ handlers: elsewhere });
    const sent = receivable(paid('o'));
    const deliverTo = async (to: Pick<typeof hooks, 'receive'>) => (await to.receive(sent)).status;
    expect(await deliverTo(hooks)).toBe(503);
    await until(async () => (await deliverTo(other.hooks)) === 200);
    holding.open();
    await until(async () => (await deliverTo(hooks)) === 200);
    expect(begun).toEqual(['first', 'elsewhere']);
  });
});

describe('a delivery that waits', () => {
  test('for several values waits for no delivery that waits for it', async () => {
    const { hooks } = startReceiver({ handlers: {}, timeout: 5_000 });
    const valueAt = (index: number) => (event: TransactionPaid) => serial(event).split(',')[index] ?? '';
    hooks.on('transaction.paid', () => pause(2), { serial: valueAt(0) });
    hooks.on('transaction.paid', () => pause(2), { serial: valueAt(1) });
    const orders = ['a,b', 'b,a', 'a,b', 'b,a'];
    const answers = orders.map((order) => hooks.receive(receivable(paid(order))));
    expect(await statusesOf(answers)).toEqual(ALL_WELL);
  });

  test('for a handler that never settles gets its turn after maxHandlerTime', async () => {
    const work = jest.fn<() => unknown>().mockReturnValueOnce(new Promise(() => {}));
    const { deliver } = start({ timeout: 50, lease: 200, maxHandlerTime: 300 }, work);
    expect(await deliver(paid('o'))).toMatchObject({ status: 503, code: 'HANDLER_TIMEOUT' });
    const next = paid('o');
    await until(async () => (await deliver(next)).status === 200, 10_000);
    expect(work).toHaveBeenCalledTimes(2);
  });

  test('or goes on after its answer keeps close() waiting until others can have its turn', async () => {
    const holding = gate();
    const store = faultyStore({ release: (real) => pause(100).then(real) });
    const { hooks, deliver } = start({ store, timeout: 50 }, () => holding.opened);
    expect(await deliver(paid('o'))).toMatchObject({ status: 503 });
    const closed = hooks.close();
    holding.open();
    await closed;
    const digest = createHash('sha256').update(Buffer.from('o', 'utf16le')).digest('hex');
    expect(await store.lock?.(`default:serial:${digest}`, 1)).toBeDefined();
  });

  test('for longer than timeout is answered 503, runs no handler, and its retry is processed', async () => {
    const store = memoryStore();
    const endTurn = await holdTurn({ store, timeout: 5_000 });
    const work = jest.fn();
    const { deliver, log } = start({ store, timeout: 100 }, work);
    const late = paid('o');
    const headers = { 'retry-after': '1' };
    expect(await deliver(late)).toMatchObject({ status: 503, code: 'IN_PROGRESS', headers });
    expect(work).not.toHaveBeenCalled();
    expect(log.lines).toMatchObject([{ hint: expect.stringContaining('same serial value') }]);
    await endTurn();
    expect(await deliver(late)).toMatchObject({ status: 200, outcome: 'processed' });
    expect(work).toHaveBeenCalledTimes(1);
  });

  test('for too long is kept as a dead letter, which its retry removes', async () => {
    const store = memoryStore();
    const endTurn = await holdTurn({ store, timeout: 5_000 });
    const { deliver, letters } = start({ store, timeout: 50, deadLetters: memoryDeadLetters() }, () => {});
    const late = paid('o');
    expect(await deliver(late)).toMatchObject({ status: 503 });
    const letter = { reason: 'failed', code: 'IN_PROGRESS', eventId: late.id };
    expect(await letters()).toMatchObject([letter]);
    await endTurn();
    expect(await deliver(late)).toMatchObject({ status: 200 });
    expect(await letters()).toEqual([]);
  });

  test('gets its turn when the handler before it fails', async () => {
    const work = jest.fn(() => pause(2)).mockImplementationOnce(() => pause(2).then(down));
    const { deliver } = start({}, work);
    const answers = await Promise.all([deliver(paid('o')), deliver(paid('o'))]);
    expect(answers.map(({ status }) => status)).toEqual([500, 200]);
  });

  test('waits for a handler that goes on after its answer', async () => {
    const holding = gate();
    const steps: string[] = [];
    const { deliver } = start({ timeout: 100 }, async () => {
      steps.push('begins');
      if (steps.length > 1) return;
      await holding.opened;
      steps.push('ends');
    });
    expect(await deliver(paid('o'))).toMatchObject({ status: 503, code: 'HANDLER_TIMEOUT' });
    expect(await deliver(paid('o'))).toMatchObject({ status: 503, code: 'IN_PROGRESS' });
    holding.open();
    await until(() => steps.includes('ends'));
    expect(await deliver(paid('o'))).toMatchObject({ status: 200 });
    expect(steps).toEqual(['begins', 'ends', 'begins']);
  });

  // Two wrappers of one store are to each other what two processes are.
  test('for another process asks the store again, at growing intervals, until the lock is free', async () => {
    const store = memoryStore();
    const endTurn = await holdTurn({ store: faultyStore({}, { store }) });
    const asking = faultyStore({}, { store });
    const { deliver } = start({ store: asking }, () => {});
    const waiting = deliver(paid('o'));
    await pause(700);
    const asked = asking.calls.length;
    expect(asked).toBeGreaterThan(3);
    expect(asked).toBeLessThan(30);
    expect(asking.calls).toEqual(Array(asked).fill('lock'));
    await endTurn();
    expect(await waiting).toMatchObject({ status: 200, outcome: 'processed' });
  });

  test('for another process is answered 503 as soon as another try would come too late', async () => {
    const store = memoryStore();
    const endTurn = await holdTurn({ store: faultyStore({}, { store }) });
    const work = jest.fn();
    const { deliver } = start({ store: faultyStore({}, { store }), timeout: 100 }, work);
    expect(await deliver(paid('o'))).toMatchObject({ status: 503, code: 'IN_PROGRESS' });
    expect(work).not.toHaveBeenCalled();
    await endTurn();
  });

  test('asks the store once, when its turn has come and the lock before it is released', async () => {
    const slow: Fault = (real) => pause(20).then(real);
    const store = faultyStore({ release: slow });
    const { deliver } = start({ store }, () => pause(5));
    const early = [deliver(paid('o')), deliver(paid('o'))];
    await early[0];
    expect(await statusesOf([...early, deliver(paid('o'))])).toEqual(ALL_WELL);
    expect(store.calls.filter((call) => call === 'lock')).toHaveLength(3);
  });

  test('does not get a turn that lasts longer than its lease', async () => {
    const store = memoryStore();
    const endTurn = await holdTurn({ store, lease: 1_000 });
    // A store of another process: only what it remembers is shared.
    const alike: IdempotencyStore = {
      claim: (...given) => store.claim(...given),
      lock: (...given) => store.lock?.(...given),
    };
    const work = jest.fn();
    const { deliver } = start({ store: alike, timeout: 2_000 }, work);
    expect(await deliver(paid('o'))).toMatchObject({ status: 503, code: 'IN_PROGRESS' });
    expect(work).not.toHaveBeenCalled();
    await endTurn();
  });

  test('has what is left of timeout for its handlers', async () => {
    const hanging = gate();
    const store = memoryStore();
    const endTurn = await holdTurn({ store });
    const { hooks, deliver, log } = start({ store, timeout: 1_200 }, () => hanging.opened);
    const late = deliver(paid('o'));
    await pause(300);
    await endTurn();
    expect(await late).toMatchObject({ status: 503, code: 'HANDLER_TIMEOUT' });
    const [, left] = /after (\d+) ms/.exec(String(log.lines[0]?.hint)) ?? [];
    // A stall of the machine makes it less.
    expect(Number(left)).toBeLessThan(950);
    hanging.open();
    await hooks.close();
  });
});

const LACKING = 'Its lock() returned neither undefined nor a lock: it lacks renew()';
const unreadable = Object.defineProperty({}, 'renew', { get: down });

test.each<[string, Fault, string]>([
  ['rejects', rejects, 'It threw'],
  ['answers null', answers({ value: null }), LACKING],
  ['answers a claim of the answer to claim()', answers({ value: { status: 'claimed' } }), LACKING],
  ['answers a lock that cannot be released', answers({ value: { renew: () => true } }), LACKING],
  ['answers a lock that cannot be renewed', answers({ value: { release: () => true } }), LACKING],
  ['answers what throws when it is read', answers({ value: unreadable }), 'Its answer to lock() threw'],
])('a store that %s for a lock: 503, and no handler runs', async (_, lock, why) => {
  const work = jest.fn();
  const { deliver, log } = start({ store: faultyStore({ lock }) }, work);
  expect(await deliver(paid('o'))).toMatchObject({ status: 503, code: 'STORE_UNAVAILABLE' });
  expect(work).not.toHaveBeenCalled();
  expect(JSON.stringify(log.lines)).toContain(why);
});

test('a lock that comes too late is given back, so that the next delivery gets it', async () => {
  const store = faultyStore({ lock: times(1, repliesAfter(300)) });
  const { deliver, log } = start({ store, storeTimeout: 100 }, () => {});
  expect(await deliver(paid('o'))).toMatchObject({ status: 503, code: 'STORE_UNAVAILABLE' });
  await until(() => store.calls.includes('release'));
  expect(await deliver(paid('o'))).toMatchObject({ status: 200 });
  expect(JSON.stringify(log.lines)).toContain('No answer within 100 ms.');
});

test('a lock that comes when its lease is over is given back', async () => {
  const store = faultyStore({ lock: times(1, repliesAfter(300)) });
  const { deliver, log } = start({ store, lease: 150 }, () => {});
  expect(await deliver(paid('o'))).toMatchObject({ status: 503, code: 'STORE_UNAVAILABLE' });
  const why = /It granted the lock after \d+ ms, when its lease of 150 ms had ended/;
  expect(JSON.stringify(log.lines)).toMatch(why);
  expect(store.calls).toContain('release');
});

test('a lock that cannot be released lapses, and the log says so', async () => {
  const store = faultyStore({ release: rejects });
  const { deliver, log } = start({ store }, () => {});
  expect(await deliver(paid('o'))).toMatchObject({ status: 200 });
  expect(log.lines[0]?.msg).toMatch(/^lock not released, so its lease will lapse: /);
});

const notText = (value: string) =>
  `The serial value of the handler mail is ${value}. Return text that is not empty.`;

test.each<[string, () => unknown, string]>([
  ['throws', () => raise(new Error('secret-1')), 'secret-1'],
  ['returns nothing', () => undefined, notText('undefined')],
  ['returns empty text', () => '', notText('""')],
  ['returns a promise', async () => 'secret-1', notText('an object')],
  // If nothing handled the rejection, Node would end the process, and Jest fails the test.
  ['returns a promise that rejects', async () => raise(new Error('secret-1')), notText('an object')],
])('a serial function that %s: 500, and the event is kept', async (_, broken, message) => {
  const handler = jest.fn();
  const { hooks, log, letters, post } = startReceiver({ handlers: {}, deadLetters: memoryDeadLetters() });
  hooks.on('transaction.paid', handler, { name: 'mail', serial: broken as never });
  expect(await post(delivery(paid('o')))).toMatchObject({ status: 500 });
  expect(handler).not.toHaveBeenCalled();
  expect(await letters()).toMatchObject([{ reason: 'failed', code: 'HANDLER_FAILED' }]);
  const line = log.lines.find(({ msg }) => msg === 'the serial function of a handler failed');
  expect(line).toMatchObject({ handler: 'mail', error: { message } });
});

test.each<[ReceiverOptions, object, RegExp]>([
  [{ store: false }, { serial }, /has serial, which needs a store\. Remove store: false\./],
  [
    { store: { claim: memoryStore().claim } },
    { serial },
    /has serial, which needs lock\(\) of the store, and this store has none/,
  ],
  [{}, { serial: 'order_id' }, /has serial "order_id"\. Pass a function/],
  [{}, { seriall: serial }, /Unknown option "seriall"\. Did you mean "serial"\?/],
])('on() refuses it with %p and %p', (options, given, message) => {
  const { hooks } = startReceiver({ handlers: {}, ...options });
  const on = () => hooks.on('transaction.paid', () => {}, given as never);
  expect(on).toThrow(ConfigurationError);
  expect(on).toThrow(message);
});
