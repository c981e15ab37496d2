// Letters by their cause: 280 letters of seven bugs in every store, counted, replayed and discarded by cause, exactly those.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import {
  type DeadLetterStore,
  memoryDeadLetters,
  memoryStore,
  NonRetriableError,
  RetryAfterError,
} from 'payment-webhooks';
import { redisDeadLetters } from 'payment-webhooks/stores/redis';
import { fixtures } from '../../src/fixtures/fixture.js';
import { LetterSeal, sealWith } from '../../src/stores/letters/seal.js';
import { delivery } from '../setup/delivery.js';
import { type Receiving, startReceiver } from '../setup/endpoint.js';
import { lettersOf } from '../setup/faulty-dead-letters.js';
import { aLetter } from '../setup/letters.js';
import { needing } from '../setup/platform.js';
import { describeEachClient, type SqlLetters, sqlServers } from '../setup/sql-letters.js';
import { pageWorld } from '../tools/letters/page-world.js';

/** More than a page of any list. */
const LETTERS = 280;
const AT_ONCE = 20;
const SECRET = 'Lovelace';
const SQL = ['pg pool', 'mysql2 query', 'sqlite'] as const;
const openLetters = sqlServers(SQL);

/** Seven bugs, each on a line of its own; two differ in nothing else. */
const BUGS: readonly (() => unknown)[] = [
  () => Promise.reject(new TypeError(`no total for ${SECRET}`)),
  () => Promise.reject(new TypeError(`no total for ${SECRET}`)),
  () => Promise.reject(Object.assign(new Error(`connect ECONNREFUSED ${SECRET}`), { code: 'ECONNREFUSED' })),
  () => Promise.reject(new RangeError(SECRET)),
  () => Promise.reject(new RetryAfterError('1h', SECRET)),
  () => Promise.reject(new NonRetriableError(SECRET)),
  async () => Promise.reject(SECRET),
];

const bugOf = (id: string) => Number(id) % BUGS.length;
const eventOf = (index: number) => ({ ...fixtures.transactionPaid(), id: String(index) });
const countOf = (bug: number) => Math.ceil((LETTERS - bug) / BUGS.length);

/** Two deployments of one app: in the second no handler fails. */
function deployments(deadLetters: DeadLetterStore) {
  const shared = { store: memoryStore(), deadLetters };
  const before = startReceiver({ ...shared, handlers: {} });
  before.hooks.on('transaction.paid', ({ id }) => BUGS[bugOf(id)]?.(), { name: 'mark-paid' });
  const handled: string[] = [];
  const after = { ...shared, handlers: { '*': ({ id }: { id: string }) => void handled.push(id) } };
  return { before, after, handled };
}

async function deliverAll({ post }: Pick<Receiving, 'post'>): Promise<void> {
  const next = Array.from({ length: LETTERS }, (_, index) => index).values();
  const send = async () => {
    for (const index of next) await post(delivery(eventOf(index)));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, send));
}

function tellsCausesApart(open: (options: object) => DeadLetterStore) {
  test.each([
    ['sealed', { encryptionKeys: [randomBytes(32)] }],
    ['as they are', {}],
  ])(
    'kept %s',
    async (_, options) => {
      const deadLetters = open(options);
      const { before, after, handled } = deployments(deadLetters);
      await deliverAll(before);
      const { log } = before;
      const kept = await before.letters();
      expect(kept).toHaveLength(LETTERS);
      const causes = BUGS.map(
        (_bug, index) => kept.find(({ eventId }) => bugOf(eventId) === index)?.cause ?? '',
      );
      expect(new Set(causes).size).toBe(BUGS.length);
      for (const cause of causes)
        expect(cause).toMatch(/^mark-paid: \w+( ECONNREFUSED)?( at causes\.test\.ts:\d+)?$/);
      expect(causes[6]).toBe('mark-paid: string');
      expect(JSON.stringify([kept, log.lines.map(({ cause }) => cause)])).not.toContain(SECRET);
      // The log line of the handler has the same text.
      const logged = log.lines.flatMap(({ cause }) => (cause === undefined ? [] : [String(cause)]));
      expect(new Map(causes.map((cause) => [cause, logged.filter((one) => one === cause).length]))).toEqual(
        new Map(causes.map((cause, bug) => [cause, countOf(bug)])),
      );

      const world = await pageWorld({ receiver: after });
      const { json } = await world.ask('/ops/causes');
      const grouped = json.causes.map(({ cause, count }: { cause: string; count: number }) => [cause, count]);
      expect(Object.fromEntries(grouped)).toEqual(
        Object.fromEntries(causes.map((cause, bug) => [cause, countOf(bug)])),
      );
      expect(json.complete).toBe(true);

      const letters = world.hooks.deadLetters;
      const [first, second = '', third = ''] = causes;
      expect(await letters?.count({ cause: first })).toMatchObject({ total: countOf(0) });
      expect(await letters?.replay({ cause: first, dryRun: true })).toMatchObject({ processed: countOf(0) });
      expect(handled).toEqual([]);
      expect(await letters?.replay({ cause: first, concurrency: 4 })).toMatchObject({
        processed: countOf(0),
      });
      expect(handled.map(bugOf)).toEqual(Array(countOf(0)).fill(0));
      expect(new Set(handled).size).toBe(countOf(0));
      expect(
        (await lettersOf(world.hooks, { cause: 'mark-paid: TypeError' })).map(({ cause }) => cause),
      ).toEqual(Array(countOf(1)).fill(second));

      // A page of a list has as many as it is asked for, although few of those that the store lists match.
      const ids: string[] = [];
      for (let after: string | undefined, more = true; more; ) {
        const page = await world.ask(
          `/ops/letters?${new URLSearchParams({ cause: third, limit: '40', ...(after && { after }) })}`,
        );
        ids.push(...page.json.letters.map(({ eventId }: { eventId: string }) => eventId));
        after = page.json.next;
        more = Boolean(after);
      }
      expect(ids).toHaveLength(countOf(2));
      expect(ids.map(bugOf)).toEqual(Array(countOf(2)).fill(2));
      const discarded = await world.ask('/ops/discard', { body: { cause: third, because: 'test data' } });
      expect(discarded.json).toEqual({ discarded: countOf(2) });
      expect(await letters?.count({ discarded: true, cause: third })).toMatchObject({ total: countOf(2) });

      const left = await lettersOf(world.hooks);
      expect(left.map(({ eventId }) => bugOf(eventId)).filter((bug) => bug === 0 || bug === 2)).toEqual([]);
      expect(left).toHaveLength(LETTERS - countOf(0) - countOf(2));
    },
    120_000,
  );
}

