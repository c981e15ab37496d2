// The store contract, part two: exactly one of many concurrent callers wins.
import type { Claim } from '../../claims/idempotency-store.js';
import { assert, assertSame, BRIEF_MS, type ContractCases, type ContractContext } from './context.js';

const CLAIMERS = 24;
const ROUNDS = 30;

export const RACE_CASES: ContractCases = {
  [`one of ${CLAIMERS} concurrent claims of a new key is granted, ${ROUNDS} times`]: async (context) => {
    for (let round = 0; round < ROUNDS; round += 1)
      assertSame((await race(context, context.key())).attempt, 1, 'a new key');
  },

  [`one of ${CLAIMERS} concurrent claims of a released key is granted, ${ROUNDS} times`]: async (context) => {
    const key = context.key();
    for (let round = 1; round <= ROUNDS; round += 1) {
      const winner = await race(context, key);
      assertSame(winner.attempt, round, 'each round of a race is one attempt');
      assertSame(await winner.release([]), true, 'the winner of a race owns the claim');
    }
  },

  [`one of ${CLAIMERS} concurrent claims of a lapsed key is granted, 10 times`]: async (context) => {
    const key = context.key();
    for (let round = 1; round <= 10; round += 1) {
      const winner = await race(context, key);
      assertSame(winner.attempt, round, 'each round of a race is one attempt');
      await winner.renew(BRIEF_MS);
      await context.lapse();
    }
  },

  [`when a lapsed owner completes while another claims, one wins, ${ROUNDS} times`]: async (context) => {
    const keys = Array.from({ length: ROUNDS }, () => context.key());
    const owners = await Promise.all(keys.map((key) => context.granted(key, { leaseMs: BRIEF_MS })));
    await context.lapse();
    for (const [round, key] of keys.entries()) {
      const complete = async () => owners[round]?.complete();
      const claim = () => context.claim(key);
      // Every other round makes the two calls in the opposite order.
      const claimed = round % 2 === 0 ? claim() : undefined;
      const [late, next] = await Promise.all([complete(), claimed ?? claim()]);
      const kept = next.status === (late ? 'completed' : 'claimed');
      assert(kept, 'either the old owner completes or the new one owns', [late, next]);
    }
  },
};

async function race(context: ContractContext, key: string): Promise<Claim<object>> {
  const results = await Promise.all(Array.from({ length: CLAIMERS }, () => context.claim(key)));
  const claims = results.flatMap((result) => (result.status === 'claimed' ? [result.claim] : []));
  const losers = results.filter(({ status }) => status === 'in_progress').length;
  const [winner] = claims;
  if (claims.length === 1 && winner && losers === CLAIMERS - 1) return winner;
  throw new Error(
    `The store breaks its contract: exactly one of ${CLAIMERS} concurrent claims is granted, and the others are in progress. Got ${claims.length} granted and ${losers} in progress.`,
  );
}
