import './test-key.js';
import { beforeEach, expect, jest, test } from '@jest/globals';
import { badDeliveries, fixtures, signed } from 'payment-webhooks/testing';
import request from 'supertest';
import { app } from './app.js';
import { orders } from './orders.js';

const privateKey = 'pri_test';

beforeEach(() => orders.paid.clear());

test('a paid transaction marks its order as paid', async () => {
  const event = fixtures.transactionPaid({ payload: { transaction: { order_id: 'order-7' } } });
  await request(app)
    .post('/hooks')
    .use(signed(event, { privateKey }))
    .expect(200, { received: true, outcome: 'processed' });
  expect([...orders.paid]).toEqual(['order-7']);
});

test('the same event again changes nothing', async () => {
  const event = fixtures.transactionPaid();
  await request(app).post('/hooks').use(signed(event, { privateKey })).expect(200);
  orders.paid.clear();
  await request(app)
    .post('/hooks')
    .use(signed(event, { privateKey }))
    .expect(200, { received: true, outcome: 'duplicate' });
  expect(orders.paid.size).toBe(0);
});

test('while the database is down the service is told to retry, and the retry works', async () => {
  const event = fixtures.transactionPaid();
  const outage = jest.spyOn(orders, 'markPaid').mockRejectedValueOnce(new Error('connection refused'));
  await request(app).post('/hooks').use(signed(event, { privateKey })).expect(500);
  await request(app).post('/hooks').use(signed(event, { privateKey })).expect(200);
  expect(outage).toHaveBeenCalledTimes(2);
  expect(orders.paid.size).toBe(1);
});

test.each(badDeliveries(fixtures.transactionPaid(), { privateKey }))(
  'refuses $name with $status',
  async ({ body, headers, status }) => {
    await request(app).post('/hooks').set(headers).send(body).expect(status);
    expect(orders.paid.size).toBe(0);
  },
);
