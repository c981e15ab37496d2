// A receiver with its dead letters in Postgres or MariaDB, through clients that users have: writes inside `once`, and every call.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Receiver, type ReceiverOptions, receiver } from 'payment-webhooks';
import { postgresDeadLetters, postgresStore } from 'payment-webhooks/stores/postgres';
import { sqlDeadLetters, sqlStore, type WithOnce } from 'payment-webhooks/stores/sql';
import { Pool } from 'pg';
import { z } from 'zod';
import { fixtures } from '../../../src/fixtures/fixture.js';
import { KEY, receivable } from '../../setup/delivery.js';
import { lettersOf } from '../../setup/faulty-dead-letters.js';
import { describeEachClient, isPostgres, type SqlLetters, sqlServers } from '../../setup/sql-letters.js';
import { startWire } from '../postgres-wire.js';

const openLetters = sqlServers();
const encryptionKeys = [Buffer.alloc(32, 3)];
/** The claim, BEGIN with the row, COMMIT, and the completion. */
const ONCE = 4;
const request = { leaseMs: 60_000, fingerprint: 'f'.repeat(12) };
const REFUND = z.looseObject({ refund: z.looseObject({ id: z.string() }) });
const refund = (id: string) => ({ ...fixtures.event('refund.made', { refund: { id } }), id });

type Given = Pick<ReceiverOptions, 'journal' | 'deadLetters' | 'logger'> & { readonly store?: object };

interface Ledger {
  query(sql: string, values: unknown[]): PromiseLike<unknown>;
}

