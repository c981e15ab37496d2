import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import {
  type Handler,
  memoryStore,
  NonRetriableError,
  type ReceiverOptions,
  type TransactionPaid,
} from 'payment-webhooks';
import { z } from 'zod';
import { Delivery } from '../../src/deliveries/delivery.js';
import { fixtures } from '../../src/fixtures/fixture.js';
import { silentLogger } from '../../src/logger.js';
import { resolveOptions } from '../../src/options/options.js';
import { processEvent } from '../../src/receiver/process-event.js';
import { delivery } from '../setup/delivery.js';
import { duplicate, failed, ignored, processed, type Receiving, startReceiver } from '../setup/endpoint.js';
import {
  answers,
  type Fault,
  type FaultyStore,
  faultyStore,
  hangs,
  rejects,
  repliesAfter,
  repliesNever,
  throws,
  times,
  WRITES_ONCE,
} from '../setup/faulty-store.js';
import { down, raise } from '../setup/raise.js';
import { gate, until } from '../setup/waiting.js';

const refused = (code: string) => ({
  status: 503,
  headers: { 'retry-after': expect.stringMatching(/^([1-9]|[12]\d|30)$/) },
  body: { code },
});

/** The event as it may be rendered by a later retry: with other bytes. */
const renderedAgain = (event: TransactionPaid, type = 'other') =>
  delivery({ ...event, payload: { ...event.payload, metadata: { type } } });

/** A receiver whose handler does what `step` says on each run; `runs` holds the attempt of each. */
function receiverOf(step: (run: number) => unknown, options: ReceiverOptions = {}) {
  const runs: number[] = [];
  const handler: Handler = (_event, { attempt }) => {
    runs.push(attempt);
    return step(runs.length);
  };
  return { ...startReceiver({ handlers: { '*': handler }, ...options }), runs };
}

const writingOnce = (faults: FaultyStore['faults'] = {}) => faultyStore(faults, { more: WRITES_ONCE });

function lastRecord({ records }: Receiving) {
  return records.at(-1);
}

function linesOf({ log }: Receiving, level: number) {
  return log.lines.filter((line) => line.level === level).map(({ msg }) => String(msg));
}

