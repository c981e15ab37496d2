import './simulator-key.js';
import { afterAll, afterEach, beforeAll, expect, jest, test } from '@jest/globals';
import { type Simulator, startSimulator } from 'payment-webhooks/simulator';
import { app } from './app.js';
import { orders } from './orders.js';

const payment = { payload: { transaction: { order_id: 'order-7', amount: '12.50' } } };

let service: Simulator;

beforeAll(async () => {
  // Its clock moves only when a test advances it, so no test waits for a retry.
  service = await startSimulator({ port: 0 });
  await service.attach(app, '/hooks');
});

afterEach(async () => {
  jest.restoreAllMocks();
  orders.paid.clear();
  await service.reset();
});

afterAll(() => service.close());

test('a payment is delivered, and its order is paid', async () => {
  const [delivery] = await service.trigger('transaction.paid', payment);
  expect(delivery).toMatchObject({ status: 'delivered', attempts: [{ response: { status: 200 } }] });
  expect([...orders.paid]).toEqual([['order-7', '12.50']]);
});

test('while the database is down the service retries three times, and the last retry works', async () => {
  const outage = jest.spyOn(orders, 'markPaid');
  for (let failure = 0; failure < 3; failure += 1) {
    outage.mockRejectedValueOnce(new Error('connection refused'));
  }
  const [delivery] = await service.trigger('transaction.paid', payment);
  expect(delivery).toMatchObject({ status: 'retrying', attempts: [{ will_retry: true }] });

  await service.advance('2s');
  await service.advance('5s');
  expect(service.deliveries({ status: 'retrying' })).toHaveLength(1);
  await service.advance('15s');

  const [delivered] = service.deliveries({ status: 'delivered' });
  expect(delivered?.attempts.map(({ response }) => response?.status)).toEqual([500, 500, 500, 200]);
  expect(outage).toHaveBeenCalledTimes(4);
  expect(orders.paid.get('order-7')).toBe('12.50');
});

test('an event that is delivered twice is handled once', async () => {
  const handled = jest.spyOn(orders, 'markPaid');
  service.faults.once('duplicate');
  await service.trigger('transaction.paid', payment);
  await service.settled();
  const [delivery] = service.deliveries();
  expect(delivery?.attempts.map(({ response }) => response?.status)).toEqual([200, 200]);
  expect(handled).toHaveBeenCalledTimes(1);
});

test('an event that was changed on the way is refused, and its retry is what counts', async () => {
  const handled = jest.spyOn(orders, 'markPaid');
  service.faults.once('tamper_body');
  const [delivery] = await service.trigger('transaction.paid', payment);
  expect(delivery?.attempts).toMatchObject([{ fault: 'tamper_body', response: { status: 401 } }]);
  expect(handled).not.toHaveBeenCalled();

  await service.advance('2s');
  expect(service.deliveries({ status: 'delivered' })).toHaveLength(1);
  expect(handled).toHaveBeenCalledTimes(1);
});
