import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { IdempotencyStore } from '../../src/claims/idempotency-store.js';
import { ConfigurationError, StoreError } from '../../src/errors.js';
import { memoryStore } from '../../src/stores/memory.js';
import { ContractContext } from '../../src/testing/store-contract/context.js';
import { compareWithModel, type Step } from '../../src/testing/store-contract/reference-model.js';
import { keepsTheContract, stepsWith } from './contract.js';

/** A store whose clock moves only when it is told to. */
function stopped(options: { maxEntries?: number; retention?: number } = {}) {
  let time = 0;
  const sleep = async (ms: number) => {
    time += ms;
  };
  return { store: memoryStore({ ...options, now: () => time }), sleep };
}

async function claim(store: ReturnType<typeof memoryStore>, key: string, leaseMs = 1_000) {
  return store.claim(key, { leaseMs, fingerprint: 'f' });
}

async function granted(store: ReturnType<typeof memoryStore>, key: string, leaseMs = 1_000) {
  const result = await claim(store, key, leaseMs);
  if (result.status !== 'claimed') throw new Error(`not granted: ${result.status}`);
  return result.claim;
}

/** The same store, as one behind a network answers. */
function promised(store: IdempotencyStore): IdempotencyStore {
  return {
    claim: async (...request) => {
      const result = await store.claim(...request);
      if (result.status !== 'claimed') return result;
      const { claim } = result;
      const { attempt, finished } = claim;
      return {
        status: 'claimed',
        claim: {
          attempt,
          finished,
          renew: async (leaseMs) => claim.renew(leaseMs),
          complete: async () => claim.complete(),
          release: async (list) => claim.release(list),
        },
      };
    },
  };
}

