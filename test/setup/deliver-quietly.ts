// Delivers to an example, and keeps its log out of the output of its test: a receiver prefers the logger of the request.
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type DeliverableApp,
  type DeliverOptions,
  type DeliveryAnswer,
  deliver,
} from 'payment-webhooks/testing';
import { silentLogger } from '../../src/logger.js';

export function deliverQuietly(
  app: DeliverableApp,
  event: object,
  options: DeliverOptions,
): Promise<DeliveryAnswer> {
  const quiet = (request: IncomingMessage, response: ServerResponse) => {
    Object.assign(request, { log: silentLogger });
    return typeof app === 'function' ? app(request, response) : app.emit('request', request, response);
  };
  return deliver(quiet, event, options);
}
