// What holds of calls that share statements, on every database.
import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, jest, test } from '@jest/globals';
import { receiver } from 'payment-webhooks';
import { fixtures } from 'payment-webhooks/testing';
import type { Claim, IdempotencyStore } from '../../src/contracts/idempotency-store.js';
import { delivery, KEY } from '../setup/delivery.js';
import { until } from '../setup/waiting.js';
import type { BatchWorld, Hook, Sent } from './batch-worlds.js';
import { bytes } from './leases.js';
import { granted } from './worlds.js';

let made = 0;
const newKeys = (count: number) => {
  made += 1;
  return Array.from({ length: count }, (_, number) => `default:live:${made}-${number}`);
};

const claimAll = async (store: IdempotencyStore<object>, keys: readonly string[]) =>
  Promise.all(keys.map(async (key) => granted(await store.claim(key, bytes))));
const completeAll = (claims: readonly Claim<object>[]) =>
  Promise.all(claims.map((claim) => claim.complete()));

/** Notes each statement, and whether it failed. */
function watching(hook: Hook = (_, send) => send()) {
  const sent: (Sent & { failed: unknown })[] = [];
  const watch: Hook = async (one, send) => {
    const noted = { ...one, failed: undefined as unknown };
    sent.push(noted);
    try {
      return await hook(one, send);
    } catch (error) {
      noted.failed = error;
      throw error;
    }
  };
  return { sent, watch, batches: () => sent.filter(({ isBatch }) => isBatch) };
}

