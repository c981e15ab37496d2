// Counting, listing, reading and discarding letters, within the namespace of a receiver; and the options that say where they are.
import { afterEach, describe, expect, test } from '@jest/globals';
import {
  ConfigurationError,
  type DeadLetter,
  type DeadLetterFilter,
  type DeadLetterStore,
  memoryDeadLetters,
  memoryStore,
  type ReceiverOptions,
  receiver,
  StoreError,
} from 'payment-webhooks';
import { fixtures } from '../../src/fixtures/fixture.js';
import { captureLog } from '../setup/captured-log.js';
import { KEY, receivable } from '../setup/delivery.js';
import { faultyDeadLetters, lettersOf } from '../setup/faulty-dead-letters.js';
import { answers, faultyStore, hangs, rejects, throws } from '../setup/faulty-store.js';
import { WHY } from '../setup/letters.js';

const DAY = 86_400_000;
const down = () => {
  throw new Error('down');
};

function start(deadLetters: DeadLetterStore = memoryDeadLetters(), options: ReceiverOptions = {}) {
  const hooks = receiver({
    privateKey: KEY,
    logger: false,
    handlers: { '*': down },
    ...options,
    deadLetters,
  });
  const letters = hooks.deadLetters;
  const post = (event: object) => hooks.receive(receivable(event));
  /** @returns the id of the last letter */
  const keep = async (...names: readonly string[]) => {
    for (const name of names)
      await post({ ...fixtures.event('a.b', {}), event_name: name, id: `of-${name}` });
    return (await lettersOf(hooks)).at(-1)?.id ?? '';
  };
  /** Discards the first of them. */
  const discard = async () => letters.discard((await lettersOf(hooks))[0]?.id ?? '', WHY);
  return { hooks, letters, post, keep, discard };
}

describe('letters are counted', () => {
  test.each<[string, DeadLetterStore]>([
    ['by the store', memoryDeadLetters()],
    ['from its pages', faultyDeadLetters()],
  ])('by reason and name, %s', async (_, store) => {
    const { hooks, letters, post, keep, discard } = start(store);
    expect(await letters.count()).toEqual({ total: 0, oldest: undefined, groups: [] });
    await keep('refund.failed');
    await post(fixtures.transactionPaid({ id: 'one' }));
    await post(fixtures.transactionPaid({ id: 'two' }));
    const [first, second] = await lettersOf(hooks);
    expect(await letters.count()).toEqual({
      total: 3,
      oldest: first?.keptAt,
      groups: [
        { reason: 'failed', eventName: 'transaction.paid', count: 2, oldest: second?.keptAt },
        { reason: 'unknown', eventName: 'refund.failed', count: 1, oldest: first?.keptAt },
      ],
    });
    expect(await letters.count({ event: 'refund.*' })).toMatchObject({ total: 1 });
    await discard();
    expect(await letters.count()).toMatchObject({ total: 2 });
    expect(await letters.count({ discarded: true })).toMatchObject({ total: 1 });
  });

  test('over many pages, in a bounded number of groups', async () => {
    const store = memoryDeadLetters({ max: 5_000 });
    const { hooks, letters, keep } = start(faultyDeadLetters({}, store));
    const names = Array.from({ length: 1_003 }, (_, index) => `made-up.${index}`);
    await keep(...names, 'made-up.1');
    const { total, groups, oldest } = await letters.count();
    expect([total, groups.length]).toEqual([1_003, 1_001]);
    expect(groups[0]).toMatchObject({ reason: 'unknown', eventName: '…', count: 3 });
    expect(oldest).toEqual((await lettersOf(hooks, { event: 'made-up.0' }))[0]?.keptAt);
    expect(await start(store).letters.count()).toEqual(await letters.count());
    const { count: _, ...listing } = faultyDeadLetters({}, store);
    expect(await start(listing).letters.count()).toEqual(await letters.count());
  });

  const GROUP = { reason: 'failed', eventName: 'a.b', count: 1, oldest: new Date(0) };
  test.each([
    ['not an array', 3],
    ['an unknown reason', [{ ...GROUP, reason: 'bored' }]],
    ['a group without a name', [{ ...GROUP, eventName: undefined }]],
    ['a group of no letters', [{ ...GROUP, count: 0 }]],
    ['a fraction of a letter', [{ ...GROUP, count: 1.5 }]],
    ['no date', [{ ...GROUP, oldest: 0 }]],
    ['an invalid date', [{ ...GROUP, oldest: new Date(Number.NaN) }]],
    ['a hole', [GROUP, null]],
  ])('by a store that answers %s: a StoreError', async (_, answer) => {
    const { letters } = start({ ...faultyDeadLetters(), countGroups: () => answer as never });
    await expect(letters.count()).rejects.toThrow(StoreError);
  });

  test('by a store that is down: a StoreError, also between two pages', async () => {
    const store = faultyDeadLetters();
    const { letters, keep } = start(store);
    await keep(...Array.from({ length: 101 }, (_, index) => `made-up.${index}`));
    store.faults.list = rejects;
    await expect(letters.count()).rejects.toThrow('The dead letters cannot be reached.');
    store.calls.length = 0;
    store.faults.list = (real) => (store.calls.length === 1 ? real() : rejects(real));
    await expect(letters.count()).rejects.toThrow(StoreError);
    expect(store.calls).toEqual(['list', 'list']);
  });

  test('with a filter that exists', async () => {
    await expect(start().letters.count({ name: 'refund.*' } as object)).rejects.toThrow(ConfigurationError);
  });
});

