// What the app does with its events, wherever the receiver stands.
import type { ReceiverOptions } from 'payment-webhooks';

export const paidOrders = new Set<string>();

export const handlers: ReceiverOptions['handlers'] = {
  'transaction.paid': async (event) => {
    paidOrders.add(event.payload.transaction.order_id);
  },
};
