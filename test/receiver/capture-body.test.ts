import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import type { RequestHandler } from 'express';
import { keepRawBody, type ReceiverOptions } from 'payment-webhooks';
import { fixtures } from '../../src/fixtures/fixture.js';
import { captureBody, inspectHeaders } from '../../src/receiver/capture-body.js';
import { delivery, hmac, type SentDelivery } from '../setup/delivery.js';
import {
  duplicate,
  expresses,
  failed,
  frameworks,
  onNode,
  processed,
  type Setup,
  startEndpoint,
} from '../setup/endpoint.js';
import { faultyStore } from '../setup/faulty-store.js';
import { raise } from '../setup/raise.js';
import { head, openDelivery, openSocket, wire } from '../setup/raw-socket.js';
import { gate, until } from '../setup/waiting.js';

const CHUNKED = ['transfer-encoding', 'chunked'] as const;

type Middleware = (express: typeof import('express')) => RequestHandler;
const KEEPING: [string, Middleware][] = [
  ['express.json({ verify: keepRawBody })', (express) => express.json({ verify: keepRawBody })],
  ['express.raw()', (express) => express.raw({ type: '*/*' })],
  ['express.text()', (express) => express.text({ type: '*/*' })],
];

describe.each(expresses)('a body that somebody read before, on %s', (framework) => {
  const start = (middleware: Middleware, options: ReceiverOptions = {}) =>
    startEndpoint(options, { framework, before: (express) => [middleware(express)] });
  const drained: RequestHandler = (req, _res, next) => void req.resume().once('end', next);
  const halfRead: RequestHandler = (req, _res, next) => void req.once('data', () => next());
  const asText: RequestHandler = (req, _res, next) => {
    req.setEncoding('utf8');
    next();
  };

  test.each<[string, Middleware]>([
    ['express.json()', (express) => express.json()],
    ['a drain', () => drained],
    ['a reader that stopped half-way', () => halfRead],
    ['req.setEncoding()', () => asText],
  ])('is refused at once when no bytes were kept: %s', async (_, middleware) => {
    const endpoint = await start(middleware);
    const { body, headers } = delivery();
    for (const length of [{ 'content-length': `${body.length}` }, { 'transfer-encoding': 'chunked' }]) {
      const reply = await endpoint.post({ body, headers: { ...headers, ...length } });
      expect(reply).toMatchObject({ status: 500, body: { code: 'BODY_CONSUMED' } });
      expect(endpoint.log.lines.at(-1)).toMatchObject({
        level: 50,
        code: 'BODY_CONSUMED',
        hint: expect.stringMatching(/app\.post\('\/hooks', receiver\(\)\) before app\.use/),
      });
    }
    expect(endpoint.handled).toEqual([]);
  });

  test.each<[string, Middleware]>([
    ...KEEPING,
    ['a platform that leaves req.rawBody', () => keepsRawBody],
    ['a parser that skipped it', (express) => express.json({ type: 'application/vnd.other' })],
    ['a listener beside ours', () => listensToo],
  ])('is used when its bytes are there: %s', async (_, middleware) => {
    const endpoint = await start(middleware);
    const event = fixtures.transactionPaid({ payload: { customer: { name: 'Zoë 東京 🎉' } } });
    expect(await endpoint.post(delivery(event))).toMatchObject(processed);
    expect(endpoint.handled).toEqual([event.id]);
  });

  test.each(KEEPING)('is still proven and held to the limit: %s', async (_, middleware) => {
    const endpoint = await start(middleware, { limit: 4_000 });
    const forged = delivery(undefined, 'pri_another');
    expect(await endpoint.post(forged)).toMatchObject({ status: 401 });
    const sent = delivery(fixtures.transactionPaid({ payload: { metadata: { note: 'x'.repeat(4_000) } } }));
    expect(await endpoint.post(sent)).toMatchObject({ status: 413 });
    const chunked = { ...sent, headers: { ...sent.headers, 'transfer-encoding': 'chunked' } };
    expect(await endpoint.post(chunked)).toMatchObject({ status: 413, body: { code: 'BODY_TOO_LARGE' } });
    expect(endpoint.handled).toEqual([]);
  });

  test.each<[string, Middleware]>([
    ...KEEPING,
    ['a drain', () => drained],
    ['express.json()', (express) => express.json()],
  ])('is empty when there was nothing to read: %s', async (_, middleware) => {
    const endpoint = await start(middleware);
    const { body, headers } = delivery('');
    for (const length of [{ 'content-length': '0' }, { 'transfer-encoding': 'chunked' }]) {
      const reply = await endpoint.post({ body, headers: { ...headers, ...length } });
      expect(reply).toMatchObject({ status: 400, body: { code: 'BODY_MALFORMED' } });
    }
  });

  test.each<[string, unknown, string]>([
    // Only its parts have that type. What reads such a body leaves an object too.
    ['of several parts of JSON', {}, 'multipart/related; type=application/json'],
    ['of several parts of a form', {}, 'multipart/related; type=application/x-www-form-urlencoded'],
    ['of JSON, of which nothing was left', null, 'application/json'],
  ])('is not laid to a parser that did not read it: one %s', async (_, left, type) => {
    const drainedTo: RequestHandler = (req, _res, next) => {
      req.resume().once('end', () => {
        req.body = left;
        next();
      });
    };
    const endpoint = await start(() => drainedTo);
    const reply = await endpoint.post(withType(type));
    expect(reply).toMatchObject({ status: 500, body: { code: 'BODY_CONSUMED' } });
    const hint = /^Something read the body before the receiver, and did not keep the bytes\./;
    expect(endpoint.log.lines).toMatchObject([{ hint: expect.stringMatching(hint) }]);
  });

  test('leaves nothing of a re-encoded body to be proven by', async () => {
    const rebuilds: RequestHandler = (req, _res, next) => {
      req.body = JSON.stringify(req.body, null, 1);
      next();
    };
    const endpoint = await startEndpoint({}, { framework, before: (express) => [express.json(), rebuilds] });
    const { status } = await endpoint.post();
    expect([401, 500]).toContain(status);
    expect(endpoint.handled).toEqual([]);
  });
});

