// A receiver with its dead letters in Postgres, by both stores: what goes in one commit, what survives it, what it costs.
import { randomBytes } from 'node:crypto';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
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
import { fixtures } from '../../src/fixtures/fixture.js';
import { KEY, receivable } from '../setup/delivery.js';
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
      const { status, body } = await hooks.receive(receivable(event));
      const { outcome, code } = JSON.parse(body);
      return [status, outcome ?? code];
    };
    const fail = () => {
      throw new Error('the bank is down');
    };
    return { event, hooks, send, fail };
  }

  describe('on the pool of a transactional store', () => {
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
  });

  test('on another pool removes the letter once the event is processed', async () => {
    const { event, send, fail } = start(lettersOn(otherPool));
    await allow(event.id);
    await send(fail);
    expect(await letterRows(event.id)).toHaveLength(1);
    expect(await send((transaction) => pay(transaction, event.id))).toEqual([200, 'processed']);
    expect([await letterRows(event.id), await ledgerRows(event.id)]).toEqual([[], [event.id]]);
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
        expect((await hooks.receive(receivable(fixtures.transactionPaid()))).status).toBe(200);
        taken.push(counted.taken());
      }
      await Promise.all([near.end(), far.end()]);
      await counted.stop();
      return Math.min(...taken);
    }

    // A rollback forgets that an event was tried, so letters on another pool are looked for each time.
    test.each([
      ['lease', 'none', 2],
      ['lease', 'same pool', 2],
      ['lease', 'another pool', 2],
      ['transactional', 'none', 4],
      ['transactional', 'same pool', 4],
      ['transactional', 'another pool', 5],
    ] as const)(
      'in %s mode, with letters on %s, an event costs %i statements',
      async (mode, where, count) => {
        expect(await statements(mode, where)).toBe(count);
      },
    );
  });
});

interface CountedPostgres {
  readonly connectionString: string;
  /** Statements since the last call. */
  taken(): number;
  stop(): Promise<void>;
}

/** A simple query, and the execution of one that was parsed: each is one statement, or several in one text. */
const STATEMENTS = new Set(['Q', 'E']);

async function countedPostgres(connectionString: string): Promise<CountedPostgres> {
  const target = new URL(connectionString);
  const sockets = new Set<Socket>();
  let statements = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    const read = messageReader((type) => {
      if (STATEMENTS.has(type)) statements += 1;
    });
    client.on('data', read);
    client.pipe(upstream).pipe(client);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => client.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const counted = new URL(connectionString);
  counted.port = String((server.address() as AddressInfo).port);
  return {
    connectionString: counted.href,
    taken: () => {
      const taken = statements;
      statements = 0;
      return taken;
    },
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Every message but the first of a connection begins with a letter and its length. */
function messageReader(onMessage: (type: string) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  let typed = 0;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= typed + 4) {
      const length = typed + rest.readInt32BE(typed);
      if (rest.length < length) return;
      if (typed === 1) onMessage(String.fromCharCode(rest[0] ?? 0));
      rest = rest.subarray(length);
      typed = 1;
    }
  };
}
