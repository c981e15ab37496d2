// test/consumers/serverless.consumer.ts runs both services by their README; here is the app alone.
import { expect, test } from '@jest/globals';
import { fixtures } from 'payment-webhooks/testing';
import request from 'supertest';
import { deliverQuietly } from '../setup/deliver-quietly.js';

const privateKey = 'pri_sim_dev';
process.env.SERVICE_PRIVATE_KEY = privateKey;

test('its app processes a delivery once, and refuses a forged one', async () => {
  const { app } = await import('../../examples/docker-compose/app.js');
  const event = fixtures.transactionPaid({ payload: { transaction: { order_id: 'order-7' } } });
  const options = { privateKey, path: '/hooks' };
  const deliver = (more = {}) => deliverQuietly(app, event, { ...options, ...more });
  expect(await deliver({ privateKey: 'pri_another' })).toMatchObject({ status: 401 });
  expect((await request(app).get('/orders/order-7')).body).toEqual({ paid: false });
  expect(await deliver()).toMatchObject({ status: 200, body: { outcome: 'processed' } });
  expect(await deliver()).toMatchObject({ status: 200, body: { outcome: 'duplicate' } });
  expect((await request(app).get('/orders/order-7')).body).toEqual({ paid: true });
});
