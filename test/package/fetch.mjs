// One file for every server that speaks fetch: Bun, `deno serve` and Cloudflare Workers.
import { AsyncLocalStorage } from 'node:async_hooks';
import { receiver } from 'payment-webhooks';

const failed = new Set();
const storage = new AsyncLocalStorage();

const work = {
  /** Fails the first time. */
  fail({ id }) {
    if (failed.has(id)) return;
    failed.add(id);
    throw new Error('the first attempt');
  },
  /** Takes longer than `timeout`. */
  late: () => new Promise((resolve) => setTimeout(resolve, 1_000)),
  /** Aborts with the timeout, in a timer of this delivery. */
  signal: (event, { signal }) =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        console.log(`aborted ${event.id} in ${storage.getStore()}`);
        reject(signal.reason);
      });
    }),
};

const hooks = receiver({
  privateKey: 'pri_of_all_runtimes',
  limit: '16kb',
  bodyTimeout: '1s',
  timeout: '500ms',
  maxInFlight: 8,
  observer: { around: ({ headers }, run) => storage.run(headers['x-request-id'], run) },
  handlers: {
    async 'transaction.paid'(event, context) {
      console.log(`handled ${event.id}`);
      await work[event.payload.transaction.order_id]?.(event, context);
    },
  },
});

export default { fetch: hooks.fetch };