describe('an event that is delivered again', () => {
  test('is a duplicate once it is completed, and no handler runs', async () => {
    const receiver = receiverOf(() => {});
    const sent = delivery();
    const answers = await receiver.answers(sent, sent, sent);
    expect(answers).toEqual(['200 processed', '200 duplicate', '200 duplicate']);
    expect(receiver.runs).toEqual([1]);
    expect(lastRecord(receiver)).toMatchObject({ status: 200, outcome: 'duplicate', handlers: [] });
    expect(lastRecord(receiver)).not.toHaveProperty('conflict');
    expect(lastRecord(receiver)).not.toHaveProperty('attempt');
  });

  test('while another receiver works on it is refused with the time that the lease has left', async () => {
    const work = gate();
    const store = memoryStore();
    const one = receiverOf(() => work.opened, { store, lease: 6_500 });
    const other = receiverOf(() => {}, { store });
    const sent = delivery();
    const first = one.post(sent);
    await until(() => one.runs.length === 1);
    const second = await other.post(sent);
    expect(second).toMatchObject(refused('IN_PROGRESS'));
    expect(Number(second.headers['retry-after'])).toBeGreaterThan(1);
    expect(Number(second.headers['retry-after'])).toBeLessThanOrEqual(7);
    work.open();
    expect(await first).toMatchObject(processed);
    expect(await other.post(sent)).toMatchObject(duplicate);
    expect([one.runs, other.runs]).toEqual([[1], []]);
  });

  test('in twenty copies at once runs once', async () => {
    const work = gate();
    const receiver = receiverOf(() => work.opened);
    const sent = delivery();
    const replies = Array.from({ length: 20 }, () => receiver.post(sent));
    await until(() => receiver.records.length === 19);
    work.open();
    const statuses = (await Promise.all(replies)).map(({ status }) => status).sort();
    expect(statuses).toEqual([200, ...Array(19).fill(503)]);
    expect(receiver.runs).toEqual([1]);
    expect(await receiver.post(sent)).toMatchObject(duplicate);
  });

  test('with other bytes is not run again, and the conflict is recorded and logged', async () => {
    const receiver = receiverOf(() => {});
    const event = fixtures.transactionPaid();
    await receiver.post(delivery(event));
    expect(await receiver.post(renderedAgain(event))).toMatchObject(duplicate);
    expect(receiver.runs).toEqual([1]);
    expect(lastRecord(receiver)).toMatchObject({ outcome: 'duplicate', conflict: true });
    expect(linesOf(receiver, 50)).toEqual([
      'an event was delivered again with other bytes than those that were processed',
    ]);
  });

  test('with the same bytes under another of the keys is no conflict', async () => {
    const [old, young] = ['pri_old', 'pri_new'];
    const receiver = receiverOf(() => {}, { privateKey: [young, old] });
    const event = fixtures.transactionPaid();
    await receiver.post(delivery(event, old));
    expect(await receiver.post(delivery(event, young))).toMatchObject(duplicate);
    expect(lastRecord(receiver)).not.toHaveProperty('conflict');
    const changed = renderedAgain(event).body;
    expect(await receiver.post(delivery(changed, young))).toMatchObject(duplicate);
    expect(lastRecord(receiver)).toMatchObject({ conflict: true });
  });

  test('that version 0.1 completed, and stored with a digest, is no conflict', async () => {
    const store = memoryStore();
    const receiver = receiverOf(() => {}, { store });
    const event = fixtures.transactionPaid();
    const sent = delivery(event);
    const fingerprint = createHash('sha256').update(sent.body).digest('hex');
    const claimed = await store.claim(`default:live:${event.id}`, { leaseMs: 1_000, fingerprint });
    if (claimed.status === 'claimed') await claimed.claim.complete();
    expect(await receiver.post(sent)).toMatchObject(duplicate);
    expect(lastRecord(receiver)).not.toHaveProperty('conflict');
    expect(await receiver.post(delivery(`${sent.body} `))).toMatchObject(duplicate);
    expect(lastRecord(receiver)).toMatchObject({ conflict: true });
  });

  test('with other bytes after it had failed is run, with the new bytes', async () => {
    const seen: unknown[] = [];
    const handler: Handler = ({ payload }) => seen.push(payload.metadata?.type) === 1 && down();
    const receiver = startReceiver({ handlers: { '*': handler } });
    const event = fixtures.transactionPaid();
    const changed = renderedAgain(event, 'rendered again');
    const answers = await receiver.answers(delivery(event), changed, changed);
    expect(answers).toEqual(['500 HANDLER_FAILED', '200 processed', '200 duplicate']);
    expect(seen).toEqual(['order', 'rendered again']);
    expect(lastRecord(receiver)).not.toHaveProperty('conflict');
  });

  test.each([
    ['the case of its id', { id: 'EVENT-1' }],
    ['its mode', { sandbox: true }],
    ['a colon in its id', { id: 'event:1' }],
  ])('but differs in %s is another event', async (_difference, change) => {
    const receiver = receiverOf(() => {});
    await receiver.post(delivery(fixtures.transactionPaid({ id: 'event-1' })));
    const other = delivery(fixtures.transactionPaid({ id: 'event-1', ...change }));
    expect(await receiver.post(other)).toMatchObject(processed);
    expect(receiver.runs).toEqual([1, 1]);
  });

  test('that no handler wants touches no store', async () => {
    const store = faultyStore();
    const receiver = startReceiver({ store, handlers: {} });
    expect(await receiver.post()).toMatchObject(ignored);
    expect(store.calls).toEqual([]);
    expect(lastRecord(receiver)).not.toHaveProperty('storeMs');
  });

  test('is a duplicate for onUnknown and onInvalid too', async () => {
    const receiver = startReceiver();
    const ran: string[] = [];
    receiver.hooks.onUnknown(() => ran.push('unknown')).onInvalid(() => ran.push('invalid'));
    const undeclared = delivery(fixtures.event('payout.sent', {}));
    const misfit = delivery({ ...fixtures.transactionPaid(), payload: {} });
    const answers = await receiver.answers(undeclared, undeclared, misfit, misfit);
    expect(answers).toEqual(['200 processed', '200 duplicate', '200 ignored', '200 duplicate']);
    expect(ran).toEqual(['unknown', 'invalid']);
  });
});

