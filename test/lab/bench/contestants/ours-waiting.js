// payment-webhooks with a handler that never ends, and room for all who wait: what does one waiting delivery hold?
import { hooks } from './hooks.js';

export default hooks({
  limit: Number(process.env.BENCH_LIMIT),
  maxInFlight: Number(process.env.BENCH_WAITING),
  timeout: 0,
  handlers: { 'transaction.paid': () => new Promise(() => {}) },
});
