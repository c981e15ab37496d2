// The health of a receiver, asked over HTTP as a monitor would.
import { readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, request, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import express from 'express';
import express4 from 'express4';
import { fastify } from 'fastify';
import {
  ConfigurationError,
  type DeadLetterStore,
  type IdempotencyStore,
  memoryDeadLetters,
  memoryStore,
  type ReceiverOptions,
  receiver,
} from 'payment-webhooks';
import { type HealthCheck, type HealthOptions, type HealthReport, health } from 'payment-webhooks/ops';
import { postgresDeadLetters, postgresStore } from 'payment-webhooks/stores/postgres';
import { Pool } from 'pg';
import { fixtures } from '../../src/fixtures/fixture.js';
import { captureLog } from '../setup/captured-log.js';
import { delivery, KEY } from '../setup/delivery.js';
import { faultyDeadLetters } from '../setup/faulty-dead-letters.js';
import { hangs, rejects } from '../setup/faulty-store.js';
import { ROOT } from '../setup/shell.js';
import { gate, until } from '../setup/waiting.js';

const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

interface Asked {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly report: HealthReport;
  check(name: HealthCheck['name']): HealthCheck | undefined;
}

async function serve(app: Parameters<typeof createServer>[1]): Promise<(method?: string) => Promise<Asked>> {
  const server = createServer(app);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return (method = 'GET') =>
    new Promise((resolve, reject) => {
      const asking = request({ port, host: '127.0.0.1', path: '/healthz', method, agent: false }, (res) => {
        const chunks: Buffer[] = [];
        res.on('data', (chunk) => chunks.push(chunk));
        res.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          const report: HealthReport = text === '' ? { checks: [] } : JSON.parse(text);
          const check = (name: string) => report.checks.find((one) => one.name === name);
          resolve({ status: res.statusCode ?? 0, headers: res.headers, text, report, check });
        });
      });
      asking.on('error', reject);
      asking.end();
    });
}

/** Each question waits until the answer before it is no longer used, so that a test sees what it has just changed. */
async function start(options: ReceiverOptions = {}, rules: HealthOptions = {}) {
  const log = captureLog();
  const hooks = receiver({ privateKey: KEY, logger: log.logger, handlers: { '*': () => {} }, ...options });
  const send = await serve(health(hooks, { cache: 1, ...rules }));
  const ask = async (...how: Parameters<typeof send>) => {
    const from = performance.now();
    await until(() => performance.now() > from + 1);
    return send(...how);
  };
  const post = (event: object = fixtures.transactionPaid(), key = KEY) => {
    const { body: rawBody, headers } = delivery(event, key);
    return hooks.receive({ rawBody, headers });
  };
  return { hooks, ask, post, log };
}

const unknown = (name: string) => fixtures.event(name, {});

describe('the answer', () => {
  test.each([
    ['Express 4', express4 as unknown as typeof express],
    ['Express 5', express],
  ])('comes as JSON that nobody stores, under %s', async (_, framework) => {
    const hooks = receiver({ privateKey: KEY, logger: false });
    const app = framework();
    app.get('/healthz', health(hooks));
    const { status, headers, report } = await (await serve(app))();
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    expect(report).toEqual({
      status: 'ok',
      lastDelivery: null,
      checks: [
        { name: 'closing', ok: true, value: false, threshold: null, advice: 'Nothing to do.' },
        { name: 'silence', ok: true, value: 0, threshold: null, advice: 'Nothing to do.' },
        { name: 'refused', ok: true, value: null, threshold: null, advice: 'Nothing to do.' },
        { name: 'store', ok: true, value: 'reachable', threshold: null, advice: 'Nothing to do.' },
      ],
    });
  });

  test('to HEAD has no body, and to anything but GET and HEAD it is 405', async () => {
    const { ask } = await start();
    expect(await ask('HEAD')).toMatchObject({ status: 200, text: '' });
    expect(await ask('POST')).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
  });

  test('has no name, id or value that came from outside', async () => {
    const { ask, post } = await start({ deadLetters: memoryDeadLetters() }, { deadLetters: 0 });
    const canary = { ...unknown('canary.name'), id: 'canary-id', payload: { email: 'canary@example.com' } };
    await post(canary);
    await post(fixtures.transactionPaid({ id: 'canary-id-2' }));
    const { status, text, check } = await ask();
    expect([status, check('deadLetters')?.value]).toEqual([503, 1]);
    expect(text).not.toContain('canary');
  });
});

