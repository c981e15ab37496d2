// Listing letters with filters, discarding them, and the options that say where they are.
import { afterEach, describe, expect, test } from '@jest/globals';
import {
  ConfigurationError,
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
  const post = (event: object) => {
    return hooks.receive(receivable(event));
  };
  const keep = async (...names: readonly string[]) => {
    for (const name of names)
      await post({ ...fixtures.event('a.b', {}), event_name: name, id: `of-${name}` });
  };
  return { hooks, post, keep };
}

describe('letters are counted', () => {
  const pagesAlone = (): DeadLetterStore => faultyDeadLetters();

  test.each([
    ['by the store', memoryDeadLetters],
    ['from its pages', pagesAlone],
  ])('by reason and name, %s', async (_, open) => {
    const { hooks, post, keep } = start(open());
    expect(await hooks.deadLetters.count()).toEqual({ total: 0, oldest: undefined, groups: [] });
    await keep('refund.failed');
    await post(fixtures.transactionPaid({ id: 'one' }));
    await post(fixtures.transactionPaid({ id: 'two' }));
    const [first, second] = await lettersOf(hooks);
    expect(await hooks.deadLetters.count()).toEqual({
      total: 3,
      oldest: first?.keptAt,
      groups: [
        { reason: 'failed', eventName: 'transaction.paid', count: 2, oldest: second?.keptAt },
        { reason: 'unknown', eventName: 'refund.failed', count: 1, oldest: first?.keptAt },
      ],
    });
    expect((await hooks.deadLetters.count({ event: 'refund.*' })).total).toBe(1);
    await hooks.deadLetters.discard(first?.id ?? '', { by: 'ada', because: 'test data' });
    expect((await hooks.deadLetters.count()).total).toBe(2);
    expect((await hooks.deadLetters.count({ discarded: true })).total).toBe(1);
  });

  test('over many pages, in a bounded number of groups', async () => {
    const store = memoryDeadLetters({ max: 5_000 });
    const { hooks, keep } = start(faultyDeadLetters({}, { store }));
    const names = Array.from({ length: 1_003 }, (_, index) => `made-up.${index}`);
    await keep(...names, 'made-up.1');
    const { total, groups, oldest } = await hooks.deadLetters.count();
    expect([total, groups.length]).toEqual([1_003, 1_001]);
    expect(groups[0]).toMatchObject({ reason: 'unknown', eventName: '…', count: 3 });
    expect(oldest).toEqual((await lettersOf(hooks, { event: 'made-up.0' }))[0]?.keptAt);
    expect(await start(store).hooks.deadLetters.count()).toEqual(await hooks.deadLetters.count());
  });

  const OLDEST = new Date(0);
  const GROUP = { reason: 'failed', eventName: 'a.b', count: 1, oldest: OLDEST };
  test.each([
    ['not a list', 3],
    ['an unknown reason', [{ ...GROUP, reason: 'bored' }]],
    ['a group without a name', [{ ...GROUP, eventName: undefined }]],
    ['a group of no letters', [{ ...GROUP, count: 0 }]],
    ['a fraction of a letter', [{ ...GROUP, count: 1.5 }]],
    ['no date', [{ ...GROUP, oldest: 0 }]],
    ['an invalid date', [{ ...GROUP, oldest: new Date(Number.NaN) }]],
    ['a hole', [GROUP, null]],
  ])('by a store that answers %s: a StoreError', async (_, answer) => {
    const countGroups = () => answer as never;
    const { hooks } = start({ ...faultyDeadLetters(), countGroups });
    await expect(hooks.deadLetters.count()).rejects.toThrow(StoreError);
  });

  test('by a store that is down: a StoreError, also between two pages', async () => {
    const letters = faultyDeadLetters();
    const { hooks, keep } = start(letters);
    await keep(...Array.from({ length: 101 }, (_, index) => `made-up.${index}`));
    letters.faults.list = rejects;
    await expect(hooks.deadLetters.count()).rejects.toThrow('The dead letters cannot be reached.');
    let pages = 0;
    letters.faults.list = (real) => {
      pages += 1;
      return pages === 1 ? real() : rejects(real);
    };
    await expect(hooks.deadLetters.count()).rejects.toThrow(StoreError);
    expect(pages).toBe(2);
  });

  test('with a filter that exists', async () => {
    const { hooks } = start();
    await expect(hooks.deadLetters.count({ name: 'refund.*' } as object)).rejects.toThrow(ConfigurationError);
  });
});

