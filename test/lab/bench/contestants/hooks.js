// A receiver of the build under test. Silent, since no other contestant logs.
import { door } from './door.js';

const { receiver } = await door('index');

export function hooks(options) {
  return receiver({ logger: false, handlers: { 'transaction.paid': async () => {} }, ...options });
}
