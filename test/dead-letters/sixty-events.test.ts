// The 60 events that the first version lost: undeclared, drifted, and failed for longer than the service retries.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  type DeadLetterStore,
  type IdempotencyStore,
  memoryDeadLetters,
  memoryStore,
  receiver,
} from 'payment-webhooks';
import type { WithOnce } from 'payment-webhooks/stores/postgres';
import type { PoolClient } from 'pg';
import { z } from 'zod';
import { fixtures } from '../../src/fixtures/fixture.js';
import { KEY, receivable } from '../setup/delivery.js';
import { lettersOf } from '../setup/faulty-dead-letters.js';
import type { Sqlite } from '../setup/open-sqlite.js';
import { needing } from '../setup/platform.js';
import { raise } from '../setup/raise.js';
import { type SqlLetters, sqlServers } from '../setup/sql-letters.js';

const ON_POSTGRES = ['pg pool', 'pg'] as const;
const openLetters = sqlServers(ON_POSTGRES);
const NEW_KEY = 'pri_9d1c7b5a3f2e4d6c8b0a1f3e';
const TWENTY = Array.from({ length: 20 }, (_, index) => index);

const refund = z.looseObject({ refund: z.looseObject({ id: z.string() }) });
const strict = z.looseObject({ metadata: z.record(z.string(), z.unknown()) });
const loose = z.looseObject({ metadata: z.union([z.record(z.string(), z.unknown()), z.array(z.never())]) });

/** What the deployments of one app share, and the ledger that their handlers write. */
interface App {
  readonly store: IdempotencyStore<object>;
  readonly deadLetters: DeadLetterStore;
  /** @param then what else the handler does before its payment is committed */
  pay(id: string, context: object, then?: () => unknown): unknown;
  /** The events whose payment is committed. */
  paid(): Promise<string[]>;
}

/** Two deployments of one app: the second has the schemas and the database fixed. */
function deployments({ store, deadLetters, pay }: App, newKey: string) {
  const common = { store, deadLetters, namespace: `sixty-${newKey.slice(-4)}`, logger: false } as const;
  const before = receiver({
    ...common,
    privateKey: KEY,
    events: { 'payout.sent': strict },
    handlers: {
      '*': ({ id }, context) =>
        pay(id, context, () => raise(new Error('the database of the orders is down'))),
    },
  });
  const after = receiver({
    ...common,
    privateKey: newKey,
    events: { 'payout.sent': loose, 'refund.succeeded': refund },
    handlers: { '*': async ({ id }, context) => void (await pay(id, context)) },
  });
  return { before, after };
}

function areProcessedAfterTheFix(open: () => App): void {
  test.each([
    ['with the same key', KEY],
    ['with the key rotated in between', NEW_KEY],
  ])('are all processed after the fix, each once, %s', async (_, newKey) => {
    const app = open();
    const { before, after } = deployments(app, newKey);
    const sent = [
      ...TWENTY.map((index) => fixtures.event('refund.succeeded', { refund: { id: `r-${index}` } })),
      ...TWENTY.map((index) => fixtures.event('payout.sent', { metadata: [], id: `p-${index}` })),
      ...TWENTY.map(() => fixtures.transactionPaid()),
    ];
    const ids = sent.map(({ id }) => id).sort();
    const paid = async () => (await app.paid()).filter((id) => ids.includes(id)).sort();
    const statuses: number[] = [];
    for (const event of sent) {
      // The service retries what is not answered 2xx, and gives up after three attempts.
      for (let tries = 0, status = 0; tries < 3 && status !== 200; tries += 1) {
        ({ status } = await before.receive(receivable(event)));
        statuses.push(status);
      }
    }
    expect(statuses.filter((status) => status === 200)).toHaveLength(40);
    expect(statuses.filter((status) => status === 500)).toHaveLength(60);
    expect(await paid()).toEqual([]);
    expect((await lettersOf(after)).map(({ reason }) => reason)).toEqual([
      ...TWENTY.map(() => 'unknown'),
      ...TWENTY.map(() => 'invalid'),
      ...TWENTY.map(() => 'failed'),
    ]);

    const keys = newKey === KEY ? 'configured' : 'any';
    expect(await after.deadLetters.replay({ concurrency: 4, keys })).toMatchObject({
      ...{ processed: 60, failed: 0, stillUnknown: 0, stillInvalid: 0, inProgress: 0 },
    });
    expect(await paid()).toEqual(ids);
    expect(await lettersOf(after)).toEqual([]);
    expect(await after.deadLetters.replay()).toMatchObject({ processed: 0 });
    for (const event of sent) {
      const { body } = await after.receive(receivable(event, newKey));
      expect(JSON.parse(body)).toMatchObject({ outcome: 'duplicate' });
    }
    expect(await paid()).toEqual(ids);
  });
}

describe('60 events that could not be processed', () => {
  const ledger: string[] = [];
  areProcessedAfterTheFix(() => ({
    ...{ store: memoryStore(), deadLetters: memoryDeadLetters() },
    pay: (id, _, then) => {
      then?.();
      ledger.push(id);
    },
    paid: async () => ledger,
  }));
});

needing('postgres').describe.each(ON_POSTGRES)('60 events through %s', (client) => {
  let letters: SqlLetters;
  const ledger = () => `${letters.schema}.ledger`;

  beforeAll(async () => {
    letters = await openLetters(client);
    const { store, deadLetters } = letters.stores();
    await Promise.all([store.migrate(), deadLetters.migrate()]);
    await letters.run(`CREATE TABLE ${ledger()} (event varchar(100) NOT NULL)`);
  });
  afterAll(() => letters?.close());

  areProcessedAfterTheFix(() => ({
    ...letters.stores({ encryptionKeys: [Buffer.alloc(32, 5)] }),
    pay: (id, context, then) =>
      (context as WithOnce<PoolClient>).once(async (tx) => {
        await tx.query(`INSERT INTO ${ledger()} VALUES ($1)`, [id]);
        then?.();
      }),
    paid: async () => (await letters.run(`SELECT event FROM ${ledger()}`)).map(({ event }) => String(event)),
  }));
});

needing('SQLite').describe('60 events through SQLite', () => {
  let letters: SqlLetters;

  beforeAll(async () => {
    letters = await openLetters('sqlite');
    const { store, deadLetters } = letters.stores();
    await Promise.all([store.migrate(), deadLetters.migrate()]);
    await letters.run('CREATE TABLE ledger (event TEXT NOT NULL)');
  });
  afterAll(() => letters?.close());

  areProcessedAfterTheFix(() => ({
    ...letters.stores({ encryptionKeys: [Buffer.alloc(32, 5)] }),
    pay: (id, context, then) =>
      (context as WithOnce<Sqlite>).once((db) => {
        db.prepare('INSERT INTO ledger VALUES (?)').run(id);
        then?.();
      }),
    paid: async () => (await letters.run('SELECT event FROM ledger')).map(({ event }) => String(event)),
  }));
});