describe('letters are listed', () => {
  const UNKNOWN = ['refund.succeeded', 'refund.failed', 'refunds.made', 'refund%x.made'];
  const ALL = [...UNKNOWN, 'transaction.paid'];

  test.each<[DeadLetterFilter | undefined, readonly string[]]>([
    [undefined, ALL],
    [{}, ALL],
    [{ event: '*' }, ALL],
    [{ event: undefined, since: undefined }, ALL],
    [{ event: 'refund.*' }, ['refund.succeeded', 'refund.failed']],
    [{ event: 'refund%x.*' }, ['refund%x.made']],
    [{ event: 'refund.failed' }, ['refund.failed']],
    [{ event: 'refund.fail' }, []],
    [{ reason: 'failed' }, ['transaction.paid']],
    [{ reason: 'unknown', event: 'refunds.*' }, ['refunds.made']],
    [{ eventId: 'of-refund.failed' }, ['refund.failed']],
    [{ id: 'of-refund.failed' }, []],
    [{ discarded: true }, []],
  ])('that fit %j', async (filter, names) => {
    const { hooks, post, keep } = start();
    await keep(...UNKNOWN);
    await post(fixtures.transactionPaid());
    expect((await lettersOf(hooks, filter)).map(({ eventName }) => eventName)).toEqual(names);
  });

  test('by their age', async () => {
    let now = Date.now() - 10 * DAY;
    const deadLetters = memoryDeadLetters({ now: () => now });
    const { hooks, keep } = start(deadLetters);
    await keep('old.event');
    now += 8 * DAY;
    await keep('new.event');
    const names = async (since: string | Date) =>
      (await lettersOf(hooks, { since })).map(({ eventName }) => eventName);
    expect(await names('7d')).toEqual(['new.event']);
    expect(await names('11d')).toEqual(['old.event', 'new.event']);
    expect(await names('1d')).toEqual([]);
    const [, letter] = await lettersOf(hooks);
    expect(await names(letter?.keptAt ?? '')).toEqual(['new.event']);
    expect(await names(new Date(now + 1))).toEqual([]);
  });

  test.each<[string, unknown, RegExp]>([
    ['another name of a filter', { events: 'refund.*' }, /Unknown option "events"\. Did you mean "event"\?/],
    [
      'an unknown reason',
      { reason: 'unkown' },
      /reason is "unkown"\. Pass one of unknown, invalid, failed, conflict, rejected, unfinished\./,
    ],
    [
      'no event name',
      { event: 'refund' },
      /event is "refund"\. Pass <resource>\.<action>, <resource>\.\* or \*\./,
    ],
    ['a number for an age', { since: 7 }, /since is 7\. Pass a duration such as "7d", or a Date\./],
    ['an invalid duration', { since: 'a week' }, /since is "a week"\./],
    ['a date that is invalid', { since: new Date('x') }, /since is an object\./],
    ['an empty id', { id: '' }, /id is ""\. Pass a string that is not empty, without a NUL\./],
    ['an id with a NUL', { id: 'a\0' }, /id is "a\\u0000"\. Pass text/],
    ['an event id that is a number', { eventId: 5 }, /eventId is 5\./],
    ['a list', ['unknown'], /The filter is an array\. Pass an object such as/],
    ['text for discarded', { discarded: 'yes' }, /discarded is "yes"\. Pass true or false\./],
  ])('and %s is refused at once: without it more letters would be meant', async (_, filter, message) => {
    const list = () => start().letters.list(filter as never);
    expect(list).toThrow(ConfigurationError);
    expect(list).toThrow(message);
  });

  test.each<[string, unknown, RegExp]>([
    ['a filter', { evnt: 'refund.*' }, /Unknown option "evnt"\. Did you mean "event"\?/],
    ['an option', { dryrun: true }, /Unknown option "dryrun"\. Did you mean "dryRun"\?/],
    ['discarded letters', { discarded: true }, /Unknown option "discarded"/],
    ['dryRun', { dryRun: 'yes' }, /dryRun is "yes"\. Pass true or false\./],
    ['concurrency', { concurrency: 0 }, /concurrency is 0\. Pass an integer from 1\./],
    ['onProgress', { onProgress: 'log' }, /onProgress is "log"\. Pass a function\./],
    ['signal', { signal: {} }, /signal is an object\. Pass the signal of an AbortController\./],
    ['the argument', 'refund.*', /The argument of replay\(\) is "refund\.\*"/],
  ])('and a replay refuses a slip in %s', async (_, options, message) => {
    await expect(start().letters.replay(options as never)).rejects.toThrow(message);
  });
});