describe.each(frameworks)('a body cut short, on %s', (framework) => {
  const sent = delivery();
  const half = sent.body.subarray(0, 100);
  const oneChunk = `${sent.body.length.toString(16)}\r\n${sent.body}\r\n`;

  test.each([
    ['an orderly end', 'end', undefined, half],
    ['a reset', 'resetAndDestroy', undefined, half],
    ['a plain disconnect', 'destroy', undefined, half],
    ['an orderly end before the last chunk', 'end', CHUNKED, oneChunk],
  ] as const)(
    'reaches neither store nor handler, and the next is served: %s',
    async (_, leave, framing, part) => {
      const store = faultyStore();
      const endpoint = await startEndpoint({ store }, { framework });
      const sender = await openDelivery(endpoint.port, sent, framing);
      sender.write(part);
      await until(() => endpoint.hooks.inFlight === 1);
      sender.socket[leave]();
      expect(await sender.closed).not.toMatch(/received|HTTP\/1\.1 (?!400)/);
      await until(() => endpoint.records.length === 1);
      expect(endpoint.records).toMatchObject([{ status: 0, code: 'BODY_ABORTED', bytes: 0, handlers: [] }]);
      expect(endpoint.log.lines).toMatchObject([{ level: 30, code: 'BODY_ABORTED' }]);
      expect([store.calls, endpoint.handled, endpoint.hooks.inFlight]).toEqual([[], [], 0]);
      expect(await endpoint.post()).toMatchObject(processed);
    },
  );
});

