// A receiver with its dead letters in Postgres or MariaDB, through clients that users have: one commit, and every call.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { memoryDeadLetters, type Receiver, type ReceiverOptions, receiver } from 'payment-webhooks';
import { sqlStore } from 'payment-webhooks/stores/sql';
import { z } from 'zod';
import { fixtures } from '../../src/fixtures/fixture.js';
import { captureLog } from '../setup/captured-log.js';
import { delivery, KEY, receivable } from '../setup/delivery.js';
import { faultyDeadLetters, lettersOf } from '../setup/faulty-dead-letters.js';
import { describeEachClient, isPostgres, type SqlLetters, sqlServers } from '../setup/sql-letters.js';
import { until } from '../setup/waiting.js';

const openLetters = sqlServers();
const encryptionKeys = [Buffer.alloc(32, 3)];
const REFUND = z.looseObject({ refund: z.looseObject({ id: z.string() }) });
const refund = (id: string) => ({ ...fixtures.event('refund.made', { refund: { id } }), id });

/** What the tests set of a receiver, whatever its handlers get. */
type Given = Pick<ReceiverOptions, 'journal' | 'events' | 'store' | 'deadLetters' | 'logger'> & {
  handlers?: Record<string, (event: { id: string }, context: { transaction?: unknown }) => unknown>;
};

interface Ledger {
  query(sql: string, values: unknown[]): PromiseLike<unknown>;
}

