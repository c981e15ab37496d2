// The store contract, part four: keys that stand for handlers that take turns, and what `ping` may do.
import type { Claim } from '../../claims/idempotency-store.js';
import { assertSame, BRIEF_MS, type ContractCases, type ContractContext } from './context.js';

export const TURN_CASES: ContractCases = {
  'a turn has one owner, and the next one gets it as soon as it is released': async (context) => {
    const key = context.key();
    for (let round = 0; round < 5; round += 1) {
      const claim = await turn(context, key);
      await taken(context, key);
      assertSame(await claim.release([]), true, 'the owner of a turn may release it');
    }
  },

  'a turn whose owner is gone is free once its lease is over, and the old owner is refused': async (
    context,
  ) => {
    const key = context.key();
    const gone = await turn(context, key, BRIEF_MS);
    await context.lapse();
    await turn(context, key);
    const answers = [await gone.renew(BRIEF_MS), await gone.release([])];
    assertSame(answers, [false, false], 'an owner that was replaced owns nothing');
    await taken(context, key);
  },

  'a turn is no part of a transaction: it outlives an event that is claimed and released meanwhile': async (
    context,
  ) => {
    const key = context.key();
    const claim = await turn(context, key);
    const event = await context.granted(context.key());
    await taken(context, key);
    await event.release([]);
    await taken(context, key);
    assertSame(await claim.renew(BRIEF_MS), true, 'the owner of a turn may renew it');
    assertSame(await claim.release([]), true, 'the owner of a turn may release it');
    await turn(context, key);
  },

  'ping claims nothing and forgets nothing': async (context) => {
    const [key, other] = [context.key(), context.key()];
    await (await context.granted(key, { bytes: 'done' })).complete();
    await context.granted(other);
    await context.store.ping?.();
    await context.completed(key, 'done');
    await context.inProgress(other);
  },
};

async function turn(context: ContractContext, key: string, leaseMs?: number): Promise<Claim<object>> {
  return context.granted(key, { leaseMs, turn: true });
}

async function taken(context: ContractContext, key: string): Promise<void> {
  const { status } = await context.claim(key, { turn: true });
  assertSame(status, 'in_progress', 'a turn that somebody has is in progress for everybody else');
}