describe('silence', () => {
  test('is counted from the start, and ends with an authentic delivery', async () => {
    const first = await (await start({}, { silence: '6h' })).ask();
    expect([first.status, first.report.lastDelivery]).toEqual([200, null]);
    const { ask, post } = await start({}, { silence: '700ms' });
    await until(async () => (await ask()).status === 503);
    const silent = await ask();
    expect(silent.report.status).toBe('failing');
    expect(silent.check('silence')).toMatchObject({ ok: false, threshold: 0.7 });
    expect(silent.check('silence')?.advice).toContain('Check that the webhook is active');
    // As often as it takes to ask within the time.
    const before = Date.now();
    await until(async () => {
      await post();
      return (await ask()).status === 200;
    });
    const { lastDelivery } = (await ask()).report;
    expect(Date.parse(lastDelivery ?? '')).toBeGreaterThanOrEqual(before - 1_000);
    expect(Date.parse(lastDelivery ?? '')).toBeLessThanOrEqual(Date.now() + 1_000);
  });

  test('is not ended by a delivery that nobody signed', async () => {
    const { ask, post } = await start({}, { silence: '20ms' });
    await until(async () => (await ask()).status === 503);
    await post(fixtures.transactionPaid(), 'pri_other');
    const { status, report } = await ask();
    expect([status, report.lastDelivery]).toEqual([503, null]);
  });

  test('is ended by an event that no handler wants', async () => {
    const { ask, post } = await start();
    await post(unknown('refund.made'));
    expect((await ask()).report.lastDelivery).not.toBeNull();
  });
});

describe('the share of deliveries answered 401', () => {
  test('fails above the threshold, once there are twenty deliveries', async () => {
    const { ask, post } = await start({}, { refused: 0.5 });
    const { hooks } = await start();
    const { body: rawBody } = delivery();
    for (let index = 0; index < 8; index += 1) await post();
    for (let index = 0; index < 11; index += 1) await post(fixtures.transactionPaid(), 'pri_other');
    const few = await ask();
    expect([few.status, few.check('refused')?.value]).toEqual([200, 0.579]);
    await post(fixtures.transactionPaid(), 'pri_other');
    const many = await ask();
    expect([many.status, many.check('refused')]).toMatchObject([503, { ok: false, value: 0.6 }]);
    expect(many.check('refused')?.advice).toContain('private key');
    for (let index = 0; index < 4; index += 1) await post();
    expect((await ask()).check('refused')).toMatchObject({ ok: true, value: 0.5 });
    await hooks.receive({ rawBody, headers: {} });
  });

  test('forgets what is older than the window', async () => {
    const { ask, post } = await start({}, { refused: 0.5, window: '300ms' });
    for (let index = 0; index < 20; index += 1) await post(fixtures.transactionPaid(), 'pri_other');
    expect((await ask()).status).toBe(503);
    await until(async () => (await ask()).status === 200);
    expect((await ask()).check('refused')).toMatchObject({ value: null });
  });

  test('counts a signature that is missing, and no other refusal', async () => {
    const { hooks, ask, post } = await start();
    const { body: rawBody, headers } = delivery('not json');
    await hooks.receive({ rawBody, headers: {} });
    expect((await ask()).check('refused')?.value).toBe(1);
    expect((await hooks.receive({ rawBody, headers })).status).toBe(400);
    await post();
    await post();
    expect((await ask()).check('refused')?.value).toBe(0.25);
  });
});

describe('dead letters', () => {
  test('fail above the threshold, and the oldest of them by its age', async () => {
    let now = Date.now() - 3_600_000;
    const deadLetters = memoryDeadLetters({ now: () => now });
    const { hooks, ask, post } = await start({ deadLetters }, { deadLetters: 1, deadLetterAge: '59m' });
    expect((await ask()).report).toMatchObject({ status: 'ok' });
    await post(unknown('refund.made'));
    now += 3_500_000;
    const old = await ask();
    expect([old.status, old.check('deadLetters')?.ok]).toEqual([503, true]);
    expect(old.check('deadLetterAge')).toMatchObject({ ok: false, threshold: 3_540 });
    expect(old.check('deadLetterAge')?.value).toBeGreaterThanOrEqual(3_600);
    expect(old.check('deadLetterAge')?.advice).toContain('replay');
    await post(unknown('refund.made'));
    expect((await ask()).check('deadLetters')).toMatchObject({ ok: false, value: 2, threshold: 1 });
    for await (const { id } of hooks.deadLetters?.list() ?? [])
      await hooks.deadLetters?.discard(id, { by: 'ada', because: 'test data' });
    const none = await ask();
    expect([none.status, none.check('deadLetterAge')?.value]).toEqual([200, 0]);
  });

  test('of the journal are counted when they are old, and not while their events are at work', async () => {
    const work = gate();
    const options = { deadLetters: memoryDeadLetters(), journal: true, handlers: { '*': () => work.opened } };
    const { hooks, ask, post } = await start(options, { deadLetters: 0, deadLetterAge: '300ms' });
    const posted = post();
    await until(async () => (await hooks.deadLetters?.count())?.total === 1);
    await until(async () => (await ask()).check('deadLetterAge')?.ok === false);
    expect((await ask()).check('deadLetters')).toMatchObject({ ok: true, value: 0 });
    work.open();
    await posted;
    expect((await ask()).status).toBe(200);
  });
});

