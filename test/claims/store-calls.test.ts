import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, jest, test } from '@jest/globals';
import { type ClaimResult, type IdempotencyStore, memoryStore } from 'payment-webhooks';
import type { GrantedClaim, GrantedLock } from '../../src/claims/claim-reply.js';
import { StoreCalls } from '../../src/claims/store-calls.js';
import { captureLog } from '../setup/captured-log.js';
import { delivery } from '../setup/delivery.js';
import { duplicate, failed, inProgress, processed, startEndpoint, unavailable } from '../setup/endpoint.js';
import {
  answers,
  type Fault,
  faultyStore,
  hangs,
  rejects,
  times,
  WRITES_ONCE,
} from '../setup/faulty-store.js';
import { gate, until } from '../setup/waiting.js';

type Verb = 'renew' | 'complete' | 'release';

/** A memory store, one of whose answers is replaced by what `odd` makes of it. */
const oddStore = (verb: Verb | 'claim', odd: Fault) => faultyStore({ [verb]: odd });

/** A memory store whose claims carry something else. */
const withClaim = (more: object) =>
  oddStore('claim', async (real) => {
    const answer = (await real()) as ClaimResult;
    if (answer.status === 'claimed')
      Object.defineProperties(answer.claim, Object.getOwnPropertyDescriptors(more));
    return answer;
  });

/** One delivery that is processed; its handler ends when something is logged of the renewal. Returns what was logged. */
async function loggedOfRenewal(store: IdempotencyStore): Promise<unknown[]> {
  const log = captureLog();
  const logged = () => log.lines.map(({ msg }) => msg);
  const isRenewal = (msg: unknown) => String(msg).startsWith('the claim was not renewed');
  const handlers = { '*': () => until(() => logged().some(isRenewal)) };
  const endpoint = await startEndpoint({ store, lease: 150, logger: log.logger, handlers });
  expect(await endpoint.post()).toMatchObject(processed);
  return logged().filter(isRenewal);
}

/** A query builder works when it is awaited, and may fail as soon as that. */
const LAZY: Record<string, () => unknown> = {
  'throws in then()': () => ({
    // biome-ignore lint/suspicious/noThenProperty: the thenable is what is tested
    then() {
      throw new Error('The connection is closed.');
    },
  }),
  'has a then that throws when it is read again': () => {
    let reads = 0;
    return {
      // biome-ignore lint/suspicious/noThenProperty: the thenable is what is tested
      get then() {
        reads += 1;
        if (reads > 1) throw new Error('The connection is closed.');
        return () => {};
      },
    };
  },
  'is a promise whose constructor throws when it is read': () =>
    Object.defineProperty(Promise.resolve(), 'constructor', {
      get() {
        throw new Error('The connection is closed.');
      },
    }),
  'is a promise whose then throws': () =>
    Object.assign(Promise.resolve(), {
      // biome-ignore lint/suspicious/noThenProperty: the promise is what is tested
      then() {
        throw new Error('The connection is closed.');
      },
    }),
  'resolves with a promise that rejects': () => ({
    // biome-ignore lint/suspicious/noThenProperty: the thenable is what is tested
    then: (fulfil: (value: unknown) => void) =>
      fulfil(Promise.reject(new Error('The connection is closed.'))),
  }),
};

describe.each(Object.entries(LAZY))('an answer that %s', (_what, lazy) => {
  test('to claim is a store that is down', async () => {
    const endpoint = await startEndpoint({ store: oddStore('claim', lazy) });
    expect(await endpoint.post()).toMatchObject(unavailable);
    expect(endpoint.handled).toEqual([]);
  });

  const logged = (text: string) => expect.objectContaining({ msg: expect.stringContaining(text) });

  test('to complete costs no second run', async () => {
    const endpoint = await startEndpoint({ store: oddStore('complete', lazy) });
    expect(await endpoint.post()).toMatchObject(processed);
    expect(endpoint.log.lines).toContainEqual(logged('processed, but not remembered'));
  });

  test('to renew is logged, and ends no process', async () => {
    expect(await loggedOfRenewal(oddStore('renew', lazy))).not.toEqual([]);
  });

  test('to release leaves the answer as it is', async () => {
    const handlers = { '*': () => Promise.reject(new Error('no')) };
    const endpoint = await startEndpoint({ store: oddStore('release', lazy), handlers });
    expect(await endpoint.post()).toMatchObject(failed);
    expect(endpoint.log.lines).toContainEqual(logged('claim not released'));
  });
});

