// Fastify: the receiver takes the request in a hook, before a parser reads its body.
import { fastify } from 'fastify';
import { receiver } from 'payment-webhooks';
import { orders } from './orders.js';

export const app = fastify({ logger: true });

const hooks = receiver({
  logger: app.log,
  handlers: {
    'transaction.paid': async (event) => {
      await orders.markPaid(event.payload.transaction.order_id);
    },
  },
});

app.post(
  '/hooks',
  {
    onRequest: (request, reply) => {
      // From here on the receiver sends the response, and Fastify runs nothing else.
      reply.hijack();
      hooks(request.raw, reply.raw);
    },
  },
  () => {},
);

app.addHook('preClose', () => hooks.close());

if (process.argv[1] === import.meta.filename) {
  const port = Number(process.env.PORT ?? 3000);
  await app.listen({ port });
  console.log(`Listening on http://localhost:${port}/hooks`);
}
