// A lease while handlers run, by a clock that only the tests move: what they assert does not depend on the machine.
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { type HandlerContext, memoryStore, type ReceiverOptions, WebhookError } from 'payment-webhooks';
import { Lease } from '../../src/claims/lease.js';
import type { StoreCalls } from '../../src/claims/store-calls.js';
import type { Lock } from '../../src/contracts/idempotency-store.js';
import { delivery } from '../setup/delivery.js';
import { type Receiving, startReceiver } from '../setup/endpoint.js';
import { answers, faultyStore, hangs, rejects, repliesAfter, times } from '../setup/faulty-store.js';
import { gate } from '../setup/waiting.js';

const LEASE = 30_000;
const LATE_REPLY_MS = 1_500;

/** By which the clock of the process is ahead of its timers. */
let ahead = 0;
beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
  // A process that has run for a day.
  ahead = 86_400_000;
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => now() + ahead);
});
afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

/** Lets time pass until the condition holds. */
async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let steps = 0; !(await condition()); steps += 1) {
    if (steps === 100_000) throw new Error(`still not so: ${condition}`);
    await pass(10);
  }
}

/** Lets time pass until there is an answer. */
async function answered<Answer>(answer: Promise<Answer>): Promise<Answer> {
  let isThere = false;
  void answer.finally(() => {
    isThere = true;
  });
  await until(() => isThere);
  return answer;
}

/** The event loop does nothing else meanwhile, as under a long computation: timers that are due run after it. */
function block(ms: number): void {
  ahead += ms;
}

/**
 * An endpoint whose first run takes until the gate opens; each run leaves its context. The signal is taken by a
 * handler that has succeeded by then, because one that took it and returned after an abort would have failed.
 */
async function start(options: ReceiverOptions) {
  const work = gate<unknown>();
  const contexts: HandlerContext[] = [];
  const signals: AbortSignal[] = [];
  const endpoint = startReceiver({
    ...{ lease: LEASE, timeout: 0 },
    handlers: {
      '*': (_event, context) => {
        contexts.push(context);
        return contexts.length === 1 ? work.opened : undefined;
      },
      'transaction.*': (_event, { signal }) => void signals.push(signal),
    },
    ...options,
  });
  const sent = delivery();
  const first = endpoint.post(sent);
  await until(() => signals.length === 1);
  const signal = signals[0] as AbortSignal;
  /** Lets the first run succeed, and waits for its answer. */
  const succeed = () => {
    work.open(undefined);
    return first;
  };
  return { endpoint, work, contexts, sent, first, signal, succeed };
}

function messages({ log }: Receiving): unknown[] {
  return log.lines.filter(({ msg }) => msg !== 'delivery').map(({ msg }) => msg);
}

const BLOCKED = 'the event loop was blocked for longer than the lease';
const GIVEN_UP = 'a handler has not settled within maxHandlerTime; its claim is no longer renewed';
const code = (signal: AbortSignal) => (WebhookError.is(signal.reason) ? signal.reason.code : signal.reason);