describe('letters are listed by the page', () => {
  test('once each, in the order of their arrival', async () => {
    const deadLetters = memoryDeadLetters();
    const { hooks, letters, keep } = start(deadLetters);
    const other = start(deadLetters, { namespace: 'other', store: memoryStore() });
    await keep('refund.a', 'refund.b', 'refund.c', 'refund.d', 'refund.e');
    await other.keep('refund.f');
    const pages: (readonly DeadLetter[])[] = [];
    let after: string | undefined;
    do {
      const page = await letters.page({ event: 'refund.*' }, { limit: 2, after });
      pages.push(page.letters);
      after = page.next;
    } while (after !== undefined);
    expect(pages.map(({ length }) => length)).toEqual([2, 2, 1]);
    expect(pages.flat()).toEqual(await lettersOf(hooks));
    expect((await letters.page()).letters).toHaveLength(5);
    expect((await letters.page({ event: 'payout.*' })).letters).toEqual([]);
  });

  test.each<[object, object, RegExp]>([
    [{ evnt: 'a' }, {}, /Unknown option "evnt"/],
    [{}, { limit: 0 }, /^limit is 0\. Pass an integer from 1/],
    [{}, { limit: 101 }, /^limit is 101\. Pass at most 100/],
    [{}, { limit: '5' }, /^limit is "5"/],
    [{}, { after: '' }, /^after is ""/],
    [{}, { after: 5 }, /^after is 5/],
  ])('and %j with %j is refused', async (filter, page, message) => {
    const { letters } = start();
    await expect(letters.page(filter, page)).rejects.toThrow(message);
    await expect(letters.page(filter, page)).rejects.toThrow(ConfigurationError);
  });
});

describe('a letter that is read', () => {
  test('has its exact bytes, and its headers without credentials', async () => {
    const { hooks, letters } = start();
    const { rawBody, headers } = receivable(fixtures.event('refund.made', { refund: { id: 'r-1' } }));
    await hooks.receive({ rawBody, headers: { ...headers, authorization: 'secret' } });
    const [letter] = await lettersOf(hooks);
    expect(await letters.read(letter?.id ?? '')).toEqual({
      ...{ status: 'found', letter, rawBody, keyIndex: 0 },
      headers: { 'content-type': headers['content-type'] },
      signaturePrefix: headers['x-service-signature']?.slice(0, 12),
    });
  });

  test('may be gone, of another namespace, or not what was kept', async () => {
    const deadLetters = faultyDeadLetters();
    const { letters, keep } = start(deadLetters);
    const other = start(deadLetters, { namespace: 'other' });
    const id = await keep('refund.made');
    expect(await letters.read('none')).toEqual({ status: 'gone' });
    expect(await other.letters.read(id)).toEqual({ status: 'gone' });
    deadLetters.faults.read = answers({ value: { status: 'unreadable' } });
    expect(await letters.read(id)).toEqual({ status: 'unreadable' });
    expect(await other.letters.read(id)).toEqual({ status: 'gone' });
    deadLetters.faults.read = undefined;
    await letters.discard(id, WHY);
    expect(await letters.read(id)).toEqual({ status: 'gone' });
  });

  test.each([undefined, null, '', 7])('needs an id: not %j', async (id) => {
    const { letters, keep } = start();
    await keep('refund.made');
    await expect(letters.read(id as string)).rejects.toThrow(ConfigurationError);
  });
});