describe.each(expresses)('a request that a middleware has touched, on %s', (framework) => {
  const { body, headers } = delivery();
  const framings: [string, readonly [string, string], Buffer | string][] = [
    ['announced', ['content-length', `${body.length}`], body.subarray(0, 10)],
    ['unknown', CHUNKED, 'a\r\n0123456789\r\n'],
  ];

  test.each(framings)('is read when it was paused, its length being %s', async (_, framing) => {
    const pauses: RequestHandler = (req, _res, next) => {
      req.pause();
      next();
    };
    const options = { bodyTimeout: 20_000 };
    const endpoint = await startEndpoint(options, { framework, before: () => [pauses] });
    const sent = { body, headers: { ...headers, [framing[0]]: framing[1] } };
    expect(await endpoint.post(sent)).toMatchObject(processed);
  });

  test.each(framings)('ends its connection on an error, its length being %s', async (_, framing, part) => {
    const fails: RequestHandler = (req, _res, next) => {
      setTimeout(() => req.emit('error', new Error('of the middleware')), 20);
      next();
    };
    const endpoint = await startEndpoint({}, { framework, before: () => [fails] });
    const sender = await openDelivery(endpoint.port, { body, headers }, framing);
    sender.write(part);
    expect(await sender.closed).toBe('');
    await until(() => endpoint.records.length === 1);
    expect(endpoint.records).toMatchObject([{ status: 0, code: 'BODY_ABORTED' }]);
    expect(endpoint.handled).toEqual([]);
  });

  test('is answered 500 when it throws as it is looked at, and the next one is processed', async () => {
    let broken = true;
    const breaks: RequestHandler = (req, _res, next) => {
      const get = () => raise(new Error('of the middleware'));
      if (broken) Object.defineProperty(req, 'readableDidRead', { get });
      next();
    };
    const endpoint = await startEndpoint({}, { framework, before: () => [breaks] });
    const refused = await endpoint.post();
    expect(refused).toMatchObject(failed);
    expect(JSON.stringify(refused.body)).not.toContain('of the middleware');
    const hint = expect.stringContaining('The receiver itself failed.');
    expect(endpoint.log.lines).toMatchObject([{ level: 50, hint, error: { type: 'Error' } }]);
    broken = false;
    expect(await endpoint.post()).toMatchObject(processed);
    expect(endpoint.hooks.inFlight).toBe(0);
  });
});

describe('memory that cannot be had', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  const failing = (method: 'allocUnsafeSlow' | 'concat') =>
    jest.spyOn(Buffer, method).mockImplementation(() => raise(new RangeError('allocation failed')));
  const limits = { limit: 100_000, bodyTimeout: 5_000 };

  test.each([
    ['a body of announced length', 'allocUnsafeSlow', { 'content-length': '8' }],
    ['a chunk of a body of unknown length', 'allocUnsafeSlow', {}],
    ['the whole of a body of unknown length', 'concat', {}],
  ] as const)('refuses the delivery for now: for %s', async (_, method, headers) => {
    failing(method);
    const stream = new PassThrough();
    const captured = captureBody(stream as never, headers, limits);
    stream.write('four');
    stream.end('more');
    expect(await captured).toMatchObject({
      code: 'OVERLOADED',
      retryAfterMs: 5_000,
      hint: expect.stringMatching(/^Out of memory while reading the body/),
    });
  });

  test('is answered 503, and the process goes on', async () => {
    const endpoint = await startEndpoint();
    const sent = delivery();
    const spy = failing('allocUnsafeSlow');
    const sender = await openDelivery(endpoint.port, sent);
    sender.write(sent.body.subarray(0, 10));
    expect(await sender.until(/\}$/)).toMatch(/^HTTP\/1\.1 503 .*Retry-After: 5\r\n.*"code":"OVERLOADED"/s);
    spy.mockRestore();
    expect(await endpoint.post()).toMatchObject(processed);
  });
});

describe('a request that is a stream of another make', () => {
  const limits = { limit: 1_000, bodyTimeout: 5_000 };
  const capture = (stream: PassThrough, headers = {}) => captureBody(stream as never, headers, limits);

  test.each([
    ['is destroyed', (stream: PassThrough) => stream.destroy()],
    ['fails', (stream: PassThrough) => stream.destroy(new Error('of the stream'))],
  ])('settles when it %s, whether its length is known or not', async (_, damage) => {
    for (const headers of [{}, { 'content-length': '8' }]) {
      const stream = new PassThrough();
      const captured = capture(stream, headers);
      stream.write('half');
      damage(stream);
      expect(await captured).toMatchObject({ code: 'BODY_ABORTED' });
    }
  });

  test('settles when it was destroyed before anybody read it', async () => {
    const stream = new PassThrough().destroy();
    await once(stream, 'close');
    expect(await capture(stream)).toMatchObject({ code: 'BODY_ABORTED' });
  });

  test.each([
    ['announced', { 'content-length': '4' }],
    ['unknown', {}],
  ])('has no listener of ours left when it was read, its length being %s', async (_, headers) => {
    const stream = new PassThrough();
    const before = stream.eventNames().map((name) => [name, stream.listenerCount(name)]);
    const captured = capture(stream, headers);
    stream.end('four');
    expect(await captured).toEqual(Buffer.from('four'));
    expect(stream.eventNames().map((name) => [name, stream.listenerCount(name)])).toEqual(before);
  });

  test.each(['0', '3', '5'])('is refused when its length is not the declared %s', async (length) => {
    const captured = capture(new PassThrough().end('four'), { 'content-length': length });
    expect(await captured).toMatchObject({
      code: 'BODY_MALFORMED',
      hint: 'The length of the body differs from its Content-Length.',
    });
  });
});

