import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { ServiceClient, type ServiceClientOptions, ServiceError } from 'payment-webhooks/client';
import { retryDelay } from '../../src/client/retry.js';
import { until } from '../setup/waiting.js';
import { failure, json, ownSpecServer, PRIVATE_KEY, TOKEN } from './spec-server.js';

const server = ownSpecServer();

const clientOf = (options: ServiceClientOptions = {}) =>
  new ServiceClient({
    baseUrl: server.baseUrl,
    ...(!options.accessToken && { privateKey: PRIVATE_KEY }),
    ...options,
  });

const url = 'https://shop.example/hooks';
const register = (id: string) => server.webhooks.set(id, { id, url, events: ['*'] });
/** Answers so many requests with this status and asks for a retry at once, so that the test is quick. */
const fail = (status: number, times: number) => {
  for (let i = 0; i < times; i += 1)
    server.once((_, response) => json(response, status, { message: 'No.' }, { 'retry-after': '0' }));
};

describe('retries', () => {
  test.each([429, 502, 503, 504])('GET, PUT and DELETE are sent three times after %i', async (status) => {
    register('w1');
    const { account, webhooks } = clientOf();
    const put = () => webhooks.update('w1', { events: ['*'] });
    for (const call of [() => account.me(), put, () => webhooks.delete('w1')]) {
      fail(status, 2);
      await expect(call()).resolves.not.toThrow();
    }
    expect(server.requests).toHaveLength(9);
    fail(status, 3);
    await expect(account.me()).rejects.toMatchObject({ status, retryAfterMs: 0 });
    expect(server.requests).toHaveLength(12);
  });

  const read = ({ account }: ServiceClient) => account.me();
  const write = ({ webhooks }: ServiceClient) => webhooks.create({ url });
  test.each([
    ...[400, 401, 403, 404, 422, 500, 501].map((status) => ['GET', status, read, {}] as const),
    ...[429, 502, 503, 504].map((status) => ['POST', status, write, {}] as const),
    ['GET with retries: 0', 503, read, { retries: 0 }] as const,
  ])('%s is sent once after %i', async (_, status, call, options) => {
    fail(status, 1);
    await expect(call(clientOf(options))).rejects.toMatchObject({ status });
    expect(server.requests).toHaveLength(1);
  });

  test('a connection that is reset is retried, except for POST', async () => {
    const reset = () => server.once((request) => void request.socket.resetAndDestroy());
    reset();
    await expect(clientOf().account.me()).resolves.toBeDefined();
    expect(server.requests).toHaveLength(2);
    reset();
    await expect(clientOf().webhooks.create({ url })).rejects.toMatchObject({ code: 'NETWORK_FAILED' });
    expect(server.requests).toHaveLength(3);
    expect(server.webhooks.size).toBe(0);
  });

  test('an attempt that takes too long is aborted and retried', async () => {
    server.once(() => {});
    await expect(clientOf({ timeout: 1_500 }).account.me()).resolves.toBeDefined();
    expect(server.requests).toHaveLength(2);
  });

  test('a DELETE that finds nothing after an attempt without an answer has worked', async () => {
    register('w1');
    server.once((request, response) => {
      server.webhooks.delete('w1');
      request.socket.resetAndDestroy();
      response.destroy();
    });
    await expect(clientOf().webhooks.delete('w1')).resolves.toBeUndefined();
    expect(server.requests).toHaveLength(2);
  });

  test('a DELETE that finds nothing after 429 is a NotFoundError', async () => {
    fail(429, 1);
    await expect(clientOf().webhooks.delete('w1')).rejects.toMatchObject({ status: 404 });
  });

  test('the delay is anything up to a bound that doubles, and never above eight seconds', () => {
    const failure = new ServiceError('SERVICE_FAILED', 'x', { status: 503 });
    const delay = (done: number, random: number) =>
      retryDelay(failure, { method: 'GET', retries: done }, () => random);
    expect([0, 0.5, 1].map((random) => delay(0, random))).toEqual([0, 250, 500]);
    expect([1, 2, 3, 9].map((done) => delay(done, 1))).toEqual([1_000, 2_000, 4_000, 8_000]);
  });
});