describe('a thenable', () => {
  test('that answers twice grants one claim, and gives none back', async () => {
    const twice = (real: () => unknown) => ({
      // biome-ignore lint/suspicious/noThenProperty: the thenable is what is tested
      then(fulfil: (value: unknown) => void) {
        const answer = real();
        fulfil(answer);
        fulfil(answer);
      },
    });
    const [started, work] = [gate(), gate()];
    const handler = () => {
      started.open();
      return work.opened;
    };
    const endpoint = await startEndpoint({ store: oddStore('claim', twice), handlers: { '*': handler } });
    const sent = delivery();
    const first = endpoint.post(sent);
    await started.opened;
    expect(await endpoint.post(sent)).toMatchObject(inProgress);
    work.open();
    expect(await first).toMatchObject(processed);
    expect(await endpoint.post(sent)).toMatchObject(duplicate);
  });

  test.each<[Verb | 'claim', object]>([
    ['claim', unavailable],
    ['complete', processed],
  ])('whose answer to %s never settles is given up when storeTimeout is over', async (verb, answer) => {
    // biome-ignore lint/suspicious/noThenProperty: the thenable is what is tested
    const never = () => ({ then: (fulfil: (value: unknown) => void) => fulfil({ then() {} }) });
    const endpoint = await startEndpoint({ store: oddStore(verb, never), storeTimeout: 50 });
    expect(await endpoint.post()).toMatchObject(answer);
    expect(endpoint.hooks.inFlight).toBe(0);
  });
});

const blocking: IdempotencyStore['claim'] = (...asked) => {
  const answer = memoryStore().claim(...asked);
  // The event loop does nothing else meanwhile, as in a driver that waits for a lock.
  for (const end = performance.now() + 150; performance.now() < end; );
  return answer;
};
const withoutRelease = (answer: ReturnType<IdempotencyStore['claim']>) => {
  if ('claim' in answer) Object.assign(answer.claim, { release: () => false });
  return answer;
};
test.each<[string, IdempotencyStore['claim']]>([
  ['at once', blocking],
  ['by a promise', async (...asked) => blocking(...asked)],
  ['at once, and says no when the claim is given back', (...asked) => withoutRelease(blocking(...asked))],
])(
  'a store that blocks the event loop for longer than the lease, and answers %s, grants nothing',
  async (_how, claim) => {
    const endpoint = await startEndpoint({ store: { claim }, lease: 100, storeTimeout: 2_000 });
    expect(await endpoint.post()).toMatchObject(unavailable);
    expect(endpoint.handled).toEqual([]);
    expect(endpoint.records[0]?.storeMs).toBeGreaterThanOrEqual(150);
  },
);

