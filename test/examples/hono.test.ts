import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Hono } from 'hono';
import { receiver } from 'payment-webhooks';
import { captureLog } from '../setup/captured-log.js';
import { delivery, KEY } from '../setup/delivery.js';
import { send } from '../setup/endpoint.js';

const log = captureLog();
const hooks = receiver({
  privateKey: KEY,
  logger: log.logger,
  handlers: { 'transaction.paid': async () => {} },
});

describe('what docs/frameworks.md warns of', () => {
  let server: Server;

  async function serving(app: Hono): Promise<number> {
    server = serve({ fetch: app.fetch, port: 0 }) as Server;
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }

  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  test('a middleware that reads the body leaves nothing to check, and the answer says so', async () => {
    const app = new Hono();
    app.use(async (c, next) => {
      await c.req.json();
      await next();
    });
    app.post('/hooks', (c) => hooks.fetch(c.req.raw));
    expect(await send(await serving(app), delivery())).toMatchObject({
      status: 500,
      body: { code: 'BODY_CONSUMED' },
    });
  });

  test('hooks.fetch itself is not a handler of Hono: the compiler and the error say what is', async () => {
    const app = new Hono();
    const thrown: Error[] = [];
    app.onError((error, c) => {
      thrown.push(error);
      return c.json({}, 500);
    });
    // @ts-expect-error: Hono gives its context, and not a Request
    app.post('/hooks', hooks.fetch);
    expect(await send(await serving(app), delivery())).toMatchObject({ status: 500 });
    expect(thrown).toMatchObject([{ message: expect.stringContaining('In Hono pass c.req.raw') }]);
  });

  test('on Node there is no context of Workers', async () => {
    const app = new Hono();
    app.onError(({ message }, c) => c.json({ message }, 500));
    app.post('/hooks', (c) => hooks.fetch(c.req.raw, c.env, c.executionCtx));
    expect(await send(await serving(app), delivery())).toMatchObject({
      status: 500,
      body: { message: 'This context has no ExecutionContext' },
    });
  });
});

test('on Workers the context of Hono keeps the work going', async () => {
  const app = new Hono();
  app.post('/hooks', (c) => hooks.fetch(c.req.raw, c.env, c.executionCtx));
  const { body, headers } = delivery();
  const request = new Request('https://shop.example/hooks', {
    method: 'POST',
    headers,
    body: new Uint8Array(body),
  });
  const kept: Promise<unknown>[] = [];
  const context = {
    waitUntil: (work: Promise<unknown>) => void kept.push(work),
    passThroughOnException() {},
    props: {},
  };
  expect((await app.fetch(request, {}, context)).status).toBe(200);
  expect(kept).toHaveLength(1);
});