describeEachClient('a receiver with dead letters through %s', (client) => {
  let letters: SqlLetters;
  const place = isPostgres(client) ? '$1' : '?';
  const inSchema = (table: string) => `${letters.schema}.${table}`;

  beforeAll(async () => {
    letters = await openLetters(client);
    const { store, deadLetters } = stores();
    await store.migrate();
    await deadLetters.migrate();
    await letters.run(`CREATE TABLE ${inSchema('ledger')} (event varchar(100) NOT NULL)`);
  });
  afterAll(() => letters?.close());

  const stores = () => letters.stores({ encryptionKeys });

  const pay = (transaction: unknown, id: string) =>
    (transaction as Ledger).query(`INSERT INTO ${inSchema('ledger')} VALUES (${place})`, [id]);
  const paid = async (id: string) =>
    (await letters.run(`SELECT event FROM ${inSchema('ledger')} WHERE event = ${place}`, [id])).length;

  /** A receiver with its letters in a namespace of their own. */
  const world = (namespace: string, given: Given = {}) => {
    const options = { privateKey: KEY, logger: false, ...stores(), namespace, ...given };
    return receiver(options as unknown as ReceiverOptions) as Receiver;
  };

  async function deliver(hooks: Receiver, event: object): Promise<[number, string]> {
    const { status, body } = await hooks.receive(receivable(event));
    const { outcome, code } = JSON.parse(body);
    return [status, outcome ?? code];
  }

  const eventsOf = async (hooks: Receiver) =>
    (await lettersOf(hooks)).map(({ eventId, reason, attempts }) => [eventId, reason, attempts]);

  test('removes the letter of an event in the commit that processes it', async () => {
    let fails = true;
    const hooks = world('commit', {
      events: { 'refund.made': REFUND },
      handlers: {
        'refund.made': async ({ id }, { transaction }) => {
          await pay(transaction, id);
          if (fails) throw new Error('the bank is down');
        },
      },
    });
    const id = `commit-${letters.schema}`;
    expect(await deliver(hooks, refund(id))).toEqual([500, 'HANDLER_FAILED']);
    expect(await eventsOf(hooks)).toEqual([[id, 'failed', 1]]);
    fails = false;
    expect(await deliver(hooks, refund(id))).toEqual([200, 'processed']);
    expect([await eventsOf(hooks), await paid(id)]).toEqual([[], 1]);
    expect(await deliver(hooks, refund(id))).toEqual([200, 'duplicate']);
  });

  test('commits nothing when its letter is not removed, and says so', async () => {
    const log = captureLog();
    const { store, deadLetters } = stores();
    const faulty = faultyDeadLetters({}, { store: deadLetters, database: deadLetters.database as object });
    let fails = true;
    const hooks = world('unremoved', {
      ...{ store, deadLetters: faulty, logger: log.logger, events: { 'refund.made': REFUND } },
      handlers: {
        'refund.made': async ({ id }, { transaction }) => {
          await pay(transaction, id);
          if (fails) throw new Error('the bank is down');
        },
      },
    });
    const id = `unremoved-${letters.schema}`;
    expect(await deliver(hooks, refund(id))).toEqual([500, 'HANDLER_FAILED']);
    fails = false;
    faulty.faults.remove = () => Promise.reject(new Error('the table is locked'));
    expect(await deliver(hooks, refund(id))).toEqual([503, 'STORE_UNAVAILABLE']);
    expect(await paid(id)).toBe(0);
    const messages = log.lines.map(({ msg }) => String(msg));
    expect(messages).toContainEqual(
      expect.stringMatching(/^the dead letter was not removed, so nothing is committed: /),
    );
    expect(messages).not.toContainEqual(expect.stringContaining('the event is processed'));
  });

  test('removes what the journal kept in that commit, and keeps it where there is no commit', async () => {
    const seen: unknown[] = [];
    let fails = true;
    const hooks = world('journal', {
      journal: true,
      events: { 'refund.made': REFUND },
      handlers: {
        'refund.made': async ({ id }, { transaction }) => {
          seen.push(...(await eventsOf(hooks)));
          await pay(transaction, id);
          if (fails) throw new Error('the bank is down');
        },
      },
    });
    const id = `journal-${letters.schema}`;
    expect(await deliver(hooks, refund(id))).toEqual([500, 'HANDLER_FAILED']);
    fails = false;
    expect(await deliver(hooks, refund(id))).toEqual([200, 'processed']);
    expect(seen).toEqual([
      [id, 'unfinished', 1],
      [id, 'unfinished', 2],
    ]);
    expect([await eventsOf(hooks), await paid(id)]).toEqual([[], 1]);
  });

  if (client === 'pg')
    test.each(['REPEATABLE READ', 'SERIALIZABLE'])(
      'removes what the journal kept after a transaction that is %s began',
      async (level) => {
        const { database } = letters;
        const transaction: typeof database.transaction = (work) =>
          database.transaction(async (begun) => {
            await (begun as Ledger).query(`SET TRANSACTION ISOLATION LEVEL ${level}`, []);
            await work(begun);
          });
        const store = sqlStore({ ...database, transaction, table: inSchema('webhook_event') });
        const hooks = world(level.replace(' ', '-'), {
          ...{ store, journal: true, events: { 'refund.made': REFUND } },
          handlers: { 'refund.made': ({ id }, context) => pay(context.transaction, id) },
        });
        const id = `${level}-${letters.schema}`.replace(' ', '-');
        expect(await deliver(hooks, refund(id))).toEqual([200, 'processed']);
        expect([await eventsOf(hooks), await paid(id)]).toEqual([[], 1]);
      },
    );

  test('removes a letter that is kept elsewhere, whatever is known of the letters of its client', async () => {
    let fails = true;
    const hooks = world('elsewhere', {
      deadLetters: memoryDeadLetters(),
      events: { 'refund.made': REFUND },
      handlers: {
        'refund.made': () => {
          if (fails) throw new Error('the bank is down');
        },
      },
    });
    const id = `elsewhere-${letters.schema}`;
    await deliver(hooks, refund(id));
    expect(await eventsOf(hooks)).toEqual([[id, 'failed', 1]]);
    fails = false;
    expect(await deliver(hooks, refund(id))).toEqual([200, 'processed']);
    expect(await eventsOf(hooks)).toEqual([]);
  });

  test.each(['COMMIT', 'ROLLBACK'])(
    'keeps the letter of an event whose handler sent %s, also in a replay',
    async (end) => {
      let ends = false;
      const hooks = world(`ended-${end}`, {
        events: { 'refund.made': REFUND },
        handlers: {
          'refund.made': async (_, { transaction }) => {
            if (!ends) throw new Error('the bank is down');
            await (transaction as Ledger).query(end, []);
          },
        },
      });
      const id = `ended-${letters.schema}`;
      await deliver(hooks, refund(id));
      const [before] = await lettersOf(hooks);
      ends = true;
      expect(await hooks.deadLetters?.replay()).toMatchObject({ processed: 0, failed: 1 });
      expect(await lettersOf(hooks)).toMatchObject([{ id: before?.id, eventId: id, reason: 'failed' }]);
    },
  );

  // Those of a pool are counted on the wire.
  if (client !== 'pg pool')
    test('takes no statement more for an event than without letters', async () => {
      const count = async (used: Pick<ReceiverOptions, 'store' | 'deadLetters'>) => {
        const hooks = receiver({ privateKey: KEY, logger: false, ...used, handlers: { '*': () => {} } });
        const taken: number[] = [];
        for (let index = 0; index < 8; index += 1) {
          letters.taken();
          expect(await deliver(hooks, fixtures.transactionPaid())).toEqual([200, 'processed']);
          taken.push(letters.taken());
        }
        // A claim that took long may have waited for another, which costs a look at the letters.
        return Math.min(...taken);
      };
      const { store, deadLetters } = stores();
      expect(await count({ store, deadLetters })).toBe(await count({ store }));
    });

  test('joins letters that are reached through the same client, and no others', () => {
    const { store, deadLetters } = stores();
    const { transaction: _, ...leased } = letters.database;
    expect(store.joins?.(deadLetters)).toBe(true);
    expect(store.joins?.({ database: {} })).toBe(false);
    expect(sqlStore({ ...leased, table: inSchema('webhook_event') }).joins?.(deadLetters)).toBe(false);
  });

  test('removes no letter on the connection of a transaction that has ended', async () => {
    const { store } = stores();
    for (const end of ['lease', 'release'] as const) {
      const request = { leaseMs: 60_000, fingerprint: 'f'.repeat(12) };
      const result = await store.claim(`ended:live:${end}`, request);
      if (result.status !== 'claimed') throw new Error(result.status);
      const { claim } = result;
      await (end === 'lease' ? claim.renew(50) : claim.release([]));
      await until(() => claim.open === false);
    }
  });

  test.each(['COMMIT', 'ROLLBACK'])('removes no letter after a handler has sent %s', async (end) => {
    const { store, deadLetters } = stores();
    const event = { key: `ender:live:${end}`, fingerprint: 'f'.repeat(64) };
    const names = { namespace: 'ender', eventName: 'a.b', eventId: end, sandbox: false };
    const failed = { reason: 'failed', code: undefined, issues: [], attempts: 1 } as const;
    const content = { rawBody: Buffer.from('{}'), headers: {}, keyIndex: 0 };
    const id = await deadLetters.keep({ id: `ender-${end}`, ...event, ...names, ...failed, ...content });
    const result = await store.claim(event.key, { leaseMs: 30_000, fingerprint: 'f'.repeat(12) });
    if (result.status !== 'claimed') throw new Error(result.status);
    const { transaction } = result.claim.context as unknown as {
      transaction: { query(sql: string): Promise<unknown> };
    };
    await transaction.query(end);
    expect(await deadLetters.remove(event, { transaction })).toBe(0);
    await expect((async () => result.claim.complete())()).rejects.toThrow('A handler has ended');
    expect((await deadLetters.read(id)).status).toBe('found');
  });

  test('lists, counts, reads, replays and discards them', async () => {
    const before = world('hooks');
    for (const id of ['h-1', 'h-2', 'h-3']) expect(await deliver(before, refund(id))).toEqual([200, 'kept']);
    const ran: string[] = [];
    const hooks = world('hooks', {
      events: { 'refund.made': REFUND },
      handlers: { '*': async ({ id }) => void ran.push(id) },
    });
    const own = hooks.deadLetters;
    if (!own) throw new Error('no letters');
    expect(await own.count({ event: 'refund.*' })).toMatchObject({
      total: 3,
      groups: [{ reason: 'unknown' }],
    });
    const { letters: page, next } = await own.page({}, { limit: 2 });
    expect([page.map(({ eventId }) => eventId), typeof next]).toEqual([['h-1', 'h-2'], 'string']);
    const first = page[0]?.id ?? '';
    expect(await own.read(first)).toMatchObject({ status: 'found', rawBody: delivery(refund('h-1')).body });
    expect(await own.discard(first, { by: 'ada', because: 'test data' })).toBe(true);
    expect(await own.replay({ dryRun: true })).toMatchObject({ processed: 2 });
    expect(await own.replay({ since: '1h' })).toMatchObject({ processed: 2, failed: 0 });
    expect([ran, await lettersOf(hooks)]).toEqual([['h-2', 'h-3'], []]);
    expect(await lettersOf(hooks, { discarded: true })).toMatchObject([{ discarded: { by: 'ada' } }]);
  });
});
