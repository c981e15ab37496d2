// A timeout or another middleware answers before health() or the page does: the process lives on, and the first answer stays.
import type { RequestListener } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { RequestHandler } from 'express';
import { memoryDeadLetters, memoryStore, receiver } from 'payment-webhooks';
import { deadLetterPage, health } from 'payment-webhooks/ops';
import { z } from 'zod';
import { fixtures } from '../../src/fixtures/fixture.js';
import { listen, pageWorld, SIGNED_IN, send } from '../dead-letters/page-world.js';
import { captureLog } from '../setup/captured-log.js';
import { KEY } from '../setup/delivery.js';
import { openSocket } from '../setup/raw-socket.js';
import { gate, until } from '../setup/waiting.js';

const ended: unknown[] = [];
const note = (cause: unknown) => void ended.push(cause);
beforeEach(() => void process.on('unhandledRejection', note));
afterEach(() => {
  process.off('unhandledRejection', note);
  expect(ended.splice(0)).toEqual([]);
});

/** Answers 503 as a timeout would, while the handler is at work. */
const timingOut =
  (handler: RequestListener): RequestListener =>
  (req, res) => {
    handler(req, res);
    if (req.headers['x-slow']) res.writeHead(503).end('too slow');
  };

const SLOW = { headers: { ...SIGNED_IN, 'x-slow': '1' } };

describe('health() that was too slow', () => {
  test.each(['GET', 'HEAD'])('leaves %s to the answer that was given', async (method) => {
    const store = memoryStore();
    const reached = gate();
    const hooks = receiver({
      privateKey: KEY,
      logger: false,
      store: Object.assign(store, { ping: () => reached.opened }),
    });
    const port = await listen(timingOut(health(hooks, { cache: 1 })));
    const first = await send(port, '/healthz', { ...SLOW, method });
    expect(first.status).toBe(503);
    reached.open();
    expect((await send(port, '/healthz')).status).toBe(200);
  });
});

describe('a page that was too slow', () => {
  test.each([
    ['GET', '/'],
    ['GET', '/letters'],
    ['PUT', '/letters'],
    ['GET', '/letters/none'],
    ['GET', '/nothing'],
    ['POST', '/discard'],
    ['POST', '/replay'],
  ])('leaves %s %s to the answer that was given', async (method, path) => {
    const reached = gate();
    const log = captureLog();
    const hooks = receiver({ privateKey: KEY, logger: log.logger, deadLetters: memoryDeadLetters() });
    const authorize = async () => {
      await reached.opened;
      return 'ada';
    };
    const port = await listen(timingOut(deadLetterPage(hooks, { authorize })));
    const body =
      method === 'POST' ? { event: '*', ...(path === '/discard' && { because: 'test' }) } : undefined;
    const first = await send(port, path, { ...SLOW, method, ...(body && { body }) });
    expect([first.status, first.text]).toEqual([503, 'too slow']);
    reached.open();
    expect((await send(port, '/letters')).status).toBe(200);
    expect(log.lines.filter(({ level }) => level === 50)).toEqual([]);
  });

  test('does not answer what was answered before it', async () => {
    const hooks = receiver({ privateKey: KEY, logger: false, deadLetters: memoryDeadLetters() });
    const page = deadLetterPage(hooks, { authorize: () => 'ada' });
    const port = await listen((req, res) => {
      if (req.headers['x-slow']) res.writeHead(503).end('too slow');
      page(req, res);
    });
    expect((await send(port, '/letters', SLOW)).text).toBe('too slow');
    expect((await send(port, '/letters')).status).toBe(200);
  });

  test('goes on with a replay whose answer other code has ended', async () => {
    const deadLetters = memoryDeadLetters();
    const before = await pageWorld({ receiver: { deadLetters } });
    for (const id of ['a', 'b', 'c']) await before.keep({ ...fixtures.event('refund.made', {}), id });
    const entered = gate();
    const done = gate();
    let end = () => {};
    const { port, log } = await pageWorld({
      receiver: {
        deadLetters,
        events: { 'refund.made': z.looseObject({}) },
        handlers: {
          '*': () => {
            entered.open();
            return done.opened;
          },
        },
      },
      before: [
        (_req, res, next) => {
          end = () => void res.end();
          next();
        },
      ],
    });
    const socket = await openSocket(port);
    socket.write(
      'POST /ops/replay HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}',
    );
    await entered.opened;
    end();
    done.open();
    await until(() => log.lines.some(({ msg }) => msg === 'letters replayed'));
    await socket.closed;
    expect((await send(port, '/ops/letters')).status).toBe(200);
  });
});

describe('a replay whose response a middleware has changed', () => {
  const events = { 'refund.made': z.looseObject({}) };

  test('is reported where writeHead() returns nothing', async () => {
    const deadLetters = memoryDeadLetters();
    await (await pageWorld({ receiver: { deadLetters } })).keep();
    const silent: RequestHandler = (_req, res, next) => {
      const writeHead = res.writeHead.bind(res) as (...given: unknown[]) => unknown;
      res.writeHead = ((...given: unknown[]) => void writeHead(...given)) as never;
      next();
    };
    const handlers = { '*': () => {} };
    const { ask } = await pageWorld({ receiver: { deadLetters, events, handlers }, before: [silent] });
    const { status, text } = await ask('/ops/replay', { body: {} });
    expect([status, JSON.parse(text.trim().split('\n').at(-1) ?? '')]).toMatchObject([
      200,
      { report: { processed: 1 } },
    ]);
  });

  test('ends, and the process lives on, where write() throws', async () => {
    const deadLetters = memoryDeadLetters();
    const before = await pageWorld({ receiver: { deadLetters } });
    for (const id of ['a', 'b', 'c', 'd']) await before.keep({ ...fixtures.event('refund.made', {}), id });
    const left = gate();
    const handled: string[] = [];
    const breaking: RequestHandler = (_req, res, next) => {
      const write = res.write.bind(res) as (...given: unknown[]) => boolean;
      res.write = ((...given: unknown[]) => {
        if (handled.length < 3) return write(...given);
        throw new Error('the stream has ended');
      }) as never;
      res.once('close', left.open);
      next();
    };
    // The third is at work until the next line is due, which a timer writes.
    const handler = async ({ id }: { readonly id: string }) => {
      handled.push(id);
      if (handled.length === 3) await left.opened;
    };
    const { ask, log } = await pageWorld({
      receiver: { deadLetters, events, handlers: { '*': handler } },
      before: [breaking],
    });
    await expect(ask('/ops/replay', { body: {} })).rejects.toMatchObject({ code: 'ECONNRESET' });
    await until(() => log.lines.some(({ msg }) => msg === 'letters replayed'));
    expect(handled).toEqual(['a', 'b', 'c']);
  });
});