describe('what a claim carries is read once', () => {
  const broken = () => {
    throw new Error('not now');
  };

  test('so a member that throws is an answer of the store, and no handler runs', async () => {
    const methods = ['renew', 'complete', 'release'];
    for (const member of ['forHandler', 'attempt', 'finished', ...methods]) {
      const more = Object.defineProperty({}, member, { get: broken, enumerable: true });
      const endpoint = await startEndpoint({ store: withClaim(more) });
      expect(await endpoint.post()).toMatchObject(unavailable);
      expect(endpoint.handled).toEqual([]);
    }
  });

  test('and one that throws before a handler, or after it, fails that handler and gives the claim back', async () => {
    for (const forHandler of [broken, () => ({ context: {}, end: broken })]) {
      const store = withClaim({ forHandler });
      const endpoint = await startEndpoint({ store, lease: 60_000, handlers: { '*': () => {} } });
      const sent = delivery();
      expect(await endpoint.answers(sent, sent)).toEqual(['500 HANDLER_FAILED', '500 HANDLER_FAILED']);
      expect(endpoint.hooks.inFlight).toBe(0);
    }
  });

  test('and no name in a context gets in the way', async () => {
    const context = { mayHaveGivenUp: 1, signal: 2, log: 3, run: 4 };
    const store = withClaim({ forHandler: () => ({ context, end: () => ({ wrote: false }) }) });
    const endpoint = await startEndpoint({ store, handlers: { '*': () => {} } });
    expect(await endpoint.post()).toMatchObject(processed);
  });
});

test('a completed event is a duplicate, whatever else its answer carries', async () => {
  const odd = async () => {
    await pause(120);
    return { status: 'completed', fingerprint: '0'.repeat(12), claim: undefined };
  };
  const endpoint = await startEndpoint({ store: oddStore('claim', odd), lease: 100, storeTimeout: 2_000 });
  expect(await endpoint.post()).toMatchObject(duplicate);
});

describe('what is neither true nor false', () => {
  const NEITHER = (verb: Verb) => `Its answer to ${verb}() is neither true nor false.`;

  test.each([undefined, null, 1, 'yes'])('is no answer to renew, and the log says so: %p', async (value) => {
    const store = withClaim({ renew: () => value });
    expect(await loggedOfRenewal(store)).toContain(`the claim was not renewed: ${NEITHER('renew')}`);
  });

  test('completes no event whose writes it should have checked: the delivery is refused, and the log says why', async () => {
    const store = faultyStore({ complete: answers({ value: 'yes' }) }, { more: WRITES_ONCE });
    const endpoint = await startEndpoint({ store, handlers: { '*': () => {} } });
    expect(await endpoint.post()).toMatchObject(unavailable);
    expect(endpoint.log.lines).toMatchObject([
      { level: 50, msg: `processed, but not remembered: ${NEITHER('complete')}` },
      { level: 50, msg: 'delivery', hint: expect.stringContaining(NEITHER('complete')) },
    ]);
  });
});

test('a claim that fails when its own lease would have ended is one that failed, not one that was granted', async () => {
  const odd = async () => {
    await pause(120);
    throw new Error('The connection is closed.');
  };
  const endpoint = await startEndpoint({ store: oddStore('claim', odd), lease: 100, storeTimeout: 2_000 });
  expect(await endpoint.post()).toMatchObject(unavailable);
  expect(endpoint.log.lines[0]).toMatchObject({ level: 50, msg: 'the store did not answer: It threw.' });
});

/** The calls of one delivery without its receiver, and what they log. */
function callsOf(store: IdempotencyStore<object>, storeTimeout = 1_000) {
  const log = captureLog();
  const rules = { lease: 1_000, maxHandlerTime: 60_000, storeTimeout };
  const calls = new StoreCalls(store, { log: log.logger, abort: () => {} }, rules);
  const granted = async () => (await calls.claim('evt_1', 'f')) as GrantedClaim;
  return { calls, granted, log, logged: () => log.lines.map(({ msg }) => msg) };
}
const VALID = { expired: false };
const REFUSED = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
const NO_TABLE = new Error('secret', { cause: Object.assign(new Error('secret'), { code: '42P01' }) });

test('a store that answers at once arms no timer', async () => {
  const timers = jest.spyOn(globalThis, 'setTimeout');
  const { calls, granted } = callsOf(memoryStore());
  expect(await calls.complete(await granted(), VALID)).toBe(true);
  expect(await calls.claim('evt_1', 'f')).toEqual({ status: 'completed', fingerprint: 'f' });
  expect(timers).not.toHaveBeenCalled();
  timers.mockRestore();
});

