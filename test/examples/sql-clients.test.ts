import { expect, test } from '@jest/globals';
import { deliver, fixtures } from 'payment-webhooks/testing';
import { onPostgres, withPostgres } from './on-postgres.js';

const privateKey = 'pri_sql_clients';

withPostgres('the example sql-clients', () => {
  const example = onPostgres(privateKey, {
    load: async () => ({
      ...(await import('../../examples/sql-clients/app.js')),
      ...(await import('../../examples/sql-clients/pg.js')),
    }),
    prepare: ({ migrate }) => migrate(),
  });

  const linesOf = async (payment: string) =>
    (await example().pool.query('SELECT amount FROM payment_ledger WHERE payment = $1', [payment])).rows;

  /** As the service does: on a busy machine the store can be too slow for an attempt, which is then answered 503. */
  async function deliverUntilAnswered(event: object) {
    let answer = await deliver(example().app, event, { privateKey });
    while (answer.status === 503) answer = await deliver(example().app, event, { privateKey });
    return answer;
  }

  test('writes one line for an event, however often and however fast it comes', async () => {
    const event = fixtures.transactionPaid({ payload: { transaction: { id: 'txn-once', amount: '10.00' } } });
    await Promise.all(Array.from({ length: 15 }, () => deliverUntilAnswered(event)));
    const later = await deliverUntilAnswered(event);
    expect(later).toMatchObject({ status: 200, body: { outcome: 'duplicate' } });
    expect(await linesOf('txn-once')).toEqual([{ amount: '10.00' }]);
  });

  test('writes nothing of an event that it cannot write, until it can', async () => {
    const { pool } = example();
    const event = fixtures.transactionPaid({ payload: { transaction: { id: 'txn-later' } } });
    await pool.query("ALTER TABLE payment_ledger ADD CONSTRAINT closed CHECK (payment <> 'txn-later')");
    expect(await deliverUntilAnswered(event)).toMatchObject({
      status: 500,
      body: { code: 'HANDLER_FAILED' },
    });
    expect(await linesOf('txn-later')).toEqual([]);
    await pool.query('ALTER TABLE payment_ledger DROP CONSTRAINT closed');
    expect(await deliverUntilAnswered(event)).toMatchObject({ status: 200 });
    expect(await linesOf('txn-later')).toHaveLength(1);
  });
});
