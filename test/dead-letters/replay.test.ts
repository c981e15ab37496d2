// Replaying: in order, under the claim, next to deliveries, as often as it takes.
import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, test } from '@jest/globals';
import {
  type DeadLetterStore,
  type EventSchemas,
  memoryDeadLetters,
  memoryStore,
  type Receiver,
  type ReceiverOptions,
  type ReplayProgress,
  receiver,
  StoreError,
} from 'payment-webhooks';
import { z } from 'zod';
import { fixtures } from '../../src/fixtures/fixture.js';
import { captureLog } from '../setup/captured-log.js';
import { KEY, receivable } from '../setup/delivery.js';
import { faultyDeadLetters, lettersOf } from '../setup/faulty-dead-letters.js';
import { answers, type Fault, faultyStore, hangs, rejects, throws, times } from '../setup/faulty-store.js';
import { WHY } from '../setup/letters.js';
import { gate, until } from '../setup/waiting.js';

const refund = (id: string) => ({ ...fixtures.event('refund.succeeded', { refund: { id } }), id });
const EVENTS = { 'refund.succeeded': z.looseObject({ refund: z.looseObject({ id: z.string() }) }) };
const BROKEN = {
  'refund.succeeded': { '~standard': { version: 1, vendor: 'test', validate: throws as () => never } },
} as const;
const NONE = {
  ...{ processed: 0, failed: 0, later: 0, rejected: 0, stillUnknown: 0, stillInvalid: 0, inProgress: 0 },
  ...{ duplicates: 0, conflicts: 0, ignored: 0, unreadable: 0, keyNotConfigured: 0, gone: 0 },
};

/** One app with letters of these refunds, undeclared and kept in this order: what its deployments share. */
async function app(ids: readonly string[] = [], deadLetters: DeadLetterStore = memoryDeadLetters()) {
  const store = memoryStore();
  const deploy = <const Events extends EventSchemas = {}>(
    options: ReceiverOptions<Events, {}, undefined> = {},
  ) => receiver({ privateKey: KEY, logger: false, store, ...options, deadLetters });
  const post = async (hooks: Pick<Receiver, 'receive'>, event: object, key = KEY) => {
    const { outcome, code } = JSON.parse((await hooks.receive(receivable(event, key))).body);
    return outcome ?? code;
  };
  const keep = async (...more: readonly string[]) => {
    const undeclared = deploy();
    for (const id of more) expect(await post(undeclared, refund(id))).toBe('kept');
  };
  /** A deployment that declares refunds, and what its handler saw. */
  const declare = (
    work: (id: string) => unknown = () => {},
    options: ReceiverOptions<typeof EVENTS, {}, undefined> = {},
  ) => {
    const ran: string[] = [];
    const handler = ({ id }: { id: string }) => {
      ran.push(id);
      return work(id);
    };
    const hooks = deploy({ events: EVENTS, handlers: { 'refund.succeeded': handler }, ...options });
    return { hooks, ran, replay: hooks.deadLetters.replay };
  };
  await keep(...ids);
  return { deploy, post, keep, declare, deadLetters };
}

