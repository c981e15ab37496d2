// The health of a receiver, asked over HTTP as a monitor would.
import { readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, expect, jest, test } from '@jest/globals';
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
import { listening } from '../setup/afterwards.js';
import { delivery, KEY } from '../setup/delivery.js';
import { startReceiver } from '../setup/endpoint.js';
import { faultyDeadLetters } from '../setup/faulty-dead-letters.js';
import { hangs, rejects } from '../setup/faulty-store.js';
import { ROOT } from '../setup/shell.js';
import { gate, until } from '../setup/waiting.js';
import { send } from '../tools/letters/page-world.js';

/** Asks the health of an app, as a monitor would. */
async function serve(app: RequestListener) {
  const port = await listening(app);
  return async (method = 'GET') => {
    const answer = await send(port, '/healthz', { method });
    const report: HealthReport = answer.json ?? { checks: [] };
    const check = (name: HealthCheck['name']) => report.checks.find((one) => one.name === name);
    return { ...answer, report, check };
  };
}

/** Each request waits until the cached answer has expired, so that a test sees what it has just changed. */
async function start(options: ReceiverOptions = {}, rules: HealthOptions = {}) {
  const { hooks, log, post: send } = startReceiver(options);
  const askNow = await serve(health(hooks, { cache: 1, ...rules }));
  const ask = async (method?: string) => {
    const from = performance.now();
    await until(() => performance.now() > from + 1);
    return askNow(method);
  };
  const post = (event?: object, key = KEY) => send(delivery(event, key));
  return { hooks, ask, post, log };
}

const unknown = (name: string) => fixtures.event(name, {});
const failing = ({ checks }: HealthReport) => checks.filter(({ ok }) => !ok).map(({ name }) => name);