describe('an event whose handler failed', () => {
  test('may be tried again at once, and each attempt has a higher number', async () => {
    const receiver = receiverOf((run) => run < 3 && down());
    const sent = delivery();
    const answers = await receiver.answers(sent, sent, sent, sent);
    expect(answers).toEqual(['500 HANDLER_FAILED', '500 HANDLER_FAILED', '200 processed', '200 duplicate']);
    expect(receiver.runs).toEqual([1, 2, 3]);
    expect(receiver.records.map(({ attempt }) => attempt)).toEqual([1, 2, 3, undefined]);
  });

  test('is released only when every handler has settled', async () => {
    const slow = gate();
    const store = faultyStore();
    const receiver = startReceiver({ store, handlers: {} });
    receiver.hooks.on('*', down).on('*', () => slow.opened);
    const sent = delivery();
    const first = receiver.post(sent);
    await until(() => store.calls.length === 1);
    expect(await receiver.post(sent)).toMatchObject(refused('IN_PROGRESS'));
    expect(store.calls).not.toContain('release');
    slow.open();
    expect(await first).toMatchObject(failed);
    expect(store.calls).toEqual(['claim', 'claim', 'release']);
  });

  test('does not run its named handlers again that have succeeded, over any number of attempts', async () => {
    const ran: string[] = [];
    const failing = new Set(['ship', 'receipt', 'audit']);
    const receiver = startReceiver({ handlers: {} });
    const step = (name: string) => {
      ran.push(name);
      if (failing.has(name)) down();
    };
    for (const name of ['book', 'ship', 'receipt']) receiver.hooks.on('*', () => step(name), { name });
    receiver.hooks.on('transaction.paid', function audit() {
      step('audit');
    });
    const sent = delivery();
    const attempt = async (repaired = '') => {
      failing.delete(repaired);
      const { status } = await receiver.post(sent);
      const handlers = lastRecord(receiver)?.handlers.map(({ name, status }) => `${name} ${status}`);
      return { status, ran: ran.splice(0), handlers };
    };
    expect(await attempt()).toEqual({
      status: 500,
      ran: ['book', 'ship', 'receipt', 'audit'],
      handlers: ['book fulfilled', 'ship rejected', 'receipt rejected', 'audit rejected'],
    });
    expect(await attempt('ship')).toEqual({
      status: 500,
      ran: ['ship', 'receipt', 'audit'],
      handlers: ['book skipped', 'ship fulfilled', 'receipt rejected', 'audit rejected'],
    });
    expect(lastRecord(receiver)?.handlers[0]).toMatchObject({ durationMs: 0 });
    expect(await attempt('receipt')).toMatchObject({ status: 500, ran: ['receipt', 'audit'] });
    expect(await attempt()).toMatchObject({ status: 500, ran: ['audit'] });
    expect(await attempt('audit')).toEqual({
      status: 200,
      ran: ['audit'],
      handlers: ['book skipped', 'ship skipped', 'receipt skipped', 'audit fulfilled'],
    });
  });

  test('a name is not mistaken for that of a function', async () => {
    const ran: string[] = [];
    const receiver = startReceiver({ handlers: {} });
    receiver.hooks.on('*', function book() {
      ran.push('the function');
    });
    receiver.hooks.on('*', () => ran.push('the name') === 2 && down(), { name: 'book' });
    receiver.hooks.on('*', () => ran.push('another') < 7 && down());
    const sent = delivery();
    const answers = await receiver.answers(sent, sent, sent);
    expect(answers).toEqual(['500 HANDLER_FAILED', '500 HANDLER_FAILED', '200 processed']);
    expect(ran).toEqual([
      ...['the function', 'the name', 'another'],
      ...['the function', 'the name', 'another'],
      ...['the function', 'another'],
    ]);
  });

  test('an app that comes to accept the payload between two attempts runs its handler, whatever its name', async () => {
    const store = memoryStore();
    const ran: string[] = [];
    const old = startReceiver({ store, handlers: {} });
    for (const register of [old.hooks.onInvalid, old.hooks.onUnknown]) {
      register(() => ran.push('keep'), { name: 'archive' });
      register(down);
    }
    const events = { 'transaction.paid': z.looseObject({}), 'payout.sent': z.looseObject({}) };
    const deployed = old.deploy({ events });
    deployed.hooks.on('*', () => ran.push('archive'), { name: 'archive' });
    const misfit = { ...fixtures.transactionPaid(), payload: {} };
    for (const event of [misfit, fixtures.event('payout.sent', {})]) {
      expect(await old.answers(event)).toEqual(['500 HANDLER_FAILED']);
      expect(await deployed.answers(event)).toEqual(['200 processed']);
    }
    expect(ran).toEqual(['keep', 'archive', 'keep', 'archive']);
  });
});

