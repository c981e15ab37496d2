// Handlers with the same serial value: in turns, in one process and in several, and what becomes of a delivery that waits.
import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  ConfigurationError,
  memoryDeadLetters,
  memoryStore,
  type ReceiverOptions,
  receiver,
  type TransactionPaid,
} from 'payment-webhooks';
import { Pool } from 'pg';
import { createClient } from 'redis';
import type { Claim, IdempotencyStore } from '../../src/claims/idempotency-store.js';
import { fixtures } from '../../src/fixtures/fixture.js';
import { postgresStore } from '../../src/stores/postgres.js';
import { redisStore } from '../../src/stores/redis.js';
import { captureLog } from '../setup/captured-log.js';
import { delivery, KEY, receivable } from '../setup/delivery.js';
import { lettersOf } from '../setup/faulty-dead-letters.js';
import { answers, type Fault, faultyStore, rejects, repliesAfter, times } from '../setup/faulty-store.js';
import { needing } from '../setup/platform.js';
import { gate, PATIENT, until } from '../setup/waiting.js';

type Paid = TransactionPaid;
const paid = (order: string) => fixtures.transactionPaid({ payload: { transaction: { order_id: order } } });
const serial = (event: TransactionPaid) => event.payload.transaction.order_id;

/** A receiver whose handler is serial, and a way to deliver to it. */
function start(options: ReceiverOptions<{}, object>, work: (order: string, context: object) => unknown) {
  const log = captureLog();
  const hooks = receiver({ privateKey: KEY, logger: log.logger, ...options });
  hooks.on('transaction.paid', (event, context) => work(serial(event), context), { serial });
  const deliver = async (event: Paid) => {
    const answer = await hooks.receive(receivable(event));
    return { status: answer.status, headers: answer.headers, ...JSON.parse(answer.body) };
  };
  return { hooks, deliver, log };
}

/** Handlers that say when two with one value run at once. */
function watched() {
  const running = new Map<string, number>();
  const seen = { overlaps: 0, handled: 0, most: 0 };
  const work = async (order: string) => {
    const before = running.get(order) ?? 0;
    if (before > 0) seen.overlaps += 1;
    running.set(order, before + 1);
    seen.most = Math.max(
      seen.most,
      [...running.values()].reduce((sum, n) => sum + n, 0),
    );
    await pause(Math.random() * 4);
    running.set(order, (running.get(order) ?? 0) - 1);
    seen.handled += 1;
  };
  return { seen, work };
}

const schema = `serial_${randomBytes(6).toString('hex')}`;
const table = `${schema}.webhook_event`;
const postgresUrl = process.env.TEST_POSTGRES_URL ?? '';
const redisUrl = process.env.TEST_REDIS_URL ?? '';
const prefix = `test:${randomBytes(6).toString('hex')}:`;

/** Each call is a store as another process would have it: nothing is shared but the server. */
const shared: [string, string, () => Promise<IdempotencyStore<object>>, () => Promise<void>][] = [
  ...storesOf('Redis', 'redis-server', async (onEnd) => {
    const client = createClient({ url: redisUrl });
    await client.connect();
    onEnd(() => client.close());
    return redisStore({ sendCommand: (...args) => client.sendCommand(args), prefix });
  }),
  ...storesOf('Postgres', 'postgres', async (onEnd) => {
    const pool = new Pool({ connectionString: postgresUrl, max: 8 });
    onEnd(() => pool.end());
    return postgresStore({ pool, table });
  }),
  ...storesOf('Postgres, transactional', 'postgres', async (onEnd) => {
    const pool = new Pool({ connectionString: postgresUrl, max: 8 });
    onEnd(() => pool.end());
    return postgresStore({ pool, table, transactional: true });
  }),
];