describe.each(frameworks)('bytes after the end, on %s', (framework) => {
  test.each([
    ['more than declared', ' and then some'],
    ['rubbish', '\u0000\u0016\u0003\u0001\r\n\r\n'],
    ['half a request', 'POST /hooks HT'],
  ])('a 200 is answered only if the handler ran: %s', async (_, more) => {
    const endpoint = await startEndpoint({}, { framework });
    const sent = delivery();
    const sender = await openDelivery(endpoint.port, sent);
    sender.write(`${sent.body}${more}`);
    sender.socket.end();
    const answer = await sender.closed;
    expect(endpoint.handled.length).toBeLessThanOrEqual(1);
    if (/^HTTP\/1\.1 200 /.test(answer)) expect(endpoint.handled).toHaveLength(1);
    else expect(answer).toMatch(/^HTTP\/1\.1 400 |^$/);
  });
});

describe.each(frameworks)('a body over the limit, on %s', (framework) => {
  const limit = 2_000;
  const large = () =>
    delivery(fixtures.transactionPaid({ payload: { metadata: { note: 'x'.repeat(200_000) } } }));

  test('is refused before it is read when its length is declared', async () => {
    const endpoint = await startEndpoint({ limit }, { framework });
    const sender = await openDelivery(endpoint.port, large());
    const answer = await sender.closed;
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer).toMatch(/\r\nconnection: close\r\n/i);
    expect(answer).toContain('"code":"BODY_TOO_LARGE"');
    expect(endpoint.records).toMatchObject([{ status: 413, code: 'BODY_TOO_LARGE', bytes: 0 }]);
  });

  test('is refused when it crosses the limit in chunks', async () => {
    const endpoint = await startEndpoint({ limit }, { framework });
    const { headers, body } = large();
    const reply = await endpoint.post({ body, headers: { ...headers, 'transfer-encoding': 'chunked' } });
    expect(reply).toMatchObject({
      status: 413,
      headers: { connection: 'close' },
      body: { code: 'BODY_TOO_LARGE' },
    });
    expect(endpoint.handled).toEqual([]);
  });

  test('is accepted at exactly the limit', async () => {
    const sent = delivery();
    const endpoint = await startEndpoint({ limit: sent.body.length }, { framework });
    expect(await endpoint.post(sent)).toMatchObject(processed);
    expect(await endpoint.post(delivery(`${sent.body} `))).toMatchObject({ status: 413 });
  });
});

interface Refusal {
  readonly status: number;
  readonly sent: Record<string, string>;
  readonly options?: ReceiverOptions;
  readonly before?: Setup['before'];
}

