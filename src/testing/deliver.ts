// Delivers one signed event to an app over real HTTP, for tests without supertest.
import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { ConfigurationError } from '../errors.js';
import { show } from '../misuse.js';
import { checkOptions, type SignedDelivery, type SigningOptions, signedDelivery } from './sign-delivery.js';

/** An Express app, a `receiver()`, any other request listener, or a server of `node:http`. */
export type DeliverableApp = ((request: IncomingMessage, response: ServerResponse) => unknown) | Server;

export interface DeliverOptions extends SigningOptions {
  /** Where the receiver is mounted. @default '/hooks' */
  readonly path?: string | undefined;
}

export interface DeliveryAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  /** Parsed when it is JSON, else text. */
  body: unknown;
}

/**
 * Signs the event, posts it to the app, and closes what it opened.
 *
 * @param event an event, or the text of a body exactly as it is to be signed and sent
 * @throws {ConfigurationError} for an invalid app or path, and as `signedDelivery`
 * @throws {Error} of node:http when the app cuts the connection
 * @example
 * const answer = await deliver(app, fixtures.transactionPaid(), { privateKey });
 * assert.deepEqual(answer.body, { received: true, outcome: 'processed' });
 */
export async function deliver(
  app: DeliverableApp,
  event: object | string,
  options: DeliverOptions,
): Promise<DeliveryAnswer> {
  checkOptions(options, ['privateKey', 'signatureHeader', 'path']);
  const { path = '/hooks', ...signing } = options;
  if (typeof path !== 'string' || !/^\/[!-~]*$/.test(path)) {
    throw new ConfigurationError(`path is ${show(path)}. Pass a path like "/hooks".`);
  }
  const delivery = signedDelivery(event, signing);
  const server = createServer(listenerOf(app)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    return await post((server.address() as AddressInfo).port, path, delivery);
  } finally {
    await new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
  }
}

/** A server gets a 'request' event, so it does not have to listen, and deliveries may run concurrently. */
function listenerOf(app: DeliverableApp): (request: IncomingMessage, response: ServerResponse) => unknown {
  if (typeof app === 'function') return app;
  if (!(app instanceof Server)) {
    throw new ConfigurationError(
      `app is ${show(app)}. Pass an Express app, a function (request, response), or a server of node:http.`,
    );
  }
  if (app.listenerCount('request') === 0) {
    throw new ConfigurationError(
      'app is a server without a request listener. Pass a request listener to createServer().',
    );
  }
  return (incoming, response) => app.emit('request', incoming, response);
}

async function post(port: number, path: string, delivery: SignedDelivery): Promise<DeliveryAnswer> {
  const { rawBody, headers } = delivery;
  const outgoing = request({ host: '127.0.0.1', port, path, method: 'POST', headers, agent: false });
  // After the answer has begun, nothing else listens for errors.
  outgoing.on('error', () => {}).end(rawBody);
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  const body = await text(response);
  const json = isJson(response.headers['content-type']);
  // Node sets the status on every response.
  return { status: response.statusCode ?? 0, headers: response.headers, body: json ? parsed(body) : body };
}

function isJson(contentType = ''): boolean {
  return /^application\/(?:[\w.-]+\+)?json(?:\s*;|\s*$)/i.test(contentType);
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}
