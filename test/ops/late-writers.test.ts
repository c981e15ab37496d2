// A timeout or another middleware answers before health() or the page does: the process lives on, and the first answer stays.
import type { RequestListener } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { RequestHandler } from 'express';
import { memoryDeadLetters, memoryStore, receiver } from 'payment-webhooks';
import { deadLetterPage, health } from 'payment-webhooks/ops';
import { listening } from '../setup/afterwards.js';
import { captureLog } from '../setup/captured-log.js';
import { KEY } from '../setup/delivery.js';
import { openSocket } from '../setup/raw-socket.js';
import { gate, until } from '../setup/waiting.js';
import {
  type Ask,
  keptRefunds,
  linesOf,
  pageWorld,
  postOf,
  REFUNDS,
  SIGNED_IN,
  send,
} from '../tools/letters/page-world.js';

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

test.each(['GET', 'HEAD'])('health() that was too slow leaves %s to the first answer', async (method) => {
  const reached = gate();
  const store = Object.assign(memoryStore(), { ping: () => reached.opened });
  const hooks = receiver({ privateKey: KEY, logger: false, store });
  const port = await listening(timingOut(health(hooks, { cache: 1 })));
  const first = await send(port, '/healthz', { ...SLOW, method });
  expect(first.status).toBe(503);
  reached.open();
  expect((await send(port, '/healthz')).status).toBe(200);
});

describe('a page that was too slow', () => {
  test.each<[string, string, Ask]>([
    ['GET', '/', {}],
    ['GET', '/letters', {}],
    ['PUT', '/letters', {}],
    ['GET', '/letters/none', {}],
    ['GET', '/nothing', {}],
    ['POST', '/discard', { body: { event: '*', because: 'test' } }],
    ['POST', '/replay', { body: { event: '*' } }],
  ])('leaves %s %s to the answer that was given', async (method, path, given) => {
    const reached = gate();
    const log = captureLog();
    const hooks = receiver({ privateKey: KEY, logger: log.logger, deadLetters: memoryDeadLetters() });
    const authorize = async () => {
      await reached.opened;
      return 'ada';
    };
    const port = await listening(timingOut(deadLetterPage(hooks, { authorize })));
    const first = await send(port, path, { ...SLOW, ...given, method });
    expect([first.status, first.text]).toEqual([503, 'too slow']);
    reached.open();
    expect((await send(port, '/letters')).status).toBe(200);
    expect(log.lines.filter(({ level }) => level === 50)).toEqual([]);
  });

  test('does not answer what was answered before it', async () => {
    const hooks = receiver({ privateKey: KEY, logger: false, deadLetters: memoryDeadLetters() });
    const page = deadLetterPage(hooks, { authorize: () => 'ada' });
    const port = await listening((req, res) => {
      if (req.headers['x-slow']) res.writeHead(503).end('too slow');
      page(req, res);
    });
    expect((await send(port, '/letters', SLOW)).text).toBe('too slow');
    expect((await send(port, '/letters')).status).toBe(200);
  });

  test('goes on with a replay whose answer other code has ended', async () => {
    const [entered, done] = [gate(), gate()];
    const handler = () => {
      entered.open();
      return done.opened;
    };
    let end = () => {};
    const ending: RequestHandler = (_req, res, next) => {
      end = () => void res.end();
      next();
    };
    const deadLetters = await keptRefunds('a', 'b', 'c');
    const { port, log } = await pageWorld({
      receiver: { deadLetters, events: REFUNDS, handlers: { '*': handler } },
      before: [ending],
    });
    const socket = await openSocket(port);
    socket.write(postOf('/ops/replay', '{}'));
    await entered.opened;
    end();
    done.open();
    await until(() => log.lines.some(({ msg }) => msg === 'letters replayed'));
    await socket.closed;
    expect((await send(port, '/ops/letters')).status).toBe(200);
  });
});

describe('a replay whose response a middleware has changed', () => {
  test('is reported where writeHead() returns nothing', async () => {
    const silent: RequestHandler = (_req, res, next) => {
      const writeHead = res.writeHead.bind(res) as (...given: unknown[]) => unknown;
      res.writeHead = ((...given: unknown[]) => void writeHead(...given)) as never;
      next();
    };
    const receiver = { deadLetters: await keptRefunds('a'), events: REFUNDS, handlers: { '*': () => {} } };
    const { ask } = await pageWorld({ receiver, before: [silent] });
    const answer = await ask('/ops/replay', { body: {} });
    expect([answer.status, linesOf(answer).at(-1)]).toMatchObject([200, { report: { processed: 1 } }]);
  });

  test('ends, and the process lives on, where write() throws', async () => {
    const deadLetters = await keptRefunds('a', 'b', 'c', 'd');
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
      receiver: { deadLetters, events: REFUNDS, handlers: { '*': handler } },
      before: [breaking],
    });
    await expect(ask('/ops/replay', { body: {} })).rejects.toMatchObject({ code: 'ECONNRESET' });
    await until(() => log.lines.some(({ msg }) => msg === 'letters replayed'));
    expect(handled).toEqual(['a', 'b', 'c']);
  });
});