describe('a sender that goes on though its body was refused', () => {
  const { headers } = delivery();
  const declared = { ...headers, 'content-length': '500000000' };
  const chunked = { ...headers, 'transfer-encoding': 'chunked' };
  const close = { connection: 'close' };
  // A part of the body, of which the rest still comes.
  const keepsPart: RequestHandler = (req, _res, next) => {
    req.once('data', (rawBody) => {
      Object.assign(req, { rawBody });
      next();
    });
  };
  const refusals: Refusal[] = [
    { status: 413, sent: declared, options: { limit: 2_000 } },
    { status: 413, sent: chunked, options: { limit: 2_000 } },
    { status: 401, sent: { ...chunked, ...close, 'x-service-signature': '' } },
    { status: 415, sent: { ...chunked, ...close, 'content-encoding': 'gzip' } },
  ];
  const onExpress: Refusal = {
    status: 400,
    sent: { ...declared, ...close },
    options: { limit: '511mb' },
    before: () => [keepsPart],
  };
  const cases = [
    ...onNode.flatMap((framework) => refusals.map((refusal) => ({ framework, ...refusal }))),
    ...expresses.map((framework) => ({ framework, ...onExpress })),
  ];

  // All at once: each lingers for a second. Most senders read nothing before they have written everything.
  test('gets the whole answer, and then the connection ends', async () => {
    const answers = cases.map(async ({ framework, sent, options, before }) => {
      const endpoint = await startEndpoint(options, { framework, ...(before && { before }) });
      const sender = await openSocket(endpoint.port, true);
      sender.socket.pause();
      sender.write(head(Object.entries(sent)));
      const flood = setInterval(() => sender.write(`4000\r\n${'x'.repeat(0x4000)}\r\n`), 5);
      setTimeout(() => sender.socket.resume(), 200);
      const answer = await sender.closed.finally(() => clearInterval(flood));
      return /^HTTP\/1\.1 (\d+) .*\}$/s.exec(answer)?.[1];
    });
    expect(await Promise.all(answers)).toEqual(cases.map(({ status }) => `${status}`));
  });
});

describe('headers that rule a body out before it is read', () => {
  const json = (parameter: string) => `application/json;${parameter}`;
  const charsets = ['iso-8859-1', 'utf-16', 'UTF-16LE', '"windows-1252"', 'utf-7'].map(
    (name) => ` charset=${name}`,
  );
  const spellings = ['charset=utf-16', '  charset = "utf-16"', ' CHARSET=UTF-16'];
  const harmless = [
    'charset="UTF-8"',
    ' charset="UTF8"',
    ' charset=US-ASCII',
    ' charsets=utf-16',
    ' charset=',
  ];
  const form = 'application/x-www-form-urlencoded';
  const headers: [name: string, values: string[], code: string | undefined][] = [
    ['content-length', ['101'], 'BODY_TOO_LARGE'],
    ['content-length', ['100', 'many'], undefined],
    ['content-encoding', ['gzip', 'br', 'deflate', 'zstd', 'GZIP', 'identity, gzip', 'no'], 'BODY_ENCODED'],
    ['content-encoding', ['identity', 'Identity', ''], undefined],
    ['content-type', [...charsets, ...spellings].map(json), 'BODY_ENCODED'],
    ['content-type', ['', 'application/json', ...harmless.map(json), 'text/plain; charset=utf8'], undefined],
    ['content-type', [form, 'multipart/form-data; boundary=x', 'image/png', 'charset', ';;;='], undefined],
    ['accept', ['*/*'], undefined],
  ];

  test.each(headers.flatMap(([name, values, code]) => values.map((value) => [name, value, code] as const)))(
    '%s: %s is %s',
    (name, value, code) => expect(inspectHeaders({ [name]: value }, 100)?.code).toBe(code),
  );

  test.each(frameworks)('leave it unread, whichever bytes were signed, on %s', async (framework) => {
    const endpoint = await startEndpoint({}, { framework });
    const { body } = delivery();
    const encoded = gzipSync(body);
    for (const signed of [body, encoded]) {
      const headers = { 'content-encoding': 'gzip', 'x-service-signature': hmac(signed) };
      const reply = await endpoint.post({ body: encoded, headers });
      expect(reply).toMatchObject({ status: 415, body: { code: 'BODY_ENCODED' } });
    }
    expect(endpoint.records).toMatchObject([{ bytes: 0 }, { bytes: 0 }]);
    expect(endpoint.handled).toEqual([]);
  });

  test.each(frameworks)('do not include a Content-Type, or that it is missing, on %s', async (framework) => {
    const endpoint = await startEndpoint({}, { framework });
    for (const type of [undefined, 'application/x-www-form-urlencoded'])
      expect(await endpoint.post(withType(type))).toMatchObject(processed);
  });
});