describe('the memory store', () => {
  describe('keeps the contract by the clock of the process', () => {
    keepsTheContract({
      create: ({ retention }) => memoryStore(retention === undefined ? {} : { retention }),
    });
  });

  describe('keeps the contract on a machine that stalls for a second while it waits', () => {
    let time = 0;
    keepsTheContract({
      create: ({ retention }) =>
        memoryStore({ ...(retention === undefined ? {} : { retention }), now: () => time }),
      sleep: async (ms) => {
        time += ms + 1_000;
      },
    });
  });

  describe('keeps the contract when it answers by promises', () => {
    keepsTheContract({
      create: ({ retention }) => promised(memoryStore(retention === undefined ? {} : { retention })),
    });
  });

  test('answers at once', () => {
    const claimed = memoryStore().claim('a', { leaseMs: 1_000, fingerprint: 'f' });
    if ('then' in claimed || claimed.status !== 'claimed') throw new Error('not granted at once');
    expect([claimed.claim.renew(1_000), claimed.claim.complete(), claimed.claim.release([])]).toEqual([
      true,
      true,
      false,
    ]);
  });

  test('answers any walk as the model does, to the millisecond, with leases and retention running out', async () => {
    const steps = fc.oneof(
      { weight: 3, arbitrary: stepsWith(fc.nat(60)) },
      { weight: 1, arbitrary: fc.record({ verb: fc.constant('wait' as const), ms: fc.nat(70) }) },
    );
    const run = (walked: Step[]) => {
      const { store, sleep } = stopped({ retention: 50 });
      return compareWithModel(new ContractContext(store, sleep), walked, 50);
    };
    await fc.assert(fc.asyncProperty(fc.array(steps, { maxLength: 60 }), run), { numRuns: 1_500 });
  });

  describe('when it is full', () => {
    test('forgets the completed id that is oldest by its completion', async () => {
      const { store } = stopped({ maxEntries: 3 });
      const [a, b] = [await granted(store, 'a'), await granted(store, 'b')];
      await granted(store, 'running');
      await b.complete();
      await a.complete();
      await granted(store, 'new');
      expect((await claim(store, 'a')).status).toBe('completed');
      expect((await claim(store, 'running')).status).toBe('in_progress');
      expect((await granted(store, 'b')).attempt).toBe(1);
    });

    test('forgets a completed id before one that was released, and that before it refuses', async () => {
      const { store } = stopped({ maxEntries: 2 });
      await (await granted(store, 'released')).release(['mail']);
      await (await granted(store, 'completed')).complete();
      await granted(store, 'x');
      expect((await granted(store, 'released')).finished).toEqual(['mail']);
      await (await granted(stopped().store, 'unrelated')).release([]);
    });

    test('forgets the oldest released id when none is completed', async () => {
      const { store } = stopped({ maxEntries: 3 });
      await (await granted(store, 'first')).release(['mail']);
      await (await granted(store, 'second')).release(['mail']);
      await granted(store, 'running');
      await granted(store, 'new');
      await (await granted(store, 'second')).release(['kept']);
      expect((await granted(store, 'second')).finished).toEqual(['kept']);
      expect((await claim(store, 'running')).status).toBe('in_progress');
    });

    test('counts what was released to its bound', async () => {
      const { store } = stopped({ maxEntries: 2 });
      await (await granted(store, 'released')).release(['mail']);
      await granted(store, 'running');
      const next = await granted(store, 'new');
      await next.release([]);
      expect(await granted(store, 'released')).toMatchObject({ attempt: 1, finished: [] });
    });

    test('forgets a lapsed claim when nothing else may go, and its owner is refused from then on', async () => {
      const { store, sleep } = stopped({ maxEntries: 2 });
      const lapsed = await granted(store, 'lapsed', 10);
      await granted(store, 'running');
      await sleep(9);
      await expect(claim(store, 'new')).rejects.toThrow(StoreError);
      await sleep(1);
      await granted(store, 'new');
      expect([await lapsed.renew(10), await lapsed.complete(), await lapsed.release([])]).toEqual([
        false,
        false,
        false,
      ]);
      expect((await claim(store, 'running')).status).toBe('in_progress');
      expect((await claim(store, 'new')).status).toBe('in_progress');
    });

    test('refuses a new id with StoreError rather than forget one that is worked on', async () => {
      const { store } = stopped({ maxEntries: 2 });
      const running = await granted(store, 'a');
      await granted(store, 'b');
      await expect(claim(store, 'c')).rejects.toThrow(StoreError);
      await expect(claim(store, 'c')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', status: 503 });
      expect((await claim(store, 'a')).status).toBe('in_progress');
      expect(await running.complete()).toBe(true);
      expect((await granted(store, 'c')).attempt).toBe(1);
    });

    test('still claims again an id that it has, without forgetting another', async () => {
      const { store } = stopped({ maxEntries: 2 });
      await (await granted(store, 'a')).release([]);
      await (await granted(store, 'b')).complete();
      expect((await granted(store, 'a')).attempt).toBe(2);
      expect((await claim(store, 'b')).status).toBe('completed');
    });

    test.each([
      ['completed', 100],
      ['released', 100],
    ] as const)(
      'forgets a %s id whose retention is over before one that is to be remembered',
      async (end, ms) => {
        const { store, sleep } = stopped({ maxEntries: 2, retention: ms });
        const [old, young] = [await granted(store, 'old', 1), await granted(store, 'young', 1)];
        await (end === 'completed' ? old.complete() : old.release(['mail']));
        await sleep(50);
        await (end === 'completed' ? young.release(['mail']) : young.complete());
        await sleep(50);
        await granted(store, 'new');
        const kept = await claim(store, 'young');
        expect(kept).toMatchObject(
          end === 'completed'
            ? { status: 'claimed', claim: { finished: ['mail'] } }
            : { status: 'completed' },
        );
      },
    );

    test('makes room of ids whose retention is over', async () => {
      const { store, sleep } = stopped({ maxEntries: 1, retention: 100 });
      await (await granted(store, 'a')).complete();
      await sleep(200);
      expect((await granted(store, 'b')).attempt).toBe(1);
    });
  });

  test('gives memory back as retention ends, without a claim having to pay for all of it', async () => {
    const { store, sleep } = stopped({ maxEntries: 10, retention: 100 });
    for (const key of ['a', 'b', 'c', 'd']) await (await granted(store, key, 1)).complete();
    await sleep(100);
    const held = [];
    for (let index = 0; index < 10; index += 1) held.push(await granted(store, `new ${index}`));
    expect(held).toHaveLength(10);
    await expect(claim(store, 'one more')).rejects.toThrow('All 10 entries');
  });

  test('gives two completed ids back with each claim once their retention is over, the oldest first', async () => {
    const { store, sleep } = stopped({ retention: 100 });
    const claims = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((key) => granted(store, key)));
    for (const each of claims) await each.complete();
    // An owner that asks again hears whether its completion still stands.
    const standing = () => Promise.all(claims.map((each) => each.complete()));
    await sleep(99);
    await granted(store, 'young');
    expect(await standing()).toEqual([true, true, true, true, true]);
    await sleep(1);
    await granted(store, 'new');
    expect(await standing()).toEqual([false, false, true, true, true]);
    await granted(store, 'newer');
    expect(await standing()).toEqual([false, false, false, false, true]);
  });

  test('gives ids back as their retention ends, and still remembers all that were completed since', async () => {
    const { store, sleep } = stopped({ maxEntries: 3, retention: 100 });
    const complete = async (key: string) => (await granted(store, key)).complete();
    await complete('old');
    await sleep(100);
    for (const key of ['a', 'b', 'c']) {
      await complete(key);
      await sleep(1);
    }
    for (const key of ['a', 'b', 'c']) expect((await claim(store, key)).status).toBe('completed');
  });

  test('says no to an owner that asks again when its event was forgotten and completed by another', async () => {
    const { store } = stopped({ maxEntries: 1 });
    const first = await granted(store, 'a');
    await first.complete();
    await (await granted(store, 'b')).complete();
    const second = await granted(store, 'a');
    expect(await first.complete()).toBe(false);
    expect([await second.complete(), await second.complete()]).toEqual([true, true]);
    expect(await first.complete()).toBe(false);
  });

  test('remembers what was completed again, when the first completion is forgotten', async () => {
    const { store, sleep } = stopped({ maxEntries: 10, retention: 100 });
    for (const key of ['a', 'b', 'c']) await (await granted(store, key)).complete();
    await sleep(100);
    // It forgets two on the way: the first completion of this one still stands in the order when the second is added.
    await (await granted(store, 'c')).complete();
    await granted(store, 'd');
    expect(await claim(store, 'c')).toMatchObject({ status: 'completed' });
  });

  test('takes no event for another when its clock goes back', async () => {
    let time = 0;
    const store = memoryStore({ maxEntries: 4, retention: 100, now: () => time });
    const complete = async (key: string) => (await granted(store, key)).complete();
    for (const key of ['a', 'b', 'c', 'd']) await complete(key);
    time = 100;
    const again = await granted(store, 'd');
    time = 0;
    await again.complete();
    // Only c, d and e are remembered, but since c the store has counted four: it forgets c rather than write over it.
    for (const key of ['e', 'f']) await complete(key);
    const statuses = ['c', 'd', 'e', 'f'].map(async (key) => (await claim(store, key)).status);
    expect(await Promise.all(statuses)).toEqual(['claimed', 'completed', 'completed', 'completed']);
  });

  test('makes room of what it remembers, and not of what it forgot before', async () => {
    let time = 50;
    const store = memoryStore({ maxEntries: 2, retention: 50, now: () => time });
    await (await granted(store, 'b')).complete();
    time = 0;
    await (await granted(store, 'a')).complete();
    time = 60;
    // Its time is over, that of b is not: what it was completed as the first time is forgotten out of turn.
    await (await granted(store, 'a')).complete();
    time = 0;
    await granted(store, 'c');
    await granted(store, 'd');
    await expect(claim(store, 'a')).rejects.toThrow(StoreError);
  });

  test('does not keep the list that a release was given', async () => {
    const { store } = stopped();
    const list = ['mail'];
    await (await granted(store, 'a')).release(list);
    list.push('audit');
    expect((await granted(store, 'a')).finished).toEqual(['mail']);
  });

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '10' as unknown as number])(
    'refuses maxEntries %p at construction',
    (maxEntries) => {
      expect(() => memoryStore({ maxEntries })).toThrow(ConfigurationError);
      expect(() => memoryStore({ maxEntries })).toThrow(
        `maxEntries is ${maxEntries}. Give a whole number above 0.`,
      );
    },
  );

  test.each([
    0,
    -1,
    0.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    '',
    'soon',
    '-1d',
    '101 years',
    36_501 * 86_400_000,
  ])('refuses a retention of %p at construction', (retention) => {
    expect(() => memoryStore({ retention })).toThrow(ConfigurationError);
  });

  test('says that other processes do not see it, so that a receiver can warn of that in production', () => {
    expect(memoryStore().scope).toBe('process');
  });

  test('refuses an option that it does not know, with the name that was meant', () => {
    const options = { maxEntrys: 5 } as object;
    expect(() => memoryStore(options)).toThrow('Unknown option "maxEntrys". Did you mean "maxEntries"?');
  });
});
