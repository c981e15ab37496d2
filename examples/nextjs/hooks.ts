// The receiver of the app. Its store outlives a reload of this file by `next dev`.
import { memoryStore, receiver } from 'payment-webhooks';
import { orders } from './orders';

const kept = globalThis as { store?: ReturnType<typeof memoryStore> };
kept.store ??= memoryStore();

export const hooks = receiver({
  store: kept.store,
  handlers: {
    'transaction.paid': async (event) => {
      await orders.markPaid(event.payload.transaction.order_id);
    },
  },
});