export function sharesStatements(world: BatchWorld): void {
  test('takes fewer than 20 statements for 200 steps, and none of them fails', async () => {
    const { sent, watch } = watching();
    const store = world.open(watch);
    const keys = newKeys(100);
    const claims = await claimAll(store, keys);
    expect(claims.map(({ attempt, finished }) => [attempt, finished])).toEqual(keys.map(() => [1, []]));
    expect(await completeAll(claims)).toEqual(keys.map(() => true));
    expect(sent.filter(({ failed }) => failed !== undefined)).toEqual([]);
    expect(sent.filter(({ isBatch }) => isBatch)).not.toEqual([]);
    expect(sent.length).toBeLessThan(20);
    const rows = await world.rows();
    expect(keys.map((key) => rows.get(key))).toEqual(keys.map(() => 'completed'));
  });

  test('sends one call at once by the statement of one call', async () => {
    const { sent, watch } = watching();
    const store = world.open(watch);
    const [claim] = (await claimAll(store, newKeys(1))) as [Claim];
    expect(await claim.complete()).toBe(true);
    expect(sent.filter(({ isBatch }) => isBatch)).toEqual([]);
  });

  test('grants an event to one of several deliveries that a statement has in it', async () => {
    const store = world.open();
    const keys = newKeys(20);
    const results = await Promise.all([...keys, ...keys, ...keys].map((key) => store.claim(key, bytes)));
    for (const [number] of keys.entries()) {
      const statuses = [0, 20, 40].map((from) => results[from + number]?.status).sort();
      expect(statuses).toEqual(['claimed', 'in_progress', 'in_progress']);
    }
    const claims = results.flatMap((result) => (result.status === 'claimed' ? result.claim : []));
    // The same owner may complete again, also in the same statement.
    expect(await completeAll([...claims, ...claims])).toEqual([...claims, ...claims].map(() => true));
  });

  test('answers each caller with what the table says at the end', async () => {
    const store = world.open();
    const [done = '', failed = '', running = '', ...fresh] = newKeys(12);
    const [first, second] = (await claimAll(store, [done, failed, running])) as [Claim, Claim];
    expect(await first.complete()).toBe(true);
    expect(await second.release(['mail'])).toBe(true);
    const results = await Promise.all(
      [done, failed, running, ...fresh].map((key) => store.claim(key, bytes)),
    );
    expect(results.slice(0, 3)).toMatchObject([
      { status: 'completed', fingerprint: bytes.fingerprint },
      { status: 'claimed', claim: { attempt: 2, finished: ['mail'] } },
      { status: 'in_progress' },
    ]);
    const claims = results.slice(3).map(granted);
    // A claim whose event was forgotten and claimed again is lost; the others of its statement are not.
    const [lost, ...kept] = claims as unknown as [Claim, ...Claim[]];
    await lost.release([]);
    const [newer] = (await claimAll(store, fresh.slice(0, 1))) as [Claim];
    expect(await completeAll(claims)).toEqual([false, ...kept.map(() => true)]);
    const rows = await world.rows();
    expect(fresh.map((key) => rows.get(key))).toEqual(['running', ...kept.map(() => 'completed')]);
    expect(await newer.complete()).toBe(true);
  });

  test('grants what a statement has written although its answer was lost', async () => {
    const { watch } = watching(async ({ isBatch, text }, send) => {
      const reply = await send();
      if (isBatch && /INSERT/.test(text)) throw Object.assign(new Error('lost'), { code: 'ECONNRESET' });
      return reply;
    });
    const keys = newKeys(5);
    const claims = await claimAll(world.open(watch), keys);
    expect(claims.map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1, 1]);
    expect(await completeAll(claims)).toEqual([true, true, true, true, true]);
  });

  test('lets a statement without an answer keep only its own calls waiting', async () => {
    let silent = 4;
    const { watch } = watching(({ isBatch }, send) => {
      silent -= Number(isBatch);
      return isBatch && silent >= 0 ? new Promise(() => {}) : send();
    });
    const store = world.open(watch);
    const stuck = new Set<string>();
    const keys: string[] = [];
    for (let wave = 0; wave < 4; wave += 1) {
      const two = newKeys(2);
      keys.push(...two);
      for (const key of two) {
        stuck.add(key);
        void Promise.resolve(store.claim(key, bytes)).then(() => stuck.delete(key));
      }
      await new Promise(setImmediate);
    }
    const claims = await claimAll(store, newKeys(3));
    expect(await completeAll(claims)).toEqual([true, true, true]);
    expect(stuck.size).toBe(keys.length);
  });

  test('goes on alone, and warns once, when statements of several calls always fail', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const { batches, watch } = watching(({ isBatch }, send) =>
      isBatch ? Promise.reject(Object.assign(new Error('secret'), { code: '42601' })) : send(),
    );
    const store = world.open(watch);
    for (let wave = 0; wave < 6; wave += 1) {
      const claims = await claimAll(store, newKeys(5));
      expect(await completeAll(claims)).toEqual([true, true, true, true, true]);
      // Until it is noted that all of them succeeded.
      await new Promise(setImmediate);
    }
    const warnings = warn.mock.calls.map(([text]) => text);
    warn.mockRestore();
    expect(batches()).toHaveLength(2 * 3);
    expect(warnings).toEqual([
      'The database fails to claim several events in one statement, so each has its own from now on. It threw 42601.',
      'The database fails to complete several events in one statement, so each has its own from now on. It threw 42601.',
    ]);
  });

  test('goes on sharing after a server was down', async () => {
    let down = 4;
    const { batches, watch } = watching(({ isBatch }, send) => {
      if (!isBatch || down === 0) return send();
      down -= 1;
      return Promise.reject(Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
    });
    const store = world.open(watch);
    const waves: Promise<Claim<object>[]>[] = [];
    for (let wave = 0; wave < 4; wave += 1) {
      waves.push(claimAll(store, newKeys(5)));
      await Promise.resolve();
    }
    await Promise.all(waves);
    const before = batches().length;
    await claimAll(store, newKeys(5));
    expect(batches().length).toBeGreaterThan(before);
  });

  test('sends a statement in the context of one of its deliveries, and what goes alone in its own', async () => {
    const deliveries = new AsyncLocalStorage<string>();
    const seen: [isBatch: boolean, delivery: string | undefined, key: string][] = [];
    const { watch } = watching((one, send) => {
      const key = /\d+-\d+/.exec(decoded(one))?.[0] ?? '';
      seen.push([one.isBatch, deliveries.getStore(), key]);
      return send();
    });
    const store = world.open(watch);
    const keys = newKeys(6);
    const shortOf = (key: string) => key.split(':')[2] ?? '';
    const twice = [...keys, ...keys];
    await Promise.all(twice.map((key) => deliveries.run(shortOf(key), async () => store.claim(key, bytes))));
    await deliveries.run('later', async () => store.claim(`${keys[0]}x`, bytes));
    const alone = seen.filter(([isBatch, , key]) => !isBatch && key !== '');
    expect(alone.length).toBeGreaterThanOrEqual(7);
    for (const [, context, key] of alone.slice(0, -1)) if (context !== 'later') expect(context).toBe(key);
    for (const [, context] of seen.filter(([isBatch]) => isBatch))
      expect(keys.map(shortOf)).toContain(context);
    expect(seen.at(-1)?.[1]).toBe('later');
  });

  test('tells in storeMs how long a delivery waited, also for the statements of others', async () => {
    const store = world.open(async ({ isBatch, text }, send) => {
      if (isBatch && /INSERT/.test(text)) await pause(120);
      return send();
    });
    const waited: number[] = [];
    const hooks = receiver({
      privateKey: KEY,
      logger: false,
      store,
      observer: { settled: ({ storeMs }) => void waited.push(storeMs ?? Number.NaN) },
      handlers: { '*': () => {} },
    });
    const events = newKeys(3).map((key) => delivery(fixtures.transactionPaid({ id: key })));
    const answers = await Promise.all(
      events.map(({ body, headers }) => hooks.receive({ rawBody: body, headers })),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    await until(() => waited.length === 3);
    for (const ms of waited) expect(ms).toBeGreaterThan(100);
    await hooks.close();
  });

  test('refuses only the event that a trigger refuses', async () => {
    const store = world.open();
    const [refused = '', ...others] = newKeys(6);
    await world.refuse(refused);
    const results = await Promise.allSettled(
      [others[0], refused, ...others.slice(1)].map((key) => store.claim(String(key), bytes)),
    );
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      ...others.slice(1).map(() => 'fulfilled'),
    ]);
    const rows = await world.rows();
    expect([rows.has(refused), ...others.map((key) => rows.get(key))]).toEqual([
      false,
      ...others.map(() => 'running'),
    ]);
  });
}