describe('while handlers run', () => {
  test('the lease is renewed every third of it, so that nobody else gets the event', async () => {
    const store = faultyStore();
    const startedAt = performance.now();
    const { endpoint, contexts, sent, signal, succeed } = await start({ store });
    await until(() => store.calls.filter((call) => call === 'renew').length > 3);
    const passed = performance.now() - startedAt;
    expect([passed > LEASE, passed < 2 * LEASE]).toEqual([true, true]);
    expect(await endpoint.post(sent)).toMatchObject({ status: 503, body: { code: 'IN_PROGRESS' } });
    expect(signal.aborted).toBe(false);
    expect(await succeed()).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    expect(contexts).toHaveLength(1);
    expect(messages(endpoint)).toEqual([]);
  });

  test.each(['succeeded', 'failed'])('renewing ends when they have %s', async (end) => {
    const store = faultyStore();
    const { work, first } = await start({ store });
    await until(() => store.calls.includes('renew'));
    if (end === 'failed') work.fail(new Error('down'));
    else work.open(undefined);
    await first;
    const calls = store.calls.length;
    await pass(LEASE);
    expect(store.calls).toHaveLength(calls);
  });

  test('a renewal that is on its way when they succeed takes nothing back', async () => {
    const reply = gate<boolean>();
    const store = faultyStore({ renew: () => reply.opened });
    const { endpoint, sent, succeed } = await start({ store });
    await until(() => store.calls.includes('renew'));
    expect(await succeed()).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    reply.open(false);
    expect(await endpoint.post(sent)).toMatchObject({ status: 200, body: { outcome: 'duplicate' } });
    expect(messages(endpoint)).toEqual([]);
  });

  test('a renewal that arrives after they failed does not take the event back', async () => {
    const shared = memoryStore();
    const proceed = gate();
    const arrived = gate<unknown>();
    const renew = (real: () => Promise<unknown>) => {
      const answer = proceed.opened.then(real);
      arrived.open(answer);
      return answer;
    };
    const store = faultyStore({ renew }, { store: shared });
    const { endpoint, work, contexts, sent, first } = await start({ store });
    await until(() => store.calls.includes('renew'));
    work.fail(new Error('down'));
    expect(await first).toMatchObject({ status: 500 });
    proceed.open();
    await arrived.opened;
    expect(await endpoint.post(sent)).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    expect(contexts.map(({ attempt }) => attempt)).toEqual([1, 2]);
  });
});

describe('a store that is down at a renewal', () => {
  test('lets the handlers go on, and nothing is lost when it comes back within the lease', async () => {
    const store = faultyStore({ renew: times(1, rejects) });
    const { endpoint, signal, succeed } = await start({ store });
    await until(() => store.calls.filter((call) => call === 'renew').length >= 3);
    expect(signal.aborted).toBe(false);
    expect(await succeed()).toMatchObject({ status: 200 });
    expect(messages(endpoint)).toEqual(['the claim was not renewed: It threw.']);
  });

  test('no longer tells handlers that have succeeded meanwhile', async () => {
    const store = faultyStore({ renew: rejects });
    const { signal, succeed } = await start({ store });
    await until(() => store.calls.includes('renew'));
    expect(await succeed()).toMatchObject({ status: 200 });
    await pass(LEASE);
    expect(signal.aborted).toBe(false);
  });

  test.each([
    ['rejects', rejects, 2_000],
    ['never answers', hangs, 2_000],
    ['answers rubbish', answers({ value: 'OK' }), 2_000],
    ['may still answer', hangs, LEASE],
  ])(
    'and %s until the lease ends: the handlers are told at that moment',
    async (_what, renew, storeTimeout) => {
      const store = faultyStore({ renew });
      const startedAt = performance.now();
      const { endpoint, signal, succeed } = await start({ store, storeTimeout });
      let abortedAt = 0;
      signal.addEventListener('abort', () => {
        abortedAt = performance.now();
      });
      await until(() => signal.aborted);
      expect(code(signal)).toBe('CLAIM_LOST');
      expect(abortedAt - startedAt).toBeGreaterThanOrEqual(LEASE - 5);
      expect(abortedAt - startedAt).toBeLessThan(LEASE + 100);
      expect(messages(endpoint)).not.toContain(BLOCKED);
      await answered(succeed());
    },
  );

  test('and stays down: a success is completed all the same, if nobody else came', async () => {
    const store = faultyStore({ renew: rejects });
    const { endpoint, sent, signal, succeed } = await start({ store });
    await until(() => signal.aborted);
    await pass(50);
    expect(await succeed()).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    expect(await endpoint.post(sent)).toMatchObject({ body: { outcome: 'duplicate' } });
    expect(messages(endpoint)).not.toContain(BLOCKED);
  });

  test('is asked again at once where the last answer took more than a third of the lease', async () => {
    const slow = repliesAfter(0.6 * LEASE);
    const askedAt: number[] = [];
    const store = faultyStore({
      renew: (real) => {
        askedAt.push(performance.now());
        return askedAt.length === 1 ? slow(real) : real();
      },
    });
    const { endpoint, succeed } = await start({ store, storeTimeout: 0.9 * LEASE });
    await until(() => askedAt.length === 2);
    expect((askedAt[1] ?? 0) - (askedAt[0] ?? 0)).toBeLessThan(0.65 * LEASE);
    expect(await succeed()).toMatchObject({ status: 200 });
    expect(messages(endpoint)).toEqual([]);
  });

  test('the lease counts from the moment at which it was asked for, not from the reply', async () => {
    let askedAt = 0;
    const claim = (real: () => Promise<unknown>) => {
      askedAt = performance.now();
      return pass(LATE_REPLY_MS).then(real);
    };
    const store = faultyStore({ renew: hangs, claim });
    const lease = 2 * LATE_REPLY_MS;
    const { signal, succeed } = await start({ store, lease });
    await until(() => signal.aborted);
    // Counted from the reply it would be later by all the time that the reply took.
    expect(performance.now() - askedAt).toBeLessThan(lease + LATE_REPLY_MS);
    await succeed();
  });
});

