// The store contract, part three: of any number of callers at the same moment, one wins.
import type { Claim, ClaimResult } from '../stores/store.js';
import { BRIEF_MS, demand, type StorePromise, same, type Trial } from './store-trial.js';

const CLAIMERS = 24;
const ROUNDS = 30;

export const RACE_PROMISES: readonly StorePromise[] = [
  {
    name: `of ${CLAIMERS} who claim a new key at once exactly one gets it, ${ROUNDS} times`,
    check: async (trial) => {
      for (let round = 0; round < ROUNDS; round += 1)
        same((await race(trial, trial.key())).attempt, 1, 'a new key');
    },
  },
  {
    name: `of ${CLAIMERS} who claim a released key at once exactly one gets it, ${ROUNDS} times`,
    check: async (trial) => {
      const key = trial.key();
      for (let round = 1; round <= ROUNDS; round += 1) {
        const winner = await race(trial, key);
        same(winner.attempt, round, 'each round of a race is one attempt');
        same(await winner.release([]), true, 'the winner of a race owns the claim');
      }
    },
  },
  {
    name: `of ${CLAIMERS} who claim a lapsed key at once exactly one gets it, 10 times`,
    check: async (trial) => {
      const key = trial.key();
      for (let round = 1; round <= 10; round += 1) {
        const winner = await race(trial, key);
        same(winner.attempt, round, 'each round of a race is one attempt');
        await winner.renew(BRIEF_MS);
        await trial.lapse();
      }
    },
  },
  {
    name: `when a lapsed owner completes while another claims, one of them wins, ${ROUNDS} times`,
    check: async (trial) => {
      const keys = Array.from({ length: ROUNDS }, () => trial.key());
      const owners = await Promise.all(keys.map((key) => trial.granted(key, { leaseMs: BRIEF_MS })));
      await trial.lapse();
      for (const [round, key] of keys.entries()) {
        const late = () => owners[round]?.complete();
        const next = () => trial.claim(key);
        const results = await (round % 2 ? Promise.all([late(), next()]) : Promise.all([next(), late()]));
        const late2 = results.find((result) => typeof result === 'boolean');
        const status = results.map((result) => (typeof result === 'object' ? result.status : '')).join('');
        demand(
          status === (late2 ? 'completed' : 'claimed'),
          'either the old owner completes or the new one owns',
          results,
        );
      }
    },
  },
];

async function race(trial: Trial, key: string): Promise<Claim<object>> {
  const results = await Promise.all(Array.from({ length: CLAIMERS }, () => trial.claim(key)));
  const claims = results.flatMap((result: ClaimResult<object>) =>
    result.status === 'claimed' ? [result.claim] : [],
  );
  const losers = results.filter(({ status }) => status === 'in_progress');
  const [winner] = claims;
  if (claims.length === 1 && winner && losers.length === CLAIMERS - 1) return winner;
  throw new Error(
    `A promise was broken: exactly one of ${CLAIMERS} concurrent claims is granted and the others are in progress. ` +
      `Got ${claims.length} granted and ${losers.length} in progress.`,
  );
}