test.each([Number.NaN, Number.POSITIVE_INFINITY, '7', null])(
  'a wait of %p is unknown',
  async (retryAfterMs) => {
    const { calls } = callsOf(
      faultyStore({ claim: answers({ value: { status: 'in_progress', retryAfterMs } }) }),
    );
    expect(await calls.claim('evt_1', 'f')).toEqual({ status: 'in_progress', retryAfterMs: undefined });
  },
);

describe('whether another delivery has completed the event', () => {
  test('is only read, because a claim could take the event from its owner', async () => {
    const { calls, granted } = callsOf(memoryStore());
    const claim = await granted();
    expect(await calls.completedWith(claim)).toBeUndefined();
    await calls.complete(claim, VALID);
    expect(await calls.completedWith(claim)).toBe('f');
  });

  test('is unknown if the store cannot tell, and nothing is logged', async () => {
    const { calls, granted, logged } = callsOf(faultyStore());
    const claim = await granted();
    await calls.complete(claim, VALID);
    expect(await calls.completedWith(claim)).toBeUndefined();
    expect(logged()).toEqual([]);
  });

  test('is unknown while the store is down, and the log says so', async () => {
    const completedWith = () => Promise.reject(new Error('The connection is closed.'));
    const { calls, granted, logged } = callsOf({ ...faultyStore(), completedWith });
    const claim = await granted();
    expect(await calls.completedWith(claim)).toBeUndefined();
    expect(logged()).toEqual(['the store did not answer: It threw.']);
  });

  test('is that of the claim given, not of the latest one', async () => {
    const { calls, granted } = callsOf(memoryStore());
    const claim = await granted();
    await calls.complete(claim, VALID);
    const other = (await calls.claim('evt_2', 'g')) as GrantedClaim;
    expect(await calls.completedWith(claim)).toBe('f');
    expect(await calls.completedWith(other)).toBeUndefined();
  });
});

describe('a granted claim', () => {
  test('says what was asked for, and when, however long the answer took', async () => {
    const claim = async (real: () => unknown) => {
      await pause(30);
      return real();
    };
    const { calls } = callsOf(faultyStore({ claim }));
    const askedAt = performance.now();
    const granted = await calls.claim('evt_1', 'f');
    expect(granted).toMatchObject({ status: 'claimed', key: 'evt_1', fingerprint: 'f', attempt: 1 });
    expect((granted as GrantedClaim).calledAt - askedAt).toBeLessThan(25);
  });
});

describe('a release', () => {
  test('is false only if the store says that another caller has the event', async () => {
    const { calls, granted, logged } = callsOf(memoryStore());
    const claim = await granted();
    expect(await calls.release(claim, [])).toBe(true);
    expect(await calls.release(claim, [])).toBe(false);
    expect(logged()).toEqual([]);
  });

  test('that the store did not answer is logged', async () => {
    const { calls, granted, logged } = callsOf(faultyStore({ release: rejects }));
    expect(await calls.release(await granted(), [])).toBe(true);
    expect(logged()).toEqual(['claim not released, so its lease will lapse: It threw.']);
  });
});

describe('a completion that the store refuses because writes of handlers are not committed', () => {
  const complete = async (value: unknown) => {
    const { calls, granted, logged } = callsOf(faultyStore({ complete: answers({ value }) }));
    return [await calls.complete(await granted(), VALID), logged()];
  };

  test('is passed on with the names of the handlers', async () => {
    expect(await complete({ uncommitted: ['pay'] })).toEqual([{ uncommitted: ['pay'] }, []]);
  });

  test.each([
    ['has no list of names', { uncommitted: 'pay' }],
    [
      'throws when it is read',
      {
        get uncommitted() {
          throw new Error('moved');
        },
      },
    ],
  ])('is no answer if it %s', async (_, value) => {
    const [answer, logged] = await complete(value);
    expect(answer).toEqual(expect.objectContaining({ message: expect.stringContaining('complete()') }));
    expect(logged).toEqual([expect.stringContaining('processed, but not remembered')]);
  });
});