function storesOf(
  name: string,
  program: string,
  open: (onEnd: (end: () => Promise<unknown>) => void) => Promise<IdempotencyStore<object>>,
): [[string, string, () => Promise<IdempotencyStore<object>>, () => Promise<void>]] {
  const ends: (() => Promise<unknown>)[] = [];
  return [
    [
      name,
      program,
      () => open((end) => ends.push(end)),
      async () => {
        await Promise.all(ends.splice(0).map((end) => end()));
      },
    ],
  ];
}

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
function slowWithEvents(): { store: IdempotencyStore; ends: string[] } {
  const ends: string[] = [];
  const memory = memoryStore();
  const store: IdempotencyStore = {
    async lock(key, leaseMs) {
      const lock = await memory.lock?.(key, leaseMs);
      return (
        lock && {
          renew: (ms) => lock.renew(ms),
          release: async () => {
            const done = await lock.release();
            ends.push('release lock');
            return done;
          },
        }
      );
    },
    async claim(key, request) {
      await pause(400);
      const result = await memory.claim(key, request);
      if (result.status !== 'claimed') return result;
      const { claim } = result;
      const end = async (verb: string, call: () => boolean | Promise<boolean>) => {
        await pause(5);
        const done = await call();
        ends.push(`${verb} event`);
        return done;
      };
      return {
        status: 'claimed',
        claim: {
          ...claim,
          renew: (leaseMs) => claim.renew(leaseMs),
          complete: () => end('complete', () => claim.complete()),
          release: (finished) => end('release', () => claim.release(finished)),
        },
      };
    },
  };
  return { store, ends };
}

