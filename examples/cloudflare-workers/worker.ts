// A Worker that takes deliveries at /hooks.
import { receiver } from 'payment-webhooks';

const hooks = receiver({
  handlers: {
    'transaction.paid': async (event, { log }) => {
      log.info({}, `${event.payload.transaction.order_id} is paid`);
    },
  },
});

interface Context {
  waitUntil(promise: Promise<unknown>): void;
}

export default {
  async fetch(request: Request, env: unknown, context: Context): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (request.method !== 'POST' || pathname !== '/hooks') return new Response('Not found', { status: 404 });
    // With the context, so that a handler which is late is not ended with its request.
    return hooks.fetch(request, env, context);
  },
};
