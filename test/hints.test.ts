import { describe, expect, test } from '@jest/globals';
import express, { type RequestHandler } from 'express';
import { keepRawBody, type ReceiverOptions, RetryAfterError, receiver } from 'payment-webhooks';
import { fixtures } from '../src/fixtures/fixture.js';
import { captureBody, inspectHeaders } from '../src/receiver/capture-body.js';
import { findSignature } from '../src/receiver/check-signature.js';
import { captureLog } from './setup/captured-log.js';
import { delivery, KEY, SANDBOX_KEY, type SentDelivery } from './setup/delivery.js';
import { startEndpoint } from './setup/endpoint.js';

const never = () => new Promise<never>(() => {});
const MESSAGE = 'Jane Doe, 4242';
const throwing = () => {
  throw new Error(MESSAGE);
};
const schema = (validate: () => never | Promise<never>) =>
  ({ '~standard': { version: 1, vendor: 'test', validate } }) as const;
const good = delivery();
const withHeader = (name: string, value: string): SentDelivery => ({
  ...good,
  headers: { ...good.headers, [name]: value },
});
const drained: RequestHandler = (req, _res, next) => void req.resume().once('end', next);
const asText: RequestHandler = (req, _res, next) => {
  req.setEncoding('utf8');
  next();
};
const shortened: RequestHandler = (req, _res, next) => {
  (req as { rawBody?: Buffer }).rawBody = good.body.subarray(1);
  req.resume().once('end', next);
};
const cure = (parser: string) =>
  `Mount the receiver above the parser: app.post('/hooks', receiver()) before app.use(${parser}()). ` +
  `Or let the parser keep the bytes: ${parser}({ verify: keepRawBody }).`;
const FORM = 'application/x-www-form-urlencoded';

interface Row {
  readonly options?: ReceiverOptions;
  readonly before?: RequestHandler;
  readonly sent?: SentDelivery;
  readonly code: string;
  readonly hint: string;
}

const rows: Row[] = [
  {
    sent: withHeader('content-encoding', 'gzip'),
    code: 'BODY_ENCODED',
    hint: 'The body has a Content-Encoding; the signature is over plain bytes.',
  },
  {
    sent: withHeader('content-type', 'application/json; charset=latin1'),
    code: 'BODY_ENCODED',
    hint: 'The Content-Type names a charset other than UTF-8.',
  },
  {
    options: { limit: 100 },
    code: 'BODY_TOO_LARGE',
    hint: 'The body is larger than the option limit, 100 bytes.',
  },
  {
    before: drained,
    code: 'BODY_CONSUMED',
    hint: `Something read the body before the receiver, and did not keep the bytes. In Fastify call it in an onRequest hook. ${cure('express.json')}`,
  },
  {
    before: express.json(),
    code: 'BODY_CONSUMED',
    hint: `express.json() or similar read the body before the receiver, and did not keep the bytes. ${cure('express.json')}`,
  },
  {
    before: express.json({ type: '*/*' }),
    sent: withHeader('content-type', 'application/vnd.service+json; charset=utf-8'),
    code: 'BODY_CONSUMED',
    hint: `express.json() or similar read the body before the receiver, and did not keep the bytes. ${cure('express.json')}`,
  },
  {
    // The JSON parser of this app keeps the bytes; it is the other one that does not.
    before: express.Router().use(express.json({ verify: keepRawBody }), express.urlencoded()),
    sent: withHeader('content-type', FORM),
    code: 'BODY_CONSUMED',
    hint:
      'express.urlencoded() or similar read the body before the receiver, and did not keep the bytes, because the request says ' +
      `Content-Type: ${FORM}. Events are JSON: send application/json. ${cure('express.urlencoded')}`,
  },
  {
    before: express.text({ type: '*/*' }),
    sent: delivery(`\ufeff${good.body}`),
    code: 'BODY_CONSUMED',
    hint: `express.text() or similar changed the body when it decoded it. ${cure('express.text')}`,
  },
  {
    before: asText,
    code: 'BODY_CONSUMED',
    hint: `Something called req.setEncoding(), which turns the bytes into text. ${cure('express.json')}`,
  },
  {
    before: shortened,
    code: 'BODY_MALFORMED',
    hint: 'The length of the body differs from its Content-Length.',
  },
  {
    sent: withHeader('x-service-signature', ''),
    code: 'SIGNATURE_MISSING',
    hint: 'The header x-service-signature is missing or empty.',
  },
  {
    options: { signatureHeader: 'X-Pay-Signature' },
    sent: withHeader('x-hmac-sha256', 'secret'),
    code: 'SIGNATURE_MISSING',
    hint:
      'The header x-pay-signature is missing or empty. These came: x-service-signature, x-hmac-sha256. ' +
      'If one of them carries the signature, name it in the option signatureHeader.',
  },
  {
    options: {
      timeout: 50,
      maxHandlerTime: 60,
      lease: 60,
      handlers: { '*': never, 'transaction.*': () => {} },
    },
    code: 'HANDLER_TIMEOUT',
    hint: 'Not finished after 50 ms: never.',
  },
  {
    sent: withHeader('x-service-signature', 'abc'),
    code: 'SIGNATURE_MALFORMED',
    hint: 'The signature is not exactly 64 lower-case hexadecimal digits.',
  },
  {
    options: { privateKey: never, storeTimeout: 50 },
    code: 'KEY_UNAVAILABLE',
    hint: 'The key function took too long.',
  },
  { options: { privateKey: throwing }, code: 'KEY_UNAVAILABLE', hint: 'The key function failed.' },
  { sent: delivery(''), code: 'BODY_MALFORMED', hint: 'The body is empty.' },
  { sent: delivery(Buffer.from([0xff])), code: 'BODY_MALFORMED', hint: 'The body is not UTF-8.' },
  { sent: delivery('{'), code: 'BODY_MALFORMED', hint: 'The body is not JSON.' },
  {
    options: { privateKey: [KEY, SANDBOX_KEY] },
    sent: delivery(fixtures.transactionPaid({ sandbox: false }), SANDBOX_KEY),
    code: 'KEY_MODE_MISMATCH',
    hint:
      'A key that starts with pri_sandbox_ signed an event that says it is live. Only somebody who has that key can do this: ' +
      'find out who, and rotate it.',
  },
  {
    options: { events: { 'transaction.paid': schema(never) }, storeTimeout: 50 },
    code: 'HANDLER_TIMEOUT',
    hint: 'The schema declared for this event took longer than storeTimeout.',
  },
  {
    options: { events: { 'transaction.paid': schema(throwing) } },
    code: 'HANDLER_FAILED',
    hint: 'The schema declared for this event threw.',
  },
];

