import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, jest, test } from '@jest/globals';
import type { ReceiverOptions } from 'payment-webhooks';
import { fixtures } from '../../src/fixtures/fixture.js';
import { checkSignature, findSignature } from '../../src/receiver/check-signature.js';
import { delivery, hmac, KEY, SANDBOX_KEY, type SentDelivery } from '../setup/delivery.js';
import { frameworks, type Receiving, type Reply, startEndpoint, startReceiver } from '../setup/endpoint.js';
import { down, raise } from '../setup/raise.js';
import { head, openSocket } from '../setup/raw-socket.js';
import { until } from '../setup/waiting.js';

const UNAUTHENTICATED = { status: 401, body: { message: 'Unauthenticated.' } };

/** Refused for this reason; and neither the answer nor the log tells a stranger or a disk more than it should. */
function expectRefused(endpoint: Receiving, reply: Reply, code: string): void {
  expect(reply).toMatchObject(UNAUTHENTICATED);
  expect(Object.keys(reply.body as object)).toEqual(['message']);
  expect(reply.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'content-length': '30',
  });
  expect(endpoint.records).toMatchObject([{ status: 401, code, handlers: [] }]);
  expect(endpoint.log.lines).toMatchObject([{ level: 40, code, status: 401 }]);
  expect(endpoint.handled).toEqual([]);
}

/** The delivery with another value in the signature header; undefined removes it. */
function signedWith(value: string | undefined, { body, headers } = delivery()): SentDelivery {
  const { 'x-service-signature': _, ...rest } = headers;
  return { body, headers: value === undefined ? rest : { ...rest, 'x-service-signature': value } };
}

