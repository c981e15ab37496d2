import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import { describe, expect, jest, test } from '@jest/globals';
import { type ReceiverOptions, receiver } from 'payment-webhooks';
import { fixtures } from '../src/fixtures/fixture.js';
import { listening } from './setup/afterwards.js';
import { delivery, KEY, SANDBOX_KEY } from './setup/delivery.js';
import { frameworks, processed, startEndpoint } from './setup/endpoint.js';
import { faultyStore, hangs } from './setup/faulty-store.js';
import { testOnUnix } from './setup/platform.js';
import { startProgram } from './setup/program.js';
import { down } from './setup/raise.js';
import { openSocket, wire } from './setup/raw-socket.js';
import { gate, until } from './setup/waiting.js';

const closing = {
  status: 503,
  headers: { 'retry-after': '5', connection: 'close' },
  body: { code: 'CLOSING' },
};

/** An endpoint whose first run waits for the gate. */
async function slowEndpoint(options: ReceiverOptions = {}) {
  const work = gate();
  const handler = jest.fn<() => unknown>().mockReturnValueOnce(work.opened);
  const endpoint = await startEndpoint({ handlers: { '*': handler }, ...options });
  return { endpoint, work, running: () => until(() => handler.mock.calls.length > 0) };
}

const isSettled = (promise: Promise<unknown>) => Promise.race([promise.then(() => true), pause(20, false)]);

describe.each(frameworks)('a delivery, on %s', (framework) => {
  test('travels from raw bytes to an answer that comes after the handler', async () => {
    const endpoint = await startEndpoint({}, { framework });
    const event = fixtures.transactionPaid();
    const sent = delivery(event);
    const reply = await endpoint.post(sent);
    expect(reply).toMatchObject({
      ...processed,
      headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
    });
    expect(endpoint.handled).toEqual([event.id]);
    expect(endpoint.records).toEqual([
      {
        status: 200,
        outcome: 'processed',
        eventId: event.id,
        eventName: 'transaction.paid',
        declared: true,
        sandbox: false,
        attempt: 1,
        keyIndex: 0,
        bytes: sent.body.length,
        durationMs: expect.any(Number),
        storeMs: expect.any(Number),
        handlers: [{ name: expect.any(String), status: 'fulfilled', durationMs: expect.any(Number) }],
      },
    ]);
  });

  test('never reaches next(), whatever becomes of it', async () => {
    const next = jest.fn();
    const hooks = receiver({ privateKey: KEY, logger: false }).on('*', down);
    const port = await listening((req, res) => hooks(req, res, next));
    for (const sent of [delivery(), delivery('{'), { body: Buffer.from(''), headers: {} }]) {
      const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', ...sent });
      expect(response.status).toBeGreaterThanOrEqual(400);
    }
    expect(next).not.toHaveBeenCalled();
  });
});

describe('receive()', () => {
  test('leads the same journey without a request', async () => {
    const { receive } = receiver({ privateKey: KEY, logger: false }).on('*', () => {});
    const { body, headers } = delivery();
    const answer = await receive({ rawBody: body, headers });
    expect(answer).toEqual({
      status: 200,
      headers: {
        'Content-Type': 'application/json; charset=utf-8',
        'Content-Length': String(Buffer.byteLength(answer.body)),
        'Cache-Control': 'no-store',
      },
      body: '{"received":true,"outcome":"processed"}',
    });
    const text = { rawBody: body.toString(), headers };
    expect(JSON.parse((await receive(text)).body).outcome).toBe('duplicate');
  });

  test('shares duplicates, limits and closing with the request handler', async () => {
    const endpoint = await startEndpoint();
    const sent = delivery();
    expect(await endpoint.post(sent)).toMatchObject(processed);
    const again = { rawBody: new Uint8Array(sent.body), headers: sent.headers };
    expect(JSON.parse((await endpoint.hooks.receive(again)).body).outcome).toBe('duplicate');
    await endpoint.hooks.close();
    expect(await endpoint.hooks.receive(again)).toMatchObject({
      status: 503,
      headers: { 'Retry-After': '5', Connection: 'close' },
    });
  });
});

describe('the receiver itself', () => {
  test('takes two or three arguments, so no framework mistakes it for an error handler or an app', () => {
    const hooks = receiver({ privateKey: KEY });
    expect(hooks.length).toBeLessThanOrEqual(3);
    expect(hooks).not.toHaveProperty('handle');
    expect(hooks).not.toHaveProperty('set');
  });

  test('lists the declared events', () => {
    expect(receiver({ privateKey: KEY }).eventNames).toEqual(['transaction.paid']);
  });

  test('shows nothing of its keys', () => {
    const hooks = receiver({ privateKey: [KEY, SANDBOX_KEY] });
    expect(inspect(hooks, { depth: null, showHidden: true })).not.toContain(KEY);
    expect(JSON.stringify({ ...hooks })).not.toContain(KEY);
  });
});

