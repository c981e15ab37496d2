// The globals of Jest with jsdom, which has none of Node's own: the package takes what it needs from Node's modules.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { fixtures } from '../src/fixtures/fixture.js';
import { captureLog } from './setup/captured-log.js';
import { delivery, KEY } from './setup/delivery.js';
import { processed, send } from './setup/endpoint.js';
import { until } from './setup/waiting.js';

/** What jsdom 20 to 29 leave out of Node's. */
const MISSING =
  `setImmediate clearImmediate TextEncoder TextDecoder structuredClone fetch Request Response Headers
  ReadableStream WritableStream TransformStream CompressionStream BroadcastChannel TextDecoderStream`.split(
    /\s+/,
  );
const kept = new Map(MISSING.map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)]));
const { setTimeout: realSetTimeout } = globalThis;
const timers = new Map<number, NodeJS.Timeout>();

beforeAll(() => {
  for (const name of MISSING) Reflect.deleteProperty(globalThis, name);
  // As in a browser: a number, which has no unref().
  globalThis.setTimeout = ((...given: Parameters<typeof setTimeout>) => {
    const timer = realSetTimeout(...given);
    const id = timer[Symbol.toPrimitive]();
    timers.set(id, timer);
    return id;
  }) as unknown as typeof setTimeout;
});

let server: Server | undefined;

afterAll(() => {
  server?.close();
  globalThis.setTimeout = realSetTimeout;
  for (const timer of timers.values()) clearTimeout(timer);
  for (const [name, property] of kept) if (property) Object.defineProperty(globalThis, name, property);
});

test('every door but those of other programs loads', async () => {
  await jest.isolateModulesAsync(async () => {
    for (const door of [
      'index',
      'client',
      'testing',
      'ops',
      'queues',
      'stores/redis',
      'stores/postgres',
      'stores/sql',
    ])
      await expect(import(`../src/${door}.js`)).resolves.toBeDefined();
  });
});

test('calls of a SQL store share statements', async () => {
  const { Batches } = await import('../src/stores/sql/batches.js');
  const batches = new Batches<{ key: string; token: string }, string>({
    ...{ step: 'claim', confirmed: 'together' },
    together: async (calls) => new Set(calls.map(({ token }) => token)),
    alone: async () => 'alone',
  });
  const calls = ['a', 'b'].map((key) => batches.call({ key, token: key }));
  await expect(Promise.all(calls)).resolves.toEqual(['together', 'together']);
});

test('deliveries are received in one chunk and in several, kept, and retried', async () => {
  const { memoryDeadLetters, receiver } = await import('payment-webhooks');
  const log = captureLog();
  let down = true;
  const hooks = receiver({
    privateKey: KEY,
    logger: log.logger,
    deadLetters: memoryDeadLetters(),
    redrive: { delays: ['20ms', '200ms', '2s', '5s'], every: '20ms' },
    handlers: { 'transaction.paid': () => (down ? Promise.reject(new Error('down')) : undefined) },
  });
  server = createServer(hooks).listen(0, '127.0.0.1');
  await until(() => server?.listening === true);
  const { port } = server.address() as AddressInfo;
  expect(await send(port, delivery())).toMatchObject({ status: 500, body: { code: 'HANDLER_FAILED' } });
  down = false;
  const { body, headers } = delivery(fixtures.transactionPaid());
  expect(await send(port, { body, headers: { ...headers, 'transfer-encoding': 'chunked' } })).toMatchObject(
    processed,
  );
  await until(async () => (await hooks.deadLetters.count()).total === 0);
  await hooks.close();
});
