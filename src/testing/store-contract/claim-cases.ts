// The store contract, part one: claim, renew, complete and release, one caller at a time and many at once.
import type { Claim } from '../../contracts/idempotency-store.js';
import {
  ALIVE_MS,
  assert,
  assertSame,
  BRIEF_MS,
  type ContractCases,
  type ContractContext,
} from './context.js';

export const CLAIM_CASES: ContractCases = {
  'the first claim of a key is attempt 1, with no finished handlers': async (context) => {
    const { attempt, finished } = await context.granted(context.key());
    assertSame([attempt, finished], [1, []], 'the first claim is attempt 1, with no finished handlers');
  },

  'a key with a running lease is in progress, and the store says for how long': async (context) => {
    const key = context.key();
    await context.granted(key);
    await context.inProgress(key);
  },

  'a completed key stays completed, with the fingerprint of the run that completed it': async (context) => {
    const key = context.key();
    await context.lapsed(key, 'first run');
    const second = await context.granted(key, { bytes: 'second run' });
    await context.inProgress(key, 'bytes that came while it ran');
    assertSame(await second.complete(), true, 'the owner may complete');
    await context.completed(key, 'second run');
    await context.lapse();
    await context.completed(key, 'second run');
  },

  'complete() can be called again after its reply was lost': async (context) => {
    const key = context.key();
    const claim = await context.granted(key);
    const answers = [await claim.complete(), await claim.complete()];
    assertSame(answers, [true, true], 'complete() returns true again for the same owner');
    await context.completed(key);
  },

  'a released key can be claimed at once, also with other bytes': async (context) => {
    const key = context.key();
    const first = await context.granted(key, { bytes: 'some' });
    assertSame(await first.release([]), true, 'the owner may release');
    const second = await context.granted(key, { bytes: 'other' });
    await second.complete();
    await context.completed(key, 'other');
  },

  'attempt increases by one with every claim, after a release and after a lapse': async (context) => {
    const key = context.key();
    const attempts: number[] = [];
    for (const way of ['release', 'lapse', 'lapse', 'release', 'release']) {
      const claim = way === 'lapse' ? await context.lapsed(key) : await context.granted(key);
      attempts.push(claim.attempt);
      if (way === 'release') await claim.release([]);
    }
    assertSame(attempts, [1, 2, 3, 4, 5], 'every successful claim of a key has the next attempt number');
  },

  'finished handlers survive a release and a lapse, and each release replaces the list': async (context) => {
    const key = context.key();
    const lists: (readonly string[])[] = [];
    for (const released of [['mail', 'audit'], ['ledger'], []]) {
      lists.push((await context.lapsed(key)).finished);
      const claim = await context.granted(key);
      lists.push(claim.finished);
      await claim.release(released);
    }
    lists.push((await context.granted(key)).finished);
    const expected = [[], [], ['mail', 'audit'], ['mail', 'audit'], ['ledger'], ['ledger'], []];
    assertSame(lists, expected, 'a claim has the list of the latest release, and nothing older');
  },

  'names of finished handlers may contain any character': async (context) => {
    const key = context.key();
    const quoting = ['', ' ', 'a,b', '{x}', '"q"', "it's", '\\', '[1]', 'new\nline', '$1', '%s'];
    const names = [...quoting, 'NULL', 'null', 'Ωμέγα 🦊'];
    await (await context.granted(key)).release(names);
    assertSame((await context.granted(key)).finished, names, 'names of finished handlers do not change');
  },

  'renew() starts a new lease, which may be shorter than the old one': async (context) => {
    const [longer, shorter] = [context.key(), context.key()];
    const brief = await context.granted(longer, { leaseMs: BRIEF_MS });
    assertSame(await brief.renew(ALIVE_MS), true, 'the owner may renew');
    const long = await context.granted(shorter);
    assertSame(await long.renew(BRIEF_MS), true, 'the owner may shorten its lease');
    await context.lapse();
    await context.inProgress(longer);
    assertSame((await context.granted(shorter)).attempt, 2, 'a lease that was shortened lapses early');
  },

  'ids that differ only in case, or look like keys of another namespace, are different events': async (
    context,
  ) => {
    const key = context.key();
    const longer = [':x', '%', '*', "'--", '\\'].map((suffix) => key + suffix);
    const elsewhere = [key.replace('live', 'sandbox'), key.replace('contract', 'contract:live')];
    const alike = [key.toUpperCase(), `x:${key}`, `{${key}}`, `${key}~`.padEnd(320, '~')];
    const keys = [key, ...longer, ...elsewhere, ...alike];
    for (const each of keys) assertSame((await context.granted(each)).attempt, 1, `the key ${each} is new`);
    for (const each of keys) await context.inProgress(each);
  },
};

/** An owner that is late, has finished, or was replaced. */
export const OWNER_CASES: ContractCases = {
  'a lapsed owner may still renew, complete or release unless it was replaced': async (context) => {
    const [renewed, done, released] = [context.key(), context.key(), context.key()];
    const answers = [
      await (await context.lapsed(renewed)).renew(ALIVE_MS),
      await (await context.lapsed(done)).complete(),
      await (await context.lapsed(released)).release(['mail']),
    ];
    assertSame(answers, [true, true, true], 'a lapsed owner with no successor still owns the claim');
    await context.inProgress(renewed);
    await context.completed(done);
    assertSame((await context.granted(released)).finished, ['mail'], 'a late release counts');
  },

  'an owner that has released or completed is refused': async (context) => {
    const [released, done] = [context.key(), context.key()];
    const past = await context.granted(released);
    await past.release(['mail']);
    await refused(past, 'an owner that has released owns nothing');
    assertSame((await context.granted(released)).finished, ['mail'], 'a refused operation changes nothing');
    const finished = await context.granted(done);
    await finished.complete();
    const answers = [await finished.renew(BRIEF_MS), await finished.release(['mail'])];
    assertSame(answers, [false, false], 'a completed key is neither renewed nor released');
    await context.lapse();
    await context.completed(done);
  },

  'an owner that was replaced is refused, whatever the new owner does, and changes nothing': async (
    context,
  ) => {
    const key = context.key();
    const stale: Claim<object>[] = [await context.lapsed(key), await context.lapsed(key)];
    const allRefused = () =>
      Promise.all(stale.map((claim) => refused(claim, 'an owner that was replaced owns nothing')));
    const third = await context.granted(key, { bytes: 'third' });
    await allRefused();
    await context.inProgress(key);
    assertSame(await third.release(['ledger']), true, 'the owner may release, whatever others tried');
    stale.push(third);
    await allRefused();
    const fourth = await context.granted(key, { bytes: 'fourth' });
    assertSame([fourth.attempt, fourth.finished], [4, ['ledger']], 'a refused operation changes nothing');
    await allRefused();
    assertSame(await fourth.complete(), true, 'the owner may complete, whatever others tried');
    await allRefused();
    await context.completed(key, 'fourth');
  },
};

async function refused(claim: Claim<object>, promise: string): Promise<void> {
  const answers = [await claim.renew(BRIEF_MS), await claim.complete(), await claim.release(['stale'])];
  assertSame(answers, [false, false, false], promise);
}

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