export function keepsLockedRowsApart(world: BatchWorld): void {
  test('lets a row that a transaction has locked keep only the delivery of its event waiting', async () => {
    const store = world.open();
    const [held = '', ...others] = newKeys(6);
    const [claim] = (await claimAll(store, [held])) as [Claim];
    const unlock = await world.lock?.(held);
    const order: string[] = [];
    const note = (what: string) => (value: unknown) => {
      order.push(what);
      return value;
    };
    const repeated = Promise.resolve(store.claim(held, bytes)).then(note('the locked event'));
    const claims = (await claimAll(store, others).then(note('its companions'))) as Claim[];
    const completing = Promise.resolve(claim.complete()).then(note('the locked event'));
    expect(await completeAll(claims).then(note('its companions'))).toEqual(claims.map(() => true));
    expect(order).toEqual(['its companions', 'its companions']);
    await unlock?.();
    expect(await repeated).toMatchObject({ status: expect.stringMatching(/in_progress|completed/) });
    expect(await completing).toBe(true);
  });
}

/** Completions that check the rows of `once` travel too. */
export function sharesCompletionsOfOnce(world: BatchWorld): void {
  test('completes together what has written its rows of once, and nothing else', async () => {
    const { batches, watch } = watching();
    const store = world.open(watch);
    const keys = newKeys(8);
    const claims = await claimAll(store, keys);
    await Promise.all(
      claims.map(async (claim, number) => {
        const handler = onceOf(claim);
        await handler.context.once(() => {});
        handler.end(() => {});
        // As after a commit that was answered and not made.
        if (number === 3) await world.forgetRow(`${keys[3]} pay`);
      }),
    );
    const before = batches().length;
    const answers = await completeAll(claims);
    expect(answers).toEqual(keys.map((_, number) => (number === 3 ? { uncommitted: ['pay'] } : true)));
    expect(batches().length).toBeGreaterThan(before);
    const rows = await world.rows();
    expect(keys.map((key) => rows.get(key))).toEqual(
      keys.map((_, number) => (number === 3 ? 'running' : 'completed')),
    );
  });
}

interface OnceOfHandler {
  readonly context: { once(work: () => void): unknown };
  end(onLateCall: () => void): unknown;
}

const onceOf = (claim: Claim<object>) => claim.forHandler?.('pay') as OnceOfHandler;

/** Run last: afterwards the table is large. */
export function readsRowsByTheirKey(world: BatchWorld): void {
  test.each([
    ['an empty table', 0],
    ['a new table', 2_000],
    ['a table of a million rows', 998_000],
  ])(
    'finds rows by their key in %s',
    async (_, rows) => {
      if (rows > 0) await world.fill(rows);
      const { sent, watch } = watching();
      const store = world.open(watch);
      const claims = await claimAll(store, newKeys(10));
      await completeAll(claims);
      const batches = sent.filter(({ isBatch }) => isBatch);
      expect(batches.length).toBeGreaterThanOrEqual(2);
      const [alone] = (await claimAll(store, newKeys(1))) as [Claim<object>];
      const handler = onceOf(alone);
      await handler.context.once(() => {});
      handler.end(() => {});
      expect(await alone.complete()).toBe(true);
      for (const each of sent.filter(({ isBatch, text }) => isBatch || /json/.test(text)))
        expect([each.text, await world.misplanned(each)]).toEqual([each.text, []]);
    },
    240_000,
  );
}

/** MySQL gets its keys as hexadecimal digits. */
function decoded({ values }: Sent): string {
  const text = values.map(String).join(' ');
  const hex = text.match(/\b(?:[0-9a-f]{2}){10,}\b/g) ?? [];
  return `${text} ${hex.map((digits) => Buffer.from(digits, 'hex').toString()).join(' ')}`;
}
