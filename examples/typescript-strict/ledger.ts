// Turns events into lines of a ledger. An event without a case does not compile.
import type { Event } from './events.js';

export interface LedgerLine {
  readonly orderId: string;
  /** Decimal text: amounts are never floats. */
  readonly change: string;
  readonly note: string;
}

export function lineOf(event: Event): LedgerLine {
  switch (event.event_name) {
    case 'transaction.paid': {
      const { transaction, payment_method } = event.payload;
      const { order_id, amount, currency } = transaction;
      return { orderId: order_id, change: `+${amount} ${currency}`, note: payment_method?.name ?? '' };
    }
    case 'transaction.failed':
      return { orderId: event.payload.transaction.order_id, change: '0', note: 'payment failed' };
    case 'refund.succeeded': {
      const { amount, currency, id } = event.payload.refund;
      return { orderId: event.payload.transaction.order_id, change: `-${amount} ${currency}`, note: id };
    }
    default:
      return unhandled(event);
  }
}

function unhandled(event: never): never {
  throw new Error(`No line for ${JSON.stringify(event)}`);
}