describe('a claim that went to somebody else', () => {
  test('fails the delivery, and what the other did stays', async () => {
    const shared = memoryStore();
    const work = gate();
    // As a process that is stopped: its renewals go nowhere, and somebody takes over after its lease.
    const stopped = faultyStore({ renew: hangs }, { store: shared });
    const one = receiverOf(() => work.opened, { store: stopped, lease: 60 });
    const other = receiverOf(() => {}, { store: shared });
    const sent = delivery();
    const first = one.post(sent);
    await until(() => one.runs.length === 1);
    await pause(80);
    expect(await other.post(sent)).toMatchObject(processed);
    work.open();
    expect(await first).toMatchObject(refused('CLAIM_LOST'));
    expect(await other.post(sent)).toMatchObject(duplicate);
    expect([one.runs, other.runs]).toEqual([[1], [2]]);
    expect(stopped.calls.filter((call) => call === 'complete')).toHaveLength(1);
  });

  test.each<[string, (reason: unknown) => void]>([
    ['returns', () => {}],
    ['throws', raise],
  ])(
    'is noticed at the next renewal: the handler is told and %s, and nothing is completed',
    async (_, end) => {
      const store = faultyStore({ renew: answers({ value: false }) });
      const reasons: unknown[] = [];
      const handler: Handler = async (_event, { signal }) => {
        await once(signal, 'abort');
        reasons.push(signal.reason.code);
        end(signal.reason);
      };
      const receiver = startReceiver({ store, lease: 60, handlers: { '*': handler } });
      expect(await receiver.post()).toMatchObject(refused('CLAIM_LOST'));
      expect(reasons).toEqual(['CLAIM_LOST']);
      expect(store.calls).toEqual(['claim', 'renew', 'release']);
      expect(linesOf(receiver, 50)).toContain('the claim was lost to another delivery while handlers ran');
    },
  );
});

const unreadableCode = Object.defineProperty(new Error(), 'code', { get: () => raise(new Error('no')) });
const silent: Record<string, Fault> = {
  'throws at once': throws,
  rejects: rejects,
  'never answers': hangs,
  'rejects with nothing': () => Promise.reject(undefined),
  'rejects with an error whose members throw': () => Promise.reject(unreadableCode),
};

/** The scenario with each of them, all at the same time, because they wait a lot. */
async function withEach<Case>(cases: Record<string, Case>, scenario: (one: Case) => Promise<void>) {
  const runs = Object.entries(cases).map(async ([name, one]) => {
    await scenario(one).catch((error: Error) => {
      error.message = `${name}: ${error.message}`;
      throw error;
    });
  });
  await Promise.all(runs);
}

describe('a store that throws, rejects or never answers', () => {
  const storeTimeout = 50;
  const lease = 1_000;

  test('at the claim: refused, and no handler runs', () =>
    withEach(silent, async (fault) => {
      const store = faultyStore({ claim: fault });
      const receiver = receiverOf(() => {}, { store, storeTimeout });
      const sent = delivery();
      expect(await receiver.post(sent)).toMatchObject(refused('STORE_UNAVAILABLE'));
      expect(receiver.runs).toEqual([]);
      expect(lastRecord(receiver)).toMatchObject({ status: 503, code: 'STORE_UNAVAILABLE', handlers: [] });
      store.faults.claim = undefined;
      expect(await receiver.post(sent)).toMatchObject(processed);
    }));

  test('at complete: tried three times, then 200, because a refusal would make it run again', () =>
    withEach(silent, async (fault) => {
      const store = faultyStore({ complete: fault });
      const receiver = receiverOf(() => {}, { store, storeTimeout });
      expect(await receiver.post()).toMatchObject(processed);
      expect(store.calls).toEqual(['claim', 'complete', 'complete', 'complete']);
      const why = fault === hangs ? 'No answer within 50 ms.' : 'It threw.';
      expect(linesOf(receiver, 50)).toEqual([`processed, but not remembered: ${why}`]);
    }));

  test('at the first two tries to complete: remembered by the third, and nothing is logged', () =>
    withEach(silent, async (fault) => {
      const store = faultyStore({ complete: times(2, fault) });
      const receiver = receiverOf(() => {}, { store, storeTimeout });
      const sent = delivery();
      expect(await receiver.post(sent)).toMatchObject(processed);
      expect(await receiver.post(sent)).toMatchObject(duplicate);
      expect(linesOf(receiver, 50)).toEqual([]);
    }));

  test('for a second from the first complete on, as a server that restarts: remembered when it is back', async () => {
    let back = Number.POSITIVE_INFINITY;
    const store = faultyStore({
      complete: (real) => {
        back = Math.min(back, performance.now() + 1_000);
        return performance.now() < back ? rejects(real) : real();
      },
    });
    const receiver = receiverOf(() => {}, { store, lease: 10_000 });
    const sent = delivery();
    expect(await receiver.answers(sent, sent)).toEqual(['200 processed', '200 duplicate']);
  });

  test('at complete, after a handler wrote inside once: tried three times, then refused', () =>
    withEach(silent, async (fault) => {
      const store = writingOnce({ complete: fault });
      const receiver = receiverOf(() => {}, { store, storeTimeout });
      expect(await receiver.post()).toMatchObject(refused('STORE_UNAVAILABLE'));
      expect(store.calls).toEqual(['claim', 'complete', 'complete', 'complete']);
    }));

  test('at release: the answer is that of the cause, and the lease lapses', () =>
    withEach(silent, async (fault) => {
      const store = faultyStore({ release: fault });
      const receiver = receiverOf((run) => run === 1 && down(), { store, storeTimeout, lease });
      const sent = delivery();
      expect(await receiver.post(sent)).toMatchObject(failed);
      expect(await receiver.post(sent)).toMatchObject(refused('IN_PROGRESS'));
      expect(linesOf(receiver, 50)).toContainEqual(expect.stringContaining('its lease will lapse'));
      await pause(lease);
      expect(await receiver.post(sent)).toMatchObject(processed);
      expect(receiver.runs).toEqual([1, 2]);
    }));
});

