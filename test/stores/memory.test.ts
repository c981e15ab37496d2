import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Claim } from '../../src/contracts/idempotency-store.js';
import { ConfigurationError, StoreError } from '../../src/errors.js';
import { memoryStore } from '../../src/stores/memory.js';
import { ContractContext } from '../../src/testing/store-contract/context.js';
import { compareWithModel, type Step } from '../../src/testing/store-contract/reference-model.js';
import { faultyStore } from '../setup/faulty-store.js';
import { keepsTheContract, stepsWith } from './contract.js';
import { granted as grantedIn } from './worlds.js';

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
  return grantedIn(await claim(store, key, leaseMs));
}

describe('the memory store', () => {
  describe('keeps the contract by the clock of the process', () => {
    keepsTheContract({ create: memoryStore });
  });

  describe('keeps the contract on a machine that stalls for a second while it waits', () => {
    let time = 0;
    keepsTheContract({
      create: ({ retention }) => memoryStore({ retention, now: () => time }),
      sleep: async (ms) => {
        time += ms + 1_000;
      },
    });
  });

  describe('keeps the contract when it answers by promises', () => {
    keepsTheContract({ create: (options) => faultyStore({}, { store: memoryStore(options) }) });
  });

  test('answers at once', () => {
    const claimed = memoryStore().claim('a', { leaseMs: 1_000, fingerprint: 'f' });
    const { claim } = claimed as Extract<typeof claimed, { status: 'claimed' }>;
    expect([claim.renew(1_000), claim.complete(), claim.release([])]).toEqual([true, true, false]);
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
    test('forgets no id before maxEntries others were written after it, and keeps at most twice as many', async () => {
      const { store } = stopped({ maxEntries: 3 });
      const owners: Claim[] = [];
      for (let index = 0; index < 20; index += 1) {
        const owner = await granted(store, `id ${index}`);
        await owner.complete();
        owners.push(owner);
        // An owner that asks again hears whether its completion still stands.
        const standing = await Promise.all(owners.map((each) => each.complete()));
        const kept = standing.filter(Boolean).length;
        expect(standing.slice(-kept)).toEqual(Array(kept).fill(true));
        expect(kept).toBeGreaterThanOrEqual(Math.min(owners.length, 3));
        expect(kept).toBeLessThanOrEqual(6);
      }
    });

    test('counts from the last write of an id, not from its claim', async () => {
      const { store } = stopped({ maxEntries: 3 });
      const [slow, failed] = [await granted(store, 'slow'), await granted(store, 'failed', 10)];
      for (const key of ['a', 'b', 'c', 'd', 'e']) await (await granted(store, key)).complete();
      await slow.complete();
      await failed.release(['mail']);
      await (await granted(store, 'f')).complete();
      expect((await claim(store, 'slow')).status).toBe('completed');
      expect(await granted(store, 'failed')).toMatchObject({ attempt: 2, finished: ['mail'] });
    });

    test('forgets what was released like what was completed', async () => {
      const { store } = stopped({ maxEntries: 1 });
      await (await granted(store, 'released')).release(['mail']);
      for (const key of ['a', 'b']) await (await granted(store, key)).complete();
      expect(await granted(store, 'released')).toMatchObject({ attempt: 1, finished: [] });
    });

    test('never forgets what is worked on, however many come after it', async () => {
      const { store } = stopped({ maxEntries: 2 });
      const running = await granted(store, 'running');
      for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) await (await granted(store, key)).complete();
      expect((await claim(store, 'running')).status).toBe('in_progress');
      expect([await running.renew(1_000), await running.complete()]).toEqual([true, true]);
      expect((await claim(store, 'running')).status).toBe('completed');
    });

    test('takes the place of a lapsed claim, which its owner may still renew and complete', async () => {
      const { store, sleep } = stopped({ maxEntries: 2 });
      const lapsed = await granted(store, 'lapsed', 10);
      await granted(store, 'running');
      await sleep(9);
      await expect(claim(store, 'new')).rejects.toThrow(StoreError);
      await sleep(1);
      const next = await granted(store, 'new');
      expect(await lapsed.renew(1_000)).toBe(true);
      await next.complete();
      for (const key of ['a', 'b', 'c', 'd'])
        await expect(claim(store, key)).rejects.toThrow('All 2 entries');
      for (const key of ['running', 'lapsed']) expect((await claim(store, key)).status).toBe('in_progress');
      expect(await lapsed.complete()).toBe(true);
      await (await granted(store, 'a')).complete();
      expect((await claim(store, 'lapsed')).status).toBe('completed');
    });

    test('counts the attempts of a claim that lapsed and made room', async () => {
      const { store, sleep } = stopped({ maxEntries: 2 });
      await granted(store, 'other', 10);
      const lapsed = await granted(store, 'lapsed', 10);
      await sleep(10);
      await (await granted(store, 'new')).release([]);
      expect((await granted(store, 'lapsed')).attempt).toBe(2);
      const refused = [await lapsed.renew(10), await lapsed.complete(), await lapsed.release([])];
      expect(refused).toEqual([false, false, false]);
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

    test('refuses an id only while maxEntries others are worked on, and forgets one only after as many others', () => {
      const maxEntries = 2;
      const step = fc.record({
        verb: fc.constantFrom('claim', 'complete', 'release', 'renew', 'wait'),
        key: fc.constantFrom('a', 'b', 'c', 'd'),
        ms: fc.integer({ min: 1, max: 15 }),
      });
      const refusedOnlyWhenFull = (steps: readonly { verb: string; key: string; ms: number }[]) => {
        let time = 0;
        const store = memoryStore({ maxEntries, now: () => time });
        const owners = new Map<string, Claim>();
        const leases = new Map<string, number>();
        /** Of each completed id, the others that may have been written after it. */
        const others = new Map<string, Set<string>>();
        const written = (key: string) => {
          for (const [id, after] of others) if (id !== key) after.add(key);
        };
        for (const { verb, key, ms } of steps) {
          const isHeld = (other: string) => (leases.get(other) ?? 0) > time;
          if (verb === 'wait') {
            time += ms;
          } else if (verb === 'claim') {
            const isFull = [...leases.keys()].filter(isHeld).length >= maxEntries;
            const after = others.get(key);
            if (after && after.size < maxEntries) expect(store.completedWith?.(key)).toBe('f');
            const claimed = () => store.claim(key, { leaseMs: ms, fingerprint: 'f' });
            if (isFull && !isHeld(key) && store.completedWith?.(key) === undefined) {
              expect(claimed).toThrow(StoreError);
              continue;
            }
            const answer = claimed() as Awaited<ReturnType<typeof claim>>;
            expect(answer.status === 'in_progress').toBe(isHeld(key));
            if (answer.status !== 'claimed') continue;
            owners.set(key, answer.claim);
            leases.set(key, time + ms);
            others.delete(key);
            written(key);
          } else {
            const owner = owners.get(key);
            const isDone =
              verb === 'renew'
                ? owner?.renew(ms)
                : verb === 'complete'
                  ? owner?.complete()
                  : owner?.release([]);
            if (isHeld(key)) expect(isDone).toBe(true);
            if (isDone && verb === 'renew') leases.set(key, time + ms);
            if (isDone && verb !== 'renew') leases.delete(key);
            if (isDone) written(key);
            if (isDone && verb === 'complete' && !others.has(key)) others.set(key, new Set(leases.keys()));
          }
        }
      };
      fc.assert(fc.property(fc.array(step, { minLength: 30, maxLength: 60 }), refusedOnlyWhenFull), {
        numRuns: 500,
      });
    });

    test('has room for as many locks as for events, and gives that of a lapsed one away', async () => {
      const { store, sleep } = stopped({ maxEntries: 1 });
      const lock = (key: string, leaseMs: number) => store.lock?.(key, leaseMs);
      await (await granted(store, 'done')).complete();
      await granted(store, 'running');
      expect(lock('x', 10)).toBeDefined();
      expect(() => lock('y', 10)).toThrow(new StoreError('All 1 locks of the memory store are held.'));
      expect(lock('x', 10)).toBeUndefined();
      await sleep(10);
      expect(lock('y', 10)).toBeDefined();
      await sleep(10);
      expect(lock('y', 1_000)).toBeDefined();
      expect((await claim(store, 'running')).status).toBe('in_progress');
      expect((await claim(store, 'done')).status).toBe('completed');
    });
  });

  describe('when retention is over', () => {
    test('remembers an id for all of it, whatever was written before', async () => {
      const { store, sleep } = stopped({ retention: 100 });
      await sleep(99);
      await (await granted(store, 'a', 1)).complete();
      for (let ms = 0; ms < 99; ms += 1) {
        await granted(store, `new ${ms}`, 1);
        await sleep(1);
      }
      expect((await claim(store, 'a')).status).toBe('completed');
      await sleep(1);
      expect((await granted(store, 'a')).attempt).toBe(1);
    });

    test.each(['completed', 'abandoned'])('gives the memory of an id that was %s back', async (end) => {
      const { store, sleep } = stopped({ retention: 100 });
      const owner = await granted(store, 'a', 10);
      if (end === 'completed') await owner.complete();
      // Its owner hears whether the store still has it.
      const isKept = () => (end === 'completed' ? owner.complete() : owner.renew(1));
      await sleep(99);
      await granted(store, 'b', 1);
      expect(await isKept()).toBe(true);
      for (let ms = 0; ms < 300; ms += 50) {
        await sleep(50);
        await granted(store, `after ${ms}`, 1);
      }
      expect(await isKept()).toBe(false);
    });
  });

  test('says no to an owner that asks again when its event was forgotten and completed by another', async () => {
    const { store, sleep } = stopped({ retention: 100 });
    const first = await granted(store, 'a');
    await first.complete();
    await sleep(100);
    const second = await granted(store, 'a');
    expect(await first.complete()).toBe(false);
    expect([await second.complete(), await second.complete()]).toEqual([true, true]);
    expect(await first.complete()).toBe(false);
  });

  test('does not keep the list that a release was given', async () => {
    const { store } = stopped();
    const list = ['mail'];
    await (await granted(store, 'a')).release(list);
    list.push('audit');
    expect((await granted(store, 'a')).finished).toEqual(['mail']);
  });

  const noPrototype: never = Object.create(null) as never;
  test.each([
    ...[0, -1, 1.5, 8_000_001, Number.NaN, Number.POSITIVE_INFINITY].map(
      (value) => [value, String(value)] as const,
    ),
    ['10' as unknown as number, '"10"'] as const,
    [noPrototype, 'an object'] as const,
  ])('refuses maxEntries %p at construction', (maxEntries, shown) => {
    expect(() => memoryStore({ maxEntries })).toThrow(ConfigurationError);
    const message = `maxEntries is ${shown}. Pass an integer from 1 to 8,000,000.`;
    expect(() => memoryStore({ maxEntries })).toThrow(message);
  });

  test('takes maxEntries from 1 to 8,000,000', () => {
    for (const maxEntries of [1, 8_000_000]) expect(memoryStore({ maxEntries }).scope).toBe('process');
  });

  test('no longer knows a completed event at the millisecond at which its retention ends', async () => {
    const { store, sleep } = stopped({ retention: 50 });
    await (await granted(store, 'a')).complete();
    await sleep(49);
    expect(store.completedWith?.('a')).toBe('f');
    await sleep(1);
    expect(store.completedWith?.('a')).toBeUndefined();
  });

  const noDurations = [0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, '', 'soon', '-1d', '101 years'];
  test.each([...noDurations, 36_501 * 86_400_000, noPrototype])('refuses a retention of %p', (retention) => {
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