describe('280 letters of seven bugs in memory', () => {
  tellsCausesApart(() => memoryDeadLetters({ max: LETTERS }));
});

describeEachClient(
  '280 letters of seven bugs through %s',
  (client) => {
    let opened: SqlLetters;
    beforeAll(async () => {
      opened = await openLetters(client);
      for (const table of ['sealed', 'plain'])
        await opened.open({ table: `${opened.schema}.${table}` }).migrate();
    });
    afterAll(() => opened?.close());
    tellsCausesApart((options) =>
      opened.open({
        table: `${opened.schema}.${'encryptionKeys' in options ? 'sealed' : 'plain'}`,
        ...options,
      }),
    );
  },
  SQL,
);

needing('redis-server').describe('280 letters of seven bugs in Redis', () => {
  let client: Redis;
  beforeAll(() => {
    client = new Redis(process.env.TEST_REDIS_URL ?? '');
  });
  afterAll(() => client?.quit());
  tellsCausesApart((options) => {
    const prefix = `${randomBytes(6).toString('hex')}:`;
    return redisDeadLetters({
      sendCommand: (name, ...args) => client.call(name, ...args),
      prefix,
      ...options,
    });
  });
});

test.each([
  ['mark-paid', true],
  ['mark-paid: TypeError', true],
  ['mark-paid: TypeError at orders.ts:1', false],
  ['mark-paid: TypeError at orders.ts:10', true],
  ['mark-paid: Type', false],
  ['paid', false],
  ['MARK-PAID', false],
  ['mark-paid: TypeError at orders.ts:10 ', false],
])('the cause of a letter is found by whole words of its beginning: %j is %j', async (cause, found) => {
  const deadLetters = memoryDeadLetters();
  await deadLetters.keep(aLetter({ cause: 'mark-paid: TypeError at orders.ts:10' }));
  await deadLetters.keep(aLetter());
  const { hooks, letters } = startReceiver({ deadLetters });
  expect(await letters({ cause })).toHaveLength(found ? 1 : 0);
  await expect(hooks.deadLetters.replay({ cause: '' })).rejects.toThrow('cause is "". Pass a string');
});

describe('versions that know no cause', () => {
  const seal = new LetterSeal(sealWith(undefined));
  const event = { key: 'k', fingerprint: 'f' };
  const issues = [{ path: 'payload.cause', message: 'expected string' }];
  const plain = (json: unknown) => Buffer.concat([Buffer.of(0), Buffer.from(JSON.stringify(json))]);

  test('read the cause as one more issue', () => {
    const sealed = seal.closeWhy({ issues, cause: 'ship: Error' }, event);
    expect(JSON.parse(sealed.subarray(1).toString())).toEqual([
      ...issues,
      { path: 'cause', message: 'ship: Error', isCause: true },
    ]);
  });

  test('have kept letters without one', () => {
    expect(seal.openWhy(plain(issues), event)).toEqual({ issues, cause: undefined });
  });

  test.each([
    ['no text', [{ isCause: true, message: 7 }], []],
    ['no object', [null, 7], [null, 7]],
  ])('and a changed part that is %s is no cause', (_, json, left) => {
    expect(seal.openWhy(plain(json), event)).toEqual({ issues: left, cause: undefined });
  });
});