describe('a store whose reply is lost or late', () => {
  test('a claim that comes when its own lease has ended is given back, and no handler runs', async () => {
    const store = faultyStore({ claim: times(1, repliesAfter(120)) });
    const receiver = receiverOf(() => {}, { store, lease: 100, storeTimeout: 5_000 });
    const sent = delivery();
    expect(await receiver.post(sent)).toMatchObject(refused('STORE_UNAVAILABLE'));
    expect(receiver.runs).toEqual([]);
    expect(store.calls).toEqual(['claim', 'release']);
    expect(linesOf(receiver, 50)).toContainEqual(
      expect.stringMatching(
        /^the store did not answer: It granted the claim after \d+ ms, when its lease of 100 ms/,
      ),
    );
    expect(await receiver.post(sent)).toMatchObject(processed);
    expect(receiver.runs).toEqual([2]);
  });

  test.each([
    ['when its own lease has ended', { lease: 100, storeTimeout: 5_000 }],
    ['later than it is waited for', { storeTimeout: 50 }],
  ])('a claim that comes %s is given back with what an earlier attempt had finished', async (_, options) => {
    const store = faultyStore();
    const receiver = startReceiver({ store, ...options, handlers: {} });
    const ran: string[] = [];
    receiver.hooks.on('*', () => ran.push('book'), { name: 'book' });
    receiver.hooks.on('*', () => ran.push('ship') === 2 && down());
    const sent = delivery();
    expect(await receiver.post(sent)).toMatchObject(failed);
    store.faults.claim = times(1, repliesAfter(120));
    expect(await receiver.post(sent)).toMatchObject(refused('STORE_UNAVAILABLE'));
    await until(() => store.calls.filter((call) => call === 'release').length === 2);
    expect(await receiver.post(sent)).toMatchObject(processed);
    expect(ran).toEqual(['book', 'ship', 'ship']);
  });

  test('a claim that comes late within its lease is renewed in time, counted from when it was asked for', async () => {
    const store = faultyStore({ claim: repliesAfter(1_000) });
    const renewed = gate();
    let askedAt = 0;
    let renewedAt = 0;
    const timed: typeof store = {
      ...store,
      claim: (...request) => {
        askedAt = performance.now();
        return store.claim(...request);
      },
    };
    store.faults.renew = (real) => {
      renewedAt ||= performance.now();
      renewed.open();
      return real();
    };
    const options = { store: timed, storeTimeout: 8_000, lease: 3_600 };
    const receiver = receiverOf(() => renewed.opened, options);
    expect(await receiver.post()).toMatchObject(processed);
    // A third of the lease after the question: not at the reply, and not a third of the lease after that, at 2,200.
    expect(renewedAt - askedAt).toBeGreaterThan(1_100);
    expect(renewedAt - askedAt).toBeLessThan(2_150);
  });

  test('a late claim that cannot be given back harms nobody', () => {
    const noPromise: Fault = () => true;
    return withEach({ ...silent, noPromise, nothing: () => Promise.resolve() }, async (release) => {
      const store = faultyStore({ claim: times(1, repliesAfter(80)), release });
      const receiver = receiverOf(() => {}, { store, storeTimeout: 30, lease: 200 });
      const sent = delivery();
      expect(await receiver.post(sent)).toMatchObject(refused('STORE_UNAVAILABLE'));
      await until(() => store.calls.includes('release'));
      await pause(210);
      expect(await receiver.post(sent)).toMatchObject(processed);
    });
  });

  test('a late answer that grants nothing is dropped', () => {
    const late = [undefined, null, {}, { status: 'claimed' }, { status: 'completed', fingerprint: '' }];
    return withEach({ ...late }, async (value) => {
      const store = faultyStore({ claim: times(1, () => pause(80, value)) });
      const receiver = receiverOf(() => {}, { store, storeTimeout: 30 });
      const sent = delivery();
      expect(await receiver.post(sent)).toMatchObject(refused('STORE_UNAVAILABLE'));
      await pause(100);
      expect(await receiver.post(sent)).toMatchObject(processed);
    });
  });

  test('a claim whose reply never comes holds the event for one lease', async () => {
    const store = faultyStore({ claim: times(1, repliesNever) });
    const receiver = receiverOf(() => {}, { store, storeTimeout: 50, lease: 1_000 });
    const sent = delivery();
    expect(await receiver.post(sent)).toMatchObject(refused('STORE_UNAVAILABLE'));
    expect(await receiver.post(sent)).toMatchObject(refused('IN_PROGRESS'));
    await pause(1_000);
    expect(await receiver.post(sent)).toMatchObject(processed);
    expect(receiver.runs).toEqual([2]);
  });

  test('a complete whose reply is lost is asked again, and the owner gets the same answer', async () => {
    const store = faultyStore({ complete: times(1, repliesNever) });
    const receiver = receiverOf(() => {}, { store, storeTimeout: 50 });
    const sent = delivery();
    expect(await receiver.post(sent)).toMatchObject(processed);
    expect(store.calls).toEqual(['claim', 'complete', 'complete']);
    expect(await receiver.post(sent)).toMatchObject(duplicate);
  });

  test('an event that its handlers refuse is completed', async () => {
    const store = faultyStore();
    const receiver = receiverOf(() => Promise.reject(new NonRetriableError()), { store });
    expect(await receiver.post()).toMatchObject(ignored);
    expect(store.calls).toEqual(['claim', 'complete']);
  });

  test('an event that its handlers refuse is delivered again if its claim is lost', async () => {
    const store = faultyStore({ complete: answers({ value: false }) });
    const receiver = receiverOf(() => Promise.reject(new NonRetriableError()), { store });
    expect(await receiver.post()).toMatchObject(refused('CLAIM_LOST'));
  });

  test.each([
    ['names the handler', ['*']],
    ['names none that there is', ['another']],
    ['names none', []],
  ])(
    'a store that %s whose writes are not committed: 500, and the event runs again',
    async (_, uncommitted) => {
      const store = writingOnce({ complete: times(1, answers({ value: { uncommitted } })) });
      const receiver = receiverOf(() => {}, { store });
      const sent = delivery();
      expect(await receiver.answers(sent, sent)).toEqual(['500 HANDLER_FAILED', '200 processed']);
      expect(store.calls).toEqual(['claim', 'complete', 'release', 'claim', 'complete']);
    },
  );

  test('trying to complete ends with the lease, after which somebody else may have started', async () => {
    const store = faultyStore({ complete: hangs });
    const receiver = receiverOf(() => {}, { store, storeTimeout: 100, lease: 60 });
    expect(await receiver.post()).toMatchObject(processed);
    expect(store.calls.filter((call) => call === 'complete')).toHaveLength(1);
    expect(linesOf(receiver, 50)).toEqual([expect.stringContaining('processed, but not remembered')]);
  });

  test('the time that is waited for the store is counted once', async () => {
    const store = faultyStore({ claim: repliesAfter(20), complete: hangs });
    const receiver = receiverOf(() => {}, { store, storeTimeout: 60 });
    await receiver.post();
    const { storeMs = 0, durationMs = 0 } = lastRecord(receiver) ?? {};
    expect(storeMs).toBeGreaterThanOrEqual(20 + 3 * 60 - 10);
    expect(storeMs).toBeLessThanOrEqual(durationMs);
  });

  test('giving a claim back counts as time of the store too', async () => {
    const store = faultyStore({ release: repliesAfter(60) });
    const receiver = receiverOf(down, { store });
    await receiver.post();
    expect(lastRecord(receiver)?.storeMs).toBeGreaterThanOrEqual(50);
  });
});

