import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect as connectHttp2, createServer } from 'node:http2';
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import type { RequestHandler } from 'express';
import { type Receiver, type ReceiverOptions, receiver } from 'payment-webhooks';
import { fixtures } from '../../src/fixtures/fixture.js';
import { listening } from '../setup/afterwards.js';
import { delivery, KEY, type SentDelivery } from '../setup/delivery.js';
import { expresses, frameworks, onNode, processed, startEndpoint, startReceiver } from '../setup/endpoint.js';
import { answers, faultyStore, rejects } from '../setup/faulty-store.js';
import { raise } from '../setup/raise.js';
import { head, openSocket, wire } from '../setup/raw-socket.js';
import { countTimers, soon, until } from '../setup/waiting.js';

interface Situation {
  readonly name: string;
  readonly options?: ReceiverOptions;
  readonly sent?: SentDelivery;
  readonly status: number;
  /** The name as a code, unless it is given. */
  readonly body?: object;
  readonly headers?: Record<string, string>;
}

const never = () => new Promise<never>(() => {});
const busyFor = (retryAfterMs: number) => ({
  claim: async () => ({ status: 'in_progress', retryAfterMs }) as const,
});
/** A key function of a user whose newer keys cannot be loaded yet. */
const outdatedFor = (retryAfterMs: unknown) =>
  Object.assign(() => 'pri_old', {
    refresh: async () => ({ keys: undefined, retryAfterMs: retryAfterMs as number }),
  });
const remembered = { claim: async () => ({ status: 'completed', fingerprint: 'f'.repeat(64) }) as const };
const failing = { 'transaction.paid': () => Promise.reject(new Error('of the handler')) };
const encoded = { ...delivery(), headers: { ...delivery().headers, 'content-encoding': 'gzip' } };
const RETRY = { 'retry-after': '5' };
const fault = (code: string) => ({ message: expect.any(String), code });

const situations: Situation[] = [
  { name: 'processed', status: 200, body: { received: true, outcome: 'processed' } },
  {
    name: 'duplicate',
    options: { store: remembered },
    status: 200,
    body: { received: true, outcome: 'duplicate' },
  },
  {
    name: 'ignored',
    options: { sandbox: 'only' },
    status: 200,
    body: { received: true, outcome: 'ignored' },
  },
  {
    name: 'unauthenticated',
    sent: delivery('{}', 'pri_x'),
    status: 401,
    body: { message: 'Unauthenticated.' },
  },
  { name: 'BODY_MALFORMED', sent: delivery('no JSON'), status: 400 },
  { name: 'BODY_TOO_LARGE', options: { limit: 10 }, status: 413, headers: { connection: 'close' } },
  { name: 'BODY_ENCODED', sent: encoded, status: 415 },
  {
    name: 'EVENT_INVALID',
    sent: delivery({ ...fixtures.transactionPaid(), id: '' }),
    status: 422,
    body: {
      ...fault('EVENT_INVALID'),
      issues: [{ path: 'id', message: 'expected 1 to 255 printable ASCII characters' }],
    },
  },
  { name: 'HANDLER_FAILED', options: { handlers: failing }, status: 500 },
  {
    name: 'HANDLER_TIMEOUT',
    options: { handlers: { 'transaction.paid': never }, timeout: 50, maxHandlerTime: 60, lease: 60 },
    status: 503,
    headers: RETRY,
  },
  { name: 'IN_PROGRESS', options: { store: busyFor(12_300) }, status: 503, headers: { 'retry-after': '13' } },
  {
    name: 'IN_PROGRESS',
    options: { store: busyFor(600_000) },
    status: 503,
    headers: { 'retry-after': '30' },
  },
  {
    name: 'STORE_UNAVAILABLE',
    options: { store: faultyStore({ claim: rejects }) },
    status: 503,
    headers: RETRY,
  },
  {
    name: 'CLAIM_LOST',
    options: { store: faultyStore({ complete: answers({ value: false }) }) },
    status: 503,
    headers: RETRY,
  },
  {
    name: 'KEY_UNAVAILABLE',
    options: { privateKey: () => Promise.reject(new Error('of the vault')) },
    status: 503,
    headers: RETRY,
  },
  {
    name: 'KEY_UNAVAILABLE',
    options: { privateKey: outdatedFor(Number.NaN) },
    status: 503,
    headers: { 'retry-after': '1' },
  },
  ...[5_000n, Symbol('soon'), Object.create(null)].map((retryAfterMs: unknown) => ({
    name: 'KEY_UNAVAILABLE',
    options: { privateKey: outdatedFor(retryAfterMs) },
    status: 503,
    headers: { 'retry-after': '1' },
  })),
];

