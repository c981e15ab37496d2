// The app that a pipeline starts: the receiver, and the order that an event changes.
import express from 'express';
import { receiver } from 'payment-webhooks';

const paid = new Set<string>();

export const app = express();

app.post(
  '/hooks',
  receiver({
    handlers: {
      'transaction.paid': (event) => {
        paid.add(event.payload.transaction.order_id);
      },
    },
  }),
);

app.get('/orders/:id', (request, response) => {
  response.json({ id: request.params.id, paid: paid.has(request.params.id) });
});

if (process.argv[1] === import.meta.filename) {
  const port = Number(process.env.PORT ?? 3000);
  app.listen(port, (error) => {
    if (error) throw error;
    console.log(`Listening on http://localhost:${port}/hooks`);
  });
}