describe('a replay', () => {
  test('runs the handlers in the order of arrival, and removes the letters', async () => {
    const { declare, post } = await app(['c', 'a', 'b']);
    const { hooks, ran, replay } = declare();
    expect(await replay()).toEqual({
      ...NONE,
      processed: 3,
      dryRun: false,
      events: [{ ...NONE, eventName: 'refund.succeeded', processed: 3, issues: [] }],
    });
    expect([ran, await lettersOf(hooks)]).toEqual([['c', 'a', 'b'], []]);
    expect(await post(hooks, refund('a'))).toBe('duplicate');
  });

  test('goes over more letters than one page of the store has', async () => {
    const ids = Array.from({ length: 250 }, (_, index) => `r-${index}`);
    const { hooks, ran, replay } = (await app(ids)).declare();
    expect((await lettersOf(hooks)).map(({ eventId }) => eventId)).toEqual(ids);
    expect(await replay()).toMatchObject({ processed: 250 });
    expect(ran).toEqual(ids);
  });

  test('goes on counting attempts, and skips named handlers that had succeeded', async () => {
    const { deploy, post } = await app();
    const seen: unknown[] = [];
    let fails = true;
    const make = () =>
      deploy()
        .on('*', (_event, { attempt }) => void seen.push(['mail', attempt]), { name: 'mail' })
        .on('*', (_event, { attempt, rawBody, headers, keyIndex }) => {
          if (fails) throw new Error('down');
          seen.push(['book', attempt, rawBody.length > 0, headers['content-type'], keyIndex]);
        });
    const hooks = make();
    expect(await post(hooks, fixtures.transactionPaid())).toBe('HANDLER_FAILED');
    expect(await hooks.deadLetters.replay()).toMatchObject({ failed: 1, processed: 0 });
    expect(await lettersOf(hooks)).toMatchObject([{ reason: 'failed', attempts: 2, code: 'HANDLER_FAILED' }]);
    fails = false;
    expect(await make().deadLetters.replay()).toMatchObject({ processed: 1 });
    expect(seen).toEqual([
      ['mail', 1],
      ['book', 3, true, 'application/json', 0],
    ]);
  });

  test('reports what is still unknown, still invalid, or has no handler; those letters stay', async () => {
    const { deploy, post } = await app(['unknown', 'unwanted']);
    const metadata = z.record(z.string(), z.string());
    const hooks = deploy({ events: { 'payout.sent': z.object({ metadata, amount: z.string() }) } });
    for (const id of ['p-1', 'p-2'])
      await post(hooks, { ...fixtures.event('payout.sent', { metadata: [], amount: 5 }), id });
    const issues = [
      { path: 'payload.metadata', count: 2 },
      { path: 'payload.amount', count: 2 },
    ];
    expect(await hooks.deadLetters.replay({ event: 'payout.*' })).toEqual({
      ...NONE,
      stillInvalid: 2,
      dryRun: false,
      events: [{ ...NONE, eventName: 'payout.sent', stillInvalid: 2, issues }],
    });
    const refunds = { event: 'refund.*' };
    expect(await hooks.deadLetters.replay(refunds)).toMatchObject({ stillUnknown: 2 });
    const unwanting = deploy({ events: EVENTS });
    expect(await unwanting.deadLetters.replay(refunds)).toMatchObject({ ignored: 2 });
    const sandboxed = deploy({ events: EVENTS, sandbox: 'only', handlers: { '*': () => {} } });
    expect(await sandboxed.deadLetters.replay(refunds)).toMatchObject({ ignored: 2 });
    expect(await lettersOf(hooks)).toHaveLength(4);
  });

  test('says of a letter what is wrong with it today', async () => {
    const { deploy, declare } = await app(['r-1']);
    const wrong = deploy({ events: { 'refund.succeeded': z.looseObject({ amount: z.string() }) } });
    expect(await wrong.deadLetters.replay()).toMatchObject({ stillInvalid: 1 });
    expect(await lettersOf(wrong)).toMatchObject([
      { reason: 'invalid', code: 'EVENT_INVALID', issues: [{ path: 'payload.amount' }] },
    ]);
    const broken = deploy({ events: BROKEN });
    expect(await broken.deadLetters.replay()).toMatchObject({ failed: 1 });
    expect(await lettersOf(broken)).toMatchObject([{ reason: 'failed', code: 'HANDLER_FAILED', issues: [] }]);
    expect(await declare().replay()).toMatchObject({ processed: 1 });
  });

  test('runs onUnknown and onInvalid handlers that were registered since', async () => {
    const { deploy, post } = await app(['r-1']);
    expect(await post(deploy(), { ...fixtures.transactionPaid(), payload: {} })).toBe('kept');
    const seen: string[] = [];
    const hooks = deploy()
      .onUnknown((event) => void seen.push(event.event_name))
      .onInvalid((error) => void seen.push(error.code));
    expect(await hooks.deadLetters.replay()).toMatchObject({ processed: 2 });
    expect(seen).toEqual(['refund.succeeded', 'EVENT_INVALID']);
    expect(await lettersOf(hooks)).toEqual([]);
  });

  test('waits for handlers that go on after timeout, and counts how they end', async () => {
    const ended: string[] = [];
    const work = async (id: string) => {
      if (id !== 'next') await new Promise((resolve) => setTimeout(resolve, 60));
      if (id === 'slow-and-failing') throw new Error('down');
      ended.push(id);
    };
    const { declare } = await app(['slow', 'slow-and-failing', 'next']);
    const { hooks, replay } = declare(work, { timeout: 20 });
    expect(await replay()).toMatchObject({ processed: 2, failed: 1 });
    expect(ended).toEqual(['slow', 'next']);
    expect(await lettersOf(hooks)).toMatchObject([{ eventId: 'slow-and-failing' }]);
  });

  test('knows the bytes of a run that was signed with a newer key', async () => {
    const NEW = 'pri_a_newer_key_of_the_account';
    const { declare, post } = await app(['r-1'], faultyDeadLetters({ remove: times(1, rejects) }));
    const signedWith = (privateKey: ReceiverOptions['privateKey']) => declare(undefined, { privateKey });
    expect(await post(signedWith(NEW).hooks, refund('r-1'), NEW)).toBe('processed');
    for (const privateKey of [() => NEW, async () => NEW]) {
      const dry = await signedWith(privateKey).replay({ dryRun: true, keys: 'any' });
      expect(dry).toMatchObject({ processed: 1 });
    }
    const report = await signedWith(async () => NEW).replay({ keys: 'any' });
    expect(report).toMatchObject({ duplicates: 1, conflicts: 0 });
  });

  test('of other bytes than were processed makes a conflict of the letter, and runs nothing, ever', async () => {
    const { deploy, post, declare } = await app(['r-1']);
    await post(deploy(), { ...refund('r-1'), note: 'another' });
    const { hooks, ran, replay } = declare();
    expect(await replay()).toMatchObject({ processed: 1, conflicts: 1 });
    expect(await lettersOf(hooks)).toMatchObject([{ reason: 'conflict', eventId: 'r-1' }]);
    expect(await replay()).toMatchObject({ processed: 0, conflicts: 1 });
    // Also when the store of event ids has forgotten that it was processed.
    const forgetful = declare(undefined, { store: memoryStore() });
    expect(await forgetful.replay()).toMatchObject({ processed: 0, conflicts: 1 });
    expect([ran, forgetful.ran]).toEqual([['r-1'], []]);
  });

  test.each([undefined, 3])('has as many letters at work as concurrency, or one: %p', async (concurrency) => {
    let [now, most] = [0, 0];
    const work = async () => {
      now += 1;
      most = Math.max(most, now);
      await new Promise((resolve) => setTimeout(resolve, 5));
      now -= 1;
    };
    const { replay } = (await app(['a', 'b', 'c', 'd', 'e'])).declare(work);
    expect(await replay({ concurrency })).toMatchObject({ processed: 5 });
    expect(most).toBe(concurrency ?? 1);
  });

  test('takes the letters that fit its filters', async () => {
    const { hooks, ran, replay } = (await app(['a', 'b'])).declare();
    const [, second] = await lettersOf(hooks);
    expect(await replay({ reason: 'failed' })).toMatchObject({ processed: 0 });
    expect(await replay({ event: 'payout.*' })).toMatchObject({ processed: 0 });
    expect(await replay({ id: second?.id ?? '' })).toMatchObject({ processed: 1 });
    expect(await replay({ eventId: 'a', since: '1h', event: 'refund.*' })).toMatchObject({ processed: 1 });
    expect(ran).toEqual(['b', 'a']);
  });

  test('runs its handlers in the async context of its caller', async () => {
    const who = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const { replay } = (await app(['a', 'b'])).declare(() => void seen.push(who.getStore()));
    await who.run('ada', () => replay());
    expect(seen).toEqual(['ada', 'ada']);
  });

  test('writes a line for each letter', async () => {
    const log = captureLog();
    let fails = true;
    const work = () => fails && Promise.reject(new Error('down'));
    const { replay } = (await app(['a'])).declare(work, { logger: log.logger });
    await replay();
    fails = false;
    await replay();
    const lines = log.lines.filter(({ msg }) => msg === 'replay');
    expect(lines).toMatchObject([
      { level: 50, code: 'HANDLER_FAILED', eventId: 'a', attempt: 2, deadLetter: 'failed' },
      { level: 30, outcome: 'processed', eventId: 'a', attempt: 3 },
    ]);
    expect(lines[1]).not.toHaveProperty('deadLetter');
    expect(lines[0]).not.toHaveProperty('status');
  });

  test('registers no further handler: what happens to an event must not depend on when it is replayed', async () => {
    const hooks = (await app()).deploy();
    await hooks.deadLetters.replay();
    expect(() => hooks.on('*', () => {})).toThrow('was called after the first delivery');
  });
});

