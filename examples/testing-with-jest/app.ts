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
      'transaction.paid': (event) => orders.markPaid(event.payload.transaction.order_id),
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