describe('the log line of a refusal says what to look at, and the answer does not', () => {
  test.each(rows)('$code: $hint', async ({ options, before, sent, code, hint }) => {
    const endpoint = await startEndpoint(
      options as ReceiverOptions,
      before ? { before: () => [before] } : {},
    );
    const answer = await endpoint.post(sent ?? good);
    expect(JSON.stringify(answer)).not.toContain('explain');
    const line = { code, hint: `${hint} Run \`npx payment-webhooks explain ${code}\`.` };
    expect(endpoint.log.lines).toContainEqual(expect.objectContaining(line));
    expect(endpoint.handled).toEqual([]);
  });
});

describe('the log line of a refusal says what kind of error was thrown and where, but not its message', () => {
  test.each<[string, ReceiverOptions]>([
    ['a key function', { privateKey: throwing }],
    ['a schema', { events: { 'transaction.paid': schema(throwing) } }],
  ])('%s', async (_, options) => {
    const endpoint = await startEndpoint(options);
    await endpoint.post();
    const at = expect.arrayContaining([expect.stringContaining('hints.test')]);
    expect(endpoint.log.lines).toMatchObject([{ msg: 'delivery', error: { type: 'Error', at } }]);
    expect(endpoint.log.text.join()).not.toContain(MESSAGE);
  });

  test('but leaves handlers and stores to their own lines', async () => {
    for (const options of [{ handlers: { '*': throwing } }, { store: { claim: throwing } }]) {
      const endpoint = await startEndpoint(options);
      await endpoint.post();
      const [own, line] = endpoint.log.lines;
      expect(own).toMatchObject({ error: { type: 'Error' } });
      expect(line).toMatchObject({ msg: 'delivery' });
      expect(line).not.toHaveProperty('error');
    }
  });
});

describe('the command that explains a code', () => {
  test('is in the line of a refusal that has no hint of its own', async () => {
    const waiting = () => {
      throw new RetryAfterError('30s');
    };
    const endpoint = await startEndpoint({ handlers: { 'transaction.paid': waiting } });
    await endpoint.post();
    const hint = 'Run `npx payment-webhooks explain RETRY_LATER`.';
    expect(endpoint.log.lines).toContainEqual(expect.objectContaining({ code: 'RETRY_LATER', hint }));
  });

  test('is not in the line of a delivery that succeeds', async () => {
    const endpoint = await startEndpoint();
    await endpoint.post();
    expect(endpoint.log.lines[0]).not.toHaveProperty('hint');
  });
});