describe('the lock of a serial value', () => {
  test.each([
    ['completed', () => {}, 'complete event'],
    ['released', () => Promise.reject(new Error('no such order')), 'release event'],
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
    const hooks = receiver({ privateKey: KEY, logger: false });
    const { seen, work } = watched();
    const run = async (event: Paid) => {
      handled.push(serial(event));
      await work('same');
    };
    hooks.on('transaction.paid', run, { serial: () => 'same' });
    const orders = Array.from({ length: 40 }, (_, n) => `o${n}`);
    const answers = await Promise.all(
      orders.map((order) => {
        return hooks.receive(receivable(paid(order)));
      }),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(seen).toMatchObject({ overlaps: 0, handled: 40 });
    expect(handled).toEqual(orders);
  });

  test('whichever receiver of one store they belong to', async () => {
    const { seen, work } = watched();
    const store = memoryStore();
    const receivers = [start({ store }, work), start({ store }, work)];
    const deliveries = Array.from({ length: 40 }, (_, n) => receivers[n % 2]?.deliver(paid(`o${n % 4}`)));
    expect(new Set((await Promise.all(deliveries)).map((answer) => answer?.status))).toEqual(new Set([200]));
    expect(seen).toMatchObject({ overlaps: 0, handled: 40 });
    expect(seen.most).toBeGreaterThan(1);
  });

  describe.each(shared)('through %s', (_, program, open, close) => {
    const maybe = needing(program).test;
    afterAll(close);

    maybe(
      'in any process',
      async () => {
        const { seen, work } = watched();
        const stores = await Promise.all([open(), open(), open()]);
        const deliveries = stores.flatMap((store) => {
          const { deliver } = start({ ...PATIENT, store }, work);
          return Array.from({ length: 20 }, (_, n) => deliver(paid(`o${n % 5}`)));
        });
        const answers = await Promise.all(deliveries);
        expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
        expect(seen).toMatchObject({ overlaps: 0, handled: 60 });
        expect(seen.most).toBeGreaterThan(1);
        expect(await remembered()).toEqual([]);
      },
      60_000,
    );
  });

  needing('postgres').test(
    'in transactions of a pool that has one client for each delivery at most',
    async () => {
      const pool = new Pool({ connectionString: postgresUrl, max: 1 });
      const { seen, work } = watched();
      const store = postgresStore({ pool, table, transactional: true });
      const { deliver } = start({ ...PATIENT, store }, work);
      const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => deliver(paid(`pool-${n}`))));
      await pool.end();
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      expect(seen).toMatchObject({ overlaps: 0, handled: 10 });
    },
    60_000,
  );

  // Versions before locks claimed the same key, like that of an event.
  describe.each(shared.slice(0, 2))('in %s', (_, program, open, close) => {
    needing(program).test(
      'excludes processes of an older version',
      async () => {
        const [older, newer] = [await open(), await open()];
        const key = `default:serial:${randomBytes(8).toString('hex')}`;
        const claimed = await older.claim(key, { leaseMs: 60_000, fingerprint: 'serial' });
        if (claimed.status !== 'claimed') throw new Error('not claimed');
        expect(await newer.lock?.(key, 60_000)).toBeUndefined();
        await claimed.claim.release([]);
        const lock = await newer.lock?.(key, 60_000);
        expect(await older.claim(key, { leaseMs: 60_000, fingerprint: 'serial' })).toMatchObject({
          status: 'in_progress',
        });
        expect(await lock?.release()).toBe(true);
        expect(await older.claim(key, { leaseMs: 1, fingerprint: 'serial' })).toMatchObject({
          status: 'claimed',
        });
        await close();
      },
      60_000,
    );
  });

  test('and a memory store remembers as many events as without', async () => {
    const { deliver } = start({ store: memoryStore({ maxEntries: 10 }) }, () => {});
    const events = Array.from({ length: 100 }, (_, n) => paid(`o${n}`));
    for (const event of events) expect(await deliver(event)).toMatchObject({ outcome: 'processed' });
    for (const event of events.slice(-10))
      expect(await deliver(event)).toMatchObject({ outcome: 'duplicate' });
  });

  needing('postgres').test(
    'and each sees what the transaction before it has written',
    async () => {
      const [, , open, close] = shared[2] ?? (shared[0] as never);
      await admin.query(`INSERT INTO ${schema}.counter VALUES ('c', 0)`);
      const count = async (_: string, context: object) => {
        const { transaction } = context as { transaction: Pool };
        const { rows } = await transaction.query(`SELECT n FROM ${schema}.counter WHERE name = 'c'`);
        await pause(2);
        await transaction.query(`UPDATE ${schema}.counter SET n = $1 WHERE name = 'c'`, [rows[0].n + 1]);
      };
      const receivers = (await Promise.all([open(), open()])).map((store) => start({ store }, count));
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) => receivers[n % 2]?.deliver(paid('same'))),
      );
      expect(new Set(answers.map((answer) => answer?.status))).toEqual(new Set([200]));
      const { rows } = await admin.query(`SELECT n FROM ${schema}.counter WHERE name = 'c'`);
      expect(rows).toEqual([{ n: 20 }]);
      await close();
    },
    60_000,
  );

  test('two of one event take turns, in the order of registration', async () => {
    const steps: string[] = [];
    const hooks = receiver({ privateKey: KEY, logger: false });
    for (const name of ['first', 'second']) {
      hooks.on(
        'transaction.paid',
        async () => {
          steps.push(`${name} begins`);
          await pause(5);
          steps.push(`${name} ends`);
        },
        { name, serial },
      );
    }
    const other = gate();
    hooks.on('transaction.paid', () => other.open(), { serial: () => 'other' });
    const answer = await hooks.receive(receivable(paid('o')));
    await other.opened;
    expect([answer.status, steps]).toEqual([
      200,
      ['first begins', 'first ends', 'second begins', 'second ends'],
    ]);
  });
});

test('values that are no well-formed text are different values', async () => {
  const log = captureLog();
  const hooks = receiver({ privateKey: KEY, logger: log.logger, timeout: 1_000 });
  hooks.on('transaction.paid', () => {}, { serial: () => '\ud800' });
  hooks.on('transaction.paid', () => {}, { serial: () => '\ud801' });
  expect(await hooks.receive(receivable(paid('o')))).toMatchObject({ status: 200 });
});

