// Handlers of one's own, declared apart from the receiver. Compiled by `npm run typecheck`, never run.
import {
  type EventOf,
  type Handler,
  receiver,
  type TransactionPaid,
  type WebhookEvent,
} from 'payment-webhooks';
import { z } from 'zod';

const events = { 'refund.succeeded': z.looseObject({ refund: z.looseObject({ id: z.string() }) }) };
type Events = typeof events;

export const byName: Handler<'transaction.paid'> = (event) => event.payload.transaction.order_id;
export const byEvent: Handler<TransactionPaid> = (event) => event.payload.transaction.order_id;
export const ofRefund: Handler<EventOf<'refund.succeeded', Events>> = (event) => event.payload.refund.id;
export const ofAny: Handler<WebhookEvent<Events>> = (event) => event.event_name;
export const ofAnyByDefault: Handler = (event) => event.payload.transaction.order_id;

// Named by the event or by its type, it is the same handler.
export const sameOneWay: Handler<TransactionPaid> = byName;
export const sameTheOther: Handler<'transaction.paid'> = byEvent;

receiver({ handlers: { 'transaction.paid': byName, 'transaction.*': byEvent, '*': ofAnyByDefault } });
receiver({ events, handlers: { 'transaction.paid': byName, 'refund.succeeded': ofRefund, '*': ofAny } });
receiver({ events, handlers: { 'transaction.paid': ofAny } });
receiver({ events }).on('transaction.paid', byName).on('refund.succeeded', ofRefund).on('*', ofAny);

// @ts-expect-error: it cannot read what it is given
receiver({ events }).on('transaction.paid', ofRefund);
// @ts-expect-error: the pattern stands for refunds too
receiver({ events }).on('*', byName);