describe('a completion that the store reports after the deadline', () => {
  test.each([true, false])('is passed on if it succeeded: %p', async (answer) => {
    const reply = gate<boolean>();
    const { calls, granted } = callsOf(faultyStore({ complete: () => reply.opened }), 20);
    const onLate = jest.fn();
    const completed = await calls.complete(await granted(), { expired: true }, onLate);
    expect(completed).toEqual(expect.objectContaining({ message: expect.any(String) }));
    reply.open(answer);
    await pause(0);
    expect(onLate).toHaveBeenCalledTimes(answer ? 1 : 0);
  });
});

describe('a lock', () => {
  test('is a claim where the store has no locks', async () => {
    const memory = memoryStore();
    const claim = jest.fn<IdempotencyStore['claim']>((...request) => memory.claim(...request));
    const { calls, logged } = callsOf({ claim });
    const lock = (await calls.lock('order-1')) as GrantedLock;
    // Processes of versions without locks claim with this fingerprint.
    expect(claim).toHaveBeenCalledWith('order-1', { leaseMs: 1_000, fingerprint: 'serial' });
    expect(await calls.renew(lock)).toBe(true);
    expect(await calls.lock('order-1')).toBeUndefined();
    await calls.unlock(lock);
    expect(await calls.lock('order-1')).toEqual(expect.any(Object));
    expect(logged()).toEqual([]);
  });

  test('that the store did not grant or release is logged', async () => {
    const store = faultyStore({ lock: times(1, rejects), release: rejects });
    const { calls, logged } = callsOf(store);
    await calls.lock('order-1');
    expect(logged()).toEqual(['the store did not answer: It threw.']);
    await calls.unlock((await calls.lock('order-1')) as GrantedLock);
    expect(logged().slice(1)).toEqual(['lock not released, so its lease will lapse: It threw.']);
  });
});

test('an answer to a release that comes after the deadline changes nothing', async () => {
  const late: Fault = () => pause(40, false);
  const { calls, granted, logged } = callsOf(faultyStore({ release: late }), 20);
  expect(await calls.release(await granted(), [])).toBe(true);
  // An error in between would be an unhandled rejection, which fails the test.
  await pause(60);
  expect(logged()).toEqual(['claim not released, so its lease will lapse: No answer within 20 ms.']);
});

test.each<[string, Fault, object | undefined]>([
  ['the code of what the store threw', () => Promise.reject(REFUSED), { code: 'ECONNREFUSED' }],
  ['the code of a driver, whose error a client wrapped', () => Promise.reject(NO_TABLE), { code: '42P01' }],
  ['no code where there was none', rejects, {}],
  ['no error where nothing was thrown', hangs, undefined],
])('the log has %s', async (_what, fault, error) => {
  const { calls, log } = callsOf(faultyStore({ lock: fault }), 20);
  await calls.lock('order-1');
  const thrown = error && { type: 'Error', at: expect.any(Array), ...error };
  expect(log.lines.map((line) => line.error)).toEqual([thrown]);
});

test('what the log says to do names the store', async () => {
  const { calls, logged } = callsOf(faultyStore({ lock: () => Promise.reject(NO_TABLE) }));
  await calls.lock('order-1');
  expect(logged()).toEqual([
    'the store did not answer: It threw 42P01. The table does not exist: call store.migrate().',
  ]);
});

test('waits are summed up, and less than a millisecond counts as zero', async () => {
  let now = 0;
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => now);
  const { calls } = callsOf(memoryStore());
  const sums: unknown[] = [];
  for (const took of [0.75, 1, 2.5]) {
    await calls.call(() => {
      now += took;
    });
    sums.push(calls.ms);
  }
  clock.mockRestore();
  expect(sums).toEqual([0, 1, 3.5]);
});