describe('Retry-After', () => {
  const timed = async (headers: Record<string, string>) => {
    server.once((_, response) => json(response, 503, {}, headers));
    const start = performance.now();
    await clientOf().account.me();
    return performance.now() - start;
  };

  test('seconds are waited for', async () => {
    expect(await timed({ 'retry-after': '1' })).toBeGreaterThan(980);
  });

  test('a date is waited for, by the clock of the service', async () => {
    const then = Date.parse('Fri, 31 Dec 1999 23:59:50 GMT');
    const took = await timed({
      date: new Date(then).toUTCString(),
      'retry-after': new Date(then + 1_000).toUTCString(),
    });
    expect(took).toBeGreaterThan(980);
  });

  test.each([
    ['99999', 99_999_000],
    ['31', 31_000],
    [new Date(Date.now() + 3_600_000).toUTCString(), 3_600_000],
  ])('%s is too long: the call fails at once and says how long', async (value, ms) => {
    server.once((_, response) => json(response, 503, {}, { 'retry-after': value }));
    const start = performance.now();
    const error = await failure(clientOf().account.me());
    expect(performance.now() - start).toBeLessThan(5_000);
    expect(server.requests).toHaveLength(1);
    expect(error.retryAfterMs).toBeGreaterThan(ms * 0.9);
    expect(error.retryAfterMs).toBeLessThanOrEqual(ms + 1_000);
  });

  test.each(['soon', '-5', '1e3', '2030-01-01', ''])('%j is not a time, and is ignored', async (value) => {
    server.once((_, response) => json(response, 429, {}, { 'retry-after': value }));
    const error = await failure(clientOf({ retries: 0 }).account.me());
    expect(error.status).toBe(429);
    expect(error).not.toHaveProperty('retryAfterMs');
  });

  test('a date in the past means at once', async () => {
    const headers = { 'retry-after': 'Fri, 31 Dec 1999 23:59:59 GMT' };
    server.once((_, response) => json(response, 503, {}, headers));
    const error = await failure(clientOf({ retries: 0 }).account.me());
    expect(error.retryAfterMs).toBe(0);
    expect(retryDelay(error, { method: 'GET', retries: 0 }, () => 1)).toBe(0);
  });
});

describe('the token function', () => {
  test('is called once more after 401, and the request is sent again, POST too', async () => {
    const accessToken = jest.fn(async ({ refresh }: { refresh: boolean }) => (refresh ? TOKEN : 'expired'));
    await clientOf({ accessToken }).webhooks.create({ url });
    expect(accessToken.mock.calls.map(([{ refresh }]) => refresh)).toEqual([false, true]);
    expect(server.requests.map(({ method }) => method)).toEqual(['POST', 'POST']);
    expect(server.webhooks.size).toBe(1);
  });

  test('is not called a third time', async () => {
    let asked = 0;
    const accessToken = () => `expired-${++asked}`;
    await expect(clientOf({ accessToken }).account.me()).rejects.toMatchObject({ status: 401 });
    expect(asked).toBe(2);
    const sent = server.requests.map(({ headers }) => headers.authorization);
    expect(sent).toEqual(['Bearer expired-1', 'Bearer expired-2']);
  });

  test('is called once for all the attempts of a call, and again for the next call', async () => {
    const accessToken = jest.fn(() => TOKEN);
    const client = clientOf({ accessToken });
    fail(503, 2);
    await client.account.me();
    expect(accessToken).toHaveBeenCalledTimes(1);
    await client.account.me();
    expect(accessToken).toHaveBeenCalledTimes(2);
  });

  test('a token as text is not sent twice', async () => {
    await expect(clientOf({ accessToken: 'expired' }).account.me()).rejects.toMatchObject({ status: 401 });
    expect(server.requests).toHaveLength(1);
  });

  test('what it throws reaches the caller as it is', async () => {
    const reason = new Error('no token today');
    await expect(clientOf({ accessToken: () => Promise.reject(reason) }).account.me()).rejects.toBe(reason);
  });

  test('a function that never answers ends with the timeout', async () => {
    const client = clientOf({ accessToken: () => new Promise(() => {}), timeout: 50, retries: 0 });
    await expect(client.account.me()).rejects.toMatchObject({ code: 'TIMED_OUT' });
  });

  test.each([[undefined], [''], ['two words'], ['line\nbreak']])(
    'the token %j is refused before a request',
    async (token) => {
      const client = clientOf({ accessToken: () => token as string });
      await expect(client.account.me()).rejects.toMatchObject({ code: 'CONFIGURATION_INVALID' });
      expect(server.requests).toHaveLength(0);
    },
  );
});

