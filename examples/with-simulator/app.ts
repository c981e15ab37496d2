// The app under test: an ordinary receiver, with nothing in it for the sake of its tests.
import express from 'express';
import { receiver } from 'payment-webhooks';
import { orders } from './orders.js';

export const app = express();

app.post(
  '/hooks',
  receiver({
    logger: process.env.NODE_ENV === 'test' ? false : undefined,
    handlers: {
      'transaction.paid': async ({ payload: { transaction } }) => {
        await orders.markPaid(transaction.order_id, transaction.amount);
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
