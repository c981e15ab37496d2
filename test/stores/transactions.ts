// What holds of every store whose claim is a transaction, on every database and through every client.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { PoolConfig } from 'pg';
import type { Claim } from '../../src/claims/idempotency-store.js';
import { StoreError } from '../../src/errors.js';
import { testAtOnce } from '../setup/at-once.js';
import { type Compiled, compile } from '../setup/compiled.js';
import { until } from '../setup/waiting.js';
import { type Given, granted, grantedInTheEnd, type Opened, type PoolOptions, type World } from './worlds.js';

export const request = { leaseMs: 30_000, fingerprint: 'a'.repeat(64) };

type Query = (text: string, values?: unknown[]) => unknown;
interface Client {
  query: Query;
  release(): unknown;
  on(event: string, listener: () => void): Client;
}

/** Ways for a handler to keep the query function of its client. */
const KEPT: readonly (readonly [string, (client: Client) => Query])[] = [
  ['taken off the client', ({ query }) => query],
  ['bound to the client', (client) => client.query.bind(client)],
  [
    'of the client that on() returned',
    (client) => {
      const same = client.on('notice', () => {});
      return (text, values) => same.query(text, values);
    },
  ],
  [
    'of a copy of the client',
    (client) => {
      const copy = Object.create(client) as Client;
      return (text, values) => copy.query(text, values);
    },
  ],
];

const OWNER = 'test/stores/owner.ts';
let compiled: Compiled | undefined;

/** Starts an owner of a claim, which has written, and does nothing more. */
export async function startOwner(
  { url, table, ledger }: World,
  { by = '', key, leaseMs }: { by?: string; key: string; leaseMs: number },
): Promise<ChildProcess> {
  const args = [compiled?.of(OWNER) ?? '', by, url, table, ledger, key, String(leaseMs)];
  const owner = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [renewed] = await once(owner.stdout, 'data');
  expect(String(renewed)).toBe('true');
  return owner;
}

type Options = PoolOptions & PoolConfig & { readonly leaseMs?: number };

/** A claim of an event, in a store that was opened for it. */
export async function claimed<Open extends Opened>(world: World<Open>, options: Options = {}) {
  const { leaseMs = request.leaseMs, ...rest } = options;
  const opened = world.open(rest);
  const claim = granted(await opened.store.claim(opened.key, { ...request, leaseMs }));
  return { ...opened, claim, send: world.sending(claim.context.transaction) };
}

/** The same, and its handler has written a payment. */
export async function working<Open extends Opened>(world: World<Open>, options: Options = {}) {
  const given = await claimed(world, options);
  await world.pay(given.send, given.key);
  return given;
}