describe.each(frameworks)('the answer, on %s', (framework) => {
  test.each(situations)('is exactly what the table says: $name', async ({ options, sent, ...expected }) => {
    const endpoint = await startEndpoint(options, { framework });
    const { status, headers, body } = await endpoint.post(sent);
    expect([status, body]).toEqual([expected.status, expected.body ?? fault(expected.name)]);
    const { date, connection, 'x-powered-by': _express, 'keep-alive': _node, ...ours } = headers;
    expect(date).toBeDefined();
    const { connection: _close, ...others } = expected.headers ?? {};
    if (expected.headers?.connection) expect(connection).toBe('close');
    expect(ours).toEqual({
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(JSON.stringify(body))),
      'cache-control': 'no-store',
      ...others,
    });
  });
});

test.each(situations)('receive() gives the same answer: $name', async ({ options, sent, ...expected }) => {
  const { hooks } = startReceiver(options);
  const { body: rawBody, headers } = sent ?? delivery();
  const answer = await hooks.receive({ rawBody, headers });
  const body = JSON.parse(answer.body);
  expect([answer.status, body]).toEqual([expected.status, expected.body ?? fault(expected.name)]);
  const lowerCase = Object.entries(answer.headers).map(([name, value]) => [name.toLowerCase(), value]);
  expect(Object.fromEntries(lowerCase)).toEqual({
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(answer.body)),
    'cache-control': 'no-store',
    ...expected.headers,
  });
});

describe.each(expresses)('a response that a middleware has patched, on %s', (framework) => {
  const patched = (patch: (res: ServerResponse) => void): RequestHandler => {
    return (_req, res, next) => {
      patch(res);
      next();
    };
  };
  const fails = () => raise(new TypeError('of the patch'));

  test.each<[string, (res: ServerResponse) => void]>([
    ['writeHead', (res) => Object.assign(res, { writeHead: fails })],
    ['end', (res) => Object.assign(res, { end: fails })],
  ])('and whose %s() throws leaves no sender waiting, and says so in the log', async (_, patch) => {
    const endpoint = await startEndpoint({}, { framework, before: () => [patched(patch)] });
    await expect(endpoint.post()).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(endpoint.records).toMatchObject([{ status: 0, outcome: 'processed' }]);
    const msg = /^the answer was not written, .* call receive\(\) and send its answer yourself$/;
    const line = { level: 50, error: { type: 'TypeError' }, msg: expect.stringMatching(msg) };
    expect(endpoint.log.lines.filter(({ level }) => level === 50)).toMatchObject([line]);
    expect(endpoint.log.text.join('')).not.toContain('of the patch');
  });

  test('and whose writeHead() returns nothing is answered all the same', async () => {
    const quiet = patched((res) => {
      const writeHead = res.writeHead.bind(res) as (...head: unknown[]) => unknown;
      Object.assign(res, { writeHead: (...head: unknown[]) => void writeHead(...head) });
    });
    const endpoint = await startEndpoint({}, { framework, before: () => [quiet] });
    expect(await endpoint.post()).toMatchObject(processed);
    expect(await endpoint.post(delivery('{}', 'pri_x'))).toMatchObject({ status: 401 });
  });
});

describe('what is not the request and response of Node', () => {
  const framework = { id: 1, headers: {}, body: {}, status: () => {}, code: () => {} };

  test('is refused at once, in words that name what to pass, so that the framework answers 500', async () => {
    const endpoint = await startEndpoint();
    expect(() => endpoint.hooks(framework as never, framework as never)).toThrow(
      /^The receiver was not given the request and response of Node\. In Fastify .*onRequest.*request\.raw.*receive\(\)/,
    );
    expect(endpoint.hooks.inFlight).toBe(0);
    await endpoint.hooks.close();
  });

  test('but looks like it ends no process, and leaves nothing in flight', async () => {
    const endpoint = await startEndpoint();
    const get = () => raise(new Error('not mine'));
    const half = Object.defineProperty({ writeHead: get, destroy: get }, 'headersSent', { get });
    endpoint.hooks(framework as never, half as never);
    await until(() => endpoint.hooks.inFlight === 0 && endpoint.log.lines.length > 0);
    expect(endpoint.log.lines).toContainEqual(
      expect.objectContaining({ level: 50, msg: expect.stringContaining('the answer was not written') }),
    );
  });
});

