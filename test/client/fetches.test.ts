// The option fetch: functions with other streams, other signals and other answers than those of the platform's own fetch.
import { request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { ConfigurationError, ServiceClient, type ServiceClientOptions } from 'payment-webhooks/client';
import { until } from '../setup/waiting.js';
import { failure, json, ownSpecServer, PRIVATE_KEY } from './spec-server.js';

const server = ownSpecServer();
type Fetch = NonNullable<ServiceClientOptions['fetch']>;

const clientOf = (fetch: unknown, options: ServiceClientOptions = {}) =>
  new ServiceClient({
    baseUrl: server.baseUrl,
    privateKey: PRIVATE_KEY,
    retries: 0,
    fetch: fetch as Fetch,
    ...options,
  });

/** As node-fetch does it: the body is a stream of Node. */
const overHttp: Fetch = (url, { method, headers, body, signal }) =>
  new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers, signal, agent: false }, (incoming) => {
      resolve({
        status: incoming.statusCode ?? 0,
        headers: new Headers(incoming.headers as Record<string, string>),
        body: incoming,
        text: () => Promise.reject(new Error('not called')),
      });
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });

/** As whatwg-fetch and React Native do it, over XMLHttpRequest: no stream. */
const withoutStream: Fetch = async (url, init) => {
  const { status, headers, ...response } = await overHttp(url, init);
  const chunks: Buffer[] = [];
  for await (const chunk of response.body as AsyncIterable<Buffer>) chunks.push(chunk);
  return { status, headers, text: async () => Buffer.concat(chunks).toString() };
};

const ofText: Fetch = async (url, init) => {
  const response = await overHttp(url, init);
  (response.body as NodeJS.ReadableStream).setEncoding('utf8');
  return response;
};

describe.each<[string, Fetch]>([
  ['the global fetch', (url, init) => fetch(url, init)],
  ['a stream of Node', overHttp],
  ['a stream of text', ofText],
  ['no stream', withoutStream],
])('with %s', (_, send) => {
  test('every call works, and every status is what it is with any other fetch', async () => {
    const client = clientOf(send);
    const { id } = await client.webhooks.create({ url: 'https://é.example/hooks' });
    await client.webhooks.update(id, { events: ['transaction.paid'] });
    expect(await client.webhooks.list()).toMatchObject([{ id, events: ['transaction.paid'] }]);
    await client.webhooks.delete(id);
    expect(await failure(client.webhooks.delete(id))).toMatchObject({ code: 'NOT_FOUND', status: 404 });
    server.once((_, response) => json(response, 429, {}, { 'retry-after': '7' }));
    expect(await failure(client.account.me())).toMatchObject({ status: 429, retryAfterMs: 7_000 });
    server.once((_, response) => response.writeHead(302, { location: '/x' }).end('moved'));
    expect(await failure(client.account.me())).toMatchObject({ code: 'REDIRECT_REFUSED', status: 302 });
  });

  test('an answer over the limit is refused', async () => {
    const body = JSON.stringify({ x: 'x'.repeat(5_000) });
    server.once((_, response) => void response.write(body.slice(0, 9), () => response.end(body.slice(9))));
    const error = await failure(clientOf(send, { maxResponseBytes: 5_000 }).account.me());
    expect(error).toMatchObject({ name: 'ConnectionError', code: 'RESPONSE_TOO_LARGE' });
  });

  test('an answer that is cut off is an error of the service', async () => {
    server.once((_, response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('{"data":', () => response.destroy());
    });
    const code = send === withoutStream ? 'NETWORK_FAILED' : 'RESPONSE_CUT';
    expect(await failure(clientOf(send).account.me())).toMatchObject({ name: 'ConnectionError', code });
  });

  test('the timeout and the signal of a call close the connection', async () => {
    let closed = 0;
    server.always((_, response) => {
      response.on('close', () => {
        closed += 1;
      });
      response.writeHead(200).write('{');
    });
    const client = clientOf(send, { timeout: 100 });
    expect(await failure(client.account.me())).toMatchObject({ code: 'TIMED_OUT' });
    await until(() => closed === 1);
    const reason = new Error('not needed any more');
    const controller = new AbortController();
    const calling = failure(client.account.me({ signal: controller.signal, timeout: 0 }));
    await until(() => server.requests.length === 2);
    controller.abort(reason);
    expect(await calling).toBe(reason);
    await until(() => closed === 2);
  });
});

