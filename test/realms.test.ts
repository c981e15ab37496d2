// Bytes, errors, promises, dates and objects of another realm, as jsdom, happy-dom and vm make them, through every door.
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createContext, runInContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  cachedKeys,
  type Handler,
  memoryDeadLetters,
  memoryStore,
  type ReceiverOptions,
  RetryAfterError,
  receiver,
  verifySignature,
} from 'payment-webhooks';
import { enqueue, processor } from 'payment-webhooks/queues';
import { type SqlDeadLettersOptions, sqlDeadLetters } from 'payment-webhooks/stores/sql';
import { deadLetterContract, sign, signedDelivery } from 'payment-webhooks/testing';
import { constructEvent } from 'payment-webhooks/verify';
import { fixtures } from '../src/fixtures/fixture.js';
import { captureBody } from '../src/receiver/capture-body.js';
import { captureLog } from './setup/captured-log.js';
import { delivery, hmac, KEY, receivable } from './setup/delivery.js';
import { duplicate, processed, startEndpoint, startReceiver } from './setup/endpoint.js';
import { faultyDeadLetters, lettersOf } from './setup/faulty-dead-letters.js';
import { faultyStore } from './setup/faulty-store.js';
import { keepTheLetterContract } from './setup/letters.js';
import { readSources } from './setup/sources.js';
import { type SqlClient, type SqlLetters, sqlServers, clients as withServer } from './setup/sql-letters.js';

const openLetters = sqlServers();
const realm = createContext();
const foreign = (code: string) => runInContext(`(${code})`, realm);

/** The same value, made of the other realm's classes. */
const bytes: (value: Uint8Array) => Uint8Array = (value) =>
  foreign('(values) => new Uint8Array(values)')([...value]);
const buffer = (value: Uint8Array) => bytes(value).buffer;
const date: (ms: number) => Date = foreign('(ms) => new Date(ms)');
const promise: <Value>(value: Value) => Promise<Value> = foreign('async (value) => value');
const copied: <Value>(value: Value) => Value = (value) => foreign('JSON.parse')(JSON.stringify(value));

test('the realm has classes of its own', () => {
  expect(bytes(Buffer.from('a')) instanceof Uint8Array).toBe(false);
  expect(buffer(Buffer.from('a')) instanceof ArrayBuffer).toBe(false);
  expect(date(0) instanceof Date).toBe(false);
  expect(promise(0) instanceof Promise).toBe(false);
  expect(foreign('new TypeError()') instanceof Error).toBe(false);
  expect(Object.getPrototypeOf(copied({}))).not.toBe(Object.prototype);
});

describe('instanceof of a class that every realm has', () => {
  const NAMED: Readonly<Record<string, string>> = {
    logger: 'errors of old libraries inherit from Error without being one; others are found by what they are',
    'tools/web/components/api-client': 'runs in a browser',
    'tools/web/components/form': 'runs in a browser',
    'tools/simulator/page/check-payload': 'runs in a browser',
  };
  const ofEveryRealm =
    /instanceof (?:\w*Array|ArrayBuffer|Buffer|DataView|\w*Error|Promise|Date|Map|Set|RegExp|Object|Function|URL|Headers|Request|Response|AbortSignal|ReadableStream|Blob)\b/g;
  const OWN =
    /instanceof (?:ServiceError|HttpError|ApiError|UsageError|CommandError|AnswerError|\w+(?:Found|Authentication|Connection)Error|NotFoundError|AuthenticationError|ConnectionError|WebhookError)$/;

  test('is in no file of src but those named', () => {
    const found = readSources(join(__dirname, '..', 'src')).filter(({ lines }) =>
      (lines.join('\n').match(ofEveryRealm) ?? []).some((text) => !OWN.test(text)),
    );
    expect(found.map(({ path }) => path)).toEqual(Object.keys(NAMED).sort());
  });
});