describe('an event loop that was blocked for longer than the lease', () => {
  test('is logged on waking, and the handler completes when nobody took over', async () => {
    const startedAt = performance.now();
    const { endpoint, sent, signal, succeed } = await start({});
    block(LEASE + 50);
    await until(() => messages(endpoint).length > 0);
    const sinceEnd = performance.now() - startedAt - LEASE;
    expect(messages(endpoint)).toEqual([BLOCKED]);
    const line = endpoint.log.lines.find(({ msg }) => msg === BLOCKED);
    expect(line).toMatchObject({ level: 40, overdueMs: expect.any(Number), eventId: expect.any(String) });
    expect(line?.overdueMs).toBeGreaterThanOrEqual(0);
    expect(line?.overdueMs).toBeLessThanOrEqual(Math.ceil(sinceEnd));
    expect(signal.aborted).toBe(false);
    expect(await succeed()).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    expect(await endpoint.post(sent)).toMatchObject({ body: { outcome: 'duplicate' } });
  });

  test('by the handler itself, which then succeeds, is logged too', async () => {
    const endpoint = startReceiver({ timeout: 0, handlers: { '*': () => block(LEASE + 50) } });
    const sent = delivery();
    expect(await endpoint.post(sent)).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    expect(messages(endpoint)).toEqual([BLOCKED]);
    expect(await endpoint.post(sent)).toMatchObject({ body: { outcome: 'duplicate' } });
  });

  test('by a handler whose lease had been renewed before is logged too', async () => {
    const store = faultyStore();
    const handler = async () => {
      await until(() => store.calls.includes('renew'));
      // The answer to the renewal is there in the next turn of the event loop.
      await pass(10);
      block(LEASE + 50);
    };
    const endpoint = startReceiver({ store, lease: LEASE, timeout: 0, handlers: { '*': handler } });
    expect(await endpoint.post()).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    expect(messages(endpoint)).toEqual([BLOCKED]);
  });

  test('is no reason to tell the handlers before the store has said whether anything is lost', async () => {
    const store = faultyStore({ renew: repliesAfter(40) });
    const { endpoint, signal, succeed } = await start({ store });
    block(LEASE + 50);
    await until(() => store.calls.includes('renew'));
    await pass(20);
    expect(await succeed()).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    expect(signal.aborted).toBe(false);
    expect(messages(endpoint)).toEqual([BLOCKED]);
  });

  test('and a store that is down: the handlers are told', async () => {
    const { signal, succeed } = await start({ store: faultyStore({ renew: rejects }) });
    block(LEASE + 50);
    await until(() => signal.aborted);
    expect(code(signal)).toBe('CLAIM_LOST');
    await succeed();
  });

  test('is a lost claim when somebody took over meanwhile', async () => {
    const shared = memoryStore();
    const { contexts, signal, succeed } = await start({ store: shared });
    block(LEASE + 50);
    // Asked before this process has had a turn to renew, as another process would.
    const key = `default:live:${JSON.parse(String(contexts[0]?.rawBody)).id}`;
    const taken = await shared.claim(key, { leaseMs: 60_000, fingerprint: 'f'.repeat(64) });
    expect(taken.status).toBe('claimed');
    await until(() => signal.aborted);
    expect(code(signal)).toBe('CLAIM_LOST');
    expect(await succeed()).toMatchObject({ status: 503, body: { code: 'CLAIM_LOST' } });
    const still = await shared.claim(key, { leaseMs: 1, fingerprint: 'f'.repeat(64) });
    expect(still.status).toBe('in_progress');
  });
});