const get = (_target: object, name: unknown) => (name === 'then' ? undefined : raise(new Error('no')));
const unreadable = new Proxy({}, { get });

describe('a store that answers rubbish', () => {
  const verbs = { renew: async () => true, complete: async () => true, release: async () => true };
  const nothings = [undefined, null, true, 0, 'claimed', Symbol('claimed'), [], {}, unreadable];

  test.each([
    ...nothings,
    { status: 'granted' },
    { status: 'granted', claim: { ...verbs, attempt: 1, finished: [] } },
    { status: 'claimed' },
    { status: 'claimed', claim: null },
    { status: 'claimed', claim: unreadable },
    { status: 'claimed', claim: { attempt: 1, finished: [] } },
    { status: 'claimed', claim: { ...verbs, attempt: '1', finished: [] } },
    { status: 'claimed', claim: { ...verbs, attempt: NaN, finished: [] } },
    { status: 'claimed', claim: { ...verbs, attempt: 1 } },
    { status: 'claimed', claim: { ...verbs, attempt: 1, finished: 'book' } },
    { status: 'claimed', claim: { ...verbs, attempt: 1, finished: [], complete: true } },
  ])('to a claim (%#): refused, and no handler runs', async (value) => {
    const receiver = receiverOf(() => {}, { store: faultyStore({ claim: answers({ value }) }) });
    expect(await receiver.post()).toMatchObject(refused('STORE_UNAVAILABLE'));
    expect(receiver.runs).toEqual([]);
  });

  test.each([
    ...[undefined, null, NaN, Infinity, '5', 'soon', {}, 5n, Symbol('soon')].map((ms) => [ms, '5']),
    [-1, '1'],
    [0, '1'],
    [1, '1'],
    [1_001, '2'],
    [29_999, '30'],
    [3_600_000, '30'],
    [1e300, '30'],
  ])('for the time until a lease ends (%p): a Retry-After all the same', async (retryAfterMs, seconds) => {
    const value = { status: 'in_progress', retryAfterMs };
    const receiver = receiverOf(() => {}, { store: faultyStore({ claim: answers({ value }) }) });
    const reply = await receiver.post();
    expect(reply).toMatchObject(refused('IN_PROGRESS'));
    expect(reply.headers['retry-after']).toBe(seconds);
  });

  test.each([undefined, null, 5, {}])('for a fingerprint (%p): a duplicate all the same', async (given) => {
    const value = { status: 'completed', fingerprint: given };
    const receiver = receiverOf(() => {}, { store: faultyStore({ claim: answers({ value }) }) });
    expect(await receiver.post()).toMatchObject(duplicate);
  });

  test('to complete: as if it had not answered', () =>
    withEach({ ...nothings }, async (value) => {
      const store = faultyStore({ complete: answers({ value }) });
      const receiver = receiverOf(() => {}, { store });
      const isTrue = value === true;
      expect(await receiver.post()).toMatchObject(processed);
      expect(store.calls.filter((call) => call === 'complete')).toHaveLength(isTrue ? 1 : 3);
      const why = value === unreadable ? 'threw when it was read' : 'is neither true nor false';
      const said = `processed, but not remembered: Its answer to complete() ${why}.`;
      expect(linesOf(receiver, 50)).toEqual(isTrue ? [] : [said]);
      const strict = writingOnce({ complete: answers({ value }) });
      expect(await receiverOf(() => {}, { store: strict }).post()).toMatchObject(
        isTrue ? processed : refused('STORE_UNAVAILABLE'),
      );
    }));

  test.each(nothings)('to release (%#): the answer is that of the cause', async (value) => {
    const store = faultyStore({ release: answers({ value }) });
    expect(await receiverOf(down, { store }).post()).toMatchObject(failed);
  });

  test('instead of promises: taken as they are', async () => {
    const claim = { attempt: 1, finished: [], renew: () => true, complete: () => true, release: () => true };
    const receiver = receiverOf(() => {}, { store: { claim: () => ({ status: 'claimed', claim }) } });
    expect(await receiver.post()).toMatchObject(processed);
    expect(linesOf(receiver, 50)).toEqual([]);
  });
});