describe.each(frameworks)('the signature, on %s', (framework) => {
  test.each<[string, SentDelivery]>([
    ['none', signedWith(undefined)],
    ['an empty one', signedWith('')],
    ['white space', signedWith('   ')],
    ['one in the body', signedWith(undefined, delivery({ 'X-SERVICE-SIGNATURE': 'a'.repeat(64) }))],
  ])('a missing or empty one is refused: %s', async (_, sent) => {
    const endpoint = await startEndpoint({}, { framework });
    expectRefused(endpoint, await endpoint.post(sent), 'SIGNATURE_MISSING');
  });

  test('without one the answer comes before any of the body, which is never kept', async () => {
    const endpoint = await startEndpoint({}, { framework });
    const stranger = await openSocket(endpoint.port);
    stranger.write(head([['content-length', 200_000]]));
    expect(await stranger.until(/Unauthenticated/)).toMatch(/^HTTP\/1\.1 401 /);
    expect(endpoint.records).toMatchObject([{ code: 'SIGNATURE_MISSING', bytes: 0 }]);
    stranger.socket.destroy();
  });

  const { body } = delivery();
  const [right, wrong] = [hmac(body), 'a'.repeat(64)];
  test.each([
    ['twice the same', right, right],
    ['the right one first', right, wrong],
    ['the right one last', wrong, right],
  ])('two signature headers are refused: %s', async (_, ...signatures) => {
    const endpoint = await startEndpoint({}, { framework });
    const sender = await openSocket(endpoint.port);
    const twice = signatures.map((value) => ['X-SERVICE-SIGNATURE', value] as const);
    sender.write(head([['content-length', body.length], ['connection', 'close'], ...twice]));
    sender.write(body);
    expect(await sender.closed).toMatch(/^HTTP\/1\.1 401 /);
    expect(endpoint.records).toMatchObject([{ code: 'SIGNATURE_MALFORMED' }]);
    expect(endpoint.handled).toEqual([]);
  });

  // What a lenient reader would still find the right one in. The other shapes: test/signature.test.ts.
  test.each<[string, (right: string) => string]>([
    ['upper case', (right) => right.toUpperCase()],
    ['a space inside', (right) => `${right.slice(0, 32)} ${right.slice(32)}`],
    ['rubbish behind the right one', (right) => `${right}zz`],
    ['the right one twice', (right) => right + right],
    ['a scheme before it', (right) => `sha256=${right}`],
    ['quotes around it', (right) => `"${right}"`],
    ['base64', (right) => Buffer.from(right, 'hex').toString('base64')],
    ['15 kB of a', () => 'a'.repeat(15 * 1024)],
  ])('anything but 64 lower-case hexadecimal digits is refused: %s', async (_, damage) => {
    const endpoint = await startEndpoint({}, { framework });
    const right = delivery();
    const reply = await endpoint.post(signedWith(damage(hmac(right.body)), right));
    expectRefused(endpoint, reply, 'SIGNATURE_MALFORMED');
    expect(endpoint.records).toMatchObject([{ bytes: 0 }]);
  });

  test.each<[string, (sent: SentDelivery) => SentDelivery]>([
    ['made with another key', ({ body }) => delivery(body, 'pri_another')],
    ['made with no key worth the name', ({ body }) => delivery(body, '')],
    ['one bit of the body flipped', ({ body, headers }) => ({ headers, body: flipBit(body) })],
    ['one byte more', ({ body, headers }) => ({ headers, body: Buffer.concat([body, Buffer.from('\n')]) })],
    ['one byte less', ({ body, headers }) => ({ headers, body: body.subarray(0, -1) })],
    ['the body encoded again by a proxy', ({ body, headers }) => ({ headers, body: encodedAgain(body) })],
    ['the signature of an empty body', ({ body }) => signedWith(hmac(''), delivery(body))],
    ['the last digit changed', (sent) => signedWith(lastDigitChanged(hmac(sent.body)), sent)],
  ])('a signature over other bytes or by another key is refused: %s', async (_, damage) => {
    const endpoint = await startEndpoint({}, { framework });
    const reply = await endpoint.post(damage(delivery()));
    expectRefused(endpoint, reply, 'SIGNATURE_MISMATCH');
  });

  test('the log names the three usual causes of a mismatch, once for many deliveries', async () => {
    const endpoint = await startEndpoint({}, { framework });
    const forged = delivery(undefined, 'pri_another');
    await Promise.all(Array.from({ length: 20 }, () => endpoint.post(forged)));
    expect(endpoint.records).toHaveLength(20);
    expect(endpoint.log.lines).toHaveLength(1);
    expect(endpoint.log.lines[0]?.hint).toMatch(/another account.*key.*proxy.*forged/);
  });

  test.each([
    ['the query', '/hooks?X-SERVICE-SIGNATURE=', ''],
    ['a trailer', '/hooks', 'X-SERVICE-SIGNATURE: '],
  ])('a signature in %s does not count', async (_, path, trailer) => {
    const endpoint = await startEndpoint({}, { framework });
    const { body } = delivery();
    const sender = await openSocket(endpoint.port);
    const headers = [
      ['transfer-encoding', 'chunked'],
      ['connection', 'close'],
      ...(trailer ? [['trailer', 'X-SERVICE-SIGNATURE'] as const] : []),
    ] as const;
    sender.write(head(headers, trailer ? path : `${path}${hmac(body)}`));
    sender.write(`${body.length.toString(16)}\r\n${body}\r\n0\r\n`);
    sender.write(trailer ? `${trailer}${hmac(body)}\r\n\r\n` : '\r\n');
    expect(await sender.closed).toMatch(/^HTTP\/1\.1 401 /);
    expect(endpoint.records).toMatchObject([{ code: 'SIGNATURE_MISSING' }]);
    expect(endpoint.handled).toEqual([]);
  });

  test('the header may have another name', async () => {
    const endpoint = await startEndpoint({ signatureHeader: 'X-Acme-Signature' }, { framework });
    const { body, headers } = delivery();
    expect(await endpoint.post({ body, headers: { 'x-acme-signature': hmac(body) } })).toMatchObject({
      status: 200,
    });
    expect(await endpoint.post({ body, headers })).toMatchObject(UNAUTHENTICATED);
  });
});