/** Two handlers with one value: the first waits for the test, and all that begin are noted. */
function firstAndSecond(options: ReceiverOptions) {
  const holding = gate();
  const begun: string[] = [];
  const hooks = receiver({ privateKey: KEY, logger: false, ...options });
  const first = async () => {
    begun.push('first');
    await holding.opened;
  };
  hooks.on('transaction.paid', first, { serial });
  hooks.on('transaction.paid', () => begun.push('second'), { serial });
  return { hooks, holding, begun };
}

describe('when a claim is lost', () => {
  test.each(['live', 'serial'])('that of the %s key, no handler begins after another', async (kind) => {
    const lost = gate();
    const inner = memoryStore();
    const store: IdempotencyStore = {
      claim: async (key, request) => {
        const answer = await inner.claim(key, request);
        if (answer.status !== 'claimed' || kind !== 'live') return answer;
        return { ...answer, claim: { ...granted(answer.claim), renew: () => false } };
      },
      lock: async (key, leaseMs) => {
        const lock = await inner.lock?.(key, leaseMs);
        if (!lock || kind !== 'serial') return lock;
        return { renew: () => false, release: () => lock.release() };
      },
    };
    const { hooks, holding, begun } = firstAndSecond({ store, lease: 2_000 });
    hooks.on(
      'transaction.paid',
      (_, { signal }) =>
        new Promise<void>((_, reject) =>
          signal.addEventListener('abort', () => {
            lost.open();
            reject(signal.reason);
          }),
        ),
    );
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
    const { hooks, holding, begun } = firstAndSecond(options);
    const elsewhere = { 'transaction.paid': () => begun.push('elsewhere') };
    const other = receiver({ privateKey: KEY, logger: false, ...options, handlers: elsewhere });
    const { body, headers } = delivery(paid('o'));
    const deliverTo = async (to: { receive: typeof hooks.receive }) =>
      (await to.receive({ rawBody: body, headers })).status;
    expect(await deliverTo(hooks)).toBe(503);
    await until(async () => (await deliverTo(other)) === 200);
    holding.open();
    await until(async () => (await deliverTo(hooks)) === 200);
    expect(begun).toEqual(['first', 'elsewhere']);
  });
});

/** With its methods, for a claim that is wrapped. */
function granted(claim: Claim): Claim {
  return {
    attempt: claim.attempt,
    finished: claim.finished,
    renew: (leaseMs) => claim.renew(leaseMs),
    complete: () => claim.complete(),
    release: (finished) => claim.release(finished),
  };
}

