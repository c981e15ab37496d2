// What a server hands over: refused when it is of another kind, and asked whether the sender is still there.
import type { ServerResponse } from 'node:http';
import { ConfigurationError } from '../errors.js';

/** @throws {ConfigurationError} for what is not the response of `node:http` */
export function checkResponse(res: ServerResponse): void {
  if (typeof res?.writeHead === 'function') return;
  throw new ConfigurationError(
    'The receiver was not given the request and response of Node. In Fastify use an onRequest hook: call reply.hijack(), ' +
      'and pass request.raw and reply.raw; in Koa set ctx.respond to false and pass ctx.req and ctx.res; where there is a ' +
      'Request of fetch call hooks.fetch(request); or call receive() and send its answer.',
  );
}

/**
 * Throws at once, and not in a promise: Express 4 would leave that unhandled, and the process would end.
 *
 * @throws {ConfigurationError} for what is not the Request of fetch
 */
export function checkRequest(request: Request): void {
  if (typeof request?.headers?.get === 'function') return;
  throw new ConfigurationError(
    'hooks.fetch() was not given the Request of fetch. In Hono pass c.req.raw; in Express mount the receiver itself: ' +
      "app.post('/hooks', hooks). Where there is only a body and headers, call receive() and send its answer.",
  );
}

/** Whether the sender has left, as far as the server tells. */
export function hasLeft({ signal }: Request): boolean {
  return signal?.aborted ?? false;
}
