// One receiver for every platform in this folder.
import { receiver } from 'payment-webhooks';

export const paidOrders = new Set<string>();

export const hooks = receiver({
  handlers: {
    'transaction.paid': async (event) => {
      paidOrders.add(event.payload.transaction.order_id);
    },
  },
});
