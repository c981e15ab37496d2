// hooks.fetch() given Requests directly. What it shares with the middleware is tested beside it: "on fetch" in the other suites.

import { AsyncLocalStorage } from 'node:async_hooks';
import { getEventListeners } from 'node:events';
import { Readable } from 'node:stream';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import type { Handler, ReceiverOptions } from 'payment-webhooks';
import { InFlightLimiter, Place } from '../../src/deliveries/in-flight-limiter.js';
import { fixtures } from '../../src/fixtures/fixture.js';
import type { FetchContext } from '../../src/receiver.js';
import { delivery, hmac } from '../setup/delivery.js';
import { startReceiver } from '../setup/endpoint.js';
import { down, raise } from '../setup/raise.js';
import { countTimers, gate, until } from '../setup/waiting.js';

const URL = 'https://example.test/hooks';

function start(options: ReceiverOptions = {}) {
  const receiving = startReceiver(options);
  return { ...receiving, fetch: receiving.hooks.fetch };
}

/** A Request whose body gives one chunk each time it is asked, and then hangs, ends or fails; and what was asked of it. */
function streamed(chunks: readonly unknown[], end: 'closes' | 'hangs' | 'fails', init: RequestInit = {}) {
  const asked: string[] = [];
  const left = [...chunks];
  const body = new ReadableStream(
    {
      pull: (controller) => {
        asked.push('pull');
        if (left.length > 0) return controller.enqueue(left.shift());
        if (end === 'closes') return controller.close();
        if (end === 'fails') return controller.error(new Error('of the stream'));
        return new Promise(() => {});
      },
      cancel: () => void asked.push('cancel'),
    },
    { highWaterMark: 0 },
  );
  const { headers } = delivery();
  const request = new Request(URL, { method: 'POST', headers, body, duplex: 'half', ...init } as RequestInit);
  return { asked, request };
}

function requestOf({ body, headers } = delivery(), init: RequestInit = {}): Request {
  return new Request(URL, { method: 'POST', headers, body: new Uint8Array(body), ...init });
}

const codeOf = async (response: Response) => [
  response.status,
  ((await response.json()) as { code?: string }).code,
];

describe('hooks.fetch', () => {
  test('takes the second argument of Bun and Deno for nothing', async () => {
    const { fetch } = start();
    expect((await fetch(requestOf(), { remoteAddr: {} })).status).toBe(200);
  });

  test.each([
    ['nothing', undefined],
    ['a request of Node', { headers: {}, on: () => {} }],
    ['text', 'https://example.test'],
  ])('throws at once when it is given %s', (_, wrong) => {
    const { fetch, records } = start();
    expect(() => fetch(wrong as never)).toThrow(
      /^hooks\.fetch\(\) was not given a fetch Request\. In Hono .*c\.req\.raw/,
    );
    expect(records).toEqual([]);
  });
  test('throws at once when it is given a Request whose body is no web stream, as that of node-fetch', () => {
    const { fetch } = start();
    const request = { headers: new Headers(), body: Readable.from(['{}']) };
    expect(() => fetch(request as never)).toThrow('a body that is no web stream, such as one of node-fetch');
  });

  test('answers every method, and reads no body where a method has none', async () => {
    const { fetch, handled } = start();
    const empty = { 'x-service-signature': hmac('') };
    for (const method of ['GET', 'HEAD', 'POST']) {
      const signed = await fetch(new Request(URL, { method, headers: empty }));
      expect(await codeOf(signed)).toEqual([400, 'BODY_MALFORMED']);
      expect((await fetch(new Request(URL, { method }))).status).toBe(401);
    }
    expect((await fetch(requestOf(delivery(), { method: 'PUT' }))).status).toBe(200);
    expect(handled).toHaveLength(1);
  });

  test('gives handlers the async context of its caller', async () => {
    const storage = new AsyncLocalStorage<string>();
    const seen = new Map<string, unknown>();
    const handler: Handler = ({ id }, { signal }) =>
      new Promise<void>((resolve) => {
        // It runs in a timer of the delivery.
        signal.addEventListener('abort', () => {
          seen.set(id, storage.getStore());
          resolve();
        });
      });
    const { fetch } = start({ timeout: 20, handlers: { '*': handler } });
    const ids = ['first', 'second', 'third'];
    const sent = ids.map((id) => delivery(fixtures.transactionPaid({ id })));
    await Promise.all(
      sent.map(({ body, headers }, index) => {
        const { request } = streamed([new Uint8Array(body)], 'closes', { headers });
        return storage.run(`context of ${ids[index]}`, () => fetch(request));
      }),
    );
    expect([...seen]).toEqual(ids.map((id) => [id, `context of ${id}`]));
  });

  test('counts as in flight, and is refused once the receiver closes', async () => {
    const going = gate();
    const { hooks, fetch } = start({ handlers: { '*': () => going.opened } });
    const answer = fetch(requestOf());
    await until(() => hooks.inFlight === 1);
    const closed = hooks.close();
    const refused = await fetch(requestOf());
    expect(refused.headers.get('connection')).toBe('close');
    expect(await codeOf(refused)).toEqual([503, 'CLOSING']);
    going.open();
    expect((await answer).status).toBe(200);
    await closed;
    expect(hooks.inFlight).toBe(0);
  });
});

