// What a user's compiler knows of the testing door. Compiled by `npm run typecheck`, never run.
import express from 'express';
import express4 from 'express4';
import { memoryDeadLetters, memoryStore, receiver, type TransactionPaid } from 'payment-webhooks';
import {
  badDeliveries,
  deadLetterContract,
  deliver,
  fixtures,
  sign,
  signed,
  signedDelivery,
} from 'payment-webhooks/testing';
import request from 'supertest';

const privateKey = 'pri_x';

// Fixtures are events, and overrides are as deep as the event.

export const event: TransactionPaid = fixtures.transactionPaid();
fixtures.transactionPaid({
  sandbox: true,
  payload: { transaction: { order_id: 'order-7' }, metadata: { 'cart.id': '1' } },
});
fixtures.transactionPaid({ payload: { customer: { email: null } } });
// @ts-expect-error: the amount is text, so that no float rounds it
fixtures.transactionPaid({ payload: { transaction: { amount: 149.9 } } });
// @ts-expect-error: no such field
fixtures.transactionPaid({ payload: { transaction: { orderId: 'order-7' } } });
fixtures.transactionPaid({ payload: { customer: null, payment_method: { card: null } } });
// @ts-expect-error: what a merchant acts on may not be null
fixtures.transactionPaid({ payload: { transaction: { id: null } } });

const refund = fixtures.event('refund.succeeded', { refund: { id: 'refund-1' } });
export const name: 'refund.succeeded' = refund.event_name;
export const refundId: string = refund.payload.refund.id;
// @ts-expect-error: the payload is missing
fixtures.event('refund.succeeded');
// @ts-expect-error: the override does not fit the payload
fixtures.event('refund.succeeded', { refund: { id: 'refund-1' } }, { payload: { refund: { id: 1 } } });

// Deliveries: text for HTTP clients, bytes for receive().

const { body, headers, rawBody } = signedDelivery(event, { privateKey });
export const text: string = body;
export const byName: Record<string, string> = headers;
receiver({ privateKey }).receive({ rawBody, headers });
fetch('http://localhost/hooks', { method: 'POST', headers, body });
signedDelivery('{"as":"it is"}', { privateKey, signatureHeader: 'X-Pay-Signature' });
sign(rawBody, Buffer.from('key')).padEnd(64);
// @ts-expect-error: the key is missing
signedDelivery(event);
// @ts-expect-error: the key is missing
signedDelivery(event, {});
// @ts-expect-error: a slip in the option
signedDelivery(event, { privateKey, signatureheader: 'X-Pay-Signature' });
// @ts-expect-error: a number is no event
signedDelivery(5, { privateKey });

// A plugin for supertest, on either Express, in a chain.

request(express()).post('/hooks').use(signed(event, { privateKey })).expect(200);
request(express4()).post('/hooks').use(signed(event, { privateKey })).set('x-request-id', '1').expect(200);

// Without supertest: any app, listener or server.

export async function answers(): Promise<number[]> {
  const one = await deliver(express(), event, { privateKey });
  const two = await deliver(express4(), event, { privateKey, path: '/hooks/service' });
  const three = await deliver(receiver({ privateKey }), event, { privateKey });
  // @ts-expect-error: the body may be anything, so it is checked before it is used
  one.body.received;
  return [one.status, two.status, three.status];
}
// @ts-expect-error: the key is missing
deliver(express(), event);

deadLetterContract({ create: ({ retention }) => memoryDeadLetters({ retention }) });
// @ts-expect-error: a store of event ids keeps no letters
deadLetterContract({ create: () => memoryStore() });

for (const bad of badDeliveries(event, { privateKey })) {
  const { name, body, headers, status } = bad;
  console.log(name.length, Buffer.byteLength(body), headers['content-type'], status.toFixed());
}
