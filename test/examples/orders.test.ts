import { expect, test } from '@jest/globals';
import { deliver, fixtures } from 'payment-webhooks/testing';
import { until } from '../setup/waiting.js';
import { onPostgres, twice, withPostgres } from './on-postgres.js';

const privateKey = 'pri_orders';

withPostgres('the example orders', () => {
  const example = onPostgres(privateKey, {
    load: () => import('../../examples/orders/app.js'),
    prepare: twice,
    end: ({ hooks }) => hooks.close(),
  });

  const order = (id: string) =>
    example().pool.query("INSERT INTO shop_order (id, amount, currency) VALUES ($1, '149.90', 'EUR')", [id]);
  const rowOf = async (id: string) =>
    (await example().pool.query('SELECT status, payment, refund FROM shop_order WHERE id = $1', [id]))
      .rows[0];
  const payment = (order_id: string, more: object = {}) =>
    fixtures.transactionPaid({
      payload: {
        transaction: { id: `txn-${order_id}`, order_id, amount: '149.90', currency: 'EUR', ...more },
      },
    });
  const refund = (order_id: string) =>
    fixtures.event('refund.succeeded', { refund: { id: `refund-${order_id}`, order_id } });
  const send = (event: object) => deliver(example().app, event as never, { privateKey });
  const later = { status: 503, headers: { 'retry-after': '2' }, body: { code: 'RETRY_LATER' } };
  const processed = { status: 200, body: { outcome: 'processed' } };

  test('asks for a retry while the order is not there, and then books the payment once', async () => {
    const event = payment('early');
    expect(await send(event)).toMatchObject(later);
    await order('early');
    expect(await send(event)).toMatchObject(processed);
    expect(await send(event)).toMatchObject({ body: { outcome: 'duplicate' } });
    expect(await rowOf('early')).toEqual({ status: 'paid', payment: 'txn-early', refund: null });
    expect((await example().hooks.deadLetters.count()).total).toBe(0);
  });

  test('books the payment by itself when the service does not retry', async () => {
    expect(await send(payment('alone'))).toMatchObject(later);
    await order('alone');
    await until(async () => (await rowOf('alone'))?.status === 'paid', 60_000);
  }, 90_000);

  test('holds a refund back that comes before its payment', async () => {
    await order('back');
    const [paid, back] = [payment('back'), refund('back')];
    expect(await send(back)).toMatchObject(later);
    expect(await send(paid)).toMatchObject(processed);
    expect(await send(back)).toMatchObject(processed);
    // The payment, rendered again by the service under another id, does not undo the refund.
    expect(await send(payment('back'))).toMatchObject(processed);
    expect(await rowOf('back')).toEqual({ status: 'refunded', payment: 'txn-back', refund: 'refund-back' });
  });

  test.each<[string, object]>([
    ['another amount', { amount: '0.01' }],
    ['another currency', { currency: 'USD' }],
  ])('keeps a payment of %s for a person, and leaves the order alone', async (_, more) => {
    const id = `wrong-${Object.keys(more)}`;
    await order(id);
    const event = payment(id, more);
    expect(await send(event)).toMatchObject({ status: 200, body: { outcome: 'kept' } });
    expect(await rowOf(id)).toMatchObject({ status: 'pending' });
    const { letters } = await example().hooks.deadLetters.page({ eventId: event.id });
    expect(letters).toMatchObject([{ reason: 'rejected' }]);
  });
});