describe('bounds of a call', () => {
  test('a timeout of one call comes before that of the client', async () => {
    server.once(() => {});
    const start = performance.now();
    const listing = clientOf({ retries: 0 }).webhooks.list({ timeout: 50 });
    await expect(listing).rejects.toMatchObject({ code: 'TIMED_OUT' });
    expect(performance.now() - start).toBeLessThan(5_000);
  });

  test('a timeout of 0 turns it off', async () => {
    server.once((_, __, next) => void setTimeout(next, 50));
    await expect(clientOf({ timeout: 0 }).account.me()).resolves.toBeDefined();
  });

  test.each([[{ timeout: -1 }], [{ timeout: '5' }], [{ timout: 5 }]])(
    'options of a call like %j are refused',
    async (options) => {
      const reading = clientOf().account.me(options as never);
      await expect(reading).rejects.toMatchObject({ code: 'CONFIGURATION_INVALID' });
      expect(server.requests).toHaveLength(0);
    },
  );

  test.each<[string, (client: ServiceClient, signal: AbortSignal) => Promise<unknown>]>([
    ['account.me', ({ account }, signal) => account.me({ signal })],
    ['list', ({ webhooks }, signal) => webhooks.list({ signal })],
    ['create', ({ webhooks }, signal) => webhooks.create({ url }, { signal })],
    ['update', ({ webhooks }, signal) => webhooks.update('w', { events: ['*'] }, { signal })],
    ['delete', ({ webhooks }, signal) => webhooks.delete('w', { signal })],
    ['ensure', ({ webhooks }, signal) => webhooks.ensure({ url }, { signal })],
  ])('the signal of the caller ends %s with its own reason', async (_, call) => {
    const reason = new Error('the deploy was cancelled');
    server.always(() => {});
    const controller = new AbortController();
    const running = call(clientOf(), controller.signal);
    running.catch(() => {});
    await until(() => server.requests.length === 1);
    controller.abort(reason);
    await expect(running).rejects.toBe(reason);
    expect(server.requests).toHaveLength(1);
  });

  test('a signal that has aborted before lets nothing be sent', async () => {
    const signal = AbortSignal.abort();
    await expect(clientOf().account.me({ signal })).rejects.toBe(signal.reason);
    expect(server.requests).toHaveLength(0);
  });

  test('the signal ends the wait for a retry', async () => {
    server.once((_, response) => json(response, 503, {}, { 'retry-after': '20' }));
    const signal = AbortSignal.timeout(100);
    const start = performance.now();
    expect(await failure(clientOf().account.me({ signal }))).toBe(signal.reason);
    expect(performance.now() - start).toBeLessThan(5_000);
  });

  test('a fetch that ignores its signal does not delay the call', async () => {
    const deaf = () => new Promise<Response>(() => {});
    const client = clientOf({ fetch: deaf, timeout: 50, retries: 0 });
    await expect(client.account.me()).rejects.toMatchObject({ code: 'TIMED_OUT' });
    const controller = new AbortController();
    const running = clientOf({ fetch: deaf }).account.me({ signal: controller.signal });
    controller.abort('enough');
    await expect(running).rejects.toBe('enough');
  });

  test('a signal that outlives many calls keeps no listener of them', async () => {
    const { signal } = new AbortController();
    const added = jest.spyOn(signal, 'addEventListener');
    const removed = jest.spyOn(signal, 'removeEventListener');
    for (let i = 0; i < 5; i += 1) await clientOf().account.me({ signal });
    expect(added).toHaveBeenCalledTimes(5);
    expect(removed.mock.calls).toEqual(added.mock.calls);
  });

  test('a given-up answer does not keep its socket', async () => {
    let socket: Socket | undefined;
    server.once((request, response) => {
      socket = request.socket;
      response.writeHead(200).write('{');
    });
    await failure(clientOf({ retries: 0, timeout: 1_000 }).account.me());
    if (socket && !socket.destroyed) await once(socket, 'close');
    expect(socket?.destroyed).toBe(true);
  });
});

describe('through a proxy', () => {
  let proxy: ReturnType<typeof createServer>;
  afterEach(() => {
    proxy.close();
  });

  test('an answer that is cut in the middle of its body is an error, and a retry of GET recovers', async () => {
    let cuts = 0;
    proxy = createServer((near) => {
      const far = connect(server.port, '127.0.0.1');
      near.pipe(far);
      let sent = 0;
      far.on('data', (bytes) => {
        // The head and a part of the body pass; then the line goes dead.
        sent += bytes.length;
        if (cuts === 0) return void near.write(bytes);
        near.write(bytes.subarray(0, bytes.indexOf('\r\n\r\n') + 40), () => near.resetAndDestroy());
        cuts -= 1;
        far.destroy();
      });
      for (const socket of [near, far]) socket.on('error', () => {});
      near.on('close', () => far.destroy());
      far.on('close', () => sent && near.end());
    });
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    const { port } = proxy.address() as { port: number };
    const client = clientOf({ baseUrl: `http://127.0.0.1:${port}` });
    server.always((_, response) => json(response, 200, { data: [], padding: 'x'.repeat(500) }));
    cuts = 1;
    await expect(client.webhooks.list()).resolves.toEqual([]);
    expect(server.requests).toHaveLength(2);
    cuts = 3;
    const error = await failure(client.webhooks.list());
    expect(error).toMatchObject({ name: 'ConnectionError', code: 'RESPONSE_CUT' });
    expect(error.message).toContain('was cut off');
    expect(server.requests).toHaveLength(5);
    cuts = 1;
    await expect(client.webhooks.create({ url })).rejects.toMatchObject({ code: 'RESPONSE_CUT' });
    expect(server.requests).toHaveLength(6);
  });
});
