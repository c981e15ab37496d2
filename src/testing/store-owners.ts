// The store contract, part two: what an owner may do that was late, has finished, or was replaced.
import type { Claim } from '../stores/store.js';
import { ALIVE_MS, BRIEF_MS, type StorePromise, same } from './store-trial.js';

export const OWNER_PROMISES: readonly StorePromise[] = [
  {
    name: 'an owner whose lease has lapsed may still renew, complete or release if nobody came in between',
    check: async (trial) => {
      const [renewed, done, released] = [trial.key(), trial.key(), trial.key()];
      const answers = [
        await (await trial.lapsed(renewed)).renew(ALIVE_MS),
        await (await trial.lapsed(done)).complete(),
        await (await trial.lapsed(released)).release(['mail']),
      ];
      same(answers, [true, true, true], 'a lapsed owner with no successor still owns the claim');
      await trial.inProgress(renewed);
      await trial.completed(done);
      same((await trial.granted(released)).finished, ['mail'], 'a late release counts');
    },
  },
  {
    name: 'an owner that has released or completed can do nothing more',
    check: async (trial) => {
      const [released, done] = [trial.key(), trial.key()];
      const past = await trial.granted(released);
      await past.release(['mail']);
      await refused(past, 'an owner that has released owns nothing');
      same((await trial.granted(released)).finished, ['mail'], 'a refused operation changes nothing');
      const finished = await trial.granted(done);
      await finished.complete();
      const answers = [await finished.renew(BRIEF_MS), await finished.release(['mail'])];
      same(answers, [false, false], 'what is completed is neither renewed nor released');
      await trial.lapse();
      await trial.completed(done);
    },
  },
  {
    name: 'an owner that was replaced is refused, whatever the new owner has done since, and changes nothing',
    check: async (trial) => {
      const key = trial.key();
      const stale: Claim<object>[] = [await trial.lapsed(key), await trial.lapsed(key)];
      const nobodyElse = () =>
        Promise.all(stale.map((claim) => refused(claim, 'an owner that was replaced owns nothing')));
      const third = await trial.granted(key, { bytes: 'third' });
      await nobodyElse();
      await trial.inProgress(key);
      same(await third.release(['ledger']), true, 'the owner may release, whatever others tried');
      stale.push(third);
      await nobodyElse();
      const fourth = await trial.granted(key, { bytes: 'fourth' });
      same([fourth.attempt, fourth.finished], [4, ['ledger']], 'a refused operation changes nothing');
      await nobodyElse();
      same(await fourth.complete(), true, 'the owner may complete, whatever others tried');
      await nobodyElse();
      await trial.completed(key, 'fourth');
    },
  },
];

async function refused(claim: Claim<object>, promise: string): Promise<void> {
  const answers = [await claim.renew(BRIEF_MS), await claim.complete(), await claim.release(['stale'])];
  same(answers, [false, false, false], promise);
}
