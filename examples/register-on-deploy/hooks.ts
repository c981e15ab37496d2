// What the app handles, said once: the app mounts it, and the deploy subscribes to it.
import { receiver } from 'payment-webhooks';

export const PATH = '/hooks';

/** Orders that were paid since the app started. */
export const paid = new Set<string>();

export const hooks = receiver({
  handlers: {
    'transaction.paid': (event) => {
      paid.add(event.payload.transaction.order_id);
    },
  },
});