describe('a letter that is discarded', () => {
  test('leaves who did so, why and when, and no bytes', async () => {
    const now = Date.now();
    const { hooks, letters, keep, discard } = start(memoryDeadLetters({ now: () => now }));
    await keep('refund.made', 'refund.failed');
    const [letter] = await lettersOf(hooks);
    expect(await discard()).toBe(true);
    const discarded = { ...WHY, at: new Date(now) };
    expect(await lettersOf(hooks, { discarded: true })).toEqual([{ ...letter, keyId: undefined, discarded }]);
    expect(await letters.discard(letter?.id ?? '', { by: 'bob', because: 'again' })).toBe(false);
    expect(await letters.replay()).toMatchObject({ stillUnknown: 1 });
  });

  test.each<[unknown, unknown, RegExp]>([
    ['', { by: 'ada', because: 'x' }, /id is ""/],
    [undefined, { by: 'ada', because: 'x' }, /id is ""/],
    [
      'a',
      undefined,
      /by is undefined\. Say who discards the letter, and why: \{ by: 'ada', because: 'test data' \}\./,
    ],
    ['a', { by: 'ada' }, /because is undefined\./],
    ['a', { by: ' ', because: 'x' }, /by is blank or too long\./],
    ['a', { by: 'ada', because: 'x'.repeat(1_001) }, /because is blank or too long\./],
    ['a', { by: 'ada', because: 'x\0' }, /because is text with a NUL\./],
    ['a', { by: 'ada', why: 'x' }, /Unknown option "why"\./],
  ])('needs an id, a person and a reason: not %j with %j', async (id, why, message) => {
    await expect(start().letters.discard(id as never, why as never)).rejects.toThrow(message);
  });
});

test('a store of event ids that is down makes discard() throw a StoreError, and the letter stays', async () => {
  const store = faultyStore();
  const { hooks, keep, discard } = start(memoryDeadLetters(), { store });
  await keep('refund.made');
  const kept = await lettersOf(hooks);
  store.faults.claim = rejects;
  const message = 'The event could not be claimed, so its letter was not discarded.';
  await expect(discard()).rejects.toThrow(message);
  await expect(discard()).rejects.toThrow(StoreError);
  expect(await lettersOf(hooks)).toEqual(kept);
  store.faults.claim = undefined;
  store.calls.length = 0;
  expect(await discard()).toBe(true);
  expect(store.calls).toEqual(['lock', 'claim', 'release', 'release']);
});

describe('a store of letters that is down', () => {
  test.each([
    ['throws', throws],
    ['rejects', rejects],
    ['hangs', hangs],
    ['answers rubbish', answers({ value: { letters: [{}] } })],
  ])('and %s makes each call that needs it throw a StoreError', async (_, fault) => {
    const log = captureLog();
    const store = faultyDeadLetters();
    const { hooks, letters, keep } = start(store, { logger: log.logger, storeTimeout: 30 });
    const id = await keep('refund.made');
    store.faults.discard = fault;
    await expect(letters.discard(id, WHY)).rejects.toThrow(StoreError);
    store.faults.read = fault;
    await expect(letters.read(id)).rejects.toThrow(StoreError);
    Object.assign(store.faults, { discard: undefined, read: undefined, list: fault });
    for (const call of [() => letters.discard(id, WHY), () => letters.read(id), () => letters.page()])
      await expect(call()).rejects.toThrow(StoreError);
    await expect(lettersOf(hooks)).rejects.toThrow(/^The dead letters cannot be reached\. /);
    expect(log.lines.map(({ msg }) => msg).join('\n')).toMatch(/^the dead letters were not listed: /m);
  });

  test('and gives an empty page is asked for the next one, unless it gives no other', async () => {
    const store = faultyDeadLetters();
    const { hooks, letters, keep } = start(store);
    await keep('refund.made');
    const kept = await lettersOf(hooks);
    store.faults.list = async () => {
      const pages = [
        { letters: [], next: 'b' },
        { letters: kept, next: 'c' },
        { letters: [], next: 'c' },
      ];
      return pages[store.calls.filter((call) => call === 'list').length - 1];
    };
    store.calls.length = 0;
    expect(await lettersOf(hooks)).toEqual(kept);
    store.calls.length = 0;
    expect(await letters.page()).toEqual({ letters: kept, next: 'c' });
    expect(await letters.page({}, { after: 'c' })).toEqual({ letters: [] });
  });

  test('and gives the same pages again is not asked without end', async () => {
    const { hooks, keep } = start();
    await keep('refund.made');
    const kept = await lettersOf(hooks);
    const looping = start(faultyDeadLetters({ list: answers({ value: { letters: kept, next: 'x' } }) }));
    await expect(lettersOf(looping.hooks)).rejects.toThrow(StoreError);
    let page = 0;
    const list = async () => {
      page += 1;
      return { letters: kept, next: ['a', 'b', 'c'][page % 3] };
    };
    const turning = start(faultyDeadLetters({ list }));
    const other = { keyId: '0'.repeat(12) };
    for (const work of [
      () => lettersOf(turning.hooks),
      () => turning.letters.count(),
      () => turning.letters.count(other),
      () => turning.letters.page(other),
    ]) {
      page = 0;
      await expect(work()).rejects.toThrow(
        'Its list() returned the same next twice, so its pages never end.',
      );
      expect(page).toBe(4);
    }
  });
});

