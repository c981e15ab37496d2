// A user's strict TypeScript, read by the oldest compiler that can read the types.
import express from 'express';
import {
  type EventOf,
  type Handler,
  type IdempotencyStore,
  isKnown,
  memoryStore,
  receiver,
  SignatureError,
  type TransactionPaid,
  type WebhookEvent,
} from 'payment-webhooks';
import { deliver, fixtures } from 'payment-webhooks/testing';
import { constructEvent } from 'payment-webhooks/verify';
import { z } from 'zod';

const events = {
  'refund.succeeded': z.looseObject({ refund: z.looseObject({ id: z.string() }) }),
};
const store: IdempotencyStore = memoryStore({ retention: '7d' });
const ship: Handler<'transaction.paid'> = async (event, { signal, attempt }) => {
  const orderId: string = event.payload.transaction.order_id;
  console.log(orderId, signal.aborted, attempt);
};

const hooks = receiver({
  privateKey: ({ headers }) => `pri_${headers.host}`,
  events,
  store,
  handlers: {
    'transaction.paid': ship,
    'refund.succeeded': (event) => console.log(event.payload.refund.id.length),
    'transaction.*': (event) => console.log(event.payload.customer?.name?.length),
  },
});
hooks.on('*', (event) => {
  if (event.event_name === 'refund.succeeded') console.log(event.payload.refund.id);
  else console.log(event.payload.payment_method?.card?.last_digits);
});
// @ts-expect-error: nobody declared an event of this name
hooks.on('refund.failed', () => {});
// @ts-expect-error: the customer may be null or absent
hooks.on('transaction.paid', (event) => event.payload.customer.name);
hooks.on('transaction.paid', (event) => event.payload.transaction.order_id.length);
hooks.onUnknown((event) => console.log(event.payload.anything));

express().post('/hooks', hooks);
// @ts-expect-error: receiver is not called
express().post('/hooks', receiver);

export function orderOf(event: EventOf<'transaction.paid'> | EventOf<'refund.succeeded', typeof events>) {
  return event.event_name === 'transaction.paid' ? event.payload.transaction.order_id : undefined;
}

export function read(rawBody: Uint8Array, signature: unknown): WebhookEvent | undefined {
  try {
    const event = constructEvent({ rawBody, signature, privateKey: 'pri_x' });
    return isKnown(event) ? event : undefined;
  } catch (error) {
    if (SignatureError.is(error))
      console.log(error.code satisfies `SIGNATURE_${string}` | 'KEY_MODE_MISMATCH');
    return undefined;
  }
}

export async function check(): Promise<unknown> {
  const event: TransactionPaid = fixtures.transactionPaid({ sandbox: true });
  const { status, body } = await deliver(hooks, event, { privateKey: 'pri_x' });
  return status === 200 && body;
}