describe('a delivery that waits', () => {
  test('for several values waits for no delivery that waits for it', async () => {
    const hooks = receiver({ privateKey: KEY, logger: false, store: memoryStore(), timeout: 5_000 });
    const [first, second] = ['a,b', 'b,a'];
    const valueAt = (index: number) => (event: TransactionPaid) => serial(event).split(',')[index] ?? '';
    hooks.on('transaction.paid', () => pause(2), { serial: valueAt(0) });
    hooks.on('transaction.paid', () => pause(2), { serial: valueAt(1) });
    const answers = await Promise.all(
      [first, second, first, second].map((order) => {
        return hooks.receive(receivable(paid(order)));
      }),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });

  test('for a handler that never settles gets its turn after maxHandlerTime', async () => {
    let handled = 0;
    const { deliver } = start({ timeout: 50, lease: 200, maxHandlerTime: 300 }, () => {
      handled += 1;
      return handled === 1 ? new Promise(() => {}) : undefined;
    });
    expect(await deliver(paid('o'))).toMatchObject({ status: 503, code: 'HANDLER_TIMEOUT' });
    const next = paid('o');
    await until(async () => (await deliver(next)).status === 200, 10_000);
    expect(handled).toBe(2);
  });

  test('or goes on after its answer keeps close() waiting until others can have its turn', async () => {
    const holding = gate();
    const store = faultyStore({
      release: async (real) => {
        await pause(100);
        return real();
      },
    });
    const log = captureLog();
    const hooks = receiver({ privateKey: KEY, logger: log.logger, store, timeout: 50 });
    hooks.on('transaction.paid', () => holding.opened, { serial });
    const event = paid('o');
    expect(await hooks.receive(receivable(event))).toMatchObject({ status: 503 });
    const closing = hooks.close();
    holding.open();
    await closing;
    const key = `default:serial:${createHash('sha256')
      .update(Buffer.from(serial(event), 'utf16le'))
      .digest('hex')}`;
    expect(await store.lock?.(key, 1)).toBeDefined();
  });

  test('for longer than timeout is answered 503, runs no handler, and its retry is processed', async () => {
    const holding = gate();
    let handled = 0;
    const options = { store: memoryStore(), timeout: 100 };
    const holder = start({ ...options, timeout: 5_000 }, () => holding.opened);
    const { deliver, log } = start(options, () => {
      handled += 1;
    });
    const first = holder.deliver(paid('o'));
    await until(() => holder.hooks.inFlight === 1);
    const late = paid('o');
    expect(await deliver(late)).toMatchObject({
      status: 503,
      code: 'IN_PROGRESS',
      headers: { 'Retry-After': '1' },
    });
    expect(handled).toBe(0);
    expect(log.lines).toMatchObject([{ hint: expect.stringContaining('same serial value') }]);
    holding.open();
    expect(await first).toMatchObject({ status: 200 });
    expect(await deliver(late)).toMatchObject({ status: 200, outcome: 'processed' });
    expect(handled).toBe(1);
  });

  test('for too long is kept as a dead letter, which its retry removes', async () => {
    const holding = gate();
    const store = memoryStore();
    const holder = start({ store, timeout: 5_000 }, () => holding.opened);
    const { hooks, deliver } = start({ store, timeout: 50, deadLetters: memoryDeadLetters() }, () => {});
    const first = holder.deliver(paid('o'));
    await until(() => holder.hooks.inFlight === 1);
    const late = paid('o');
    expect(await deliver(late)).toMatchObject({ status: 503 });
    expect(await lettersOf(hooks as never)).toMatchObject([
      { reason: 'failed', code: 'IN_PROGRESS', eventId: late.id },
    ]);
    holding.open();
    await first;
    expect(await deliver(late)).toMatchObject({ status: 200 });
    expect(await lettersOf(hooks as never)).toEqual([]);
  });

  test('gets its turn when the handler before it fails', async () => {
    const orders: string[] = [];
    const { deliver } = start({}, async (order) => {
      orders.push(order);
      await pause(2);
      if (orders.length === 1) throw new Error('no');
    });
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

  test('does not get a turn that lasts longer than its lease', async () => {
    const holding = gate();
    const store = memoryStore();
    const holder = start({ store, lease: 1_000 }, () => holding.opened);
    let handled = 0;
    // A store of another process: only what it remembers is shared.
    const alike: IdempotencyStore = {
      claim: (...given) => store.claim(...given),
      lock: (...given) => store.lock?.(...given),
    };
    const other = start({ store: alike, timeout: 2_000 }, () => {
      handled += 1;
    });
    const first = holder.deliver(paid('o'));
    await until(() => holder.hooks.inFlight === 1);
    expect(await other.deliver(paid('o'))).toMatchObject({ status: 503, code: 'IN_PROGRESS' });
    expect(handled).toBe(0);
    holding.open();
    expect(await first).toMatchObject({ status: 200 });
  });

  test('has what is left of timeout for its handlers', async () => {
    const [holding, hanging] = [gate(), gate()];
    const store = memoryStore();
    const holder = start({ store }, () => holding.opened);
    const { hooks, deliver, log } = start({ store, timeout: 1_200 }, () => hanging.opened);
    const first = holder.deliver(paid('o'));
    await until(() => holder.hooks.inFlight === 1);
    const late = deliver(paid('o'));
    await pause(300);
    holding.open();
    await first;
    expect(await late).toMatchObject({ status: 503, code: 'HANDLER_TIMEOUT' });
    const [, left] = /after (\d+) ms/.exec(String(log.lines[0]?.hint)) ?? [];
    // A stall of the machine makes it less.
    expect(Number(left)).toBeLessThan(950);
    hanging.open();
    await hooks.close();
  });
});

test.each<[string, Fault]>([
  ['rejects', rejects],
  ['answers null', answers({ value: null })],
  ['answers a claim of the answer to claim()', answers({ value: { status: 'claimed' } })],
  ['answers a lock that cannot be released', answers({ value: { renew: () => true } })],
  [
    'answers what throws when it is read',
    answers({
      value: {
        get renew(): never {
          throw new Error('no');
        },
      },
    }),
  ],
])('a store that %s for a lock: 503, and no handler runs', async (what, lock) => {
  let handled = 0;
  const { deliver, log } = start({ store: faultyStore({ lock }) }, () => {
    handled += 1;
  });
  expect(await deliver(paid('o'))).toMatchObject({ status: 503, code: 'STORE_UNAVAILABLE' });
  expect(handled).toBe(0);
  expect(JSON.stringify(log.lines)).toMatch(
    what === 'rejects'
      ? 'It threw'
      : /Its answer to lock\(\) (?:is not undefined, and lacks renew\(\)|threw)/,
  );
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
  expect(JSON.stringify(log.lines)).toMatch(
    /It granted the lock after \d+ ms, when its lease of 150 ms had ended/,
  );
  expect(store.calls).toContain('release');
});

test('a lock that cannot be released lapses, and the log says so', async () => {
  const store = faultyStore({ release: rejects });
  const { deliver, log } = start({ store }, () => {});
  expect(await deliver(paid('o'))).toMatchObject({ status: 200 });
  expect(log.lines[0]).toMatchObject({
    msg: expect.stringMatching(/^lock not released, so its lease will lapse: /),
  });
});

test.each<[string, () => unknown]>([
  [
    'throws',
    () => {
      throw new Error('secret-1');
    },
  ],
  ['returns nothing', () => undefined],
  ['returns empty text', () => ''],
  ['returns a promise', async () => 'secret-1'],
])('a serial function that %s: 500, and the event is kept', async (_, broken) => {
  const log = captureLog();
  let handled = 0;
  const hooks = receiver({ privateKey: KEY, logger: log.logger, deadLetters: memoryDeadLetters() });
  hooks.on(
    'transaction.paid',
    () => {
      handled += 1;
    },
    { serial: broken as never },
  );
  expect(await hooks.receive(receivable(paid('o')))).toMatchObject({ status: 500 });
  expect(handled).toBe(0);
  expect(await lettersOf(hooks)).toMatchObject([{ reason: 'failed', code: 'HANDLER_FAILED' }]);
  expect(log.lines).toEqual(
    expect.arrayContaining([expect.objectContaining({ msg: 'the serial function of a handler failed' })]),
  );
});

test.each<[ReceiverOptions, object, RegExp]>([
  [{ store: false }, { serial }, /has serial, which needs a store\. Remove store: false\./],
  [
    { store: { claim: memoryStore().claim } },
    { serial },
    /has serial, which needs lock\(\) of the store, and this store has none/,
  ],
  [{}, { serial: 'order_id' }, /has serial "order_id"\. Give a function/],
  [{}, { seriall: serial }, /Unknown option "seriall"\. Did you mean "serial"\?/],
])('on() refuses it with %p and %p', (options, given, message) => {
  const hooks = receiver({ privateKey: KEY, logger: false, ...options });
  const on = () => hooks.on('transaction.paid', () => {}, given as never);
  expect(on).toThrow(ConfigurationError);
  expect(on).toThrow(message);
});