test('headers that resemble the missing one are named up to five, and only in words that any log takes', () => {
  const similar = Object.fromEntries(
    Array.from({ length: 9 }, (_, index) => [`x-signature-${index}`, 'secret']),
  );
  const fault = findSignature({ 'x-sign\n': 'a', [`${'x'.repeat(99)}sign`]: 'a', ...similar }, 'x-s');
  expect(fault).toMatchObject({
    code: 'SIGNATURE_MISSING',
    hint: expect.stringMatching(/These came: (x-signature-\d(, )?){5}\. If one/),
  });
  expect(JSON.stringify(fault)).not.toContain('secret');
});

describe('several keys', () => {
  test.each([
    [0, 'pri_new'],
    [1, 'pri_old'],
    [2, SANDBOX_KEY],
  ])('any of them may have signed, and the record and the log say which: %i', async (keyIndex, key) => {
    const endpoint = startReceiver({ privateKey: ['pri_new', 'pri_old', SANDBOX_KEY] });
    const event = fixtures.transactionPaid({ sandbox: true });
    expect(await endpoint.post(delivery(event, key))).toMatchObject({ status: 200 });
    expect(endpoint.records).toMatchObject([{ outcome: 'processed', keyIndex }]);
    expect(endpoint.log.lines).toMatchObject([{ outcome: 'processed', keyIndex }]);
  });

  test('a key that is none of them is refused', async () => {
    const endpoint = startReceiver({ privateKey: ['pri_new', 'pri_old'] });
    const reply = await endpoint.post(delivery(undefined, 'pri_older'));
    expectRefused(endpoint, reply, 'SIGNATURE_MISMATCH');
    expect(endpoint.records[0]).not.toHaveProperty('keyIndex');
  });
});

describe('a key function', () => {
  test.each(frameworks)(
    'is given the headers and may answer with one key or several, at once or later, on %s',
    async (framework) => {
      const keysOf = new Map<unknown, () => string | string[] | Promise<string[]>>([
        ['one', () => 'pri_one'],
        ['two', async () => ['pri_two', 'pri_2']],
      ]);
      const options: ReceiverOptions = {
        privateKey: ({ headers }) => keysOf.get(headers['x-account'])?.() ?? [],
      };
      const endpoint = await startEndpoint(options, { framework });
      const send = (account: string, key: string) => {
        const { body, headers } = delivery(undefined, key);
        return endpoint.post({ body, headers: { ...headers, 'X-Account': account } });
      };
      expect(await send('one', 'pri_one')).toMatchObject({ status: 200 });
      expect(await send('two', 'pri_2')).toMatchObject({ status: 200 });
      expect(await send('one', 'pri_two')).toMatchObject(UNAUTHENTICATED);
      expect(endpoint.records).toMatchObject([{ keyIndex: 0 }, { keyIndex: 1 }, { status: 401 }]);
    },
  );

  test('is not asked for a stranger whose signature has no such shape', async () => {
    const privateKey = jest.fn(() => KEY);
    const endpoint = startReceiver({ privateKey });
    await endpoint.post(signedWith(undefined));
    await endpoint.post(signedWith('zz'));
    expect(privateKey).not.toHaveBeenCalled();
  });

  const secret = 'pri_in_the_message';
  const look = () => raise(new Error(secret));
  const traps = { has: look, get: look, getPrototypeOf: look };
  const unreadable = new Proxy({}, traps);
  test.each<[string, () => unknown]>([
    ['throws', () => raise(new Error(secret))],
    ['throws null', () => raise(null)],
    ['throws a value that throws when it is read', () => raise(unreadable)],
    ['throws a function that throws when it is read', () => raise(new Proxy(() => {}, traps))],
    ['rejects', () => Promise.reject(new Error(secret))],
    ['rejects with nothing', () => Promise.reject()],
    ['hangs', () => new Promise(() => {})],
    // biome-ignore lint/suspicious/noThenProperty: a promise of another make
    ['is a thenable that throws', () => ({ then: () => raise(new Error(secret)) })],
    ['returns nothing', () => undefined],
    ['resolves with nothing', async () => undefined],
    ['returns no keys', () => []],
    ['returns an empty key', () => ['']],
    ['returns a key with a line break', () => `${secret}\n`],
    ['returns the bytes of a key with a line break', () => Buffer.from(`${secret}\n`)],
    ['returns a number', () => 7],
  ])('that %s gets the delivery refused for now, not for good', async (_, misbehave) => {
    const endpoint = startReceiver({ privateKey: misbehave as () => string, storeTimeout: 100 });
    const reply = await endpoint.post();
    expect(reply).toMatchObject({ status: 503, body: { code: 'KEY_UNAVAILABLE' } });
    expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0);
    expect(endpoint.handled).toEqual([]);
    expect(endpoint.records).toMatchObject([{ status: 503, code: 'KEY_UNAVAILABLE' }]);
    expect(endpoint.log.lines).toMatchObject([{ level: 50, code: 'KEY_UNAVAILABLE' }]);
    expect(endpoint.log.text.join('') + JSON.stringify(reply)).not.toContain(secret);
  });

  test('that wipes its key bytes too early: 503, and the empty key signs nothing', async () => {
    const privateKey = async () => {
      const bytes = Buffer.from(secret);
      try {
        return bytes as unknown as string;
      } finally {
        bytes.fill(0);
      }
    };
    const endpoint = startReceiver({ privateKey });
    const reply = await endpoint.post(delivery(undefined, ''));
    expect(reply).toMatchObject({ status: 503, body: { code: 'KEY_UNAVAILABLE' } });
    expect(endpoint.handled).toEqual([]);
  });

  test('that throws a ConfigurationError has its message logged, also if another copy of the package made it', async () => {
    const message = 'The key is empty: anyone could sign with it.';
    const brand = Symbol.for('payment-webhooks.error');
    const ofAnotherCopy = Object.assign(new Error(message), { name: 'ConfigurationError', [brand]: true });
    const endpoint = startReceiver({ privateKey: () => raise(ofAnotherCopy) });
    expect(await endpoint.post()).toMatchObject({ status: 503 });
    expect(endpoint.log.lines).toMatchObject([
      { code: 'KEY_UNAVAILABLE', hint: expect.stringContaining(message) },
    ]);
  });
});

