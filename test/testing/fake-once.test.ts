// fakeOnce(): handlers with `once` in unit tests, by the same rules as with a database.
import { describe, expect, test } from '@jest/globals';
import { receiver } from 'payment-webhooks';
import { deliver, fakeOnce, fixtures } from 'payment-webhooks/testing';

const privateKey = 'pri_fake_once';
const start = (ledger: string[]) => receiver({ privateKey, logger: false, store: fakeOnce(ledger) });

describe('fakeOnce()', () => {
  test('runs the work of once() with what it was given, once for each event', async () => {
    const ledger: string[] = [];
    const hooks = start(ledger);
    let attempts = 0;
    hooks.on(
      'transaction.paid',
      async (event, { once }) => {
        await once((db) => db.push(event.id));
        attempts += 1;
        if (attempts === 1) throw new Error('after the writes');
      },
      { name: 'pay' },
    );
    const event = fixtures.transactionPaid();
    const answers = [
      await deliver(hooks, event, { privateKey }),
      await deliver(hooks, event, { privateKey }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([500, 200]);
    expect([attempts, ledger]).toEqual([2, [event.id]]);
  });

  test('runs work that failed again, and has the rules of the SQL stores', async () => {
    const ledger: string[] = [];
    const hooks = start(ledger);
    let attempts = 0;
    hooks.on(
      'transaction.paid',
      async (event, { once }) => {
        attempts += 1;
        await once(ledger, () => {
          if (attempts === 1) throw new Error('before the writes');
          ledger.push(event.id);
        });
        if (attempts === 3) await once(() => ledger.push('again'));
      },
      { name: 'pay' },
    );
    const [first, second] = [fixtures.transactionPaid(), fixtures.transactionPaid()];
    const statuses: number[] = [];
    for (const event of [first, first, second])
      statuses.push((await deliver(hooks, event, { privateKey })).status);
    expect([statuses, ledger]).toEqual([
      [500, 200, 500],
      [first.id, second.id],
    ]);
  });

  test('refuses a handler without a name, and production', async () => {
    const hooks = start([]);
    hooks.on('transaction.paid', (_, { once }) => once(() => 'written'));
    expect((await deliver(hooks, fixtures.transactionPaid(), { privateKey })).status).toBe(500);
    const { NODE_ENV } = process.env;
    process.env.NODE_ENV = 'production';
    try {
      expect(() => fakeOnce()).toThrow('In production use postgresStore() or sqlStore()');
    } finally {
      process.env.NODE_ENV = NODE_ENV;
    }
  });
});