test.each(expresses)(
  'a body that breaks off while somebody else feeds it is theirs to answer, on %s',
  async (framework) => {
    const feeds: RequestHandler = (req, res) => {
      const half = Object.assign(new PassThrough(), { headers: req.headers });
      endpoint.hooks(half as never, res);
      half.write('{"id":');
      half.destroy();
      setTimeout(() => res.headersSent || res.status(502).json({ by: 'somebody else' }), 20);
    };
    const endpoint = await startEndpoint({}, { framework, before: () => [feeds] });
    expect(await endpoint.post()).toMatchObject({ status: 502, body: { by: 'somebody else' } });
    expect(endpoint.records).toMatchObject([{ status: 0, code: 'BODY_ABORTED' }]);
  },
);

// Of fetch the server decides that.
describe.each(onNode)('the end of a connection, on %s', (framework) => {
  // Its half stays open, so only the server can end it: at once, or when it has lingered for a second.
  const connect = async (options: ReceiverOptions = {}) => {
    const endpoint = await startEndpoint(options, { framework });
    const accepted = once(endpoint.server, 'connection');
    const sender = await openSocket(endpoint.port, true);
    const [socket] = (await accepted) as [Socket];
    let closed = false;
    socket.once('close', () => {
      closed = true;
    });
    return { sender, isClosed: () => closed };
  };
  const { body, headers } = delivery();
  const asked = { ...headers, connection: 'close' };

  test('follows a refusal at once when the sender has written all it had to', async () => {
    const { sender, isClosed } = await connect({ privateKey: 'pri_another' });
    sender.write(wire({ body, headers: asked }));
    expect(await soon(isClosed, 500)).toBe(true);
    expect(await sender.until(/\}$/)).toMatch(/^HTTP\/1\.1 401 .*"Unauthenticated\."\}$/s);
  });

  test('waits for a body that was refused while it arrived, and for nothing after it', async () => {
    const { sender, isClosed } = await connect({ limit: 10 });
    const timers = countTimers();
    sender.write(head([...Object.entries(headers), ['content-length', body.length]]));
    await sender.until(/BODY_TOO_LARGE/);
    await pause(100);
    expect(isClosed()).toBe(false);
    sender.write(body);
    expect(await soon(isClosed, 500)).toBe(true);
    // Nothing of ours keeps a process that has closed its server; Jest may have a timer for a moment.
    expect(await soon(() => countTimers() <= timers, 500)).toBe(true);
  });

  test('is not put off by a refusal after which the connection went on', async () => {
    const { sender, isClosed } = await connect();
    sender.write(head([['transfer-encoding', 'chunked']]));
    await sender.until(/Unauthenticated/);
    sender.write('0\r\n\r\n');
    sender.write(wire({ body, headers: asked }));
    expect(await soon(isClosed, 500)).toBe(true);
    expect(await sender.until(/"processed"\}$/)).toMatch(/^HTTP\/1\.1 401 .*HTTP\/1\.1 200 /s);
  });
});

describe('HTTP/2', () => {
  test.each<[string, ReceiverOptions, (hooks: Receiver) => void, number]>([
    ['processed', {}, () => {}, 200],
    ['refused with a header that HTTP/2 has not', { limit: 10 }, () => {}, 413],
    ['processed while the receiver closes, with the same header', {}, (hooks) => void hooks.close(), 200],
  ])('is answered as well: %s', async (_, options, meanwhile, status) => {
    const handlers = { '*': () => meanwhile(hooks) };
    const hooks: Receiver = receiver({ privateKey: KEY, logger: false, handlers, ...options });
    const written: unknown[] = [];
    const server = createServer((req, res) => {
      const writeHead = res.writeHead.bind(res);
      res.writeHead = (...head: unknown[]) => {
        written.push(head[1]);
        return writeHead(...(head as Parameters<typeof writeHead>));
      };
      hooks(req as never, res as never);
    });
    const client = connectHttp2(`http://127.0.0.1:${await listening(server)}`);
    try {
      const { body, headers } = delivery();
      const stream = client.request({ ':method': 'POST', ':path': '/hooks', ...headers });
      const answered = new Promise<Record<string, unknown>>((resolve) => stream.once('response', resolve));
      stream.on('error', () => {}).end(body);
      expect(await answered).toMatchObject({ ':status': status, 'cache-control': 'no-store' });
      // Node drops it, and warns the whole process of it.
      expect(written).toEqual([expect.not.objectContaining({ Connection: 'close' })]);
    } finally {
      client.destroy();
    }
  });
});
