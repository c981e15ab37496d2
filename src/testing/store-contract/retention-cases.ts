// The store contract, part three: what a store may forget, and when, whether or not anybody prunes it.
import { ALIVE_MS, assert, assertSame, type ContractCases } from './context.js';

export const SHORT_MS = 100;
const PAST_SHORT_MS = 200;
export const LONG_MS = 2_000;
const MOST_OF_LONG_MS = 1_200;

export const SHORT_RETENTION_CASES: ContractCases = {
  'a completed key is new once its retention is over': async (context) => {
    const key = context.key();
    await (await context.granted(key, { leaseMs: SHORT_MS })).complete();
    await context.sleep(PAST_SHORT_MS);
    const { attempt, finished } = await context.granted(key);
    assertSame([attempt, finished], [1, []], 'a key whose retention is over is new');
  },

  'a key that was released or never completed is forgotten as well': async (context) => {
    const [released, abandoned] = [context.key(), context.key()];
    await context.granted(abandoned, { leaseMs: SHORT_MS });
    await (await context.granted(released, { leaseMs: SHORT_MS })).release(['mail']);
    await context.sleep(PAST_SHORT_MS);
    for (const key of [released, abandoned]) {
      const { attempt, finished } = await context.granted(key);
      assertSame([attempt, finished], [1, []], 'a key whose retention is over is new, whatever its state');
    }
  },

  'a key that is worked on is not forgotten, however short the retention': async (context) => {
    const [claimed, renewed] = [context.key(), context.key()];
    await context.granted(claimed);
    await (await context.granted(renewed, { leaseMs: SHORT_MS })).renew(ALIVE_MS);
    await context.sleep(PAST_SHORT_MS);
    for (const key of [claimed, renewed]) {
      const { status } = await context.claim(key);
      assertSame(status, 'in_progress', 'the retention of a key never ends before its lease');
    }
  },
};

export const LONG_RETENTION_CASES: ContractCases = {
  'the retention counts from the last write': async (context) => {
    const keys = {
      complete: context.key(),
      release: context.key(),
      renew: context.key(),
      claim: context.key(),
    };
    const leaseMs = 1;
    const [complete, release, renew] = [
      await context.granted(keys.complete, { leaseMs }),
      await context.granted(keys.release, { leaseMs }),
      await context.granted(keys.renew, { leaseMs }),
      await context.granted(keys.claim, { leaseMs }),
    ];
    await context.sleep(MOST_OF_LONG_MS);
    const wrote = [await complete.complete(), await release.release(['mail']), await renew.renew(leaseMs)];
    assert(wrote.every(Boolean), 'an owner may write within the retention', wrote);
    await context.granted(keys.claim, { leaseMs });
    await context.sleep(MOST_OF_LONG_MS);
    assertSame((await context.claim(keys.complete)).status, 'completed', 'complete() restarts the retention');
    assertSame((await context.granted(keys.release)).finished, ['mail'], 'release() restarts the retention');
    assertSame((await context.granted(keys.renew)).attempt, 2, 'renew() restarts the retention');
    assertSame((await context.granted(keys.claim)).attempt, 3, 'claim() restarts the retention');
  },
};
