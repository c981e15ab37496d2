// A user's suite in CommonJS, for a Jest without any configuration.
const express = require('express');
const { receiver, WebhookError } = require('payment-webhooks');
const { badDeliveries, deliver, fixtures, signedDelivery } = require('payment-webhooks/testing');

const privateKey = 'pri_jest';
const paid = [];
const app = express();
app.post(
  '/hooks',
  receiver({
    privateKey,
    logger: false,
    handlers: { 'transaction.paid': async (event) => paid.push(event.payload.transaction.order_id) },
  }),
);

test('a paid order is paid', async () => {
  const answer = await deliver(app, fixtures.transactionPaid(), { privateKey });
  expect(answer.body).toEqual({ received: true, outcome: 'processed' });
  expect(paid).toEqual(['order-1042']);
});

test('a wrong option is refused', () => {
  expect(() => receiver({ privateKey, limits: 1 })).toThrow('Did you mean "limit"?');
  expect.assertions(1);
});

test('errors are known by their base', () => {
  expect(WebhookError.is(new Error('no'))).toBe(false);
});

test('there are deliveries that nobody may see', () => {
  expect(badDeliveries(fixtures.transactionPaid(), { privateKey }).length).toBeGreaterThan(10);
  expect(signedDelivery(fixtures.transactionPaid(), { privateKey }).headers['x-service-signature']).toMatch(
    /^[0-9a-f]{64}$/,
  );
});