describe('a dry run', () => {
  test('runs and changes nothing, and says what would happen', async () => {
    const deadLetters = faultyDeadLetters();
    const { deploy, declare, post } = await app(['a', 'b'], deadLetters);
    expect(await post(deploy(), { ...fixtures.transactionPaid(), payload: { metadata: 5 } })).toBe('kept');
    const { hooks, ran, replay } = declare();
    const letters = await lettersOf(hooks);
    deadLetters.calls.length = 0;
    const report = await replay({ dryRun: true });
    expect(report).toMatchObject({ ...NONE, processed: 2, stillInvalid: 1, dryRun: true });
    expect(report.events).toMatchObject([
      { eventName: 'refund.succeeded', processed: 2, issues: [] },
      { eventName: 'transaction.paid', stillInvalid: 1 },
    ]);
    expect(report.events[1]?.issues).toContainEqual({ path: 'payload.metadata', count: 1 });
    expect(new Set(deadLetters.calls)).toEqual(new Set(['count', 'list', 'read']));
    expect([ran, await lettersOf(hooks)]).toEqual([[], letters]);
    expect(await replay()).toMatchObject({ processed: 2, stillInvalid: 1 });
  });

  test('says which are unknown, unwanted and undecided', async () => {
    const { deploy } = await app(['a']);
    const dry = { dryRun: true } as const;
    expect(await deploy().deadLetters.replay(dry)).toMatchObject({ stillUnknown: 1 });
    expect(await deploy({ events: EVENTS }).deadLetters.replay(dry)).toMatchObject({ ignored: 1 });
    expect(await deploy({ events: BROKEN }).deadLetters.replay(dry)).toMatchObject({ failed: 1 });
  });
});

