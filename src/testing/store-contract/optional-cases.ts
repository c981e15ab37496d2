// The store contract, part three: the optional methods `lock`, `completedWith`, `forget` and `ping`.
import type { Lock } from '../../contracts/idempotency-store.js';
import {
  ALIVE_MS,
  assert,
  assertSame,
  BRIEF_MS,
  type ContractCases,
  type ContractContext,
  fingerprint,
} from './context.js';

const CALLERS = 24;

/** Optional: without `lock()`, `serial` handlers are refused. */
const LOCK_CASES: ContractCases = {
  'a lock has one owner, and the next one gets it as soon as it is released': async (context) => {
    const key = context.key();
    for (let round = 0; round < 5; round += 1) {
      const lock = await locked(context, key);
      await taken(context, key);
      assertSame(await lock.release(), true, 'the owner of a lock may release it');
      assertSame(await lock.release(), false, 'a lock that was released has no owner');
    }
  },

  [`one of ${CALLERS} concurrent callers gets a lock`]: async (context) => {
    const key = context.key();
    const answers = await Promise.all(Array.from({ length: CALLERS }, () => ask(context, key)));
    assertSame(answers.filter(Boolean).length, 1, 'one of several concurrent callers gets a lock');
  },

  'a lock is free after its lease, and its old owner is refused': async (context) => {
    const key = context.key();
    const gone = await locked(context, key, BRIEF_MS);
    await context.lapse();
    await locked(context, key);
    const answers = [await gone.renew(BRIEF_MS), await gone.release()];
    assertSame(answers, [false, false], 'an owner that was replaced owns nothing');
    await context.lapse();
    await taken(context, key);
  },

  'renewing a lock starts a new lease': async (context) => {
    const [longer, shorter] = [context.key(), context.key()];
    const brief = await locked(context, longer, BRIEF_MS);
    assertSame(await brief.renew(ALIVE_MS), true, 'the owner of a lock may renew it');
    const long = await locked(context, shorter);
    assertSame(await long.renew(BRIEF_MS), true, 'the owner of a lock may shorten its lease');
    await context.lapse();
    await taken(context, longer);
    await locked(context, shorter);
  },

  'a lock is not part of a transaction: it survives the release of an event': async (context) => {
    const key = context.key();
    const lock = await locked(context, key);
    const event = await context.granted(context.key());
    await taken(context, key);
    await event.release([]);
    await taken(context, key);
    assertSame(await lock.renew(BRIEF_MS), true, 'the owner of a lock may renew it');
    assertSame(await lock.release(), true, 'the owner of a lock may release it');
    await locked(context, key);
  },
};

/** Optional: without `completedWith()`, a few letters stay until they are replayed. */
const COMPLETED_CASES: ContractCases = {
  'completedWith() returns the fingerprint of the run that completed a key': async (context) => {
    const [key, released, lapsed, running] = [context.key(), context.key(), context.key(), context.key()];
    await context.lapsed(key, 'first run');
    await (await context.granted(key, { bytes: 'second run' })).complete();
    await (await context.granted(released)).release(['mail']);
    await context.lapsed(lapsed);
    await context.granted(running);
    const known = await context.store.completedWith?.(key);
    const promise = 'completedWith() returns the fingerprint of the run that completed the key';
    assertSame(known, fingerprint('second run'), promise);
    for (const other of [released, lapsed, running, context.key(), key.toUpperCase(), `${key}~`]) {
      const unknown = await context.store.completedWith?.(other);
      assertSame(unknown, undefined, 'completedWith() returns undefined for a key that is not completed');
    }
  },

  'completedWith() changes nothing: a new key stays new, and an owner keeps its key': async (context) => {
    const [late, released, unknown, done] = [context.key(), context.key(), context.key(), context.key()];
    const owner = await context.lapsed(late);
    await (await context.granted(released)).release(['mail']);
    await (await context.granted(done, { bytes: 'done' })).complete();
    for (const key of [late, released, unknown, done]) await context.store.completedWith?.(key);
    assertSame(await owner.complete(), true, 'completedWith() takes no event from its owner');
    const { attempt, finished } = await context.granted(released);
    assertSame([attempt, finished], [2, ['mail']], 'completedWith() writes nothing');
    assertSame((await context.granted(unknown)).attempt, 1, 'completedWith() claims nothing');
    await context.completed(done, 'done');
  },
};

/** Optional: without `forget()`, `hooks.forget()` is refused. */
const FORGET_CASES: ContractCases = {
  'forget() makes a key new, whether it is completed, released or abandoned, and no other': async (
    context,
  ) => {
    const [done, released, abandoned] = [context.key(), context.key(), context.key()];
    const others = [`${done}~`, done.toUpperCase()];
    for (const key of [done, ...others]) await (await context.granted(key)).complete();
    await (await context.granted(released)).release(['mail']);
    const owner = await context.lapsed(abandoned);
    for (const key of [done, released, abandoned]) {
      const forgotten = { status: 'forgotten', handlers: [] };
      assertSame(await context.store.forget?.(key), forgotten, 'forget() says that it has forgotten a key');
    }
    assertSame(await owner.complete(), false, 'the owner of a key that was forgotten owns nothing');
    for (const key of [done, released, abandoned]) {
      const { attempt, finished } = await context.granted(key);
      assertSame([attempt, finished], [1, []], 'a key that was forgotten is new');
    }
    for (const key of others) await context.completed(key);
  },

  'forget() changes nothing while a key is in progress, and knows no key that was never claimed': async (
    context,
  ) => {
    const key = context.key();
    const owner = await context.granted(key);
    const result = await context.store.forget?.(key);
    const left = result?.status === 'in_progress' ? result.retryAfterMs : 0;
    assert(left > 0 && left <= ALIVE_MS, 'forget() says when the lease of a key ends', result);
    await context.inProgress(key);
    assertSame(await owner.complete(), true, 'forget() takes no key from its owner');
    const promise = 'forget() says that a key was never claimed';
    assertSame(await context.store.forget?.(context.key()), { status: 'unknown' }, promise);
  },
};

export const OPTIONAL_CASES: ContractCases = {
  ...forStoresWith('lock', LOCK_CASES),
  ...forStoresWith('completedWith', COMPLETED_CASES),
  ...forStoresWith('forget', FORGET_CASES),

  'ping() changes nothing': async (context) => {
    const [key, other] = [context.key(), context.key()];
    await (await context.granted(key, { bytes: 'done' })).complete();
    await context.granted(other);
    await context.store.ping?.();
    await context.completed(key, 'done');
    await context.inProgress(other);
  },
};

function forStoresWith(method: 'lock' | 'completedWith' | 'forget', cases: ContractCases): ContractCases {
  const where = (run: ContractCases[string]) => async (context: ContractContext) => {
    if (context.store[method]) await run(context);
  };
  return Object.fromEntries(Object.entries(cases).map(([name, run]) => [name, where(run)]));
}

/** Async, because a store may throw synchronously. */
async function ask(context: ContractContext, key: string, leaseMs = ALIVE_MS): Promise<Lock | undefined> {
  return context.store.lock?.(key, leaseMs);
}

async function locked(context: ContractContext, key: string, leaseMs?: number): Promise<Lock> {
  const lock = await ask(context, key, leaseMs);
  assert(lock !== undefined, 'a free lock is granted to the first caller', lock);
  return lock as Lock;
}

async function taken(context: ContractContext, key: string): Promise<void> {
  const lock = await ask(context, key);
  assert(lock === undefined, 'a lock that has an owner is not granted again', lock);
}
