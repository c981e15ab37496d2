import { describe, expect, test } from '@jest/globals';
import { fixtures, signedDelivery } from 'payment-webhooks/testing';
import { deliverQuietly } from '../setup/deliver-quietly.js';

const privateKey = 'pri_bare';
process.env.SERVICE_PRIVATE_KEY = privateKey;
const paidOrders = import('../../examples/without-express/hooks.js').then((module) => module.paidOrders);

function paymentFor(order_id: string) {
  return fixtures.transactionPaid({ payload: { transaction: { order_id } } });
}

describe('the server of node:http', () => {
  test.each(['/hooks', '/hooks/by-hand'])('takes deliveries at %s', async (path) => {
    const { app } = await import('../../examples/without-express/app.js');
    const event = paymentFor(path);
    expect(await deliverQuietly(app, event, { privateKey, path })).toMatchObject({
      status: 200,
      headers: { 'content-type': 'application/json; charset=utf-8' },
      body: { outcome: 'processed' },
    });
    expect([...(await paidOrders)]).toContain(path);
    expect((await deliverQuietly(app, event, { privateKey: 'pri_other', path })).status).toBe(401);
  });

  test('answers 404 elsewhere', async () => {
    const { app } = await import('../../examples/without-express/app.js');
    expect((await deliverQuietly(app, paymentFor('x'), { privateKey, path: '/' })).status).toBe(404);
  });
});

describe('the fetch handler', () => {
  test('takes a Request and returns a Response', async () => {
    const { POST, default: server } = await import('../../examples/without-express/fetch.js');
    expect(server.fetch).toBe(POST);
    const { body, headers } = signedDelivery(paymentFor('order-fetch'), { privateKey });
    const ask = (text: string) =>
      POST(new Request('http://host/hooks', { method: 'POST', headers, body: text }));
    const response = await ask(body);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(await response.json()).toEqual({ received: true, outcome: 'processed' });
    expect([...(await paidOrders)]).toContain('order-fetch');
    expect((await ask(`${body} `)).status).toBe(401);
  });
});