/** Everything that takes no longer than a statement does. */
export function keepsTransactions(world: World): void {
  test('commits the event and what handlers wrote together, once', async () => {
    const { store, key, idle, claim, send } = await claimed(world);
    expect([claim.attempt, claim.finished, claim.transactional]).toEqual([1, [], true]);
    await world.pay(send, key);
    expect([await world.paid(key), await world.known(key)]).toEqual([0, 0]);
    expect([await claim.complete(), await claim.complete()]).toEqual([true, true]);
    expect([await world.paid(key), await world.known(key)]).toEqual([1, 1]);
    const { fingerprint } = request;
    const other = await store.claim(key, { ...request, fingerprint: 'other' });
    expect(other).toEqual({ status: 'completed', fingerprint });
    await until(idle);
  });

  test('rolls everything back on release: the event is new, its attempt and finished handlers too', async () => {
    const { store, key, idle } = world.open();
    const first = granted(await store.claim(key, request));
    await world.pay(world.sending(first.context.transaction), key);
    expect(await first.release(['mail'])).toBe(true);
    expect([await world.paid(key), await world.known(key)]).toEqual([0, 0]);
    const second = granted(await store.claim(key, request));
    expect([second.attempt, second.finished, await second.release([])]).toEqual([1, [], true]);
    await until(idle);
  });

  test('an owner that has completed or released can do nothing more', async () => {
    const { store, key } = world.open();
    const released = granted(await store.claim(key, request));
    await released.release([]);
    const after = [await released.renew(1), await released.complete(), await released.release([])];
    expect(after).toEqual([false, false, false]);
    const completed = granted(await store.claim(key, request));
    const committing = completed.complete();
    const refused = [await completed.renew(1), await completed.release([])];
    expect([...refused, await committing]).toEqual([false, false, true]);
    expect([await completed.renew(1), await completed.release([])]).toEqual([false, false]);
    expect((await store.claim(key, request)).status).toBe('completed');
  });

  test('a duplicate that waits is told what became of the event', async () => {
    const { store, key } = world.open();
    const told = async (end: (claim: Claim<Given>) => Promise<boolean> | boolean) => {
      for (let tries = 1; ; tries += 1) {
        const again = `${key}:${end}:${tries}`.slice(0, 200);
        const claim = granted(await store.claim(again, request));
        const duplicate = store.claim(again, request);
        let answered = false;
        void Promise.resolve(duplicate).then(() => {
          answered = true;
        });
        await until(async () => answered || (await world.waiting()) > 0);
        expect(await end(claim)).toBe(true);
        const answer = await duplicate;
        // A machine that stalls for a second lets it wait in vain.
        if (answer.status !== 'in_progress' || tries === 5) return answer;
      }
    };
    expect(await granted(await told((claim) => claim.release([]))).complete()).toBe(true);
    expect((await told((claim) => claim.complete())).status).toBe('completed');
  });

  test.each([
    ['COMMIT'],
    ['ROLLBACK'],
    ['COMMIT', 'BEGIN'],
    ['ROLLBACK', 'BEGIN'],
    ['COMMIT AND CHAIN'],
    ['ROLLBACK AND CHAIN'],
  ])('a handler that ends the transaction by %s %s ends as a failure', async (...statements) => {
    const { store, key, idle, claim, send } = await working(world);
    for (const statement of statements) await send(statement);
    await expect(claim.complete()).rejects.toThrow('A handler has ended the transaction of its delivery');
    await expect(claim.complete()).rejects.toThrow(StoreError);
    await until(idle);
    const retry = await store.claim(key, request);
    expect(retry.status).toBe(statements[0]?.startsWith('COMMIT') ? 'in_progress' : 'claimed');
    if (retry.status === 'claimed') await retry.claim.release([]);
  });

  test('an error within a savepoint is up to the handler', async () => {
    const { key, claim, send } = await working(world);
    await send('SAVEPOINT s');
    await world.pay(send, key);
    await send('SELECT * FROM no_such_table').catch(() => {});
    await send('ROLLBACK TO SAVEPOINT s');
    await send('SAVEPOINT left_open');
    expect(await claim.complete()).toBe(true);
    expect(await world.paid(key)).toBe(1);
  });

  test.each([
    ['completed', (claim: Claim<Given>) => claim.complete()],
    ['released', (claim: Claim<Given>) => claim.release([])],
  ])('a handler can write nothing more once its claim is being %s', async (_, end) => {
    const { key, claim, send } = await claimed(world);
    const ending = end(claim);
    await expect(world.pay(send, key)).rejects.toThrow('has ended');
    expect([await ending, await world.paid(key)]).toEqual([true, 0]);
  });

  test('a handler cannot release its client', async () => {
    const { key, claim } = await claimed(world);
    const client = claim.context.transaction as Client;
    expect(() => client.release()).toThrow('the store returns its client to the pool');
    await world.pay(world.sending(client), key);
    expect([await claim.complete(), await world.paid(key)]).toEqual([true, 1]);
  });

  test.each(KEPT)(
    'a query after the end does not join the transaction of another event: %s',
    async (_, take) => {
      const { store, key, claim } = await claimed(world, { max: 1 });
      const query = take(claim.context.transaction as Client);
      const { ledger, placeholder } = world;
      const insert = (event: string) =>
        query(`INSERT INTO ${ledger} (event) VALUES (${placeholder})`, [event]);
      await insert(key);
      await claim.complete();
      const other = granted(await store.claim(`${key}:other`, request));
      expect(() => insert(`${key}:stray`)).toThrow('The transaction has ended');
      expect(await other.complete()).toBe(true);
      expect([await world.paid(key), await world.paid(`${key}:stray`)]).toEqual([1, 0]);
    },
  );

  test('a handler that goes on after its lease has ended writes nothing, and another can start at once', async () => {
    const { store, key, idle, claim, send } = await working(world, { max: 1 });
    await expire(claim);
    await until(idle);
    await expect(world.pay(send, key)).rejects.toThrow('The transaction has ended');
    expect([await claim.renew(1_000), await claim.release([])]).toEqual([false, false]);
    await fails(() => claim.complete(), 'The lease expired, so its transaction was rolled back.');
    const next = granted(await store.claim(key, request));
    await expect(world.pay(send, key)).rejects.toThrow('The transaction has ended');
    await world.pay(world.sending(next.context.transaction), key);
    expect([await next.complete(), await world.paid(key)]).toEqual([true, 1]);
  });

  test('when the connection breaks while handlers work, the owner is told, and another can start at once', async () => {
    const { store, key, idle, claim, send } = await working(world);
    const { transaction } = claim.context;
    await world.terminate(transaction);
    await until(async () => !(await claim.renew(30_000)));
    await fails(() => claim.complete());
    expect(await claim.release([])).toBe(false);
    await expect(send('SELECT 1')).rejects.toThrow('The transaction has ended');
    await until(idle);
    expect(await world.paid(key)).toBe(0);
    expect(await granted(await store.claim(key, request)).complete()).toBe(true);
  });

  test('when the connection breaks and nobody renews, the commit says so', async () => {
    const { key, idle, claim } = await working(world);
    const { transaction } = claim.context;
    await world.terminate(transaction);
    await fails(() => claim.complete());
    expect([await world.paid(key), await world.known(key)]).toEqual([0, 0]);
    await until(idle);
  });

  test('loses no statement that a handler made before the commit and did not await', async () => {
    const { key, claim, send } = await claimed(world);
    const renewed = claim.renew(30_000);
    const written = world.pay(send, key);
    expect(await claim.complete()).toBe(true);
    await Promise.all([renewed, written]);
    expect(await world.paid(key)).toBe(1);
  });

  test('shares its table with stores in lease mode: claims that run, attempts, and what is completed', async () => {
    const { store, leased, key } = world.open();
    const owner = granted(await leased().claim(key, { ...request, leaseMs: 60_000 }));
    const running = await store.claim(key, request);
    expect(running.status === 'in_progress' && running.retryAfterMs).toBeGreaterThan(50_000);
    expect(await owner.release(['mail'])).toBe(true);
    const claim = granted(await store.claim(key, request));
    expect([claim.attempt, claim.finished, await claim.complete()]).toEqual([2, ['mail'], true]);
    expect((await leased().claim(key, request)).status).toBe('completed');
  });

  test('has locks that are in lease mode', async () => {
    const { store, key } = world.open();
    const lock = await store.lock?.(key, 60_000);
    const running = await store.claim(key, request);
    expect(running.status === 'in_progress' && running.retryAfterMs).toBeGreaterThan(50_000);
    expect(await lock?.release()).toBe(true);
    expect(await granted(await store.claim(key, request)).complete()).toBe(true);
  });

  test('rejects when the table is missing, and no connection is lost', async () => {
    const { store, idle } = world.open({ max: 1, table: 'missing_table' });
    for (let round = 0; round < 3; round += 1)
      await expect(store.claim('a', request)).rejects.toThrow(/exist/);
    await until(idle);
  });
}