describe('a body that somebody read before', () => {
  test.each<[string, (request: Request) => unknown]>([
    ['as JSON', (request) => request.json()],
    ['in part', (request) => request.body?.getReader().read()],
    ['by a reader that has begun', (request) => request.body?.getReader()],
  ])('is refused at once: %s', async (_, read) => {
    const { fetch, log, handled } = start();
    const request = requestOf();
    await read(request);
    expect(await codeOf(await fetch(request))).toEqual([500, 'BODY_CONSUMED']);
    // What happened, and each of the three ways out.
    const hint =
      /^Something read the body .* before hooks\.fetch\(\).* hooks\.fetch\(request\) first.*request\.clone\(\).*hooks\.receive\(\{ rawBody/;
    expect(log.lines).toMatchObject([{ level: 50, hint: expect.stringMatching(hint) }]);
    expect(handled).toEqual([]);
  });

  test('is read where it was a copy', async () => {
    const { fetch } = start();
    const request = requestOf();
    await request.clone().json();
    expect((await fetch(request)).status).toBe(200);
  });
});

describe('a body that arrives in a stream', () => {
  const { body } = delivery();

  test('is copied: a server may use the memory of a chunk again', async () => {
    const kept: Buffer[] = [];
    const { fetch } = start({ handlers: { '*': (_, { rawBody }) => kept.push(rawBody) } });
    for (const isAnnounced of [false, true]) {
      const sent = delivery();
      const { length } = sent.body;
      const memory = new Uint8Array(length + 100);
      const chunk = memory.subarray(50, 50 + length);
      chunk.set(sent.body);
      const headers = { ...sent.headers, ...(isAnnounced && { 'content-length': `${length}` }) };
      expect((await fetch(streamed([chunk], 'closes', { headers }).request)).status).toBe(200);
      memory.fill(0);
      expect(kept.pop()).toEqual(sent.body);
    }
  });

  test('is not touched when its headers are refused', async () => {
    const { fetch } = start({ limit: 1_000 });
    const refusals: [number, Record<string, string>][] = [
      [401, {}],
      [401, { 'x-service-signature': 'zz' }],
      [413, { ...delivery().headers, 'content-length': '1001' }],
      [415, { ...delivery().headers, 'content-encoding': 'gzip' }],
    ];
    for (const [status, headers] of refusals) {
      const { request, asked } = streamed([body], 'closes', { headers });
      expect((await fetch(request)).status).toBe(status);
      expect(asked).toEqual([]);
      expect(request.bodyUsed).toBe(false);
    }
  });

  test.each([
    ['small chunks', Array.from({ length: 50 }, () => new Uint8Array(100)), 11],
    ['one chunk', [new Uint8Array(1_001)], 1],
  ])('is cancelled where it crosses the limit: %s', async (_, chunks, pulls) => {
    const { fetch } = start({ limit: 1_000 });
    const { request, asked } = streamed(chunks, 'hangs');
    expect(await codeOf(await fetch(request))).toEqual([413, 'BODY_TOO_LARGE']);
    await until(() => asked.includes('cancel'));
    expect(asked.filter((one) => one === 'pull').length).toBeLessThanOrEqual(pulls + 1);
  });

  test('is cancelled where it takes longer than bodyTimeout', async () => {
    const { fetch } = start({ bodyTimeout: 50 });
    const { request, asked } = streamed([new Uint8Array(1)], 'hangs');
    expect(await codeOf(await fetch(request))).toEqual([408, 'BODY_TIMEOUT']);
    await until(() => asked.includes('cancel'));
  });

  test.each([
    ['shorter than its Content-Length', body.length + 1],
    ['longer than its Content-Length of 0', 0],
  ])('is refused when it is %s', async (_, length) => {
    const { fetch } = start();
    const headers = { ...delivery(body).headers, 'content-length': `${length}` };
    const { request } = streamed([new Uint8Array(body)], 'closes', { headers });
    expect(await codeOf(await fetch(request))).toEqual([400, 'BODY_MALFORMED']);
  });

  test('is refused and cancelled as soon as it is longer than its Content-Length', async () => {
    const { fetch } = start();
    const headers = { ...delivery(body).headers, 'content-length': `${body.length - 1}` };
    const { request, asked } = streamed([new Uint8Array(body)], 'hangs', { headers });
    expect(await codeOf(await fetch(request))).toEqual([400, 'BODY_MALFORMED']);
    await until(() => asked.includes('cancel'));
  });

  test('needs no memory to be refused where one chunk is over the limit', async () => {
    const { fetch } = start({ limit: 1_000 });
    const { request } = streamed([new Uint8Array(1_001)], 'hangs');
    const spy = jest.spyOn(Buffer, 'allocUnsafeSlow').mockImplementation(down);
    try {
      expect(await codeOf(await fetch(request))).toEqual([413, 'BODY_TOO_LARGE']);
    } finally {
      spy.mockRestore();
    }
  });

  test('is read where the server gives its Request no signal', async () => {
    const { fetch, handled } = start();
    const request = requestOf();
    Object.defineProperty(request, 'signal', { value: undefined });
    expect((await fetch(request)).status).toBe(200);
    expect(handled).toHaveLength(1);
  });

  test('is refused when it gives text instead of bytes', async () => {
    const { fetch, log } = start();
    const { request } = streamed([body.toString()], 'closes');
    expect(await codeOf(await fetch(request))).toEqual([500, 'BODY_CONSUMED']);
    const hint = /a stream of something other than bytes\. Pass the original Request to hooks\.fetch\(\)/;
    expect(log.lines).toMatchObject([{ hint: expect.stringMatching(hint) }]);
  });

  test('leaves no timer and no listener behind', async () => {
    const { signal } = new AbortController();
    const timers = countTimers();
    const { fetch } = start({ bodyTimeout: 60_000 });
    const request = requestOf();
    // The signal of a Request follows the one that it was made with, and the listeners on it cannot be counted.
    Object.defineProperty(request, 'signal', { value: signal });
    const answer = fetch(request);
    expect([getEventListeners(signal, 'abort').length, countTimers()]).toEqual([1, timers + 1]);
    expect((await answer).status).toBe(200);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    await until(() => countTimers() <= timers);
  });
});

describe('a sender that leaves', () => {
  test.each<[string, (leaving: AbortController) => Request]>([
    ['before its body is read', () => requestOf(delivery(), { signal: AbortSignal.abort() })],
    ['while its body is read', ({ signal }) => streamed([new Uint8Array(10)], 'hangs', { signal }).request],
    ['so that the stream fails', () => streamed([new Uint8Array(10)], 'fails').request],
  ])('reaches neither store nor handler: %s', async (_, requestFor) => {
    const { hooks, fetch, records, handled, log } = start({ store: { claim: down } });
    const leaving = new AbortController();
    const answer = fetch(requestFor(leaving));
    setImmediate(() => leaving.abort());
    const response = await answer;
    // Nobody reads it. If somebody between the sender and us does, it is to be retried.
    expect(response.headers.get('retry-after')).toBe('1');
    expect(await codeOf(response)).toEqual([503, 'BODY_ABORTED']);
    expect(records).toMatchObject([{ status: 0, code: 'BODY_ABORTED', bytes: 0 }]);
    expect(log.lines).toMatchObject([{ level: 30, code: 'BODY_ABORTED' }]);
    expect([handled, hooks.inFlight]).toEqual([[], 0]);
  });

  test('while the handler runs changes nothing but the status of the record', async () => {
    const leaving = new AbortController();
    const { fetch, records } = start({ handlers: { '*': () => leaving.abort() } });
    const sent = delivery();
    await fetch(requestOf(sent, { signal: leaving.signal }));
    expect(records).toMatchObject([{ status: 0, outcome: 'processed' }]);
    expect(await (await fetch(requestOf(sent))).json()).toMatchObject({ outcome: 'duplicate' });
  });
});

describe('the context of a Worker', () => {
  const navigator = Object.getOwnPropertyDescriptor(globalThis, 'navigator');
  afterEach(() => {
    if (navigator) Object.defineProperty(globalThis, 'navigator', navigator);
    else Reflect.deleteProperty(globalThis, 'navigator');
  });

  test('is told of all that goes on, also after the answer', async () => {
    const going = gate();
    const { fetch, hooks } = start({ timeout: 20, handlers: { '*': () => going.opened } });
    const waited: Promise<unknown>[] = [];
    const response = await fetch(requestOf(), {}, { waitUntil: (promise) => void waited.push(promise) });
    expect(response.status).toBe(503);
    const over = jest.fn();
    const all = Promise.all(waited).then(over);
    await new Promise(setImmediate);
    expect(over).not.toHaveBeenCalled();
    expect([waited.length, hooks.inFlight]).toEqual([1, 1]);
    going.open();
    await all;
    await until(() => hooks.inFlight === 0);
  });

  test('is missed once, in the log', async () => {
    const value = { userAgent: 'Cloudflare-Workers' };
    Object.defineProperty(globalThis, 'navigator', { value, configurable: true });
    const { fetch, log } = start();
    await fetch(requestOf());
    await fetch(requestOf());
    const missed = log.lines.filter(({ msg }) => String(msg).includes('hooks.fetch(request, env, ctx)'));
    expect(missed).toMatchObject([{ level: 50 }]);
  });

  test('that throws is logged once, and changes no answer', async () => {
    const illegal = () => raise(new TypeError('Illegal invocation'));
    const throwing: FetchContext = { waitUntil: illegal };
    const unreadable: FetchContext = Object.defineProperty({}, 'waitUntil', { get: illegal });
    const { fetch, handled, log } = start();
    const first = await fetch(requestOf(), {}, throwing);
    const second = await fetch(requestOf(), {}, unreadable);
    expect([first.status, second.status, handled.length]).toEqual([200, 200, 2]);
    const lines = log.lines.filter(({ msg }) => String(msg).includes('hooks.fetch(request, env, ctx)'));
    expect(lines).toMatchObject([{ level: 50, error: { type: 'TypeError' } }]);
  });

  test('gives a place back in time, although the timer of its request has ended with it', async () => {
    jest.useFakeTimers({ doNotFake: ['performance'] });
    const clock = jest.spyOn(performance, 'now').mockReturnValue(1_000);
    try {
      const limiter = new InFlightLimiter(1);
      const place = limiter.enter() as Place;
      place.leaveWithin(500);
      clock.mockReturnValue(1_400);
      expect(limiter.enter()).toMatchObject({ code: 'OVERLOADED' });
      clock.mockReturnValue(1_501);
      expect(limiter.enter()).toBeInstanceOf(Place);
      // The timer fires after all, which must not free the place of the other delivery.
      place.leave();
      await jest.runAllTimersAsync();
      expect(limiter.inFlight).toBe(1);
    } finally {
      clock.mockRestore();
      jest.useRealTimers();
    }
  });
});