describe('the answer', () => {
  test.each([
    ['Express 4', express4 as unknown as typeof express],
    ['Express 5', express],
  ])('is JSON that no cache stores, under %s', async (_, framework) => {
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
    const well = { ok: true, threshold: null, advice: 'Nothing to do.' };
    expect(report).toEqual({
      status: 'ok',
      lastDelivery: null,
      checks: [
        { ...well, name: 'closing', value: false },
        { ...well, name: 'silence', value: 0 },
        { ...well, name: 'refused', value: null },
        { ...well, name: 'store', value: 'reachable' },
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

  test('is not ended by a delivery with an invalid signature', async () => {
    const { ask, post } = await start({}, { silence: '20ms' });
    await until(async () => (await ask()).status === 503);
    await post(undefined, 'pri_other');
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
    for (let index = 0; index < 8; index += 1) await post();
    for (let index = 0; index < 11; index += 1) await post(undefined, 'pri_other');
    const few = await ask();
    expect([few.status, few.check('refused')?.value]).toEqual([200, 0.579]);
    await post(undefined, 'pri_other');
    const many = await ask();
    expect([many.status, many.check('refused')]).toMatchObject([503, { ok: false, value: 0.6 }]);
    expect(many.check('refused')?.advice).toContain('private key');
    for (let index = 0; index < 4; index += 1) await post();
    expect((await ask()).check('refused')).toMatchObject({ ok: true, value: 0.5 });
  });

  test('forgets what is older than the window', async () => {
    const { ask, post } = await start({}, { refused: 0.5, window: '300ms' });
    for (let index = 0; index < 20; index += 1) await post(undefined, 'pri_other');
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
  const memory = memoryStore();
  const claim: IdempotencyStore['claim'] = (key, asked) => memory.claim(key, asked);
  const pinging = (ping: () => unknown) => ({ scope: 'shared' as const, ping, claim });

  const fails = () => {
    throw new Error('secret');
  };

  test.each<[string, () => unknown]>([
    ['rejects', async () => fails()],
    ['throws', fails],
    ['hangs', () => new Promise(() => {})],
  ])('that %s fails, until it answers', async (_, ping) => {
    const store = pinging(ping);
    const { ask, log } = await start({ store, storeTimeout: 30 }, { timeout: 40 });
    const { status, text, check } = await ask();
    expect([status, check('store')]).toMatchObject([503, { ok: false, value: 'unreachable' }]);
    expect(text + log.text).not.toContain('secret');
    store.ping = () => true;
    await until(async () => (await ask()).status === 200);
  });

  test('that hangs delays an answer by the timeout at most, with dead letters too', async () => {
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
    expect(deadLetters.calls).toEqual(['list', 'list']);
  });

  test('of dead letters that takes too long to count them is reachable all the same', async () => {
    const countGroups = () => new Promise<never>(() => {});
    const deadLetters: DeadLetterStore = Object.assign(memoryDeadLetters(), { countGroups });
    const healthy = await start({ deadLetters }, { timeout: 50 });
    const { status, check } = await healthy.ask();
    expect([status, check('deadLetterStore')?.value, check('deadLetters')?.value]).toEqual([
      200,
      'reachable',
      null,
    ]);
    const limited = await start({ deadLetters }, { timeout: 50, deadLetters: 5 });
    const slow = await limited.ask();
    expect(failing(slow.report)).toEqual(['deadLetters']);
    expect(slow.check('deadLetters')?.advice).toBe(
      'Not known: the store did not count its letters in time. Raise timeout of health().',
    );
  });

  test('is asked once, however many requests there are', async () => {
    const ping = jest.fn();
    const deadLetters = faultyDeadLetters();
    const { ask } = await start({ store: pinging(ping), deadLetters }, { cache: 60_000 });
    for (let index = 0; index < 5; index += 1) await Promise.all([ask(), ask(), ask()]);
    // Once whether it answers, and once to count.
    expect([ping.mock.calls.length, deadLetters.calls]).toEqual([1, ['list', 'list']]);
  });

  test('without ping() is unknown, and claims nothing', async () => {
    const claimed = jest.fn(claim);
    const { ask } = await start({ store: { claim: claimed } });
    const { status, check } = await ask();
    expect([status, check('store')]).toMatchObject([200, { ok: true, value: 'unknown' }]);
    expect(check('store')?.advice).toContain('ping()');
    expect(claimed).not.toHaveBeenCalled();
  });

  test('that a receiver does not have cannot fail', async () => {
    const { ask } = await start({ store: false });
    expect((await ask()).check('store')).toMatchObject({ ok: true, value: 'none' });
  });

  test('of dead letters that is down fails, and what it has is not known', async () => {
    const deadLetters: DeadLetterStore = faultyDeadLetters({ list: rejects });
    const { ask } = await start({ deadLetters }, { deadLetters: 5, deadLetterAge: '1d' });
    const { status, report, check } = await ask();
    expect([status, failing(report)]).toEqual([503, ['deadLetterStore']]);
    for (const name of ['deadLetters', 'deadLetterAge'] as const)
      expect(check(name)).toMatchObject({ value: null, advice: 'Not known: the store does not answer.' });
  });
});

test('a receiver that closes is 503 closing at once, and its stores are not asked any more', async () => {
  const ping = jest.fn();
  const work = gate();
  const { hooks, ask, post } = await start({
    store: Object.assign(memoryStore(), { ping }),
    handlers: { '*': () => work.opened },
  });
  expect((await ask()).status).toBe(200);
  const posted = post();
  const closed = hooks.close();
  const { status, report, check } = await ask();
  expect([status, report.status, check('closing')?.ok]).toEqual([503, 'closing', false]);
  expect(ping).toHaveBeenCalledTimes(1);
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
    ['a function', receiver],
    ['an object', {}],
  ])('anything but a receiver: %s', (shown, given) => {
    expect(() => health(given as never)).toThrow(
      `health() was given ${shown}. Pass what receiver() returned`,
    );
  });

  test.each<[object, string]>([
    [{ silense: '6h' }, 'Unknown option "silense". Did you mean "silence"?'],
    [{ silence: 'long' }, 'silence is "long". Pass milliseconds from 1, or a string like "6h".'],
    [{ silence: 0 }, 'silence is 0. Pass milliseconds from 1'],
    [{ window: 'none' }, 'window is "none".'],
    [{ refused: 50 }, 'refused is 50. Pass a share from 0 to 1, such as 0.5.'],
    [{ refused: Number.NaN }, 'refused is NaN.'],
    [{ timeout: 0 }, 'timeout is 0.'],
    [{ cache: '100d' }, 'cache is "100d".'],
    [{ deadLetters: 5 }, 'deadLetters is a threshold for dead letters, and the receiver has none.'],
    [{ deadLetterAge: '1d' }, 'deadLetterAge is a threshold for dead letters'],
  ])('%j', (options, message) => {
    expect(() => health(hooks, options)).toThrow(ConfigurationError);
    expect(() => health(hooks, options)).toThrow(message);
  });

  test('invalid thresholds for letters', () => {
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
    const message =
      'health() was not given the request and response of Node. In Fastify call reply.hijack(), and pass request.raw and reply.raw.';
    expect([wrong.status, await wrong.json()]).toMatchObject([500, { message }]);
    const right = await fetch(`${address}/healthz`);
    expect([right.status, await right.json()]).toMatchObject([200, { status: 'ok' }]);
  });
});

test('a server that takes connections and says nothing is unreachable to a check that is answered in time', async () => {
  const sockets = new Set<Socket>();
  const silent = createServer((socket) => void sockets.add(socket.on('error', () => {})));
  const port = await listening(silent);
  const pool = new Pool({ host: '127.0.0.1', port, user: 'nobody', database: 'none', max: 1 });
  const [store, deadLetters] = [postgresStore({ pool }), postgresDeadLetters({ pool })];
  const { ask } = await start({ store, deadLetters, storeTimeout: 300 }, { timeout: 50, cache: 60_000 });
  const { status, report } = await ask();
  expect([status, failing(report)]).toEqual([503, ['store', 'deadLetterStore']]);
  for (const socket of sockets) socket.destroy();
  await pool.end();
});