describe('a request that is no POST', () => {
  const hint = expect.stringMatching(
    /^The request is not a POST, and deliveries are POST\. Mount .* app\.post\(\)/,
  );

  test.each(['GET', 'PUT'])('is told how to mount the receiver: %s', async (method) => {
    const endpoint = await startEndpoint({}, { framework: 'node:http' });
    const { status } = await fetch(`http://127.0.0.1:${endpoint.port}/`, { method });
    expect(status).toBe(401);
    expect(endpoint.log.lines).toMatchObject([{ code: 'SIGNATURE_MISSING', hint }]);
  });

  test('is told so through fetch() too', async () => {
    const log = captureLog();
    const hooks = receiver({ privateKey: KEY, logger: log.logger });
    await hooks.fetch(new Request('http://localhost/hooks'));
    expect(log.lines).toMatchObject([{ hint }]);
  });
});

describe('the log line of an ignored event says why', () => {
  test.each<[string, ReceiverOptions]>([
    [
      "No handler is registered for it. Register one: hooks.on('transaction.paid', async (event) => { … }).",
      { handlers: {} },
    ],
    ['The option sandbox says to ignore it.', { sandbox: 'only' }],
  ])('%s', async (hint, options) => {
    const endpoint = await startEndpoint(options);
    expect(await endpoint.post()).toMatchObject({ status: 200, body: { outcome: 'ignored' } });
    expect(endpoint.log.lines[0]).toMatchObject({ level: 30, outcome: 'ignored', hint });
  });

  test('and warns, once for each name, that nothing handles it', async () => {
    const endpoint = await startEndpoint({ handlers: {} });
    for (let sent = 0; sent < 3; sent += 1) await endpoint.post(delivery());
    expect(endpoint.log.lines.filter(({ level }) => level === 40)).toMatchObject([
      {
        eventName: 'transaction.paid',
        msg: "an event was acknowledged, but nothing handles it: register a handler with hooks.on('transaction.paid', …)",
      },
    ]);
    const ignoring = await startEndpoint({ sandbox: 'only' });
    await ignoring.post();
    expect(ignoring.log.lines).toMatchObject([{ level: 30, outcome: 'ignored' }]);
  });

  test('and leaves it to onInvalid to say so', async () => {
    const endpoint = await startEndpoint();
    endpoint.hooks.onInvalid(() => {});
    const unfit = delivery({ ...fixtures.transactionPaid(), payload: {} });
    expect(await endpoint.post(unfit)).toMatchObject({ status: 200, body: { outcome: 'ignored' } });
    expect(endpoint.log.lines[0]).not.toHaveProperty('hint');
  });
});

describe('similar headers', () => {
  test('are named up to five, and only in words that any log takes', () => {
    const headers = Object.fromEntries(
      Array.from({ length: 9 }, (_, index) => [`x-signature-${index}`, 'secret'] as const),
    );
    const fault = findSignature(
      { ['x-sign\n' as string]: 'a', [`${'x'.repeat(99)}sign`]: 'a', ...headers },
      'x-s',
    );
    expect(fault).toMatchObject({
      code: 'SIGNATURE_MISSING',
      hint: expect.stringMatching(/These came: (x-signature-\d(, )?){5}\. If one/),
    });
    expect(JSON.stringify(fault)).not.toContain('secret');
  });
});

describe('headers that rule a body out before it is read', () => {
  test.each([
    ['content-length', '101', 'BODY_TOO_LARGE'],
    ['content-encoding', 'br', 'BODY_ENCODED'],
    ['content-type', 'application/json;charset=utf-16', 'BODY_ENCODED'],
    ['content-type', 'application/json;  charset = "utf-16"', 'BODY_ENCODED'],
    ['content-type', 'application/json; CHARSET=UTF-16', 'BODY_ENCODED'],
  ])('%s: %s', (name, value, code) => {
    expect(inspectHeaders({ [name]: value }, 100)?.code).toBe(code);
  });

  test.each([
    ['content-length', '100'],
    ['content-length', 'many'],
    ['content-encoding', 'identity'],
    ['content-type', 'application/json;charset=utf-8'],
    ['content-type', 'application/json; charset="UTF8"'],
    ['content-type', 'application/json; charset=us-ascii'],
    ['content-type', 'application/json; charsets=utf-16'],
    ['content-type', 'application/json; charset='],
    ['accept', '*/*'],
  ])('not by %s: %s', (name, value) => {
    expect(inspectHeaders({ [name]: value }, 100)).toBeUndefined();
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
    [undefined, 'bytes'],
    ['4', 'bytes'],
    ['4, 4', 'bytes'],
    ['x4', 'bytes'],
    ['3', 'BODY_MALFORMED'],
  ])('with Content-Length %s are %s', async (length, result) => {
    const captured = await capture(
      { rawBody: bytes },
      length === undefined ? {} : { 'content-length': length },
    );
    expect(captured).toEqual(result === 'bytes' ? bytes : expect.objectContaining({ code: result }));
  });

  test('over the limit are refused', async () => {
    expect(await capture({ rawBody: Buffer.alloc(5) })).toMatchObject({ code: 'BODY_TOO_LARGE' });
  });
});