describe('progress', () => {
  test('is told after each letter', async () => {
    const work = (id: string) => id === 'b' && Promise.reject(new Error('down'));
    const { replay } = (await app(['a', 'b', 'c'])).declare(work);
    const told: ReplayProgress[] = [];
    await replay({ onProgress: (progress) => void told.push(progress) });
    expect(told).toEqual([
      { done: 1, total: 3, processed: 1, failed: 0 },
      { done: 2, total: 3, processed: 1, failed: 1 },
      { done: 3, total: 3, processed: 2, failed: 1 },
    ]);
  });

  test.each([
    ['throws', throws as () => never],
    ['rejects', rejects as () => never],
  ])('that %s changes nothing', async (_, onProgress) => {
    const { replay } = (await app(['a', 'b'])).declare();
    expect(await replay({ onProgress })).toMatchObject({ processed: 2 });
  });
});

describe('a replay that ends before the last letter', () => {
  test('because its signal aborts ends the letter it is at, and can be started again', async () => {
    const controller = new AbortController();
    const { declare } = await app(['a', 'b', 'c']);
    const { hooks, ran, replay } = declare((id) => id === 'b' && controller.abort());
    const aborted = { stopped: 'aborted' };
    expect(await replay({ signal: controller.signal })).toMatchObject({ processed: 2, ...aborted });
    expect(await lettersOf(hooks)).toMatchObject([{ eventId: 'c' }]);
    expect(await replay({ signal: AbortSignal.abort() })).toMatchObject({ processed: 0, ...aborted });
    expect(await replay()).toMatchObject({ processed: 1 });
    expect(ran).toEqual(['a', 'b', 'c']);
  });

  test('because the receiver closes ends the letter it is at, and close() waits for it', async () => {
    const work = gate();
    const { hooks, ran, replay } = (await app(['a', 'b'])).declare(() => work.opened);
    const replaying = replay();
    await until(() => ran.length === 1);
    expect(hooks.inFlight).toBe(1);
    let closed = false;
    const closing = hooks.close().then(() => {
      closed = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(closed).toBe(false);
    work.open();
    expect(await replaying).toMatchObject({ processed: 1, stopped: 'closing' });
    await closing;
    expect(await replay()).toMatchObject({ processed: 0, stopped: 'closing' });
    expect(await lettersOf(hooks)).toMatchObject([{ eventId: 'b' }]);
  });

  test.each<[keyof ReturnType<typeof faultyDeadLetters>['faults'], string, Fault]>([
    ['count', 'rejects', rejects],
    ['count', 'answers -1', answers({ value: -1 })],
    ['list', 'throws', throws],
    ['list', 'answers half a letter', answers({ value: { letters: [{ id: 'x' }] } })],
    ['list', 'answers nothing', answers({ value: undefined })],
    ['read', 'rejects', rejects],
    ['read', 'hangs', hangs],
    ['read', 'answers without bytes', answers({ value: { status: 'found' } })],
  ])('because %s() of the store %s rejects, and can be started again', async (operation, _, fault) => {
    const deadLetters = faultyDeadLetters();
    const { declare } = await app(['a', 'b'], deadLetters);
    const { hooks, ran, replay } = declare(undefined, { storeTimeout: 30 });
    deadLetters.faults[operation] = fault;
    await expect(replay({ concurrency: 2 })).rejects.toThrow(StoreError);
    deadLetters.faults[operation] = undefined;
    expect(hooks.inFlight).toBe(0);
    await replay();
    expect(ran.sort()).toEqual(['a', 'b']);
  });

  test.each([1, 2])('leaves letters that were kept meanwhile, with %i at once', async (concurrency) => {
    const deadLetters = memoryDeadLetters();
    const list = deadLetters.list.bind(deadLetters);
    // One letter a page: the later pages have what was kept meanwhile.
    deadLetters.list = (query, page) => list(query, { ...page, limit: 1 });
    const { declare, keep } = await app(['a', 'b', 'c'], deadLetters);
    const work = gate();
    const { ran, replay } = declare(() => work.opened);
    const replaying = replay({ concurrency });
    await until(() => ran.length === concurrency);
    await keep('d', 'e', 'f');
    // All that are at work end at the same moment, and look for the next letter together.
    work.open();
    expect(await replaying).toMatchObject({ processed: 3 });
    expect(ran).toEqual(['a', 'b', 'c']);
  });
});

describe('a letter', () => {
  test('that was removed or discarded before its turn is gone', async () => {
    const { declare, post } = await app(['a', 'b', 'c']);
    const { hooks, ran, replay } = declare(async (id) => {
      if (id !== 'a') return;
      const [, second, third] = await lettersOf(hooks);
      await hooks.deadLetters.discard(second?.id ?? '', WHY);
      await post(hooks, refund(third?.eventId ?? ''));
    });
    expect(await replay()).toMatchObject({ processed: 1, gone: 2 });
    expect(ran).toEqual(['a', 'c']);
  });

  test('that is discarded in the store itself while it is replayed does not come back when it fails', async () => {
    const { declare, deadLetters } = await app(['a']);
    const { hooks, replay } = declare(async () => {
      const [letter] = await lettersOf(hooks);
      await deadLetters.discard(letter?.id ?? '', WHY);
      throw new Error('down');
    });
    expect(await replay()).toMatchObject({ gone: 1, failed: 0 });
    expect(await lettersOf(hooks)).toEqual([]);
  });

  test('that the store cannot vouch for is reported, and not replayed', async () => {
    const deadLetters = faultyDeadLetters({ read: answers({ value: { status: 'unreadable' } }) });
    const log = captureLog();
    const { hooks, ran, replay } = (await app(['a'], deadLetters)).declare(undefined, { logger: log.logger });
    expect(await replay()).toMatchObject({ unreadable: 1 });
    const line = { level: 50, msg: expect.stringMatching(/was not replayed/) };
    expect(log.lines).toContainEqual(expect.objectContaining(line));
    expect(ran).toEqual([]);
    deadLetters.faults.read = async (real) => ({ ...Object(await real()), rawBody: Buffer.from('{') });
    expect(await replay()).toMatchObject({ unreadable: 1 });
    expect(await lettersOf(hooks)).toHaveLength(1);
  });

  test('whose claim the store of event ids does not grant has failed, and stays', async () => {
    const { declare } = await app(['a']);
    const { hooks, replay } = declare(undefined, { store: faultyStore({ claim: rejects }) });
    expect(await replay()).toMatchObject({ failed: 1 });
    expect(await lettersOf(hooks)).toMatchObject([{ reason: 'unknown' }]);
  });
});

describe('deliveries come first', () => {
  test('a replay waits while maxInFlight of them are at work', async () => {
    const work = gate();
    const { declare, post } = await app(['a']);
    const { hooks, ran, replay } = declare((id) => id === 'live' && work.opened, { maxInFlight: 1 });
    const live = post(hooks, refund('live'));
    await until(() => ran.length === 1);
    const replaying = replay();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(ran).toEqual(['live']);
    work.open();
    expect(await live).toBe('processed');
    expect(await replaying).toMatchObject({ processed: 1 });
  });

  test('replays, however many, leave half of maxInFlight to them', async () => {
    const work = gate();
    const { declare, post } = await app(['a', 'b', 'c', 'd', 'e', 'f']);
    const { hooks, ran, replay } = declare((id) => id !== 'live' && work.opened, { maxInFlight: 4 });
    const replaying = [1, 2, 3].map(() => replay({ concurrency: 100 }));
    await until(() => ran.length === 2);
    expect(await post(hooks, refund('live'))).toBe('processed');
    expect(hooks.inFlight).toBe(2);
    work.open();
    const reports = await Promise.all(replaying);
    expect(reports.reduce((sum, { processed }) => sum + processed, 0)).toBe(6);
    expect(ran.sort()).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'live']);
  });
});
