import { deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import express, { type RequestHandler } from 'express';
import {
  keepRawBody,
  memoryDeadLetters,
  type ReceiverOptions,
  RetryAfterError,
  receiver,
} from 'payment-webhooks';
import { fixtures } from '../src/fixtures/fixture.js';
import { captureLog } from './setup/captured-log.js';
import { delivery, KEY, SANDBOX_KEY, type SentDelivery } from './setup/delivery.js';
import { ignored, startEndpoint, startReceiver } from './setup/endpoint.js';
import { raise } from './setup/raise.js';

const never = () => new Promise<never>(() => {});
const MESSAGE = 'Jane Doe, 4242';
const throwing = () => raise(new Error(MESSAGE));
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
/** What Next.js does to the request of an API route in pages/api. */
const inNext: RequestHandler = (req, res, next) => {
  Object.defineProperty(req, 'previewData', { get: () => raise(new Error('not to be read')) });
  express.json()(req, res, next);
};
const shortened: RequestHandler = (req, _res, next) => {
  (req as { rawBody?: Buffer }).rawBody = good.body.subarray(1);
  req.resume().once('end', next);
};
const cure = (parser: string) =>
  `Mount the receiver above the parser: app.post('/hooks', receiver()) before app.use(${parser}()). ` +
  `Or let the parser keep the bytes: ${parser}({ limit: '256kb', verify: keepRawBody }).`;
const READ = 'read the body before the receiver, and did not keep the bytes';
const FORM = 'application/x-www-form-urlencoded';

interface Row {
  readonly options?: ReceiverOptions;
  readonly before?: RequestHandler;
  readonly sent?: SentDelivery;
  readonly code: string;
  readonly hint: string;
}

const COMPRESSED = 'Turn this off where requests are forwarded, or decompress the body before the receiver.';
const BASE64 =
  'The body is base64, and the signature is over the decoded bytes. Decode it before the receiver: ' +
  'Buffer.from(event.body, event.isBase64Encoded ? "base64" : "utf8").';
const NOT_SIGNED =
  'None of the keys made this signature. Usual causes: another account’s private key, or an old one; a proxy that changed ' +
  'the body; a forged delivery.';
const base64 = good.body.toString('base64');
const encoded: [Buffer, string][] = [
  [Buffer.from(base64), BASE64],
  [Buffer.from(JSON.stringify(base64)), BASE64],
  [Buffer.from(Buffer.from(`\ufeff ${good.body}`).toString('base64url')), BASE64],
  [Buffer.from(gzipSync(good.body).toString('base64')), BASE64],
  ...([gzipSync, deflateSync] as const).map((compress, index): [Buffer, string] => [
    compress(good.body),
    `The body is compressed (${['gzip', 'zlib'][index]}), and the signature is over the plain bytes. ${COMPRESSED}`,
  ]),
  [
    Buffer.from(JSON.stringify(good.body.toString())),
    'The body is a JSON string with the event in it. Pass the string itself, without JSON.stringify().',
  ],
  [Buffer.from('{}'), NOT_SIGNED],
  [Buffer.from('id=1&name=2'), NOT_SIGNED],
  [Buffer.from('hello'), NOT_SIGNED],
  [Buffer.alloc(0), NOT_SIGNED],
];

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
    hint: `Something ${READ}. In Fastify call it in an onRequest hook. ${cure('express.json')}`,
  },
  {
    before: express.json(),
    code: 'BODY_CONSUMED',
    hint: `express.json() or similar ${READ}. ${cure('express.json')}`,
  },
  {
    before: express.json({ type: '*/*' }),
    sent: withHeader('content-type', 'application/vnd.service+json; charset=utf-8'),
    code: 'BODY_CONSUMED',
    hint: `express.json() or similar ${READ}. ${cure('express.json')}`,
  },
  {
    // The JSON parser of this app keeps the bytes; it is the other one that does not.
    before: express.Router().use(express.json({ verify: keepRawBody }), express.urlencoded()),
    sent: withHeader('content-type', FORM),
    code: 'BODY_CONSUMED',
    hint:
      `express.urlencoded() or similar ${READ}, because the request says ` +
      `Content-Type: ${FORM}. Events are JSON: send application/json. ${cure('express.urlencoded')}`,
  },
  {
    before: express.text({ type: '*/*' }),
    sent: delivery(`\ufeff${good.body}`),
    code: 'BODY_CONSUMED',
    hint: `express.text() or similar changed the body when it decoded it. ${cure('express.text')}`,
  },
  {
    before: inNext,
    code: 'BODY_CONSUMED',
    hint:
      'Next.js parsed the body before the receiver, and did not keep the bytes. Turn its parser off in the file of the ' +
      'route with export const config = { api: { bodyParser: false } }.',
  },
  {
    before: asText,
    code: 'BODY_CONSUMED',
    hint: `Something turned the bytes of the request into text or objects before the receiver, as req.setEncoding() does. ${cure('express.json')}`,
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
      handlers: { '*': never, 'transaction.*': () => {}, 'transaction.paid': () => never() },
      ...{ timeout: 50, maxHandlerTime: 60, lease: 60 },
    },
    code: 'HANDLER_TIMEOUT',
    hint: 'Not finished after 50 ms: never, transaction.paid.',
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
  ...encoded.map(([body, hint]) => ({ sent: { ...good, body }, code: 'SIGNATURE_MISMATCH', hint })),
  { sent: delivery(''), code: 'BODY_MALFORMED', hint: 'The body is empty.' },
  { sent: delivery(Buffer.from([0xff])), code: 'BODY_MALFORMED', hint: 'The body is not UTF-8.' },
  { sent: delivery('{'), code: 'BODY_MALFORMED', hint: 'The body is not JSON.' },
  {
    options: { privateKey: [KEY, SANDBOX_KEY] },
    sent: delivery(fixtures.transactionPaid({ sandbox: false }), SANDBOX_KEY),
    code: 'KEY_MODE_MISMATCH',
    hint:
      'A key that starts with pri_sandbox_ signed a live event. Only someone who has that key can do this: ' +
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

const UNKEPT =
  'Only the service keeps this event, until it stops retrying. To keep such events, use the option deadLetters.';

test.each<[string, ReceiverOptions, boolean]>([
  ['a handler that fails, without dead letters', { handlers: { '*': throwing } }, true],
  [
    'a handler that fails, with dead letters',
    { handlers: { '*': throwing }, deadLetters: memoryDeadLetters() },
    false,
  ],
  ['a handler that asks for a retry', { handlers: { '*': () => raise(new RetryAfterError('1s')) } }, false],
])('who keeps the event is said of %s', async (_, options, said) => {
  const { post, log } = startReceiver(options);
  await post();
  const { hint = '' } = log.lines.at(-1) as { hint?: string };
  expect(hint.endsWith(UNKEPT)).toBe(said);
});

test.each(rows)(
  'the log says of a refusal what to look at, and the answer does not: $code: $hint',
  async (row) => {
    const { options = {}, before, sent = good, code, hint } = row;
    const endpoint = await startEndpoint(options, before ? { before: () => [before] } : {});
    const answer = await endpoint.post(sent);
    expect(JSON.stringify(answer)).not.toContain('explain');
    const end = code === 'HANDLER_FAILED' ? ` ${UNKEPT}` : '';
    const line = { code, hint: `${hint} Run \`npx payment-webhooks explain ${code}\`.${end}` };
    expect(endpoint.log.lines).toContainEqual(expect.objectContaining(line));
    expect(endpoint.handled).toEqual([]);
  },
);

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
    const waiting = () => raise(new RetryAfterError('30s'));
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
    const reply = await fetch(`http://127.0.0.1:${endpoint.port}/anything?at=all`, { method });
    expect([reply.status, await reply.json()]).toEqual([401, { message: 'Unauthenticated.' }]);
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
    expect(await endpoint.post()).toMatchObject(ignored);
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
    expect(await endpoint.post(unfit)).toMatchObject(ignored);
    expect(endpoint.log.lines[0]).not.toHaveProperty('hint');
  });
});