/** What waits, for a second or longer. @param by of its owner in another process */
export function keepsTransactionsOverTime(world: World, by?: string): void {
  // Not beside what waits: the compiler stops this process for a while.
  beforeAll(() => {
    compiled = compile([OWNER]);
  });
  afterAll(() => compiled?.remove());

  const scenes: Record<string, () => Promise<void>> = {
    'a duplicate waits for about a second, and is then in progress': async () => {
      const { store, key, claim } = await claimed(world);
      const askedAt = performance.now();
      const duplicate = await store.claim(key, request);
      expect(duplicate).toEqual({ status: 'in_progress', retryAfterMs: expect.any(Number) });
      expect(performance.now() - askedAt).toBeGreaterThan(world.placeholder === '?' ? 400 : 900);
      expect(await claim.complete()).toBe(true);
    },
    'renew tells at once that the transaction is open, also while a handler keeps it busy': async () => {
      const { statement, letGo } = await world.holding();
      const { store, key } = world.open();
      const claim = await renewedInTime(world, store, key);
      const send = world.sending(claim.context.transaction);
      let isBusy = true;
      const query = send(statement).finally(() => {
        isBusy = false;
      });
      for (const end = performance.now() + PAST_SHORT_MS; performance.now() < end; await pause(100))
        expect([await claim.renew(30_000), isBusy]).toEqual([true, true]);
      await letGo();
      await query;
      await world.pay(send, key);
      expect([await claim.complete(), await world.paid(key)]).toEqual([true, 1]);
    },
    'renew keeps an idle transaction alive on both sides': async () => {
      const { store, key } = world.open();
      const claim = await renewedInTime(world, store, key);
      await world.pay(world.sending(claim.context.transaction), key);
      await pause(PAST_SHORT_MS);
      expect(await Promise.all([claim.renew(30_000), claim.renew(30_000)])).toEqual([true, true]);
      expect([await claim.complete(), await world.paid(key)]).toEqual([true, 1]);
    },
    'a process that is killed while a handler works leaves nothing behind': async () => {
      const { store, key } = world.open();
      const owner = await startOwner(world, { ...(by && { by }), key, leaseMs: 60_000 });
      expect((await store.claim(key, request)).status).toBe('in_progress');
      const ended = once(owner, 'exit');
      owner.kill('SIGKILL');
      await ended;
      const next = await grantedInTheEnd(() => store.claim(key, request));
      expect([await world.paid(key), await next.complete()]).toEqual([0, true]);
    },
  };
  testAtOnce(Object.entries(scenes).map(([name, run]) => ({ name, run })));

  test('of 24 who claim at once exactly one gets it', async () => {
    const { store, key } = world.open({ max: 26 });
    const results = await Promise.all(Array.from({ length: 24 }, () => store.claim(key, request)));
    expect(results.map(({ status }) => status).sort()).toEqual(['claimed', ...Array(23).fill('in_progress')]);
    for (const result of results) if (result.status === 'claimed') await result.claim.release([]);
  });

  test('three copies each of 60 events, some of which fail, leave one payment each', async () => {
    const { store, key, idle } = world.open({ max: 10 });
    const events = Array.from({ length: 180 }, (_, index) => `${key}:${index % 60}`);
    const done = new Set<string>();
    const deliver = async (event: string) => {
      const result = await store.claim(event, request);
      if (result.status === 'completed') done.add(event);
      if (result.status !== 'claimed') return;
      await world.pay(world.sending(granted(result).context.transaction), event);
      if (Math.random() < 0.2) await result.claim.release([]);
      else if (await result.claim.complete()) done.add(event);
    };
    for (let round = 0; done.size < 60 && round < 30; round += 1) await Promise.all(events.map(deliver));
    await until(idle);
    const [row] = await world.observe(
      `SELECT count(*) AS payments, count(DISTINCT event) AS events FROM ${world.ledger} WHERE event LIKE ${world.placeholder}`,
      [`${key}:%`],
    );
    expect([Number(row?.payments), Number(row?.events)]).toEqual([60, 60]);
  }, 60_000);
}

const SHORT_MS = 1_000;
const PAST_SHORT_MS = 1_300;

/** A claim whose lease was short, and was made long in time: on a machine that stalls it is claimed again. */
async function renewedInTime(world: World, store: ReturnType<World['open']>['store'], key: string) {
  for (let tries = 1; ; tries += 1) {
    const claim = granted(await store.claim(key, { ...request, leaseMs: SHORT_MS }));
    if (await claim.renew(30_000)) return claim;
    if (tries === 5) throw new Error(`a lease of ${SHORT_MS} ms was over before it was renewed`);
    await until(async () => (await world.known(key)) === 0);
  }
}

/** Ends the lease of a claim, as the silence of its owner would. */
export async function expire(claim: Claim<Given>): Promise<void> {
  await claim.renew(50);
}

/** It is not confirmed: false, or an error that may be expected to say this. */
export async function fails(complete: () => Promise<boolean> | boolean, message = ''): Promise<void> {
  const outcome = await (async () => complete())().catch((error: Error) => error);
  if (typeof outcome === 'boolean') expect(outcome).toBe(false);
  else expect(outcome.message).toContain(message);
}
