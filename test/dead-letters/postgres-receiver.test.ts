// A receiver with its dead letters in Postgres, by both stores: what goes in one commit, what survives it, what it costs.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type DeadLetterStore, memoryDeadLetters, receiver } from 'payment-webhooks';
import {
  type PostgresClient,
  type PostgresStore,
  postgresDeadLetters,
  postgresStore,
} from 'payment-webhooks/stores/postgres';
import { sqlDeadLetters, sqlStore } from 'payment-webhooks/stores/sql';
import { Pool } from 'pg';
import { z } from 'zod';
import { fixtures } from '../../src/fixtures/fixture.js';
import { countedPostgres } from '../setup/counted-postgres.js';
import { delivery, KEY } from '../setup/delivery.js';
import { lettersOf } from '../setup/faulty-dead-letters.js';
import { aLetter } from '../setup/letters.js';
import { needing } from '../setup/platform.js';
import { overPg } from '../setup/sql-clients.js';
import { BY_PG, storeOnPg } from '../stores/worlds.js';

const connectionString = process.env.TEST_POSTGRES_URL ?? '';
const withPostgres = needing('postgres').describe;
const encryptionKeys = [randomBytes(32)];
const request = { leaseMs: 30_000, fingerprint: 'a'.repeat(12) };

withPostgres.each(BY_PG)('a receiver with dead letters in Postgres, by %s', (by) => {
  const schema = `letters_commit_${randomBytes(6).toString('hex')}`;
  const tables = { events: `${schema}.webhook_event`, letters: `${schema}.dead_letter` };
  const ledger = `${schema}.ledger`;
  const pool = new Pool({ connectionString, max: 10, application_name: schema });
  const otherPool = new Pool({ connectionString, max: 10 });
  const lettersOn = (each: Pool) => {
    const options = { table: tables.letters, encryptionKeys };
    return by === 'sqlStore'
      ? sqlDeadLetters({ ...overPg(each), ...options })
      : postgresDeadLetters({ pool: each, ...options });
  };
  const transactional = () =>
    (by === 'sqlStore'
      ? sqlStore({ ...overPg(pool), table: tables.events })
      : postgresStore({ pool, table: tables.events, transactional: true })) as PostgresStore<{
      transaction: PostgresClient;
    }>;
  const rows = async (text: string, values: unknown[] = []) =>
    (await otherPool.query(text, values)).rows.map(({ row }) => row as string);
  const letterRows = (eventId: string) =>
    rows(`SELECT l::text AS row FROM ${tables.letters} l WHERE event_id = $1`, [eventId]);
  const claimRows = (eventId: string) =>
    rows(`SELECT e::text AS row FROM ${tables.events} e WHERE key = $1`, [`default:live:${eventId}`]);
  const ledgerRows = (eventId: string) =>
    rows(`SELECT event AS row FROM ${ledger} WHERE event = $1`, [eventId]);

  beforeAll(async () => {
    await pool.query(`CREATE SCHEMA ${schema}`);
    // A row that is not in the other table makes the commit fail, and no statement before it.
    await pool.query(`CREATE TABLE ${schema}.allowed (event text PRIMARY KEY);
      CREATE TABLE ${ledger} (event text NOT NULL REFERENCES ${schema}.allowed DEFERRABLE INITIALLY DEFERRED)`);
    await postgresStore({ pool, table: tables.events }).migrate();
    await lettersOn(pool).migrate();
  });
  afterAll(async () => {
    await pool.query(`DROP SCHEMA ${schema} CASCADE`);
    await Promise.all([pool.end(), otherPool.end()]);
  });

  const allow = (eventId: string) => pool.query(`INSERT INTO ${schema}.allowed VALUES ($1)`, [eventId]);
  const pay = (transaction: PostgresClient, eventId: string) =>
    transaction.query({ text: `INSERT INTO ${ledger} VALUES ($1)`, values: [eventId] });

  /** One event, and a receiver whose handler does what the test sets. */
  function start(deadLetters: DeadLetterStore, options: { journal?: boolean } = {}) {
    const event = fixtures.transactionPaid();
    let handle: (transaction: PostgresClient) => unknown = () => {};
    const hooks = receiver({
      privateKey: KEY,
      logger: false,
      store: transactional(),
      deadLetters,
      ...options,
    });
    hooks.on('transaction.paid', async (_, { transaction }) => void (await handle(transaction)));
    const send = async (work: typeof handle) => {
      handle = work;
      const { body: rawBody, headers } = delivery(event);
      const { status, body } = await hooks.receive({ rawBody, headers });
      const { outcome, code } = JSON.parse(body);
      return [status, outcome ?? code];
    };
    const fail = () => {
      throw new Error('the bank is down');
    };
    return { event, hooks, send, fail };
  }

  describe('on the pool of a transactional store', () => {
    test('removes the letter of an event in the commit that processes it', async () => {
      const { event, send, fail } = start(lettersOn(pool));
      await allow(event.id);
      expect(await send(fail)).toEqual([500, 'HANDLER_FAILED']);
      expect(await letterRows(event.id)).toHaveLength(1);
      expect(await send((transaction) => pay(transaction, event.id))).toEqual([200, 'processed']);
      expect([await letterRows(event.id), await ledgerRows(event.id)]).toEqual([[], [event.id]]);
      expect(await claimRows(event.id)).toHaveLength(1);
    });

    test('keeps the letter where that commit fails: same id, same place, one attempt more', async () => {
      const { event, hooks, send, fail } = start(lettersOn(pool));
      await send(fail);
      const [before] = (await lettersOf(hooks)).filter(({ eventId }) => eventId === event.id);
      // The row of the ledger is not allowed, which Postgres says when it commits.
      expect(await send((transaction) => pay(transaction, event.id))).toEqual([503, 'STORE_UNAVAILABLE']);
      expect([await claimRows(event.id), await ledgerRows(event.id)]).toEqual([[], []]);
      const [after] = (await lettersOf(hooks)).filter(({ eventId }) => eventId === event.id);
      expect(after).toEqual({ ...before, attempts: 2, code: 'STORE_UNAVAILABLE' });
      await allow(event.id);
      const report = await hooks.deadLetters.replay({ eventId: event.id });
      expect([report.processed, await letterRows(event.id)]).toEqual([1, []]);
      expect(await ledgerRows(event.id)).toEqual([event.id]);
    });

    test('changes neither letter nor claim until the commit, and not if it fails or is rolled back', async () => {
      const letters = lettersOn(pool);
      const letter = aLetter();
      const id = await letters.keep(letter);
      const before = await letterRows(letter.eventId);
      for (const end of ['release', 'fail', 'complete'] as const) {
        const result = await transactional().claim(letter.key, { ...request, deadLetters: letters });
        if (result.status !== 'claimed') throw new Error(result.status);
        const { claim } = result;
        const { transaction } = claim.context as { transaction: PostgresClient };
        expect(claim.kept).toBe(true);
        expect(await letters.remove(letter, { transaction })).toBe(1);
        expect(await letterRows(letter.eventId)).toEqual(before);
        if (end === 'fail') await pay(transaction, letter.eventId);
        if (end === 'release') await claim.release([]);
        else if (end === 'complete') await claim.complete();
        else await expect(claim.complete()).rejects.toMatchObject({ code: '23503' });
        const left = end === 'complete' ? [] : before;
        expect(await letterRows(letter.eventId)).toEqual(left);
        expect(await claimRows(letter.eventId)).toHaveLength(end === 'complete' ? 1 : 0);
      }
      expect(await letters.read(id)).toEqual({ status: 'gone' });
    });

    test('removes what the journal kept in that commit too, and keeps it where the commit fails', async () => {
      const { event, hooks, send } = start(lettersOn(pool), { journal: true });
      const pays = async (transaction: PostgresClient) => {
        expect(await letterRows(event.id)).toHaveLength(1);
        await pay(transaction, event.id);
      };
      expect(await send(pays)).toEqual([503, 'STORE_UNAVAILABLE']);
      const letters = (await lettersOf(hooks)).filter(({ eventId }) => eventId === event.id);
      expect(letters.map(({ reason }) => reason)).toEqual(['failed']);
      await allow(event.id);
      expect(await send(pays)).toEqual([200, 'processed']);
      expect([await letterRows(event.id), await ledgerRows(event.id)]).toEqual([[], [event.id]]);
    });

    test.each(['COMMIT', 'ROLLBACK'])(
      'never deletes the letter of a replayed event whose handler sent %s',
      async (end) => {
        const { event, hooks, send, fail } = start(lettersOn(pool));
        let ends = false;
        await send((transaction) => (ends ? transaction.query({ text: end }) : fail()));
        const kept = async () => (await lettersOf(hooks, { eventId: event.id })).map(({ id }) => id);
        const before = await kept();
        ends = true;
        const report = await hooks.deadLetters.replay({ eventId: event.id });
        expect(report).toMatchObject({ processed: 0, failed: 1 });
        expect(before).toHaveLength(1);
        expect(await kept()).toEqual(before);
      },
    );
  });

  test('on another pool removes the letter once the event is processed', async () => {
    const { event, send, fail } = start(lettersOn(otherPool));
    await allow(event.id);
    await send(fail);
    expect(await letterRows(event.id)).toHaveLength(1);
    expect(await send((transaction) => pay(transaction, event.id))).toEqual([200, 'processed']);
    expect([await letterRows(event.id), await ledgerRows(event.id)]).toEqual([[], [event.id]]);
  });

  test('elsewhere removes the letter too, whatever is known of the letters on this pool', async () => {
    lettersOn(pool);
    const { event, hooks, send, fail } = start(memoryDeadLetters());
    await allow(event.id);
    await send(fail);
    expect(await lettersOf(hooks)).toHaveLength(1);
    expect(await send((transaction) => pay(transaction, event.id))).toEqual([200, 'processed']);
    expect(await lettersOf(hooks)).toEqual([]);
  });

  test('joins the letters on the pool of its transactions, and claims look for theirs alone', async () => {
    const [letters, others] = [lettersOn(pool), lettersOn(otherPool)];
    const store = transactional();
    expect([store.joins?.(letters), store.joins?.(others), store.joins?.(memoryDeadLetters())]).toEqual([
      ...[true, false, false],
    ]);
    expect(storeOnPg(by, pool, { table: tables.events }).joins?.(letters)).toBe(false);
    for (const [deadLetters, kept] of [
      [letters, false],
      [undefined, undefined],
    ] as const) {
      const result = await store.claim(`joins:live:${kept}`, { ...request, deadLetters });
      if (result.status !== 'claimed') throw new Error(result.status);
      expect(result.claim.kept).toBe(kept);
      await result.claim.complete();
      expect(result.claim.kept).toBe(kept);
    }
  });

  describe('that gets 60 events which it cannot process', () => {
    const TWENTY = Array.from({ length: 20 }, (_, index) => index);
    const NEW_KEY = 'pri_9d1c7b5a3f2e4d6c8b0a1f3e';
    const refund = z.looseObject({ refund: z.looseObject({ id: z.string() }) });
    const strict = z.looseObject({ metadata: z.record(z.string(), z.unknown()) });
    const loose = z.looseObject({
      metadata: z.union([z.record(z.string(), z.unknown()), z.array(z.never())]),
    });

    test.each([
      ['with the same key', KEY],
      ['with the key rotated in between', NEW_KEY],
    ])('processes all of them after the fix, %s, with one row of the ledger each', async (_, newKey) => {
      const sent = [
        ...TWENTY.map((index) => fixtures.event('refund.succeeded', { refund: { id: `r-${index}` } })),
        ...TWENTY.map((index) => fixtures.event('payout.sent', { metadata: [], id: `p-${index}` })),
        ...TWENTY.map(() => fixtures.transactionPaid()),
      ].map((event) => ({ ...event, id: `${event.id}-${newKey.slice(-4)}` }));
      for (const { id } of sent) await allow(id);
      const namespace = `sixty-${newKey.slice(-4)}`;
      const common = { namespace, logger: false } as const;
      const before = receiver({
        ...common,
        privateKey: KEY,
        store: transactional(),
        deadLetters: lettersOn(pool),
        events: { 'payout.sent': strict },
        handlers: {
          '*': async (event, { transaction }) => {
            await pay(transaction, event.id);
            throw new Error('the database of the orders is down');
          },
        },
      });
      for (const event of sent) {
        for (let tries = 0, status = 0; tries < 3 && status !== 200; tries += 1) {
          const { body: rawBody, headers } = delivery(event);
          ({ status } = await before.receive({ rawBody, headers }));
        }
      }
      const after = receiver({
        ...common,
        privateKey: newKey,
        store: transactional(),
        deadLetters: lettersOn(pool),
        events: { 'payout.sent': loose, 'refund.succeeded': refund },
        handlers: { '*': async (event, { transaction }) => void (await pay(transaction, event.id)) },
      });
      const reasons = (await lettersOf(after)).map(({ reason }) => reason);
      expect(reasons).toEqual([
        ...TWENTY.map(() => 'unknown'),
        ...TWENTY.map(() => 'invalid'),
        ...TWENTY.map(() => 'failed'),
      ]);
      const report = await after.deadLetters.replay({
        concurrency: 4,
        keys: newKey === KEY ? 'configured' : 'any',
      });
      expect(report).toMatchObject({ processed: 60, failed: 0, stillUnknown: 0, stillInvalid: 0 });
      expect(await lettersOf(after)).toEqual([]);
      for (const { id } of sent) expect(await ledgerRows(id)).toEqual([id]);
      expect(await after.deadLetters.replay()).toMatchObject({ processed: 0 });
    });

    test('reports a changed letter, and does not run it', async () => {
      const { event, hooks, send, fail } = start(lettersOn(pool));
      await allow(event.id);
      await send(fail);
      await pool.query(
        `UPDATE ${tables.letters} SET body = set_byte(body, 40, get_byte(body, 40) # 1) WHERE event_id = $1`,
        [event.id],
      );
      const report = await hooks.deadLetters.replay({ eventId: event.id });
      expect([report.processed, report.unreadable]).toEqual([0, 1]);
      expect([await ledgerRows(event.id), (await letterRows(event.id)).length]).toEqual([[], 1]);
    });
  });

  // What sqlStore() sends is counted where its client is called.
  if (by === 'sqlStore') return;
  describe('counted on the wire', () => {
    const EVENTS = 12;

    /** The fewest statements of an event that is processed at once: a claim that had to wait may cost one more. */
    async function statements(mode: 'lease' | 'transactional', where: 'none' | 'same pool' | 'another pool') {
      const counted = await countedPostgres(connectionString);
      const [near, far] = [0, 1].map(() => new Pool({ connectionString: counted.connectionString, max: 1 }));
      if (!near || !far) throw new Error('no pools');
      const store =
        mode === 'transactional'
          ? postgresStore({ pool: near, table: tables.events, transactional: true })
          : postgresStore({ pool: near, table: tables.events });
      const deadLetters =
        where === 'none' ? {} : { deadLetters: lettersOn(where === 'same pool' ? near : far) };
      const hooks = receiver({ privateKey: KEY, logger: false, store, ...deadLetters });
      hooks.on('transaction.paid', async () => {});
      const taken: number[] = [];
      for (let index = 0; index < EVENTS; index += 1) {
        const { body: rawBody, headers } = delivery(fixtures.transactionPaid());
        expect((await hooks.receive({ rawBody, headers })).status).toBe(200);
        taken.push(counted.taken());
      }
      await Promise.all([near.end(), far.end()]);
      await counted.stop();
      return Math.min(...taken);
    }

    test.each(['same pool', 'another pool'] as const)(
      'in lease mode an event costs no statement more with letters on %s',
      async (where) => {
        expect([await statements('lease', 'none'), await statements('lease', where)]).toEqual([2, 2]);
      },
    );

    test('in transactional mode an event costs no statement more with letters on the same pool', async () => {
      const [without, having] = [
        await statements('transactional', 'none'),
        await statements('transactional', 'same pool'),
      ];
      expect([without, having]).toEqual([4, 4]);
    });

    test('in transactional mode letters on another pool cost one: a rollback forgets that an event was tried', async () => {
      expect(await statements('transactional', 'another pool')).toBe(5);
    });
  });
});