test('a body that never ends is read no further than the limit, and its sender stopped', async () => {
  const stopped = new Promise<void>((resolve) => {
    server.once((_, response) => {
      const more = () => {
        while (!response.destroyed && response.write(' '.repeat(65_536)));
      };
      response.on('drain', more).on('close', resolve);
      more();
    });
  });
  expect(await failure(clientOf(overHttp).account.me())).toMatchObject({ code: 'RESPONSE_TOO_LARGE' });
  await stopped;
});

describe('a function that is not a fetch is a ConfigurationError, without a retry:', () => {
  const found = { status: 200, headers: new Headers(), body: null, text: async () => '{}' };
  const thrown = (response: unknown) => Promise.reject(Object.assign(new Error('404'), { response }));

  test.each<[string, () => unknown, string]>([
    ['parsed JSON, as of ofetch', async () => ({ data: {} }), 'fetch resolved with an object'],
    ['nothing', async () => undefined, 'fetch resolved with undefined'],
    ['text', () => 'ok', 'fetch resolved with "ok"'],
    ['headers in a plain object', async () => ({ ...found, headers: {} }), 'fetch resolved with an object'],
    [
      'neither body nor text, as of axios',
      async () => ({ status: 200, headers: new Headers(), data: {} }),
      'fetch resolved with a Response without body and text()',
    ],
    [
      'a body that it has read',
      async () => ({ ...found, bodyUsed: true }),
      'fetch has read the body of its Response',
    ],
    [
      'a rejection that holds the answer, as of axios and ky',
      () => thrown({ status: 404 }),
      'fetch rejected although it was answered 404',
    ],
  ])('%s', async (_, answer, message) => {
    let calls = 0;
    const client = clientOf(
      () => {
        calls += 1;
        return answer();
      },
      { retries: 2 },
    );
    const error = await failure(client.account.me());
    expect(ConfigurationError.is(error)).toBe(true);
    expect(error.message).toContain(`${message}. Pass a function that resolves with an unread Response`);
    expect(calls).toBe(1);
  });

  test('none at all', async () => {
    const { fetch: platform } = globalThis;
    try {
      Reflect.deleteProperty(globalThis, 'fetch');
      const error = await failure(clientOf(undefined).account.me());
      expect(error.message).toContain('There is no global fetch');
    } finally {
      globalThis.fetch = platform;
    }
  });
});

describe('the signal of a call', () => {
  /** As of the package abort-controller and of jsdom 16: neither throwIfAborted() nor a reason. */
  class OldSignal extends EventTarget {
    aborted = false;
    abort() {
      this.aborted = true;
      this.dispatchEvent(new Event('abort'));
    }
  }
  let open: OldSignal;
  afterEach(() => open?.abort());

  test('may be of a polyfill: before, during and between the attempts', async () => {
    const abortError = { name: 'AbortError' };
    server.always((_, response) => json(response, 503, {}, { 'retry-after': '20' }));
    const call = (retries: number) => {
      open = new OldSignal();
      return failure(clientOf(undefined, { retries }).account.me({ signal: open as never }));
    };
    const waiting = call(2);
    await until(() => server.requests.length === 1);
    await pause(50);
    open.abort();
    expect(await waiting).toMatchObject(abortError);
    server.always(() => {});
    const hanging = call(0);
    await until(() => server.requests.length === 2);
    open.abort();
    expect(await hanging).toMatchObject(abortError);
    const aborted = new OldSignal();
    aborted.abort();
    expect(await failure(clientOf(undefined).account.me({ signal: aborted as never }))).toMatchObject(
      abortError,
    );
    expect(server.requests).toHaveLength(2);
  });

  test.each<[string, unknown]>([
    ['a controller', new AbortController()],
    ['text', 'abort'],
    ['an emitter without a state', new EventTarget()],
  ])('is refused if it is %s', async (_, signal) => {
    const error = await failure(clientOf(undefined).account.me({ signal: signal as never }));
    expect(ConfigurationError.is(error)).toBe(true);
    expect(error.message).toMatch(/^signal is .*\. Pass the signal of an AbortController\.$/);
    expect(server.requests).toHaveLength(0);
  });
});