describe('a handler that never settles', () => {
  test('holds the event for maxHandlerTime and one lease, then another attempt runs it', async () => {
    const times = { timeout: 40, maxHandlerTime: 100 };
    const { endpoint, contexts, sent, first, signal } = await start(times);
    expect(await answered(first)).toMatchObject({ status: 503, body: { code: 'HANDLER_TIMEOUT' } });
    expect(await endpoint.post(sent)).toMatchObject({ status: 503, body: { code: 'IN_PROGRESS' } });
    await until(() => messages(endpoint).length > 0);
    expect(messages(endpoint)).toEqual([GIVEN_UP]);
    expect(code(signal)).toBe('HANDLER_TIMEOUT');
    await pass(LEASE);
    expect(await endpoint.post(sent)).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    expect(contexts.map(({ attempt }) => attempt)).toEqual([1, 2]);
    await until(() => endpoint.hooks.inFlight === 0);
  });

  test('is told so when maxHandlerTime is over, though its delivery is not answered yet', async () => {
    const options = { timeout: 20_000, maxHandlerTime: 100 };
    const { endpoint, signal, succeed } = await start(options);
    await until(() => signal.aborted);
    expect(code(signal)).toBe('HANDLER_TIMEOUT');
    expect(messages(endpoint)).toEqual([GIVEN_UP]);
    expect(endpoint.records).toEqual([]);
    expect(await succeed()).toMatchObject({ status: 200, body: { outcome: 'processed' } });
  });

  test('but does so after all, too late, overwrites nothing', async () => {
    const store = faultyStore();
    const { endpoint, work, sent, first } = await start({ store, timeout: 40, maxHandlerTime: 100 });
    await answered(first);
    await until(() => messages(endpoint).includes(GIVEN_UP));
    // Refused while the last renewal holds the event.
    await until(async () => (await endpoint.post(sent)).status === 200);
    expect(endpoint.records.at(-1)).toMatchObject({ outcome: 'processed', attempt: 2 });
    work.open(undefined);
    const late = () => endpoint.log.lines.find(({ msg }) => msg === 'handlers settled after the answer');
    await until(() => late() !== undefined);
    expect(late()).toMatchObject({ level: 50, code: 'CLAIM_LOST' });
    expect(store.calls.filter((call) => call === 'complete')).toHaveLength(2);
    expect(await endpoint.post(sent)).toMatchObject({ body: { outcome: 'duplicate' } });
  });
});

test('a lease has lapsed at its end, where the store may grant the next claim', () => {
  const store = { rules: { lease: 500 } } as StoreCalls;
  const lease = new Lease(store, { claim: {} as Lock, calledAt: 1_000 });
  const clock = jest.spyOn(performance, 'now').mockReturnValue(1_499.9);
  expect(lease.expired).toBe(false);
  clock.mockReturnValue(1_500);
  expect(lease.expired).toBe(true);
});