describe('inFlight', () => {
  test('counts deliveries from the first look at them to the answer', async () => {
    const { endpoint, work, running } = await slowEndpoint();
    expect(endpoint.hooks.inFlight).toBe(0);
    const first = endpoint.post();
    await running();
    expect(endpoint.hooks.inFlight).toBe(1);
    await endpoint.post();
    expect(endpoint.hooks.inFlight).toBe(1);
    work.open();
    await first;
    expect(endpoint.hooks.inFlight).toBe(0);
  });

  test('goes back for every kind of end', async () => {
    const store = faultyStore();
    const endpoint = await startEndpoint({ store, storeTimeout: 20, limit: 2_000 });
    const sent = delivery();
    const large = delivery('x'.repeat(3_000));
    for (const each of [sent, sent, delivery('{'), { ...sent, headers: {} }, large])
      await endpoint.post(each);
    store.faults.claim = hangs;
    await endpoint.post();
    const socket = await openSocket(endpoint.port);
    socket.write(wire(delivery()).subarray(0, -10));
    await until(() => endpoint.hooks.inFlight === 1);
    socket.socket.destroy();
    await until(() => endpoint.hooks.inFlight === 0);
    expect(endpoint.records).toHaveLength(7);
  });

  test('gives a handler up that has not settled for maxHandlerTime', async () => {
    const { endpoint, work } = await slowEndpoint({ timeout: 40, maxHandlerTime: 1_500, lease: 1_600 });
    await endpoint.post();
    expect(endpoint.hooks.inFlight).toBe(1);
    await until(() => endpoint.hooks.inFlight === 0);
    work.open();
    await until(() => endpoint.log.lines.some(({ msg }) => msg === 'handlers settled after the answer'));
    expect(endpoint.hooks.inFlight).toBe(0);
  });
});

describe('maxInFlight', () => {
  test('refuses more at once before their body is read, and tells them to come back at different times', async () => {
    const { endpoint, work, running } = await slowEndpoint({ maxInFlight: 1 });
    const first = endpoint.post();
    await running();
    const waits = new Set<string | undefined>();
    for (let count = 0; count < 30; count += 1) {
      const reply = await endpoint.post();
      expect(reply).toMatchObject({ status: 503, body: { code: 'OVERLOADED' } });
      waits.add(reply.headers['retry-after']);
    }
    expect([...waits].every((wait) => /^[1-5]$/.test(wait ?? ''))).toBe(true);
    expect(waits.size).toBeGreaterThan(1);
    expect(endpoint.records.every(({ bytes }) => bytes === 0)).toBe(true);
    expect(endpoint.hooks.inFlight).toBe(1);
    work.open();
    expect(await first).toMatchObject(processed);
    expect(await endpoint.post()).toMatchObject(processed);
  });

  test('is refused without waiting for a body that does not come', async () => {
    const { endpoint, work, running } = await slowEndpoint({ maxInFlight: 1 });
    const first = endpoint.post();
    await running();
    const sent = delivery();
    const socket = await openSocket(endpoint.port);
    socket.write(wire(sent).subarray(0, -sent.body.length));
    expect(await socket.until(/OVERLOADED/)).toMatch(/^HTTP\/1\.1 503 /);
    socket.socket.destroy();
    work.open();
    await first;
  });

  test('counts handlers that go on after their answer, because they hold on to their body', async () => {
    const { endpoint, work } = await slowEndpoint({ maxInFlight: 1, timeout: 40 });
    await endpoint.post();
    expect(await endpoint.post()).toMatchObject({ status: 503, body: { code: 'OVERLOADED' } });
    work.open();
    await until(() => endpoint.hooks.inFlight === 0);
    expect(await endpoint.post()).toMatchObject(processed);
  });
});

