import { expect, test } from '@jest/globals';
import { deliver as deliverTo, fixtures } from 'payment-webhooks/testing';
import { onPostgres, twice, withPostgres } from './on-postgres.js';

const privateKey = 'pri_idempotent';

function paymentOf(order_id: string, amount = '149.90') {
  return fixtures.transactionPaid({ payload: { transaction: { order_id, amount } } });
}

withPostgres('the example idempotent-postgres', () => {
  const example = onPostgres(privateKey, {
    load: () => import('../../examples/idempotent-postgres/app.js'),
    prepare: twice,
  });
  const deliver = (event: object) => deliverTo(example().app, event, { privateKey });
  const rows = async (sql: string, order: string) => (await example().pool.query(sql, [order])).rows;
  const ledgerOf = (order: string) => rows('SELECT amount, currency FROM ledger WHERE order_id = $1', order);
  const orderOf = (order: string) => rows('SELECT status FROM orders WHERE id = $1', order);

  test('writes one order and one line for an event, however often and however fast it comes', async () => {
    const event = paymentOf('order-1');
    const answers = await Promise.all(Array.from({ length: 15 }, () => deliver(event)));
    expect(new Set(answers.map(({ status }) => status))).not.toContain(500);
    const later = await deliver(event);
    expect(later).toMatchObject({ status: 200, body: { outcome: 'duplicate' } });
    expect(await ledgerOf('order-1')).toEqual([{ amount: '149.90', currency: 'EUR' }]);
    expect(await orderOf('order-1')).toEqual([{ status: 'paid' }]);
  });

  test('writes nothing of an event of which it cannot write all, until it can', async () => {
    const { pool } = example();
    const event = paymentOf('order-2', '10.00');
    await pool.query("ALTER TABLE ledger ADD CONSTRAINT closed CHECK (order_id <> 'order-2')");
    expect(await deliver(event)).toMatchObject({
      status: 500,
      body: { code: 'HANDLER_FAILED' },
    });
    expect([await orderOf('order-2'), await ledgerOf('order-2')]).toEqual([[], []]);
    await pool.query('ALTER TABLE ledger DROP CONSTRAINT closed');
    expect(await deliver(event)).toMatchObject({ status: 200 });
    expect([await orderOf('order-2'), await ledgerOf('order-2')]).toMatchObject([
      [{ status: 'paid' }],
      [{ amount: '10.00' }],
    ]);
  });
});
