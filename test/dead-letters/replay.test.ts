// Replaying: in order, under the claim, beside deliveries, as often as it takes.
import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, test } from '@jest/globals';
import {
  type DeadLetterStore,
  type EventSchemas,
  memoryDeadLetters,
  memoryStore,
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
import { gate, until } from '../setup/waiting.js';

const refund = (id: string) => ({ ...fixtures.event('refund.succeeded', { refund: { id } }), id });
const EVENTS = { 'refund.succeeded': z.looseObject({ refund: z.looseObject({ id: z.string() }) }) };
const NONE = {
  processed: 0,
  failed: 0,
  later: 0,
  rejected: 0,
  stillUnknown: 0,
  stillInvalid: 0,
  inProgress: 0,
  duplicates: 0,
  conflicts: 0,
  ignored: 0,
  unreadable: 0,
  keyNotConfigured: 0,
  gone: 0,
};

/** One app: what each of its deployments shares. */
function app(deadLetters: DeadLetterStore = memoryDeadLetters()) {
  const store = memoryStore();
  const deploy = <const Events extends EventSchemas = {}>(
    options: ReceiverOptions<Events, {}, undefined> = {},
  ) => receiver({ privateKey: KEY, logger: false, store, ...options, deadLetters });
  const post = async (hooks: Pick<ReturnType<typeof deploy>, 'receive'>, event: object, key = KEY) => {
    const { outcome, code } = JSON.parse((await hooks.receive(receivable(event, key))).body);
    return outcome ?? code;
  };
  /** Undeclared refunds of these ids, kept in this order. */
  const keep = async (...ids: readonly string[]) => {
    const undeclared = deploy();
    for (const id of ids) expect(await post(undeclared, refund(id))).toBe('kept');
  };
  return { deploy, post, keep, store, deadLetters };
}

/** A deployment that declares refunds, and what its handler saw. */
function declaring(
  { deploy }: ReturnType<typeof app>,
  work: (id: string) => unknown = () => {},
  options: ReceiverOptions<typeof EVENTS, {}, undefined> = {},
) {
  const ran: string[] = [];
  const handler = (event: { id: string }) => {
    ran.push(event.id);
    return work(event.id);
  };
  const hooks = deploy({ events: EVENTS, handlers: { 'refund.succeeded': handler }, ...options });
  return { hooks, ran };
}

describe('a replay', () => {
  test('runs the handlers in the order of arrival, and removes the letters', async () => {
    const shop = app();
    await shop.keep('c', 'a', 'b');
    const { hooks, ran } = declaring(shop);
    expect(await hooks.deadLetters.replay()).toEqual({
      ...NONE,
      processed: 3,
      dryRun: false,
      events: [{ ...NONE, eventName: 'refund.succeeded', processed: 3, issues: [] }],
    });
    expect(ran).toEqual(['c', 'a', 'b']);
    expect(await lettersOf(hooks)).toEqual([]);
    expect(await shop.post(hooks, refund('a'))).toBe('duplicate');
  });

  test('goes over more letters than one page of the store has', async () => {
    const shop = app();
    const ids = Array.from({ length: 250 }, (_, index) => `r-${index}`);
    await shop.keep(...ids);
    const { hooks, ran } = declaring(shop);
    expect((await lettersOf(hooks)).map(({ eventId }) => eventId)).toEqual(ids);
    expect(await hooks.deadLetters.replay()).toMatchObject({ processed: 250 });
    expect(ran).toEqual(ids);
  });

  test('goes on counting attempts, and skips named handlers that had succeeded', async () => {
    const shop = app();
    const seen: unknown[] = [];
    let fails = true;
    const make = () =>
      shop
        .deploy()
        .on('*', (_event, { attempt }) => void seen.push(['mail', attempt]), { name: 'mail' })
        .on('*', (_event, { attempt, rawBody, headers, keyIndex }) => {
          if (fails) throw new Error('down');
          seen.push(['book', attempt, rawBody.length > 0, headers['content-type'], keyIndex]);
        });
    const hooks = make();
    expect(await shop.post(hooks, fixtures.transactionPaid())).toBe('HANDLER_FAILED');
    expect(await hooks.deadLetters.replay()).toMatchObject({ failed: 1, processed: 0 });
    expect(await lettersOf(hooks)).toMatchObject([{ reason: 'failed', attempts: 2, code: 'HANDLER_FAILED' }]);
    fails = false;
    expect(await make().deadLetters.replay()).toMatchObject({ processed: 1 });
    expect(seen).toEqual([
      ['mail', 1],
      ['book', 3, true, 'application/json', 0],
    ]);
  });

  test('reports what is still unknown, still invalid, and wanted by nobody; those letters stay', async () => {
    const shop = app();
    const { deploy, post, keep } = shop;
    await keep('unknown');
    const strict = {
      'payout.sent': z.object({ metadata: z.record(z.string(), z.string()), amount: z.string() }),
    };
    const before = deploy({ events: strict });
    for (const id of ['p-1', 'p-2']) {
      const event = { ...fixtures.event('payout.sent', { metadata: [], amount: 5 }), id };
      expect(await post(before, event)).toBe('kept');
    }
    expect(await post(deploy(), refund('unwanted'))).toBe('kept');
    const hooks = deploy({ events: strict });
    expect(await hooks.deadLetters.replay({ event: 'payout.*' })).toEqual({
      ...NONE,
      stillInvalid: 2,
      dryRun: false,
      events: [
        {
          ...NONE,
          eventName: 'payout.sent',
          stillInvalid: 2,
          issues: [
            { path: 'payload.metadata', count: 2 },
            { path: 'payload.amount', count: 2 },
          ],
        },
      ],
    });
    expect(await hooks.deadLetters.replay({ event: 'refund.*' })).toMatchObject({ stillUnknown: 2 });
    const unwanting = deploy({ events: EVENTS });
    expect(await unwanting.deadLetters.replay({ event: 'refund.*' })).toMatchObject({ ignored: 2 });
    const sandboxed = deploy({ events: EVENTS, sandbox: 'only', handlers: { '*': () => {} } });
    expect(await sandboxed.deadLetters.replay({ event: 'refund.*' })).toMatchObject({ ignored: 2 });
    expect(await lettersOf(hooks)).toHaveLength(4);
  });

  test('says of a letter what is wrong with it today', async () => {
    const shop = app();
    await shop.keep('r-1');
    const wrong = shop.deploy({ events: { 'refund.succeeded': z.looseObject({ amount: z.string() }) } });
    expect(await wrong.deadLetters.replay()).toMatchObject({ stillInvalid: 1 });
    expect(await lettersOf(wrong)).toMatchObject([
      { reason: 'invalid', code: 'EVENT_INVALID', issues: [{ path: 'payload.amount' }] },
    ]);
    const broken = shop.deploy({
      events: {
        'refund.succeeded': { '~standard': { version: 1, vendor: 'test', validate: throws as () => never } },
      },
    });
    expect(await broken.deadLetters.replay()).toMatchObject({ failed: 1 });
    expect(await lettersOf(broken)).toMatchObject([{ reason: 'failed', code: 'HANDLER_FAILED', issues: [] }]);
    const { hooks } = declaring(shop);
    expect(await hooks.deadLetters.replay()).toMatchObject({ processed: 1 });
  });

  test('runs onUnknown and onInvalid handlers that were registered since', async () => {
    const shop = app();
    await shop.keep('r-1');
    expect(await shop.post(shop.deploy(), { ...fixtures.transactionPaid(), payload: {} })).toBe('kept');
    const seen: string[] = [];
    const hooks = shop
      .deploy()
      .onUnknown((event) => void seen.push(event.event_name))
      .onInvalid((error) => void seen.push(error.code));
    expect(await hooks.deadLetters.replay()).toMatchObject({ processed: 2 });
    expect(seen).toEqual(['refund.succeeded', 'EVENT_INVALID']);
    expect(await lettersOf(hooks)).toEqual([]);
  });

  test('waits for handlers that go on after timeout, and counts how they end', async () => {
    const shop = app();
    await shop.keep('slow', 'slow-and-failing', 'next');
    const ended: string[] = [];
    const work = async (id: string) => {
      if (id !== 'next') await new Promise((resolve) => setTimeout(resolve, 60));
      if (id === 'slow-and-failing') throw new Error('down');
      ended.push(id);
    };
    const { hooks } = declaring(shop, work, { timeout: 20 });
    expect(await hooks.deadLetters.replay()).toMatchObject({ processed: 2, failed: 1 });
    expect(ended).toEqual(['slow', 'next']);
    expect(await lettersOf(hooks)).toMatchObject([{ eventId: 'slow-and-failing' }]);
  });

  test('removes the letter of an event that was processed meanwhile, and runs nothing', async () => {
    const deadLetters = faultyDeadLetters({ remove: hangs });
    const shop = app(deadLetters);
    await shop.keep('r-1');
    const { hooks, ran } = declaring(shop, undefined, { storeTimeout: 30 });
    expect(await shop.post(hooks, refund('r-1'))).toBe('processed');
    deadLetters.faults.remove = undefined;
    expect(await lettersOf(hooks)).toHaveLength(1);
    expect(await hooks.deadLetters.replay()).toMatchObject({ duplicates: 1, processed: 0 });
    expect(await lettersOf(hooks)).toEqual([]);
    expect(ran).toEqual(['r-1']);
  });

  test('knows the bytes of a run that was signed with a newer key', async () => {
    const NEW = 'pri_a_newer_key_of_the_account';
    const deadLetters = faultyDeadLetters({ remove: times(1, rejects) });
    const shop = app(deadLetters);
    await shop.keep('r-1');
    const signedWith = (privateKey: ReceiverOptions['privateKey']) =>
      declaring(shop, undefined, { privateKey }).hooks;
    expect(await shop.post(signedWith(NEW), refund('r-1'), NEW)).toBe('processed');
    for (const privateKey of [() => NEW, async () => NEW]) {
      const dry = await signedWith(privateKey).deadLetters.replay({ dryRun: true, keys: 'any' });
      expect(dry).toMatchObject({ processed: 1 });
    }
    const report = await signedWith(async () => NEW).deadLetters.replay({ keys: 'any' });
    expect(report).toMatchObject({ duplicates: 1, conflicts: 0 });
  });

  test('of other bytes than were processed makes a conflict of the letter, and runs nothing, ever', async () => {
    const shop = app();
    const undeclared = shop.deploy();
    const [one, other] = [refund('r-1'), { ...refund('r-1'), note: 'another' }];
    await shop.post(undeclared, one);
    await shop.post(undeclared, other);
    const { hooks, ran } = declaring(shop);
    expect(await hooks.deadLetters.replay()).toMatchObject({ processed: 1, conflicts: 1 });
    expect(await lettersOf(hooks)).toMatchObject([{ reason: 'conflict', eventId: 'r-1' }]);
    expect(await hooks.deadLetters.replay()).toMatchObject({ processed: 0, conflicts: 1 });
    // Also when the store of event ids has forgotten that it was processed.
    const forgetful = declaring(shop, undefined, { store: memoryStore() });
    expect(await forgetful.hooks.deadLetters.replay()).toMatchObject({ processed: 0, conflicts: 1 });
    expect([ran, forgetful.ran]).toEqual([['r-1'], []]);
  });

  test('counts what is in progress elsewhere, and leaves it', async () => {
    const shop = app();
    const work = gate();
    const { hooks, ran } = declaring(shop, () => work.opened);
    await shop.keep('r-1');
    const live = shop.post(hooks, refund('r-1'));
    await until(() => ran.length === 1);
    expect(await hooks.deadLetters.replay()).toMatchObject({ inProgress: 1 });
    expect(await lettersOf(hooks)).toHaveLength(1);
    work.open();
    expect(await live).toBe('processed');
    expect(await lettersOf(hooks)).toEqual([]);
    expect(ran).toEqual(['r-1']);
  });

  test('in several processes beside retries of the same events runs none of them twice at once', async () => {
    const shop = app();
    const ids = Array.from({ length: 30 }, (_, index) => `r-${index}`);
    await shop.keep(...ids);
    const running = new Set<string>();
    const done: string[] = [];
    const overlaps: string[] = [];
    const work = async (id: string) => {
      if (running.has(id)) overlaps.push(id);
      running.add(id);
      await new Promise((resolve) => setTimeout(resolve, 2));
      running.delete(id);
      if (id.endsWith('5') && !done.includes(`failed ${id}`)) {
        done.push(`failed ${id}`);
        throw new Error('down');
      }
      done.push(id);
    };
    const processes = [1, 2, 3, 4].map(() => declaring(shop, work).hooks);
    const replays = processes.map((hooks) => hooks.deadLetters.replay({ concurrency: 3 }));
    const live = ids.map((id, index) => shop.post(processes[index % 4] as (typeof processes)[0], refund(id)));
    await Promise.all([...replays, ...live]);
    while ((await lettersOf({ deadLetters: processes[0]?.deadLetters })).length > 0)
      await processes[0]?.deadLetters.replay();
    expect(overlaps).toEqual([]);
    expect(done.filter((id) => !id.startsWith('failed')).sort()).toEqual([...ids].sort());
  });

  test('has as many letters at work as concurrency says, and one by default', async () => {
    for (const concurrency of [undefined, 3]) {
      const shop = app();
      await shop.keep('a', 'b', 'c', 'd', 'e');
      let [now, most] = [0, 0];
      const { hooks } = declaring(shop, async () => {
        now += 1;
        most = Math.max(most, now);
        await new Promise((resolve) => setTimeout(resolve, 5));
        now -= 1;
      });
      expect(await hooks.deadLetters.replay({ concurrency })).toMatchObject({ processed: 5 });
      expect(most).toBe(concurrency ?? 1);
    }
  });

  test('takes the letters that fit its filters', async () => {
    const shop = app();
    await shop.keep('a', 'b');
    const { hooks, ran } = declaring(shop);
    const [, second] = await lettersOf(hooks);
    expect(await hooks.deadLetters.replay({ reason: 'failed' })).toMatchObject({ processed: 0 });
    expect(await hooks.deadLetters.replay({ event: 'payout.*' })).toMatchObject({ processed: 0 });
    expect(await hooks.deadLetters.replay({ id: second?.id ?? '' })).toMatchObject({ processed: 1 });
    expect(await hooks.deadLetters.replay({ eventId: 'a', since: '1h', event: 'refund.*' })).toMatchObject({
      processed: 1,
    });
    expect(ran).toEqual(['b', 'a']);
  });

  test('runs its handlers in the async context of its caller', async () => {
    const shop = app();
    await shop.keep('a', 'b');
    const who = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const { hooks } = declaring(shop, () => void seen.push(who.getStore()));
    await who.run('ada', () => hooks.deadLetters.replay());
    expect(seen).toEqual(['ada', 'ada']);
  });

  test('writes a line for each letter', async () => {
    const shop = app();
    await shop.keep('a');
    const log = captureLog();
    let fails = true;
    const work = () => fails && Promise.reject(new Error('down'));
    const { hooks } = declaring(shop, work, { logger: log.logger });
    await hooks.deadLetters.replay();
    fails = false;
    await hooks.deadLetters.replay();
    const lines = log.lines.filter(({ msg }) => msg === 'replay');
    expect(lines).toMatchObject([
      { level: 50, code: 'HANDLER_FAILED', eventId: 'a', attempt: 2, deadLetter: 'failed' },
      { level: 30, outcome: 'processed', eventId: 'a', attempt: 3 },
    ]);
    expect(lines[1]).not.toHaveProperty('deadLetter');
    expect(lines[0]).not.toHaveProperty('status');
  });

  test('registers no further handler: what happens to an event must not depend on when it is replayed', async () => {
    const hooks = app().deploy();
    await hooks.deadLetters.replay();
    expect(() => hooks.on('*', () => {})).toThrow('came after the first delivery');
  });
});

describe('a dry run', () => {
  test('runs and changes nothing, and says what would happen', async () => {
    const deadLetters = faultyDeadLetters();
    const shop = app(deadLetters);
    await shop.keep('a', 'b');
    const before = shop.deploy();
    expect(await shop.post(before, { ...fixtures.transactionPaid(), payload: { metadata: 5 } })).toBe('kept');
    const { hooks, ran } = declaring(shop);
    const letters = await lettersOf(hooks);
    deadLetters.calls.length = 0;
    const report = await hooks.deadLetters.replay({ dryRun: true });
    expect(report).toMatchObject({ ...NONE, processed: 2, stillInvalid: 1, dryRun: true });
    expect(report.events).toMatchObject([
      { eventName: 'refund.succeeded', processed: 2, issues: [] },
      { eventName: 'transaction.paid', stillInvalid: 1 },
    ]);
    expect(report.events[1]?.issues).toContainEqual({ path: 'payload.metadata', count: 1 });
    expect(new Set(deadLetters.calls)).toEqual(new Set(['count', 'list', 'read']));
    expect(await lettersOf(hooks)).toEqual(letters);
    expect(ran).toEqual([]);
    expect(await hooks.deadLetters.replay()).toMatchObject({ processed: 2, stillInvalid: 1 });
  });

  test('says which are unknown, unwanted and undecided', async () => {
    const shop = app();
    await shop.keep('a');
    const dry = { dryRun: true } as const;
    expect(await shop.deploy().deadLetters.replay(dry)).toMatchObject({ stillUnknown: 1 });
    expect(await shop.deploy({ events: EVENTS }).deadLetters.replay(dry)).toMatchObject({ ignored: 1 });
    const validate = throws as () => never;
    const events = { 'refund.succeeded': { '~standard': { version: 1, vendor: 'test', validate } } } as const;
    expect(await shop.deploy({ events }).deadLetters.replay(dry)).toMatchObject({ failed: 1 });
  });
});

describe('progress', () => {
  test('is told after each letter', async () => {
    const shop = app();
    await shop.keep('a', 'b', 'c');
    const { hooks } = declaring(shop, (id) => id === 'b' && Promise.reject(new Error('down')));
    const told: ReplayProgress[] = [];
    await hooks.deadLetters.replay({ onProgress: (progress) => void told.push(progress) });
    expect(told).toEqual([
      { done: 1, total: 3, processed: 1, failed: 0 },
      { done: 2, total: 3, processed: 1, failed: 1 },
      { done: 3, total: 3, processed: 2, failed: 1 },
    ]);
  });

  test('that throws or rejects changes nothing', async () => {
    for (const onProgress of [throws as () => never, () => Promise.reject(new Error('no')) as never]) {
      const shop = app();
      await shop.keep('a', 'b');
      const { hooks } = declaring(shop);
      expect(await hooks.deadLetters.replay({ onProgress })).toMatchObject({ processed: 2 });
    }
  });
});

describe('a replay that ends before the last letter', () => {
  test('because its signal aborts ends the letter it is at, and can be started again', async () => {
    const shop = app();
    await shop.keep('a', 'b', 'c');
    const controller = new AbortController();
    const { hooks, ran } = declaring(shop, (id) => {
      if (id === 'b') controller.abort();
    });
    const report = await hooks.deadLetters.replay({ signal: controller.signal });
    expect(report).toMatchObject({ processed: 2, stopped: 'aborted' });
    expect(await lettersOf(hooks)).toMatchObject([{ eventId: 'c' }]);
    expect(await hooks.deadLetters.replay({ signal: AbortSignal.abort() })).toMatchObject({
      processed: 0,
      stopped: 'aborted',
    });
    expect(await hooks.deadLetters.replay()).toMatchObject({ processed: 1 });
    expect(ran).toEqual(['a', 'b', 'c']);
  });

  test('because the receiver closes ends the letter it is at, and close() waits for it', async () => {
    const shop = app();
    await shop.keep('a', 'b');
    const work = gate();
    const { hooks, ran } = declaring(shop, () => work.opened);
    const replaying = hooks.deadLetters.replay();
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
    expect(await hooks.deadLetters.replay()).toMatchObject({ processed: 0, stopped: 'closing' });
    expect(await lettersOf(hooks)).toMatchObject([{ eventId: 'b' }]);
  });

  test('because the store of letters goes down rejects, and can be started again', async () => {
    const FAULTS: [string, Fault][] = [
      ['count', rejects],
      ['count', answers({ value: -1 })],
      ['list', throws],
      ['list', answers({ value: { letters: [{ id: 'x' }] } })],
      ['list', answers({ value: undefined })],
      ['read', rejects],
      ['read', hangs],
      ['read', answers({ value: { status: 'found' } })],
    ];
    for (const [operation, fault] of FAULTS) {
      const deadLetters = faultyDeadLetters();
      const shop = app(deadLetters);
      await shop.keep('a', 'b');
      const { hooks, ran } = declaring(shop, undefined, { storeTimeout: 30 });
      Object.assign(deadLetters.faults, { [operation]: fault });
      await expect(hooks.deadLetters.replay({ concurrency: 2 })).rejects.toThrow(StoreError);
      Object.assign(deadLetters.faults, { [operation]: undefined });
      expect(hooks.inFlight).toBe(0);
      await hooks.deadLetters.replay();
      expect(ran.sort()).toEqual(['a', 'b']);
    }
  });

  test.each([1, 2])(
    'because of letters that are kept meanwhile: it takes no more than there were, %i at once',
    async (concurrency) => {
      const deadLetters = memoryDeadLetters();
      const list = deadLetters.list.bind(deadLetters);
      // One letter a page: the later pages have what was kept meanwhile.
      deadLetters.list = (query, page) => list(query, { ...page, limit: 1 });
      const shop = app(deadLetters);
      await shop.keep('a', 'b', 'c');
      const work = gate();
      const { hooks, ran } = declaring(shop, () => work.opened);
      const replaying = hooks.deadLetters.replay({ concurrency });
      await until(() => ran.length === concurrency);
      await shop.keep('d', 'e', 'f');
      // All that are at work end at the same moment, and look for the next letter together.
      work.open();
      expect(await replaying).toMatchObject({ processed: 3 });
      expect(ran).toEqual(['a', 'b', 'c']);
    },
  );
});

describe('a letter', () => {
  test('that was removed or discarded before its turn is gone', async () => {
    const deadLetters = memoryDeadLetters();
    const shop = app(deadLetters);
    await shop.keep('a', 'b', 'c');
    const { hooks, ran } = declaring(shop, async (id) => {
      if (id !== 'a') return;
      const [, second, third] = await lettersOf(hooks);
      await hooks.deadLetters.discard(second?.id ?? '', { by: 'ada', because: 'test data' });
      await shop.post(hooks, refund(third?.eventId ?? ''));
    });
    expect(await hooks.deadLetters.replay()).toMatchObject({ processed: 1, gone: 2 });
    expect(ran).toEqual(['a', 'c']);
  });

  test('that is discarded in the store itself while it is replayed does not come back when it fails', async () => {
    const shop = app();
    await shop.keep('a');
    const { hooks } = declaring(shop, async () => {
      const [letter] = await lettersOf(hooks);
      await shop.deadLetters.discard(letter?.id ?? '', { by: 'ada', because: 'test data' });
      throw new Error('down');
    });
    expect(await hooks.deadLetters.replay()).toMatchObject({ gone: 1, failed: 0 });
    expect(await lettersOf(hooks)).toEqual([]);
  });

  test('that the store cannot vouch for is reported, and not replayed', async () => {
    const deadLetters = faultyDeadLetters({ read: answers({ value: { status: 'unreadable' } }) });
    const shop = app(deadLetters);
    await shop.keep('a');
    const log = captureLog();
    const { hooks, ran } = declaring(shop, undefined, { logger: log.logger });
    expect(await hooks.deadLetters.replay()).toMatchObject({ unreadable: 1 });
    expect(log.lines).toContainEqual(
      expect.objectContaining({ level: 50, msg: expect.stringMatching(/was not replayed/) }),
    );
    expect(ran).toEqual([]);
    deadLetters.faults.read = async (real) =>
      Object.assign(Object(await real()), { rawBody: Buffer.from('{') });
    expect(await hooks.deadLetters.replay()).toMatchObject({ unreadable: 1 });
    expect(await lettersOf(hooks)).toHaveLength(1);
  });

  test('whose claim the store of event ids does not grant has failed, and stays', async () => {
    const shop = app();
    await shop.keep('a');
    const { hooks } = declaring(shop, undefined, { store: faultyStore({ claim: rejects }) });
    expect(await hooks.deadLetters.replay()).toMatchObject({ failed: 1 });
    expect(await lettersOf(hooks)).toMatchObject([{ reason: 'unknown' }]);
  });
});

test('deliveries come first: a replay waits while maxInFlight of them are at work', async () => {
  const shop = app();
  await shop.keep('a');
  const work = gate();
  const { hooks, ran } = declaring(shop, (id) => id === 'live' && work.opened, { maxInFlight: 1 });
  const live = shop.post(hooks, refund('live'));
  await until(() => ran.length === 1);
  const replaying = hooks.deadLetters.replay();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(ran).toEqual(['live']);
  work.open();
  expect(await live).toBe('processed');
  expect(await replaying).toMatchObject({ processed: 1 });
});

test('deliveries come first: replays, however many, leave half of maxInFlight to them', async () => {
  const shop = app();
  await shop.keep('a', 'b', 'c', 'd', 'e', 'f');
  const work = gate();
  const { hooks, ran } = declaring(shop, (id) => id !== 'live' && work.opened, { maxInFlight: 4 });
  const replaying = [1, 2, 3].map(() => hooks.deadLetters.replay({ concurrency: 100 }));
  await until(() => ran.length === 2);
  expect(await shop.post(hooks, refund('live'))).toBe('processed');
  expect(hooks.inFlight).toBe(2);
  work.open();
  const reports = await Promise.all(replaying);
  expect(reports.reduce((sum, { processed }) => sum + processed, 0)).toBe(6);
  expect(ran.sort()).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'live']);
});
