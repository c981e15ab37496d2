// Hono on Node: the receiver takes the Request that Hono was given.
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { receiver } from 'payment-webhooks';
import { orders } from './orders.js';

const hooks = receiver({
  handlers: {
    'transaction.paid': async (event) => {
      await orders.markPaid(event.payload.transaction.order_id);
    },
  },
});

export const app = new Hono();

app.post('/hooks', (c) => hooks.fetch(c.req.raw));

if (process.argv[1] === import.meta.filename) {
  const port = Number(process.env.PORT ?? 3000);
  serve({ fetch: app.fetch, port }, () => console.log(`Listening on http://localhost:${port}/hooks`));
}