describe('letters are listed', () => {
  const named = async (filter: Parameters<ReturnType<typeof start>['hooks']['deadLetters']['list']>[0]) => {
    const { hooks, post, keep } = start();
    await keep('refund.succeeded', 'refund.failed', 'refunds.made', 'refund%x.made');
    await post(fixtures.transactionPaid({ id: 'of-transaction.paid' }));
    return (await lettersOf(hooks, filter)).map(({ eventName }) => eventName);
  };
  const ALL = ['refund.succeeded', 'refund.failed', 'refunds.made', 'refund%x.made', 'transaction.paid'];

  test.each([
    [undefined, ALL],
    [{}, ALL],
    [{ event: '*' }, ALL],
    [{ event: undefined, since: undefined }, ALL],
    [{ event: 'refund.*' }, ['refund.succeeded', 'refund.failed']],
    [{ event: 'refund%x.*' }, ['refund%x.made']],
    [{ event: 'refund.failed' }, ['refund.failed']],
    [{ event: 'refund.fail' }, []],
    [{ reason: 'failed' as const }, ['transaction.paid']],
    [{ reason: 'unknown' as const, event: 'refunds.*' }, ['refunds.made']],
    [{ eventId: 'of-refund.failed' }, ['refund.failed']],
    [{ id: 'of-refund.failed' }, []],
    [{ discarded: true }, []],
  ])('that fit %j', async (filter, names) => {
    expect(await named(filter)).toEqual(names);
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

  test('of one namespace, and discarded there alone', async () => {
    const deadLetters = memoryDeadLetters();
    const one = start(deadLetters, { namespace: 'one' });
    const other = start(deadLetters, { namespace: 'other', store: memoryStore() });
    await one.keep('refund.made');
    const [letter] = await lettersOf(one.hooks);
    expect(letter).toMatchObject({ namespace: 'one' });
    expect(await lettersOf(other.hooks)).toEqual([]);
    const id = letter?.id ?? '';
    expect(await other.hooks.deadLetters.discard(id, { by: 'eve', because: 'she may not' })).toBe(false);
    expect(await other.hooks.deadLetters.replay()).toMatchObject({ stillUnknown: 0 });
    expect(await lettersOf(one.hooks)).toHaveLength(1);
  });

  test.each<[string, unknown, RegExp]>([
    ['another name of a filter', { events: 'refund.*' }, /Unknown option "events"\. Did you mean "event"\?/],
    [
      'a reason that does not exist',
      { reason: 'unkown' },
      /reason is "unkown"\. Give one of unknown, invalid, failed, conflict, rejected, unfinished\./,
    ],
    [
      'no event name',
      { event: 'refund' },
      /event is "refund"\. Give <resource>\.<action>, <resource>\.\* or \*\./,
    ],
    ['a number for an age', { since: 7 }, /since is 7\. Give a duration such as "7d", or a Date\./],
    ['an age that is no duration', { since: 'a week' }, /since is "a week"\./],
    ['a date that is invalid', { since: new Date('x') }, /since is of type object\./],
    ['an empty id', { id: '' }, /id is ""\. Give text that is not empty, without a NUL\./],
    ['an id with a NUL', { id: 'a\0' }, /id is "a\\u0000"\. Give text/],
    ['an event id that is no text', { eventId: 5 }, /eventId is 5\./],
    ['a list', ['unknown'], /The filter is an array\. Give an object such as/],
    ['text for discarded', { discarded: 'yes' }, /discarded is "yes"\. Give true or false\./],
  ])('and %s is refused at once: without it more letters would be meant', async (_, filter, message) => {
    const { hooks } = start();
    expect(() => hooks.deadLetters.list(filter as never)).toThrow(ConfigurationError);
    expect(() => hooks.deadLetters.list(filter as never)).toThrow(message);
  });

  test.each<[string, unknown, RegExp]>([
    ['a filter', { evnt: 'refund.*' }, /Unknown option "evnt"\. Did you mean "event"\?/],
    ['an option', { dryrun: true }, /Unknown option "dryrun"\. Did you mean "dryRun"\?/],
    ['discarded letters', { discarded: true }, /Unknown option "discarded"/],
    ['dryRun', { dryRun: 'yes' }, /dryRun is "yes"\. Give true or false\./],
    ['concurrency', { concurrency: 0 }, /concurrency is 0\. Give a whole number from 1\./],
    ['onProgress', { onProgress: 'log' }, /onProgress is "log"\. Give a function\./],
    [
      'signal',
      { signal: new AbortController() },
      /signal is of type object\. Give the signal of an AbortController\./,
    ],
    ['the argument', 'refund.*', /The argument of replay\(\) is "refund\.\*"/],
  ])('and a replay refuses a slip in %s', async (_, options, message) => {
    const { hooks } = start();
    await expect(hooks.deadLetters.replay(options as never)).rejects.toThrow(message);
  });
});

describe('a letter that is discarded', () => {
  test('leaves who did so, why and when, and no bytes', async () => {
    const now = Date.now();
    const deadLetters = memoryDeadLetters({ now: () => now });
    const { hooks, keep } = start(deadLetters);
    await keep('refund.made', 'refund.failed');
    const [letter] = await lettersOf(hooks);
    const id = letter?.id ?? '';
    expect(await hooks.deadLetters.discard(id, { by: 'ada', because: 'test data' })).toBe(true);
    expect(await lettersOf(hooks)).toMatchObject([{ eventName: 'refund.failed' }]);
    expect(await lettersOf(hooks, { discarded: true })).toEqual([
      { ...letter, keyId: undefined, discarded: { by: 'ada', because: 'test data', at: new Date(now) } },
    ]);
    expect(await deadLetters.read(id)).toEqual({ status: 'gone' });
    expect(await hooks.deadLetters.discard(id, { by: 'bob', because: 'again' })).toBe(false);
    expect(await hooks.deadLetters.replay()).toMatchObject({ stillUnknown: 1 });
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
    ['a', { by: 'ada', why: 'x' }, /Unknown option "why"\./],
  ])('needs an id, a person and a reason: not %j with %j', async (id, why, message) => {
    const { hooks } = start();
    await expect(hooks.deadLetters.discard(id as never, why as never)).rejects.toThrow(message);
  });
});

test('a store of event ids that is down makes discard() throw a StoreError, and the letter stays', async () => {
  const store = faultyStore();
  const { hooks, keep } = start(memoryDeadLetters(), { store });
  await keep('refund.made');
  const [letter] = await lettersOf(hooks);
  const discard = () => hooks.deadLetters.discard(letter?.id ?? '', { by: 'ada', because: 'x' });
  store.faults.claim = rejects;
  await expect(discard()).rejects.toThrow('The event could not be claimed, so its letter was not discarded.');
  await expect(discard()).rejects.toThrow(StoreError);
  expect(await lettersOf(hooks)).toEqual([letter]);
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
  ])('and %s makes list() and discard() throw a StoreError', async (_, fault) => {
    const log = captureLog();
    const deadLetters = faultyDeadLetters({}, {});
    const { hooks, keep } = start(deadLetters, { logger: log.logger, storeTimeout: 30 });
    await keep('refund.made');
    const [letter] = await lettersOf(hooks);
    const discard = () => hooks.deadLetters.discard(letter?.id ?? '', { by: 'ada', because: 'x' });
    deadLetters.faults.discard = fault;
    await expect(discard()).rejects.toThrow(StoreError);
    deadLetters.faults.list = fault;
    await expect(discard()).rejects.toThrow(StoreError);
    await expect(lettersOf(hooks)).rejects.toThrow(/^The dead letters cannot be reached\. /);
    expect(log.lines.map(({ msg }) => msg)).toContainEqual(
      expect.stringMatching(/^the dead letters were not listed: /),
    );
  });

  test('and gives the same pages again is not asked without end', async () => {
    const letters = [{}];
    const store = memoryDeadLetters();
    const { hooks, keep } = start(store);
    await keep('refund.made');
    letters.splice(0, 1, ...(await lettersOf(hooks)));
    const looping = start(faultyDeadLetters({ list: answers({ value: { letters, next: 'x' } }) }));
    await expect(lettersOf(looping.hooks)).rejects.toThrow(StoreError);
    let page = 0;
    const turning = faultyDeadLetters({
      list: async () => {
        page += 1;
        return { letters, next: ['a', 'b', 'c'][page % 3] };
      },
    });
    const { hooks: turned } = start(turning);
    const other = { keyId: '0'.repeat(12) };
    for (const work of [
      () => lettersOf(turned),
      () => turned.deadLetters.count(),
      () => turned.deadLetters.count(other),
      () => turned.deadLetters.page(other),
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

  test.each<[string, object, RegExp]>([
    [
      'deadLetters is no store of letters',
      { deadLetters: memoryStore() },
      /deadLetters is of type object\. Give a store of dead letters such as memoryDeadLetters\(\)\./,
    ],
    ['deadLetters is true', { deadLetters: true }, /deadLetters is true\./],
    ['deadLetters is null', { deadLetters: null }, /deadLetters is null\./],
    [
      'deadLetters comes without a store',
      { deadLetters: memoryDeadLetters(), store: false },
      /deadLetters needs a store: with store: false a replay could run an event that was processed\./,
    ],
    [
      'headers are kept without deadLetters',
      { keepHeaders: ['x-a'] },
      /keepHeaders needs the option deadLetters/,
    ],
    [
      'keepHeaders is no list',
      { deadLetters: memoryDeadLetters(), keepHeaders: 'x-a' },
      /keepHeaders is "x-a"\. Give names/,
    ],
    [
      'keepHeaders names a credential',
      { deadLetters: memoryDeadLetters(), keepHeaders: ['X-Api-Key'] },
      /keepHeaders names x-api-key, and such a header carries credentials\./,
    ],
    ['journal comes without deadLetters', { journal: true }, /journal needs the option deadLetters/],
    [
      'journal is text',
      { deadLetters: memoryDeadLetters(), journal: 'yes' },
      /journal is "yes"\. Give true or false\./,
    ],
    [
      'deadLetter is a slip',
      { deadLetter: memoryDeadLetters() },
      /Unknown option "deadLetter"\. Did you mean "deadLetters"\?/,
    ],
  ])('%s: refused', (_, options, message) => {
    expect(() => receiver({ privateKey: KEY, ...options } as ReceiverOptions)).toThrow(message);
    expect(() => receiver({ privateKey: KEY, ...options } as ReceiverOptions)).toThrow(ConfigurationError);
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
    expect(
      warningsOf({
        store: { claim: store.claim.bind(store) },
        deadLetters: memoryDeadLetters({ retention: '90d' }),
      }),
    ).toEqual([]);
  });

  test('warns in production of letters that are lost with the process', () => {
    process.env.NODE_ENV = 'production';
    expect(warningsOf({ deadLetters: memoryDeadLetters() })).toEqual([
      'dead letters are kept in the memory of this process: they are lost when it ends',
    ]);
    expect(warningsOf({ deadLetters: { ...faultyDeadLetters(), scope: 'shared' } })).toEqual([]);
  });
});