describe('close()', () => {
  test('without traffic resolves at once', async () => {
    const endpoint = await startEndpoint();
    expect(await isSettled(endpoint.hooks.close())).toBe(true);
  });

  test('turns new deliveries away and lets those in flight finish', async () => {
    const { endpoint, work, running } = await slowEndpoint();
    const first = endpoint.post();
    await running();
    const closed = endpoint.hooks.close();
    expect(await endpoint.post()).toMatchObject(closing);
    expect(await isSettled(closed)).toBe(false);
    work.open();
    expect(await first).toMatchObject(processed);
    await closed;
    expect(endpoint.hooks.inFlight).toBe(0);
    expect(await endpoint.post()).toMatchObject(closing);
  });

  test('ends the connections of those in flight with their answers', async () => {
    const { endpoint, work, running } = await slowEndpoint();
    const socket = await openSocket(endpoint.port);
    socket.write(wire(delivery()));
    await running();
    const closed = endpoint.hooks.close();
    work.open();
    expect(await socket.closed).toMatch(/^HTTP\/1\.1 200 .*\r\nConnection: close\r\n.*"processed"\}$/s);
    await closed;
  });

  test('waits for the last of several', async () => {
    const [first, last] = [gate(), gate()];
    const handler = jest.fn(() => last.opened).mockReturnValueOnce(first.opened);
    const endpoint = await startEndpoint({ handlers: { '*': handler } });
    const replies = [endpoint.post(), endpoint.post()];
    await until(() => handler.mock.calls.length === 2);
    const closed = endpoint.hooks.close();
    first.open();
    await Promise.race(replies);
    expect(await isSettled(closed)).toBe(false);
    last.open();
    await Promise.all([closed, ...replies]);
  });

  test('is idempotent', async () => {
    const { endpoint, work, running } = await slowEndpoint();
    const first = endpoint.post();
    await running();
    const [one, two] = [endpoint.hooks.close(), endpoint.hooks.close()];
    expect(await isSettled(two)).toBe(false);
    work.open();
    await Promise.all([first, one, two, endpoint.hooks.close()]);
  });

  test('waits for handlers whose delivery was answered long ago, and for their claim', async () => {
    const store = faultyStore();
    const { endpoint, work } = await slowEndpoint({ timeout: 40, store });
    expect(await endpoint.post()).toMatchObject({ status: 503, body: { code: 'HANDLER_TIMEOUT' } });
    const closed = endpoint.hooks.close();
    expect(await isSettled(closed)).toBe(false);
    work.open();
    await closed;
    expect(store.calls).toEqual(['claim', 'complete']);
  });

  test('waits for a body that is still arriving', async () => {
    const endpoint = await startEndpoint();
    const bytes = wire(delivery());
    const socket = await openSocket(endpoint.port);
    socket.write(bytes.subarray(0, -10));
    await until(() => endpoint.hooks.inFlight === 1);
    const closed = endpoint.hooks.close();
    expect(await isSettled(closed)).toBe(false);
    socket.write(bytes.subarray(-10));
    expect(await socket.until(/"processed"\}$/)).toMatch(/^HTTP\/1\.1 200 /);
    await closed;
    socket.socket.destroy();
  });

  test('turns away without reading what still arrives, and the answer is not lost', async () => {
    const endpoint = await startEndpoint();
    await endpoint.hooks.close();
    const sent = delivery();
    const socket = await openSocket(endpoint.port);
    socket.write(wire(sent).subarray(0, -sent.body.length));
    await socket.until(/CLOSING/);
    socket.write(sent.body);
    expect(await socket.closed).toMatch(/^HTTP\/1\.1 503 .*Connection: close.*"CLOSING"/is);
    expect(endpoint.records).toMatchObject([{ status: 503, code: 'CLOSING', bytes: 0 }]);
  });

  test('leaves the store alone, because another receiver may share it', async () => {
    const store = faultyStore();
    const close = jest.fn(async () => {});
    await receiver({ privateKey: KEY, store: { ...store, close }, logger: false }).close();
    expect(close).not.toHaveBeenCalled();
  });
});

// Compiling the program takes its time on a busy machine.
testOnUnix(
  'a process that gets SIGTERM answers what it is working on, turns the rest away, and exits by itself',
  async () => {
    const program = startProgram('closing-app');
    const port = Number((await program.told('listening')).port);
    const working = post(port);
    await program.told('working');
    program.kill('SIGTERM');
    await program.told('closing');
    expect(await post(port)).toMatchObject({ status: 503, connection: 'close', code: 'CLOSING' });
    program.tell('finish');
    expect(await working).toMatchObject({ status: 200, outcome: 'processed' });
    expect(await program.exited).toEqual({ code: 0, signal: null });
  },
  90_000,
);

async function post(port: number) {
  const { body, headers } = delivery();
  const response = await fetch(`http://127.0.0.1:${port}/hooks`, { method: 'POST', body, headers });
  const json = (await response.json()) as Record<string, unknown>;
  return { status: response.status, connection: response.headers.get('connection'), ...json };
}