test.each([
  ['live', { sandbox: false }],
  ['sandbox', { sandbox: true }],
])(
  'a %s event is claimed by namespace, mode and id, with the beginning of its signature',
  async (mode, change) => {
    const asked: unknown[] = [];
    const real = memoryStore();
    const claim: typeof real.claim = (...request) => {
      asked.push(request);
      return real.claim(...request);
    };
    const receiver = receiverOf(() => {}, { store: { claim }, namespace: 'shop', lease: 7_000 });
    const event = fixtures.transactionPaid(change);
    const sent = delivery(event);
    expect(await receiver.post(sent)).toMatchObject(processed);
    const fingerprint = sent.headers['x-service-signature']?.slice(0, 12);
    expect(asked).toEqual([[`shop:${mode}:${event.id}`, { leaseMs: 7_000, fingerprint }]]);
  },
);

test('an error of the receiver itself does not release the claim, because a handler may have succeeded', async () => {
  const includes = () => raise(new Error('not an array'));
  const store = faultyStore({}, { more: { finished: Object.assign([], { includes }) } });
  const shipped: string[] = [];
  const receiver = startReceiver({ store });
  receiver.hooks.on('*', (event) => void shipped.push(event.id));
  receiver.hooks.on('transaction.paid', () => {}, { name: 'receipt' });
  expect(await receiver.post()).toMatchObject(failed);
  expect(shipped).toHaveLength(1);
  expect(store.calls).toEqual(['claim']);
});