describeEachClient('a receiver with dead letters through %s', (client) => {
  let letters: SqlLetters;
  const place = isPostgres(client) ? '$1' : '?';
  const inSchema = (table: string) => `${letters.schema}.${table}`;
  const tableOf = (table: string) => (client === 'sqlite' ? table : inSchema(table));

  beforeAll(async () => {
    letters = await openLetters(client);
    const { store, deadLetters } = stores();
    await store.migrate();
    await deadLetters.migrate();
    await letters.run(`CREATE TABLE ${inSchema('ledger')} (event varchar(100) NOT NULL)`);
  });
  afterAll(() => letters?.close());

  const stores = () => letters.stores({ encryptionKeys });

  const pay = (transaction: Ledger, id: string): unknown =>
    transaction.query(`INSERT INTO ${inSchema('ledger')} VALUES (${place})`, [id]);
  const paid = async (id: string) =>
    (await letters.run(`SELECT event FROM ${inSchema('ledger')} WHERE event = ${place}`, [id])).length;

  async function deliver(hooks: Pick<Receiver, 'receive'>, event: object): Promise<[number, string]> {
    const { status, body } = await hooks.receive(receivable(event));
    const { outcome, code } = JSON.parse(body);
    return [status, outcome ?? code];
  }

  const eventsOf = async (hooks: Pick<Receiver, 'deadLetters'>) =>
    (await lettersOf(hooks)).map(({ eventId, reason, attempts }) => [eventId, reason, attempts]);

  /** A refund, and a receiver whose handler writes its payment inside `once`, and fails there until it is told otherwise. */
  function paying(namespace: string, given: Given = {}, write = pay, before?: () => Promise<void>) {
    const bank = { fails: true };
    const check = () => {
      if (bank.fails) throw new Error('the bank is down');
    };
    const handler = async ({ id }: { id: string }, { once }: WithOnce<object>) => {
      await before?.();
      if (client === 'sqlite')
        return once(() => {
          // Synchronous: the promise is that of the helper.
          void write({ query: letters.run } as Ledger, id);
          check();
        });
      return once(async (tx) => {
        await write(tx as Ledger, id);
        check();
      });
    };
    const options = { privateKey: KEY, logger: false, ...stores(), namespace, ...given } as object;
    const hooks = receiver({ ...options, events: { 'refund.made': REFUND } });
    hooks.on('*', handler as never, { name: 'ledger' });
    const id = `${namespace}-${letters.schema}`;
    return { bank, hooks, id, send: () => deliver(hooks, refund(id)) };
  }

  test('removes the letter of an event when it is processed', async () => {
    const { bank, hooks, id, send } = paying('commit');
    expect(await send()).toEqual([500, 'HANDLER_FAILED']);
    expect(await eventsOf(hooks)).toEqual([[id, 'failed', 1]]);
    bank.fails = false;
    expect(await send()).toEqual([200, 'processed']);
    expect([await eventsOf(hooks), await paid(id)]).toEqual([[], 1]);
    expect(await send()).toEqual([200, 'duplicate']);
  });

  test('removes what the journal kept when it is processed, and keeps it when the handler fails', async () => {
    const seen: unknown[] = [];
    const { bank, hooks, id, send } = paying('journal', { journal: true }, pay, async () => {
      seen.push(...(await eventsOf(hooks)));
    });
    expect(await send()).toEqual([500, 'HANDLER_FAILED']);
    bank.fails = false;
    expect(await send()).toEqual([200, 'processed']);
    expect(seen).toEqual([
      [id, 'unfinished', 1],
      [id, 'unfinished', 2],
    ]);
    expect([await eventsOf(hooks), await paid(id)]).toEqual([[], 1]);
  });

  describe('where the commit of the handler fails', () => {
    /** A payment that is not allowed makes the commit fail, and no statement before it. */
    const allow = (id: string) => letters.run(`INSERT INTO ${inSchema('allowed')} VALUES (${place})`, [id]);
    if (!isPostgres(client)) return;
    beforeAll(async () => {
      await letters.run(`CREATE TABLE ${inSchema('allowed')} (event text PRIMARY KEY)`);
      await letters.run(
        `CREATE TABLE ${inSchema('owed')} (event text REFERENCES ${inSchema('allowed')} DEFERRABLE INITIALLY DEFERRED)`,
      );
    });
    const owe = (transaction: Ledger, id: string) =>
      transaction.query(`INSERT INTO ${inSchema('owed')} VALUES ($1)`, [id]);
    const rows = (table: string, column: string, value: string) =>
      letters.run(`SELECT * FROM ${inSchema(table)} WHERE ${column} = $1`, [value]);

    test('keeps the letter: same id, same place, one attempt more', async () => {
      const { bank, hooks, id, send } = paying('same-letter', {}, owe);
      await send();
      const [before] = await lettersOf(hooks);
      bank.fails = false;
      expect(await send()).toEqual([500, 'HANDLER_FAILED']);
      const key = `same-letter:live:${id}`;
      expect(await rows('webhook_event', 'key', `${key} ledger`)).toEqual([]);
      expect(await rows('owed', 'event', id)).toEqual([]);
      const cause = expect.stringMatching(/^ledger: DatabaseError 23503/);
      expect(before?.cause).toMatch(/^ledger: Error at /);
      expect(await lettersOf(hooks)).toEqual([{ ...before, attempts: 2, cause }]);
      await allow(id);
      expect(await hooks.deadLetters?.replay()).toMatchObject({ processed: 1 });
      expect([await lettersOf(hooks), await rows('owed', 'event', id)]).toEqual([[], [{ event: id }]]);
    });
  });

  test('keeps a letter whose handler sends ROLLBACK in a replay', async () => {
    const ending = (transaction: Ledger) => (bank.fails ? undefined : transaction.query('ROLLBACK', []));
    const { bank, hooks, id, send } = paying('ended', {}, ending);
    await send();
    const [before] = await lettersOf(hooks);
    bank.fails = false;
    expect(await hooks.deadLetters?.replay()).toMatchObject({ processed: 0, failed: 1 });
    expect(await lettersOf(hooks)).toMatchObject([{ id: before?.id, eventId: id, reason: 'failed' }]);
  });

  if (client !== 'pg pool')
    test('replays a letter through a client that turns the names of columns into camelCase', async () => {
      const { database } = letters;
      const camelCase = (row: object) =>
        Object.entries(row).map(([name, value]) => [
          name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
          value,
        ]);
      const renamedIn = (rows: unknown) =>
        Array.isArray(rows) ? rows.map((row) => Object.fromEntries(camelCase(row))) : rows;
      const query: typeof database.query = (by, sql, values) => {
        const rows = database.query(by, sql, values);
        return rows instanceof Promise ? rows.then(renamedIn) : renamedIn(rows);
      };
      const renamed = { ...database, query };
      const store = sqlStore({ ...renamed, table: tableOf('webhook_event') });
      const deadLetters = sqlDeadLetters({ ...renamed, table: tableOf('dead_letter'), encryptionKeys });
      const { bank, hooks, id, send } = paying('camel', { store, deadLetters });
      await store.ping();
      expect(await send()).toEqual([500, 'HANDLER_FAILED']);
      expect(await lettersOf(hooks)).toMatchObject([{ eventId: id, eventName: 'refund.made' }]);
      expect((await hooks.deadLetters?.count())?.oldest).toEqual((await lettersOf(hooks))[0]?.keptAt);
      bank.fails = false;
      expect(await hooks.deadLetters?.replay()).toMatchObject({ processed: 1 });
      expect([await eventsOf(hooks), await paid(id)]).toEqual([[], 1]);
      await store.claim('camel:live:running', request);
      const running = await store.claim('camel:live:running', request);
      expect(running.status === 'in_progress' && running.retryAfterMs).toBeGreaterThan(1_000);
    });

  /** Statements of one event. A claim that took long may have waited for another, which costs a look at the letters. */
  async function fewest(hooks: Pick<Receiver, 'receive'>, taken: () => number): Promise<number> {
    const counts: number[] = [];
    for (let index = 0; index < 8; index += 1) {
      taken();
      expect(await deliver(hooks, fixtures.transactionPaid())).toEqual([200, 'processed']);
      counts.push(taken());
    }
    return Math.min(...counts);
  }

  // What sqlStore() sends is counted where its client is called, and that of a pool on the wire.
  if (client !== 'pg pool')
    test('takes no statement more for an event than without letters', async () => {
      const count = (used: Pick<ReceiverOptions, 'store' | 'deadLetters'>) => {
        const hooks = receiver({ privateKey: KEY, logger: false, ...used, handlers: { '*': () => {} } });
        return fewest(hooks, () => letters.taken());
      };
      const { store, deadLetters } = stores();
      expect(await count({ store, deadLetters })).toBe(await count({ store }));
    });
  else
    test.each([
      ['no once', 'no pool', 2],
      ['no once', 'the same pool', 2],
      ['no once', 'another pool', 2],
      ['once', 'no pool', ONCE],
      ['once', 'the same pool', ONCE],
      ['once', 'another pool', ONCE],
    ] as const)('%s, with letters on %s: %i statements of an event', async (by, where, statements) => {
      const wire = await startWire(process.env.TEST_POSTGRES_URL ?? '');
      const open = () => new Pool({ connectionString: wire.connectionString, max: 1 });
      const [pool, far] = [open(), open()];
      const store = postgresStore({ pool, table: inSchema('webhook_event') });
      const on = { 'no pool': undefined, 'the same pool': pool, 'another pool': far }[where];
      const table = inSchema('dead_letter');
      const deadLetters = on && postgresDeadLetters({ pool: on, table, encryptionKeys });
      const hooks = receiver({ privateKey: KEY, logger: false, store, deadLetters });
      const nothing = (_: unknown, { once }: WithOnce<object>) => by === 'once' && once(() => {});
      hooks.on('*', nothing as never, { name: 'nothing' });
      const taken = () => {
        const { statements } = wire;
        wire.statements = 0;
        return statements;
      };
      expect(await fewest(hooks, taken)).toBe(statements);
      await Promise.all([pool.end(), far.end()]);
      await wire.close();
    });
});