describe('a body of another realm', () => {
  test.each<[string, (body: Buffer) => unknown]>([
    ['Uint8Array', bytes],
    ['ArrayBuffer', buffer],
    ['DataView', (body) => foreign('(buffer) => new DataView(buffer)')(buffer(body))],
  ])('is received: %s', async (_, convert) => {
    const { post } = startReceiver();
    const { body, headers } = delivery();
    expect(await post({ body: convert(body) as Buffer, headers })).toMatchObject(processed);
  });

  test.each(['rawBody', 'body'])('is taken from req.%s', async (property) => {
    const keep = (req: object, _res: unknown, next: () => void) => {
      const chunks: Buffer[] = [];
      (req as IncomingMessage)
        .on('data', (chunk) => chunks.push(chunk))
        .on('end', () => {
          Object.assign(req, { [property]: bytes(Buffer.concat(chunks)) });
          next();
        });
    };
    const { post } = await startEndpoint({}, { before: () => [keep] });
    expect(await post()).toMatchObject(processed);
  });

  test.each([
    ['Uint8Array of another realm', bytes],
    ['Uint8Array', (chunk: Buffer) => new Uint8Array(chunk)],
  ])('arrives in a stream of objects: %s', async (_, convert) => {
    const { body } = delivery();
    for (const length of [{}, { 'content-length': String(body.length) }]) {
      const stream = Readable.from([body.subarray(0, 10), body.subarray(10)].map(convert));
      const taken = await captureBody(stream as IncomingMessage, length, {
        limit: 10_000,
        bodyTimeout: 1_000,
      });
      expect(taken).toEqual(body);
    }
  });

  test('is not taken from a stream of objects that are no bytes', async () => {
    const stream = Readable.from([{ id: 1 }]) as IncomingMessage;
    expect(await captureBody(stream, {}, { limit: 10_000, bodyTimeout: 1_000 })).toMatchObject({
      code: 'BODY_CONSUMED',
      hint: expect.stringContaining('into text or objects'),
    });
  });

  test('is signed and verified', () => {
    const { body } = delivery();
    const signature = hmac(body);
    const rawBody = bytes(body);
    expect(sign(rawBody, KEY)).toBe(signature);
    expect(verifySignature(rawBody, signature, KEY)).toBe(true);
    expect(constructEvent({ rawBody, signature, privateKey: KEY }).event_name).toBe('transaction.paid');
    expect(() => signedDelivery(rawBody as never, { privateKey: KEY })).toThrow('event is bytes.');
    expect(
      signedDelivery(copied(fixtures.transactionPaid()), { privateKey: KEY }).rawBody.length,
    ).toBeGreaterThan(9);
  });
});

describe('a key of another realm', () => {
  const key = bytes(Buffer.from(KEY));
  const loaded = cachedKeys(() => promise([key]) as Promise<unknown> as Promise<string[]>);

  test.each<[string, ReceiverOptions['privateKey']]>([
    ['a function that returns bytes', () => key as never],
    ['a function that returns a promise of bytes', () => promise(key) as never],
    ['cached keys', loaded],
  ])('%s', async (_, privateKey) => {
    expect(await startReceiver({ privateKey }).post()).toMatchObject(processed);
  });

  test('as bytes checks the signature, and is refused when all are zero', () => {
    const { body } = delivery();
    expect(verifySignature(body, hmac(body), key)).toBe(true);
    expect(sign(body, bytes(randomBytes(32)))).toMatch(/^[0-9a-f]{64}$/);
    expect(() => sign(body, bytes(Buffer.alloc(32)))).toThrow('has only zero bytes');
    expect(() => sign(body, bytes(Buffer.from(`${KEY}\n`)))).toThrow('ends with a line break');
  });

  test('of dead letters encrypts and decrypts', async () => {
    const encryptionKeys = [bytes(randomBytes(32))];
    expect(() => memorySealed(encryptionKeys)).not.toThrow();
    expect(() => memorySealed([bytes(randomBytes(31))])).toThrow('has 31 bytes instead of 32');
  });
});

/** Nothing is asked of the database: the keys are read when the store is made. */
function memorySealed(encryptionKeys: Uint8Array[]) {
  const query = () => Promise.reject(new Error('not asked'));
  return sqlDeadLetters({
    dialect: 'postgres',
    client: {},
    query,
    encryptionKeys: encryptionKeys as Buffer[],
  });
}

describe('handlers of another realm', () => {
  test('are called, awaited, and given by a plain object', async () => {
    const done: string[] = [];
    const handlers = foreign(
      `(done) => ({ 'transaction.paid': async ({ id }) => { await 0; done.push(id); } })`,
    );
    const { post } = startReceiver({ handlers: handlers(done) });
    expect(await post()).toMatchObject(processed);
    expect(done).toHaveLength(1);
  });

  test('that fail are logged by the kind of their error, its code and its place', async () => {
    const throwing = foreign(
      `async () => { throw Object.assign(new TypeError('secret'), { code: 'ECONNREFUSED' }); }`,
    );
    const { post, log } = startReceiver({ handlers: { 'transaction.paid': throwing } });
    expect(await post()).toMatchObject({ status: 500 });
    expect(log.lines[0]).toMatchObject({
      msg: 'a handler failed',
      error: { type: 'TypeError', code: 'ECONNREFUSED' },
    });
  });

  test('ask for a retry at a date', async () => {
    const later: Handler = () => {
      throw new RetryAfterError(date(Date.now() + 90_000));
    };
    const { post } = startReceiver({ handlers: { 'transaction.paid': later } });
    expect(await post()).toMatchObject({ status: 503, headers: { 'retry-after': '90' } });
    expect(() => new RetryAfterError(date(Number.NaN))).toThrow('was given an invalid Date');
  });

  test('validate with a schema whose promise is theirs', async () => {
    const schema = {
      '~standard': { version: 1, vendor: 'x', validate: (value: unknown) => promise({ value }) },
    };
    const event = fixtures.event('account.closed', { id: '1' });
    const handled: unknown[] = [];
    const { post } = startReceiver({
      events: { 'account.closed': schema as never },
      handlers: { 'account.closed': (given: unknown) => void handled.push(given) } as never,
    });
    expect(await post(delivery(event))).toMatchObject(processed);
    expect(handled).toHaveLength(1);
  });
});