describe('a store', () => {
  const pinging = (ping: () => unknown): IdempotencyStore => ({
    scope: 'shared',
    ping,
    claim: (key, asked) => memory.claim(key, asked),
  });
  const memory = memoryStore();

  test.each<[string, () => unknown]>([
    ['rejects', () => Promise.reject(new Error('secret'))],
    [
      'throws',
      () => {
        throw new Error('secret');
      },
    ],
    ['hangs', () => new Promise(() => {})],
  ])('that %s fails, until it answers', async (_, ping) => {
    const store = { ...pinging(ping) };
    const { ask, log } = await start({ store, storeTimeout: 30 }, { timeout: 40 });
    const { status, text, check } = await ask();
    expect([status, check('store')]).toMatchObject([503, { ok: false, value: 'unreachable' }]);
    expect(text + log.text).not.toContain('secret');
    store.ping = () => true;
    await until(async () => (await ask()).status === 200);
  });

  test('that hangs holds up nobody for longer than the timeout, with dead letters too', async () => {
    const store = pinging(() => new Promise(() => {}));
    const deadLetters = faultyDeadLetters({ list: hangs });
    const { ask } = await start({ store, deadLetters, storeTimeout: 300 }, { timeout: 50, cache: 60_000 });
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask()));
    for (const { status, check } of answers) {
      expect(status).toBe(503);
      expect(check('store')?.value).toBe('unreachable');
      expect(check('deadLetterStore')).toMatchObject({ ok: false, value: 'unreachable' });
      expect(check('deadLetters')).toMatchObject({ ok: true, value: null });
    }
    expect(deadLetters.calls).toEqual(['list']);
  });

  test('is asked once, however often somebody asks for health', async () => {
    let pings = 0;
    const store = pinging(() => {
      pings += 1;
    });
    const deadLetters = faultyDeadLetters();
    const { ask } = await start({ store, deadLetters }, { cache: 60_000 });
    for (let index = 0; index < 5; index += 1) await Promise.all([ask(), ask(), ask()]);
    expect([pings, deadLetters.calls]).toEqual([1, ['list']]);
  });

  test('without ping() is unknown, and claims nothing', async () => {
    const claimed: string[] = [];
    const store: IdempotencyStore = {
      claim: (key, asked) => {
        claimed.push(key);
        return memory.claim(key, asked);
      },
    };
    const { ask } = await start({ store });
    const { status, check } = await ask();
    expect([status, check('store')]).toMatchObject([200, { ok: true, value: 'unknown' }]);
    expect(check('store')?.advice).toContain('ping()');
    expect(claimed).toEqual([]);
  });

  test('that a receiver does not have cannot fail', async () => {
    const { ask } = await start({ store: false });
    expect((await ask()).check('store')).toMatchObject({ ok: true, value: 'none' });
  });

  test('of dead letters that is down fails, and thresholds that cannot be told with it', async () => {
    const deadLetters: DeadLetterStore = faultyDeadLetters({ list: rejects });
    const { ask } = await start({ deadLetters }, { deadLetters: 5 });
    const { status, report } = await ask();
    expect(status).toBe(503);
    expect(report.checks.filter(({ ok }) => !ok).map(({ name }) => name)).toEqual([
      'deadLetterStore',
      'deadLetters',
    ]);
  });
});

test('a receiver that closes is 503 closing at once, and its stores are not asked any more', async () => {
  let pings = 0;
  const ping = () => {
    pings += 1;
  };
  const memory = memoryStore();
  const work = gate();
  const { hooks, ask, post } = await start({
    store: { ping, claim: (key, asked) => memory.claim(key, asked) },
    handlers: { '*': () => work.opened },
  });
  expect([(await ask()).status, pings]).toEqual([200, 1]);
  const posted = post();
  const closed = hooks.close();
  const { status, report, check } = await ask();
  expect([status, report.status, check('closing')?.ok, pings]).toEqual([503, 'closing', false, 1]);
  work.open();
  await Promise.all([posted, closed]);
  expect((await ask()).report.status).toBe('closing');
});

