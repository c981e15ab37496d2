// A webhook endpoint: every paid transaction marks its order as paid, once.
import express from 'express';
import { receiver } from 'payment-webhooks';
import { orders } from './orders.js';

export const app = express();

// The private key comes from the environment variable SERVICE_PRIVATE_KEY.
app.post(
  '/hooks',
  receiver({
    handlers: {
      'transaction.paid': async (event, { log }) => {
        const { order_id, amount, currency } = event.payload.transaction;
        await orders.markPaid(order_id, amount, currency);
        log.info({ order_id }, 'order paid');
      },
    },
  }),
);

if (process.argv[1] === import.meta.filename) {
  const port = Number(process.env.PORT ?? 3000);
  app.listen(port, (error) => {
    if (error) throw error;
    console.log(`Listening on http://localhost:${port}/hooks`);
  });
}
