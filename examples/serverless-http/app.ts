// An Express app as a function: serverless-http makes a request of the event, and an answer of the response.
import express from 'express';
import { receiver } from 'payment-webhooks';
import serverless from 'serverless-http';

export const paidOrders = new Set<string>();

export const app = express();

// Above express.json(), which would keep no bytes to check the signature on.
app.post(
  '/hooks',
  receiver({
    handlers: {
      'transaction.paid': async (event) => {
        paidOrders.add(event.payload.transaction.order_id);
      },
    },
  }),
);

app.use(express.json());
app.get('/orders/:id', (req, res) => {
  res.json({ paid: paidOrders.has(req.params.id) });
});

export const handler = serverless(app);
