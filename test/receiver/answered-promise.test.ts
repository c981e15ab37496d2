// The promise that hooks(req, res) returns: h3, Nitro, Next.js and serverless platforms wait for it.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, jest, test } from '@jest/globals';
import type { Receiver, ReceiverOptions } from 'payment-webhooks';
import { listening } from '../setup/afterwards.js';
import { delivery, type SentDelivery } from '../setup/delivery.js';
import { processed, send, startReceiver } from '../setup/endpoint.js';
import { faultyStore, rejects } from '../setup/faulty-store.js';
import { raise } from '../setup/raise.js';
import { head, openSocket } from '../setup/raw-socket.js';
import { gate, until } from '../setup/waiting.js';

interface Call {
  readonly res: ServerResponse;
  /** What the promise resolved with, and whether the answer was written then. */
  settled?: { readonly value: unknown; readonly written: boolean };
}

async function serve(hooks: Receiver, before = (_req: IncomingMessage, _res: ServerResponse) => {}) {
  const calls: Call[] = [];
  const port = await listening((req, res) => {
    before(req, res);
    const call: Call = { res };
    calls.push(call);
    const answered = hooks(req, res);
    expect(answered).toBeInstanceOf(Promise);
    // Not caught: a rejection would fail the run.
    void answered.then((value) => {
      call.settled = { value, written: res.writableEnded || res.destroyed };
    });
  });
  return { calls, port };
}

const hooksWith = (options: ReceiverOptions = {}) => startReceiver(options).hooks;
const WRITTEN = [{ settled: { value: undefined, written: true } }];

test('is settled once the answer is written, and not while a handler runs', async () => {
  const { opened, open: finish } = gate();
  const { calls, port } = await serve(hooksWith({ handlers: { 'transaction.paid': () => opened } }));
  const replying = send(port, delivery());
  await until(() => calls.length === 1);
  expect(calls[0]?.settled).toBeUndefined();
  expect(calls[0]?.res.headersSent).toBe(false);
  finish();
  expect(await replying).toMatchObject(processed);
  expect(calls).toMatchObject(WRITTEN);
});

test('does not wait for handlers that outlast their timeout', async () => {
  const { opened, open: finish } = gate();
  const hooks = hooksWith({ timeout: 50, handlers: { 'transaction.paid': () => opened } });
  const { calls, port } = await serve(hooks);
  expect(await send(port, delivery())).toMatchObject({ status: 503, body: { code: 'HANDLER_TIMEOUT' } });
  expect(calls).toMatchObject(WRITTEN);
  expect(hooks.inFlight).toBe(1);
  finish();
});

describe('resolves without a value, and never rejects, when', () => {
  const throwing = { info: raise, warn: raise, error: raise };
  test.each<[string, ReceiverOptions, Partial<SentDelivery>]>([
    ['it is processed', {}, {}],
    ['it is refused', {}, { body: Buffer.from('{}') }],
    ['the store is down', { store: faultyStore({ claim: rejects }) }, {}],
    ['the handler throws', { handlers: { 'transaction.paid': () => raise(null) } }, {}],
    ['the logger throws', { logger: throwing }, {}],
    ['the observer throws', { observer: { around: raise, settled: raise, handler: raise } }, {}],
    ['the observer rejects', { observer: { around: () => Promise.reject(new Error('no')) } }, {}],
  ])('%s', async (_, options, sent) => {
    const { calls, port } = await serve(hooksWith(options));
    await send(port, { ...delivery(), ...sent });
    await until(() => calls[0]?.settled !== undefined);
    expect(calls).toMatchObject(WRITTEN);
  });

  test('the receiver is closed', async () => {
    const hooks = hooksWith();
    const { calls, port } = await serve(hooks);
    await hooks.close();
    expect(await send(port, delivery())).toMatchObject({ status: 503, body: { code: 'CLOSING' } });
    expect(calls).toMatchObject(WRITTEN);
  });

  test('the response throws', async () => {
    const { calls, port } = await serve(hooksWith(), (_, res) => {
      res.writeHead = raise as never;
    });
    await expect(send(port, delivery())).rejects.toThrow();
    await until(() => calls[0]?.settled !== undefined);
    expect(calls).toMatchObject(WRITTEN);
  });

  test('req.log cannot be read', async () => {
    const stdout = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    const { calls, port } = await serve(hooksWith({ logger: undefined }), (req) => {
      Object.defineProperty(req, 'log', { get: () => raise(new Error('no')) });
    });
    expect(await send(port, delivery())).toMatchObject(processed);
    expect(calls).toMatchObject(WRITTEN);
    await until(() => stdout.mock.calls.length > 0);
    stdout.mockRestore();
  });

  test('somebody else has answered', async () => {
    const { calls, port } = await serve(hooksWith(), (_, res) => void res.end('null'));
    expect(await send(port, delivery())).toMatchObject({ status: 200, body: null });
    await until(() => calls[0]?.settled !== undefined);
  });

  test('the sender leaves before its body has arrived', async () => {
    const { calls, port } = await serve(hooksWith());
    const { body, headers } = delivery();
    const sender = await openSocket(port);
    sender.write(head([...Object.entries(headers), ['content-length', body.length]]));
    await until(() => calls.length === 1);
    sender.socket.resetAndDestroy();
    await until(() => calls[0]?.settled !== undefined);
    expect(calls).toMatchObject(WRITTEN);
  });
});

test.each([
  ['nothing, where an app is set up', [], "Leave out the (): app.post('/hooks', hooks)"],
  ['a response without a method of Node', [{}, {}], 'was not given the request and response of Node'],
])('a receiver that is called with %s throws at once', (_, given, message) => {
  const hooks = hooksWith() as unknown as (...given: unknown[]) => unknown;
  expect(() => hooks(...given)).toThrow(message);
});
