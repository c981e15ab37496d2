// A receiver of the built package. Silent, since no other contestant logs.
import { receiver } from '../../../dist/esm/index.js';

export function hooks(options) {
  return receiver({ logger: false, handlers: { 'transaction.paid': async () => {} }, ...options });
}