describe('a receiver without a store', () => {
  test('runs every handler of every delivery, each time as the first attempt', async () => {
    const ran: unknown[] = [];
    const receiver = startReceiver({ store: false, handlers: {} });
    receiver.hooks.on('*', (_event, { attempt }) => ran.push(attempt), { name: 'book' });
    receiver.hooks.on('*', () => ran.length < 2 && down());
    const sent = delivery();
    const answers = await receiver.answers(sent, sent, sent);
    expect(answers).toEqual(['500 HANDLER_FAILED', '200 processed', '200 processed']);
    expect(ran).toEqual([1, 1, 1]);
    expect(lastRecord(receiver)).not.toHaveProperty('storeMs');
  });

  test('answers when timeout is over, and runs the handler of a retry while the first goes on', async () => {
    const work = gate();
    const step = (run: number) => (run === 1 ? work.opened : undefined);
    const receiver = receiverOf(step, { store: false, timeout: 50 });
    const sent = delivery();
    expect(await receiver.post(sent)).toMatchObject(refused('HANDLER_TIMEOUT'));
    expect(await receiver.post(sent)).toMatchObject(processed);
    expect(receiver.runs).toEqual([1, 1]);
    expect(receiver.hooks.inFlight).toBe(1);
    work.open();
    await until(() => receiver.hooks.inFlight === 0);
    expect(receiver.log.lines).toContainEqual(
      expect.objectContaining({ msg: 'handlers settled after the answer' }),
    );
  });
});

describe('what the log says of a store', () => {
  const told = async (options: ReceiverOptions, step: () => unknown = () => {}) => {
    const receiver = receiverOf(step, { storeTimeout: 40, ...options });
    const { headers } = await receiver.post();
    const lines = receiver.log.lines.filter(({ level }) => level === 50);
    return { headers, lines };
  };
  const UNKNOWN_STATUS = 'Its answer to claim() has an unknown status.';

  test.each<[string, Fault, string, object]>([
    ['threw', throws, 'It threw.', { error: { type: 'Error' } }],
    ['rejected', rejects, 'It threw.', { error: { type: 'Error' } }],
    ['never answered', hangs, 'No answer within 40 ms.', {}],
    ['answered nothing', answers({ value: undefined }), UNKNOWN_STATUS, {}],
    ['answered an unknown status', answers({ value: { status: 'granted' } }), UNKNOWN_STATUS, {}],
    [
      'granted no claim',
      answers({ value: { status: 'claimed' } }),
      'Its claim lacks attempt, finished, renew(), complete() or release().',
      {},
    ],
    [
      'answered what cannot be read',
      answers({ value: { status: 'claimed', claim: unreadable } }),
      'Its answer to claim() threw when it was read.',
      { error: { type: 'Error' } },
    ],
  ])(
    'that %s at the claim is why, and the sender may come back in five seconds',
    async (_, fault, why, more) => {
      const { headers, lines } = await told({ store: faultyStore({ claim: fault }) });
      expect(headers).toMatchObject({ 'retry-after': '5' });
      expect(lines).toMatchObject([
        { msg: `the store did not answer: ${why}`, eventId: expect.any(String), ...more },
        { msg: 'delivery', code: 'STORE_UNAVAILABLE', hint: expect.stringContaining(`${why} Run `) },
      ]);
      if (!('error' in more)) expect(lines[0]).not.toHaveProperty('error');
    },
  );

  test('that threw at release is that the lease will lapse', async () => {
    const { lines } = await told({ store: faultyStore({ release: throws }) }, down);
    expect(lines).toContainEqual(
      expect.objectContaining({ msg: 'claim not released, so its lease will lapse: It threw.' }),
    );
  });

  test('that took the claim back is nothing', async () => {
    const { lines } = await told({}, down);
    expect(lines).toMatchObject([{ msg: 'a handler failed' }, { msg: 'delivery', code: 'HANDLER_FAILED' }]);
  });

  test('that took the claim away is that it was lost, and the sender may come back in five seconds', async () => {
    const { headers, lines } = await told({ store: faultyStore({ complete: answers({ value: false }) }) });
    expect(headers).toMatchObject({ 'retry-after': '5' });
    expect(lines).toMatchObject([{ msg: 'delivery', code: 'CLAIM_LOST' }]);
  });
});

test('a delivery that is not decoded is no event without handlers, which would be answered 200', () => {
  const config = resolveOptions({ privateKey: 'pri_key', logger: false }, memoryStore);
  const undecoded = new Delivery({}, silentLogger);
  expect(() => processEvent(undecoded, config, () => {})).toThrow('The delivery is not decoded.');
});