describe('stores of another realm', () => {
  /** Whatever an operation answers comes as a promise of the other realm. */
  const late = (real: () => Promise<unknown>) => promise(real());

  test('claim, complete and release by promises', async () => {
    const store = faultyStore({ claim: late, complete: late, release: late, renew: late });
    const { post } = startReceiver({ store });
    const sent = delivery();
    expect(await post(sent)).toMatchObject(processed);
    expect(await post(sent)).toMatchObject(duplicate);
    expect(store.calls).toEqual(['claim', 'complete', 'claim']);
  });

  test('keep letters, and give bytes and dates back', async () => {
    type Letter = { keptAt: Date };
    const redated = (letter: Letter) => ({ ...letter, keptAt: date(letter.keptAt.getTime()) });
    const letters = faultyDeadLetters({
      list: async (real) => {
        const page = (await real()) as { letters: Letter[] };
        return promise({ ...page, letters: page.letters.map(redated) });
      },
      read: async (real) => {
        const found = (await real()) as { rawBody: Buffer; letter: Letter };
        return promise({ ...found, rawBody: bytes(found.rawBody), letter: redated(found.letter) });
      },
    });
    let down = true;
    const hooks = receiver({
      privateKey: KEY,
      logger: captureLog().logger,
      deadLetters: letters,
      handlers: { 'transaction.paid': () => (down ? Promise.reject(new Error('down')) : undefined) },
    });
    expect(await hooks.receive(receivable())).toMatchObject({ status: 500 });
    expect(await lettersOf(hooks)).toHaveLength(1);
    down = false;
    const since = date(Date.now() - 60_000);
    expect(await lettersOf(hooks, { since })).toHaveLength(1);
    expect(await hooks.deadLetters.replay({ since })).toMatchObject({ processed: 1 });
  });
});

describe.each(
  withServer.filter((client): client is SqlClient => client === 'pg' || client === 'mysql2 query'),
)('letters through %s, whose bytes are of another realm', (client) => {
  let letters: SqlLetters;
  beforeAll(async () => {
    letters = await openLetters(client);
  });
  afterAll(() => letters?.close());
  const rowOf = (row: object) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [name, Buffer.isBuffer(value) ? bytes(value) : value]),
    );
  const create = async ({ retention }: Pick<SqlDeadLettersOptions, 'retention'>) => {
    const { transaction: _, ...database } = letters.database;
    const store = sqlDeadLetters({
      ...database,
      retention,
      table: `${letters.schema}.letter_${randomBytes(4).toString('hex')}`,
      query: async (...given) => {
        const rows = await database.query(...given);
        return Array.isArray(rows) ? rows.map(rowOf) : rows;
      },
    });
    await store.migrate();
    return store;
  };
  keepTheLetterContract({ kept: deadLetterContract({ create }) });
});

describe('jobs of another realm', () => {
  test('are processed from bytes, and refuse the error of onInvalid', async () => {
    const jobs: { id: string }[] = [];
    const { hooks, post } = startReceiver({ handlers: {} });
    hooks.on(
      '*',
      enqueue(async (job) => void jobs.push(job)),
    );
    expect(await post()).toMatchObject(processed);
    const handled: string[] = [];
    const run = processor(
      { 'transaction.paid': ({ id }) => void handled.push(id) },
      { store: memoryStore(), logger: false },
    );
    const [job] = jobs;
    const verdict = await run(bytes(Buffer.from(JSON.stringify(job))) as never, { queue: 'q' });
    expect(verdict).toMatchObject({ verdict: 'done' });
    expect(handled).toHaveLength(1);
    const failing = enqueue(async () => {});
    await expect(failing(foreign('new Error()'), {} as never)).rejects.toThrow('Register it with on()');
  });
});

test('memoryDeadLetters() and its receiver work in one realm as before', async () => {
  const { post } = startReceiver({ deadLetters: memoryDeadLetters() });
  expect(await post()).toMatchObject(processed);
});
