import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { type FastifyInstance, fastify } from 'fastify';
import { receiver } from 'payment-webhooks';
import { captureLog } from '../setup/captured-log.js';
import { delivery, KEY } from '../setup/delivery.js';
import { send } from '../setup/endpoint.js';
import { gate, until } from '../setup/waiting.js';

let app: FastifyInstance | undefined;
afterEach(() => app?.close());

async function portOf(server: FastifyInstance): Promise<number> {
  app = server;
  await server.listen({ port: 0 });
  return (server.server.address() as AddressInfo).port;
}

/** A receiver whose handler does what it is told. */
function hooksWith(handler: () => Promise<void>) {
  const log = captureLog();
  const hooks = receiver({ privateKey: KEY, logger: log.logger, handlers: { 'transaction.paid': handler } });
  return { hooks, log };
}

function mounted(handler: () => Promise<void>): FastifyInstance {
  const { hooks } = hooksWith(handler);
  const server = fastify();
  server.post(
    '/hooks',
    {
      onRequest: (request, reply) => {
        reply.hijack();
        hooks(request.raw, reply.raw);
      },
    },
    () => {},
  );
  server.addHook('preClose', () => hooks.close());
  return server;
}

describe('mounted as in the example', () => {
  test('it does not mind what the Content-Type is', async () => {
    const port = await portOf(mounted(async () => {}));
    for (const type of ['application/json', 'text/plain', 'nonsense']) {
      const { body, headers } = delivery();
      const sent = { body, headers: { ...headers, 'content-type': type } };
      expect(await send(port, sent)).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    }
  });

  test('app.close() waits for a delivery that is being handled', async () => {
    const [started, work] = [gate(), gate()];
    const port = await portOf(
      mounted(() => {
        started.open();
        return work.opened;
      }),
    );
    const reply = send(port, delivery());
    await started.opened;
    let isClosed = false;
    const closed = app?.close().then(() => {
      isClosed = true;
    });
    await expect(send(port, delivery())).resolves.toMatchObject({ status: 503 });
    expect(isClosed).toBe(false);
    work.open();
    expect(await reply).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    await closed;
  });
});

describe('what docs/frameworks.md warns of', () => {
  test('in a route the parser of Fastify has read the body, and the answer says so', async () => {
    const { hooks, log } = hooksWith(async () => {});
    const server = fastify();
    server.post('/hooks', (request, reply) => {
      reply.hijack();
      hooks(request.raw, reply.raw);
    });
    expect(await send(await portOf(server), delivery())).toMatchObject({
      status: 500,
      body: { code: 'BODY_CONSUMED' },
    });
    expect(log.lines).toContainEqual(
      expect.objectContaining({ hint: expect.stringContaining('In Fastify call it in an onRequest hook.') }),
    );
  });

  test('without hijack() Fastify answers for a handler that fails', async () => {
    const { hooks, log } = hooksWith(async () => {
      throw new Error('the database is down');
    });
    const server = fastify();
    server.removeAllContentTypeParsers();
    server.addContentTypeParser('*', (_request, _payload, done) => done(null));
    server.post('/hooks', async (request, reply) => {
      hooks(request.raw, reply.raw);
    });
    expect(await send(await portOf(server), delivery())).toMatchObject({ status: 200 });
    await until(() => log.text.join('').includes('In Fastify call reply.hijack() before the receiver'));
  });

  test('what receive() returns is a body for Fastify, and its status is lost', async () => {
    const { hooks } = hooksWith(async () => {});
    const server = fastify();
    server.post('/hooks', ({ body, headers }) => hooks.receive({ rawBody: JSON.stringify(body), headers }));
    const forged = delivery(undefined, 'pri_another');
    expect(await send(await portOf(server), forged)).toMatchObject({ status: 200, body: { status: 401 } });
  });

  test('the receiver itself is not a handler of Fastify: the error says what is', async () => {
    const { hooks } = hooksWith(async () => {});
    const server = fastify();
    // @ts-expect-error: Fastify gives its own request and reply
    server.post('/hooks', hooks);
    expect(await send(await portOf(server), delivery())).toMatchObject({
      status: 500,
      body: { message: expect.stringContaining('In Fastify use an onRequest hook') },
    });
  });
});