describe('bytes that a platform hands over', () => {
  const capture = (source: object, headers = {}) =>
    captureBody(source, headers, { limit: 4, bodyTimeout: 1_000 });
  const bytes = Buffer.from([0xff, 0, 0x7b, 0x7d]);
  const shared = new Uint8Array([1, ...bytes, 2]);

  test.each<[string, object]>([
    ['a Buffer', { rawBody: bytes }],
    ['a Buffer in body', { body: bytes }],
    ['a part of a larger array', { rawBody: shared.subarray(1, 5) }],
    ['an ArrayBuffer', { rawBody: Uint8Array.from(bytes).buffer }],
  ])('are taken as they are: %s', async (_, source) => {
    expect(await capture(source, { 'content-length': '4' })).toEqual(bytes);
  });

  test('are not copied when they are a Buffer', async () => {
    expect(await capture({ rawBody: bytes })).toBe(bytes);
  });

  test('are UTF-8 when they are text', async () => {
    expect(await capture({ rawBody: 'é{}' })).toEqual(Buffer.from('é{}', 'utf8'));
  });

  test.each([
    [{}, bytes],
    [{ 'content-length': '4' }, bytes],
    [{ 'content-length': '4, 4' }, bytes],
    [{ 'content-length': 'x4' }, bytes],
    [{ 'content-length': '3' }, expect.objectContaining({ code: 'BODY_MALFORMED' })],
  ])('with the headers %j are %p', async (headers, result) => {
    expect(await capture({ rawBody: bytes }, headers)).toEqual(result);
  });

  test('over the limit are refused', async () => {
    expect(await capture({ rawBody: Buffer.alloc(5) })).toMatchObject({ code: 'BODY_TOO_LARGE' });
  });
});

describe.each(frameworks)('an empty body, on %s', (framework) => {
  test.each([['content-length', '0'], CHUNKED])(
    'is refused though its signature is right: %s',
    async (...length) => {
      const endpoint = await startEndpoint({}, { framework });
      const { body, headers } = delivery('');
      const reply = await endpoint.post({ body, headers: { ...headers, [length[0]]: length[1] } });
      expect(reply).toMatchObject({ status: 400, body: { code: 'BODY_MALFORMED' } });
      expect(endpoint.records).toMatchObject([{ keyIndex: 0, bytes: 0 }]);
    },
  );
});

test.each(frameworks)(
  'a sender that leaves while the handler runs changes nothing, on %s: the event is remembered',
  async (framework) => {
    const [begun, work] = [gate(), gate()];
    const handler = () => {
      begun.open();
      return work.opened;
    };
    const endpoint = await startEndpoint({ handlers: { 'transaction.paid': handler } }, { framework });
    const sent = delivery();
    const sender = await openSocket(endpoint.port);
    sender.write(wire(sent));
    await begun.opened;
    sender.socket.resetAndDestroy();
    await endpoint.senderLeft();
    work.open();
    await until(() => endpoint.records.length === 1);
    expect(endpoint.records).toMatchObject([
      { status: 0, outcome: 'processed', handlers: [{ status: 'fulfilled' }] },
    ]);
    expect(await endpoint.post(sent)).toMatchObject(duplicate);
    expect(endpoint.log.lines.filter(({ level }) => Number(level) >= 40)).toEqual([]);
  },
);

describe.each(frameworks)('a slow body, on %s', (framework) => {
  test('is not refused for a block of the event loop, when its bytes had arrived by then', async () => {
    const bodyTimeout = 1_000;
    const endpoint = await startEndpoint({ bodyTimeout }, { framework });
    const sent = delivery();
    const { body } = sent;
    const sender = await openDelivery(endpoint.port, sent);
    sender.write(body.subarray(0, 10));
    await until(() => endpoint.hooks.inFlight === 1);
    await pause(20);
    // Timers come right after immediates, and before the network, where the bytes are waiting by then.
    setImmediate(() => {
      sender.write(body.subarray(10));
      for (const end = performance.now() + bodyTimeout; performance.now() < end; );
    });
    expect(await sender.until(/\}$/)).toMatch(/^HTTP\/1\.1 200 /);
  });

  test('has bodyTimeout in all, however steadily it drips', async () => {
    const endpoint = await startEndpoint({ bodyTimeout: 150 }, { framework });
    const sent = delivery();
    const sender = await openDelivery(endpoint.port, sent);
    let next = 0;
    const drip = setInterval(() => sender.write(sent.body.subarray(next, ++next)), 20);
    const answer = await sender.closed.finally(() => clearInterval(drip));
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(answer).toMatch(/\r\nconnection: close\r\n/i);
    expect(answer).toContain('"code":"BODY_TIMEOUT"');
    expect(endpoint.records).toMatchObject([{ status: 408, code: 'BODY_TIMEOUT' }]);
    expect(endpoint.records[0]?.durationMs).toBeGreaterThanOrEqual(149);
    expect(endpoint.handled).toEqual([]);
  });

  test('that never begins is answered too', async () => {
    const endpoint = await startEndpoint({ bodyTimeout: 100 }, { framework });
    const sender = await openDelivery(endpoint.port, delivery(), CHUNKED);
    expect(await sender.closed).toMatch(/^HTTP\/1\.1 408 /);
  });
});