describe('a key function that can load newer keys', () => {
  const start = (keys: () => string | Promise<string>, newer: () => unknown) => {
    const refresh = jest.fn(async () => (await newer()) as string | undefined);
    const privateKey = Object.assign(keys, { refresh });
    return { refresh, endpoint: startReceiver({ privateKey, storeTimeout: 100 }) };
  };
  const old = () => 'pri_old';

  test.each<[string, () => string | Promise<string>]>([
    ['at once', () => 'pri_old'],
    ['later', async () => 'pri_old'],
  ])('takes the first delivery of a new key, where it answers %s', async (_, keys) => {
    const { endpoint, refresh } = start(keys, () => ['pri_newest', 'pri_new']);
    expect(await endpoint.post(delivery(undefined, 'pri_new'))).toMatchObject({ status: 200 });
    expect(endpoint.records).toMatchObject([{ outcome: 'processed', keyIndex: 1 }]);
    expect(refresh).toHaveBeenCalledTimes(1);
  });

  test('is not asked for them while one of its keys made the signature', async () => {
    const { endpoint, refresh } = start(old, () => 'pri_new');
    expect(await endpoint.post(delivery(undefined, 'pri_old'))).toMatchObject({ status: 200 });
    expect(refresh).not.toHaveBeenCalled();
  });

  test('is not asked a second time when it has just failed', async () => {
    const { endpoint, refresh } = start(down, () => KEY);
    expect(await endpoint.post()).toMatchObject({ status: 503, body: { code: 'KEY_UNAVAILABLE' } });
    expect(refresh).not.toHaveBeenCalled();
  });

  test.each<[string, () => unknown]>([
    ['there are none', () => undefined],
    ['none of them made the signature either', () => 'pri_new'],
  ])('refuses a forged delivery for good when %s', async (_, newer) => {
    const { endpoint, refresh } = start(old, newer);
    const reply = await endpoint.post(delivery(undefined, 'pri_forged'));
    expectRefused(endpoint, reply, 'SIGNATURE_MISMATCH');
    expect(refresh).toHaveBeenCalledTimes(1);
  });

  test.each<[string, () => unknown]>([
    ['cannot be loaded', down],
    ['take too long', () => new Promise(() => {})],
  ])('refuses nobody for good while they %s', async (_, newer) => {
    const { endpoint } = start(old, newer);
    const reply = await endpoint.post(delivery(undefined, 'pri_new'));
    expect(reply).toMatchObject({ status: 503, body: { code: 'KEY_UNAVAILABLE' } });
    expect(endpoint.handled).toEqual([]);
  });
});