test('docs/observability.md has a row for each check', async () => {
  const { ask } = await start({ deadLetters: memoryDeadLetters() }, {});
  const { report } = await ask();
  const doc = readFileSync(join(ROOT, 'docs/observability.md'), 'utf8');
  const [, section = ''] = doc.split('\n## Health\n');
  const rows = [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
  expect(rows).toEqual(report.checks.map(({ name }) => name));
});

describe('health() refuses', () => {
  const hooks = receiver({ privateKey: KEY, logger: false });
  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['of type function', receiver],
    ['of type object', {}],
  ])('what is no receiver: %s', (shown, given) => {
    expect(() => health(given as never)).toThrow(
      `health() was given ${shown}. Give what receiver() returned`,
    );
  });

  test.each<[object, string]>([
    [{ silense: '6h' }, 'Unknown option "silense". Did you mean "silence"?'],
    [{ silence: 'long' }, 'silence is "long". Give milliseconds from 1, or text like "6h".'],
    [{ silence: 0 }, 'silence is 0. Give milliseconds from 1'],
    [{ window: 'none' }, 'window is "none".'],
    [{ refused: 50 }, 'refused is 50. Give a share from 0 to 1, such as 0.5.'],
    [{ refused: Number.NaN }, 'refused is NaN.'],
    [{ timeout: 0 }, 'timeout is 0.'],
    [{ cache: '100d' }, 'cache is "100d".'],
    [{ deadLetters: 5 }, 'deadLetters is a threshold for dead letters, and the receiver has none.'],
    [{ deadLetterAge: '1d' }, 'deadLetterAge is a threshold for dead letters'],
  ])('%j', (options, message) => {
    expect(() => health(hooks, options)).toThrow(ConfigurationError);
    expect(() => health(hooks, options)).toThrow(message);
  });

  test('thresholds of letters that are no thresholds', () => {
    const keeping = receiver({ privateKey: KEY, logger: false, deadLetters: memoryDeadLetters() });
    expect(() => health(keeping, { deadLetters: -1 })).toThrow('deadLetters is -1.');
    expect(() => health(keeping, { deadLetterAge: 'old' })).toThrow('deadLetterAge is "old".');
    expect(() => health(keeping, { silence: '90d' })).not.toThrow();
  });
});

describe('in Fastify', () => {
  const hooks = receiver({ privateKey: KEY, logger: false });
  const app = fastify();
  afterAll(() => app.close());

  test('its own request and reply are refused at once, and those of Node are answered', async () => {
    app.get('/wrong', health(hooks) as never);
    app.get('/healthz', (request, reply) => {
      reply.hijack();
      health(hooks)(request.raw, reply.raw);
    });
    const address = await app.listen({ port: 0, host: '127.0.0.1' });
    const wrong = await fetch(`${address}/wrong`, { signal: AbortSignal.timeout(3_000) });
    expect([wrong.status, ((await wrong.json()) as { message: string }).message]).toEqual([
      500,
      'health() was not given the request and response of Node. In Fastify call reply.hijack(), and pass request.raw and reply.raw.',
    ]);
    const right = await fetch(`${address}/healthz`);
    expect([right.status, ((await right.json()) as HealthReport).status]).toEqual([200, 'ok']);
  });
});

describe('a server that takes connections and says nothing', () => {
  test('is unreachable to a check that is answered in time', async () => {
    const sockets = new Set<Socket>();
    const silent = createTcpServer((socket) => void sockets.add(socket.on('error', () => {})));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as AddressInfo;
    const pool = new Pool({ host: '127.0.0.1', port, user: 'nobody', database: 'none', max: 1 });
    const options = {
      store: postgresStore({ pool }),
      deadLetters: postgresDeadLetters({ pool }),
      storeTimeout: 300,
    };
    const { ask } = await start(options, { timeout: 50, cache: 60_000 });
    const { status, report } = await ask();
    expect(status).toBe(503);
    expect(report.checks.filter(({ ok }) => !ok).map(({ name }) => name)).toEqual([
      'store',
      'deadLetterStore',
    ]);
    for (const socket of sockets) socket.destroy();
    await pool.end();
    await new Promise((resolve) => silent.close(resolve));
  });
});