describe.each(frameworks)('ordinary HTTP, on %s', (framework) => {
  test.each([1, 7, 64, 1_000])('chunks of any size make one body: %i', async (size) => {
    const endpoint = await startEndpoint({}, { framework });
    const sent = delivery();
    const sender = await openDelivery(endpoint.port, sent, CHUNKED);
    for (let at = 0; at < sent.body.length; at += size) {
      const chunk = sent.body.subarray(at, at + size);
      sender.write(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
    }
    sender.write('0\r\n\r\n');
    expect(await sender.until(/"outcome"/)).toMatch(/^HTTP\/1\.1 200 .*"processed"/s);
    expect(endpoint.handled).toHaveLength(1);
  });

  test('one connection serves many deliveries, good and bad', async () => {
    const endpoint = await startEndpoint({}, { framework });
    const sender = await openSocket(endpoint.port);
    const deliveries = [delivery(), delivery(undefined, 'pri_another'), delivery('no JSON'), delivery()];
    for (const [index, sent] of deliveries.entries()) {
      sender.write(wire(sent));
      await sender.until(new RegExp(`(HTTP/1\\.1 .*\\}){${index + 1}}`, 's'));
    }
    expect(statuses(sender.received)).toEqual(['200', '401', '400', '200']);
    expect(endpoint.handled).toHaveLength(2);
  });

  test('two deliveries sent at once on one connection are answered in their order', async () => {
    const order: string[] = [];
    const handler = async ({ id }: { id: string }) => {
      if (id === 'slow') await until(() => order.length > 0);
      order.push(id);
    };
    const endpoint = await startEndpoint({ handlers: { 'transaction.paid': handler } }, { framework });
    const sender = await openSocket(endpoint.port);
    const good = ['slow', 'quick'].map((id) => wire(delivery(fixtures.transactionPaid({ id }))));
    sender.write(Buffer.concat([...good, wire(delivery('no JSON'))]));
    await sender.until(/HTTP.*HTTP.*HTTP.*\}/s);
    expect(statuses(sender.received)).toEqual(['200', '200', '400']);
    expect(order).toEqual(['quick', 'slow']);
  });

  test('Expect: 100-continue is honoured', async () => {
    const endpoint = await startEndpoint({}, { framework });
    const { body, headers } = delivery();
    const sender = await openSocket(endpoint.port);
    sender.write(
      head([...Object.entries(headers), ['content-length', body.length], ['expect', '100-continue']]),
    );
    await sender.until(/^HTTP\/1\.1 100 Continue\r\n\r\n/);
    sender.write(body);
    expect(await sender.until(/"outcome"/)).toMatch(/HTTP\/1\.1 200 .*"processed"/s);
  });
});

function keepsRawBody(...[req, , next]: Parameters<RequestHandler>): void {
  const chunks: Buffer[] = [];
  req.on('data', (chunk) => chunks.push(chunk));
  req.once('end', () => {
    const rawBody = Buffer.concat(chunks);
    Object.assign(req, { rawBody, body: JSON.parse(rawBody.toString()) });
    next();
  });
}

function listensToo(...[req, , next]: Parameters<RequestHandler>): void {
  req.on('data', () => {});
  next();
}

function withType(type: string | undefined): SentDelivery {
  const { body, headers } = delivery();
  const { 'content-type': _, ...rest } = headers;
  return { body, headers: type === undefined ? rest : { ...rest, 'content-type': type } };
}

function statuses(received: string): string[] {
  return [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => String(status));
}
