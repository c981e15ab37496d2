// The store contract, part four: what a store may forget, and when. Whoever prunes is not needed for it.
import { ALIVE_MS, demand, type StorePromise, same } from './store-trial.js';

const SHORT_MS = 100;
const PAST_SHORT_MS = 200;
const LONG_MS = 2_000;
const MOST_OF_LONG_MS = 1_200;

export const RETENTION_PROMISES: readonly StorePromise[] = [
  {
    name: 'a completed key is new once its retention is over',
    retention: SHORT_MS,
    check: async (trial) => {
      const key = trial.key();
      await (await trial.granted(key, { leaseMs: SHORT_MS })).complete();
      await trial.sleep(PAST_SHORT_MS);
      const { attempt, finished } = await trial.granted(key);
      same([attempt, finished], [1, []], 'a key whose retention is over is new');
    },
  },
  {
    name: 'a key that was released or never completed is forgotten as well',
    retention: SHORT_MS,
    check: async (trial) => {
      const [released, abandoned] = [trial.key(), trial.key()];
      await trial.granted(abandoned, { leaseMs: SHORT_MS });
      await (await trial.granted(released, { leaseMs: SHORT_MS })).release(['mail']);
      await trial.sleep(PAST_SHORT_MS);
      for (const key of [released, abandoned]) {
        const { attempt, finished } = await trial.granted(key);
        same([attempt, finished], [1, []], 'a key whose retention is over is new, whatever became of it');
      }
    },
  },
  {
    name: 'a key that is worked on is not forgotten, however short the retention',
    retention: SHORT_MS,
    check: async (trial) => {
      const [claimed, renewed] = [trial.key(), trial.key()];
      await trial.granted(claimed);
      await (await trial.granted(renewed, { leaseMs: SHORT_MS })).renew(ALIVE_MS);
      await trial.sleep(PAST_SHORT_MS);
      for (const key of [claimed, renewed]) {
        const { status } = await trial.claim(key);
        same(status, 'in_progress', 'the retention of a key never ends before its lease');
      }
    },
  },
  {
    name: 'the retention counts from the last write',
    retention: LONG_MS,
    check: async (trial) => {
      const keys = { complete: trial.key(), release: trial.key(), renew: trial.key(), claim: trial.key() };
      const leaseMs = 1;
      const [complete, release, renew] = [
        await trial.granted(keys.complete, { leaseMs }),
        await trial.granted(keys.release, { leaseMs }),
        await trial.granted(keys.renew, { leaseMs }),
        await trial.granted(keys.claim, { leaseMs }),
      ];
      await trial.sleep(MOST_OF_LONG_MS);
      const wrote = [await complete.complete(), await release.release(['mail']), await renew.renew(leaseMs)];
      demand(wrote.every(Boolean), 'an owner may write within the retention', wrote);
      await trial.granted(keys.claim, { leaseMs });
      await trial.sleep(MOST_OF_LONG_MS);
      same((await trial.claim(keys.complete)).status, 'completed', 'completing starts the retention anew');
      same((await trial.granted(keys.release)).finished, ['mail'], 'releasing starts the retention anew');
      same((await trial.granted(keys.renew)).attempt, 2, 'renewing starts the retention anew');
      same((await trial.granted(keys.claim)).attempt, 3, 'claiming starts the retention anew');
    },
  },
];