describe('a sandbox key', () => {
  const keys = [KEY, SANDBOX_KEY];

  test.each(frameworks)('must never sign a live event, on %s', async (framework) => {
    const endpoint = await startEndpoint({ privateKey: keys }, { framework });
    const reply = await endpoint.post(delivery(fixtures.transactionPaid({ sandbox: false }), SANDBOX_KEY));
    expectRefused(endpoint, reply, 'KEY_MODE_MISMATCH');
  });

  test.each<[string, unknown]>([
    ['bytes', Buffer.from(SANDBOX_KEY)],
    ['a list of bytes', [KEY, Buffer.from(SANDBOX_KEY)]],
    ['a function of bytes', () => Buffer.from(SANDBOX_KEY)],
    ['a function of a list of bytes', async () => [Buffer.from(SANDBOX_KEY)]],
  ])('is known as one when JavaScript gives it as %s', async (_, privateKey) => {
    const endpoint = startReceiver({ privateKey: privateKey as string });
    const reply = await endpoint.post(delivery(fixtures.transactionPaid({ sandbox: false }), SANDBOX_KEY));
    expectRefused(endpoint, reply, 'KEY_MODE_MISMATCH');
    const sandboxed = delivery(fixtures.transactionPaid({ sandbox: true }), SANDBOX_KEY);
    expect(await endpoint.post(sandboxed)).toMatchObject({ status: 200 });
  });

  test('vouches for a sandbox event, and so does a live key', async () => {
    const endpoint = startReceiver({ privateKey: keys });
    for (const key of keys) {
      const event = fixtures.transactionPaid({ sandbox: true });
      expect(await endpoint.post(delivery(event, key))).toMatchObject({ status: 200 });
    }
    expect(endpoint.records).toMatchObject([{ sandbox: true, keyIndex: 0 }, { keyIndex: 1 }]);
  });
});

function flipBit(body: Buffer): Buffer {
  const flipped = Buffer.from(body);
  const middle = flipped.length >> 1;
  flipped[middle] = (flipped[middle] ?? 0) ^ 1;
  return flipped;
}

function encodedAgain(body: Buffer): Buffer {
  return Buffer.from(JSON.stringify(JSON.parse(body.toString()), null, 1));
}

function lastDigitChanged(signature: string): string {
  return signature.slice(0, -1) + (signature.endsWith('0') ? '1' : '0');
}

test('a key function that hangs holds no bytes of the deliveries that asked it', async () => {
  const hung = new Promise<never>(() => {});
  const keys = Object.assign(() => hung, { refresh: () => hung });
  const ask = async () => {
    const bytes = Buffer.alloc(100_000);
    const body = { bytes, headers: {} };
    const result = await checkSignature(body, 'a'.repeat(64), { keys, storeTimeout: 10 });
    expect(result).toMatchObject({ code: 'KEY_UNAVAILABLE' });
    return new WeakRef(bytes);
  };
  const held = await Promise.all(Array.from({ length: 10 }, ask));
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc');
  await until(() => {
    collectGarbage();
    return held.every((bytes) => bytes.deref() === undefined);
  }, 5_000);
  expect(keys()).toBe(hung);
});