describe('the option', () => {
  const { NODE_ENV } = process.env;
  afterEach(() => {
    process.env.NODE_ENV = NODE_ENV;
  });

  const deadLetters = memoryDeadLetters();
  test.each<[object, RegExp]>([
    [
      { deadLetters: memoryStore() },
      /deadLetters is an object\. Pass a store of dead letters such as memoryDeadLetters\(\)\./,
    ],
    [{ deadLetters: true }, /deadLetters is true\./],
    [{ deadLetters: null }, /deadLetters is null\./],
    [
      { deadLetters, store: false },
      /deadLetters needs a store: with store: false a replay could run an event that was processed\./,
    ],
    [{ keepHeaders: ['x-a'] }, /keepHeaders needs the option deadLetters/],
    [{ deadLetters, keepHeaders: 'x-a' }, /keepHeaders is "x-a"\. Pass names/],
    [
      { deadLetters, keepHeaders: ['X-Api-Key'] },
      /keepHeaders names x-api-key, a header that carries credentials\./,
    ],
    [{ journal: true }, /journal needs the option deadLetters/],
    [{ deadLetters, journal: 'yes' }, /journal is "yes"\. Pass true or false\./],
    [{ deadLetter: deadLetters }, /Unknown option "deadLetter"\. Did you mean "deadLetters"\?/],
  ])('%j is refused', (options, message) => {
    const make = () => receiver({ privateKey: KEY, ...options } as ReceiverOptions);
    expect(make).toThrow(message);
    expect(make).toThrow(ConfigurationError);
  });

  const warningsOf = (options: ReceiverOptions) => {
    const log = captureLog();
    receiver({ privateKey: KEY, logger: log.logger, sandbox: 'accept', ...options });
    return log.lines.filter(({ option }) => option === 'deadLetters').map(({ msg }) => msg);
  };

  test('warns of letters that outlive what the store remembers: their events could run again', () => {
    const store = memoryStore({ retention: '30d' });
    expect(warningsOf({ store, deadLetters: memoryDeadLetters({ retention: '31d' }) })).toEqual([
      expect.stringMatching(
        /^dead letters are kept for longer \(2678400000 ms\) than the store remembers ids \(2592000000 ms\): .* Give both the same retention$/,
      ),
    ]);
    expect(warningsOf({ store, deadLetters: memoryDeadLetters({ retention: '30d' }) })).toEqual([]);
    expect(warningsOf({ deadLetters: memoryDeadLetters() })).toEqual([]);
    const forgetful = { claim: store.claim.bind(store) };
    expect(warningsOf({ store: forgetful, deadLetters: memoryDeadLetters({ retention: '90d' }) })).toEqual(
      [],
    );
  });

  test('warns in production of letters that are lost with the process', () => {
    process.env.NODE_ENV = 'production';
    expect(warningsOf({ deadLetters: memoryDeadLetters() })).toEqual([
      'dead letters are kept in the memory of this process: they are lost when it ends',
    ]);
    expect(warningsOf({ deadLetters: { ...faultyDeadLetters(), scope: 'shared' } })).toEqual([]);
  });
});
