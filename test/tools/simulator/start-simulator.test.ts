// Starting, stopping and using a simulator from a program.
import { once } from 'node:events';
import http from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import express from 'express';
import { type SimulatorOptions, startSimulator } from 'payment-webhooks/simulator';
import { captureLog } from '../../setup/captured-log.js';
import { testOnAllOf127 } from '../../setup/platform.js';
import { until } from '../../setup/waiting.js';
import { afterwards, endpoint, hasAddress, simulator, startError, subscribed, triggered } from './world.js';

const environment = process.env.NODE_ENV;
afterEach(() => {
  process.env.NODE_ENV = environment;
  jest.useRealTimers();
});

const failing: http.RequestListener = (_request, response) => void response.writeHead(500).end();

describe('options', () => {
  test.each<[SimulatorOptions & { [name: string]: unknown }, RegExp]>([
    [{ prot: 0 }, /Unknown option "prot"\. Did you mean "port"\?/],
    [{ port: 70_000 }, /port is 70000\. Pass a port number/],
    [{ port: '0' as never }, /port is "0"/],
    [{ host: '' }, /host is ""/],
    [{ allowHosts: 'simulator' as never }, /allowHosts is "simulator"\. Pass an array/],
    [{ allowHosts: [''] }, /allowHosts\[0\] is ""\. Pass a host name or address/],
    [{ allowHosts: ['a', '*'] }, /allowHosts\[1\] is "\*"\. Pass a host name or address/],
    [{ allowHosts: ['*.example'] }, /allowHosts\[0\] is "\*\.example"/],
    [{ allowHosts: ['simulator:4747'] }, /allowHosts\[0\] is "simulator:4747".*without a port/],
    [{ allowHosts: ['http://simulator'] }, /allowHosts\[0\] is "http:\/\/simulator"/],
    [{ allowHosts: ['[::1'] }, /allowHosts\[0\]/],
    [{ allowHosts: [7 as never] }, /allowHosts\[0\] is 7/],
    [{ timeout: 0 }, /timeout is 0\. Pass milliseconds above 0/],
    [{ timeout: Number.NaN }, /timeout is/],
    [{ retry: 'fats' as never }, /retry is "fats".* Did you mean "fast"\?/],
    [{ retry: ['soon'] }, /retry\[0\] is "soon"/],
    [{ clock: 'fake' as never }, /clock is "fake"\. Pass "manual" or "real"/],
    [{ allowTargets: 'shop.example' as never }, /allowTargets is "shop\.example"\. Pass an array/],
    [{ logger: {} as never }, /logger is an object\. Pass a logger like pino/],
    [{ sandboxSigning: 'both' as never }, /sandboxSigning is "both"/],
    [{ signatureHeader: 'X-A\r\nX-B: 1' }, /signatureHeader is .*\. Pass the name of an HTTP header/],
    [{ signatureHeader: '' }, /signatureHeader is ""/],
    [{ debugHeaders: 'yes' as never }, /debugHeaders is "yes"\. Pass true or false/],
    [{ state: '' }, /state is ""\. Pass the path of a file/],
  ])('%j is refused, with what it takes', async (options, message) => {
    await expect(startSimulator({ port: 0, ...options })).rejects.toThrow(message);
  });

  test.each([
    ['privateKey', 'pri_live_secret', /does not begin with "pri_sim_"/],
    ['privateKey', 'pri_sandbox_sim_secret', /does not begin with "pri_sim_"/],
    ['privateKey', 'pri_sim_', /does not begin with "pri_sim_"/],
    ['privateKey', '', /is empty/],
    ['privateKey', 'pri_sim_secret\n', /line break/],
    ['privateKey', 'pri_sim_sec:ret', /colon/],
    ['privateKey', 'pri_sim_inactive', /another account/],
    ['sandboxKey', 'pri_sim_secret', /does not begin with "pri_sandbox_sim_"/],
    ['sandboxKey', 'pri_sandbox_secret', /does not begin with "pri_sandbox_sim_"/],
  ])('%s %j is refused, and never quoted', async (option, key, message) => {
    const error = await startError({ [option]: key });
    expect(error.message).toMatch(message);
    expect(error.message).not.toContain('secret');
  });

  test('production is refused, unless it is allowed', async () => {
    process.env.NODE_ENV = 'production';
    expect((await startError({})).message).toMatch(/NODE_ENV is "production".*allowProduction: true/);
    await simulator({ allowProduction: true });
  });

  test('without options it listens on port 4747 of 127.0.0.1, or says who uses it', async () => {
    for (;;) {
      const started = await startSimulator().catch((error: Error) => error);
      if (started instanceof Error) {
        expect(started.message).toMatch(/Port 4747 is taken by another/);
        return;
      }
      // A program beside this one may have had the port, and have it no longer.
      afterwards(() => started.close());
      expect(started.baseUrl).toBe('http://127.0.0.1:4747');
    }
  });
});

describe('the port', () => {
  test('two simulators on one: the second says who uses it', async () => {
    const first = await simulator();
    const port = Number(new URL(first.baseUrl).port);
    let message = '';
    // On a busy machine the first one may not tell within the second for which it is asked.
    await until(async () => {
      ({ message } = await startError({ port }));
      return !message.includes('another program');
    });
    const pattern = `Port ${port} is taken by another simulator \\(process ${process.pid}, started 20.*\\)\\. Stop it`;
    expect(message).toMatch(new RegExp(pattern));
  });

  test('taken by something else, which may be silent', async () => {
    for (const { port } of [await endpoint(), await endpoint(() => {})])
      expect((await startError({ port })).message).toMatch(/taken by another program/);
  });

  testOnAllOf127('is bound to the loopback address alone', async () => {
    const service = await simulator();
    expect(service.baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(service.dashboardUrl).toBe(`${service.baseUrl}/`);
    const { port } = new URL(service.baseUrl);
    const elsewhere = connect(Number(port), '127.0.0.2');
    await expect(once(elsewhere, 'connect')).rejects.toThrow('ECONNREFUSED');
  });

  test('an address of another machine is explained', async () => {
    const { message } = await startError({ host: '203.0.113.1', allowHosts: ['simulator'] });
    expect(message).toMatch(/cannot listen on 203\.0\.113\.1/);
  });
});

describe('close()', () => {
  test('may be called twice, and ends every attempt in flight', async () => {
    const { service, received } = await subscribed({}, () => {});
    const triggering = service.trigger('transaction.paid');
    await until(() => received.length > 0);
    await Promise.all([service.close(), service.close()]);
    expect((await triggering)[0]?.attempts).toEqual([]);
    await expect(fetch(service.baseUrl)).rejects.toThrow();
  });

  test('leaves no handle open', async () => {
    const handles = () => process.getActiveResourcesInfo().filter((name) => /TCP|Timeout|Pipe|FS/.test(name));
    const count = (all: string[], name: string) => all.filter((other) => other === name).length;
    const before = handles();
    // What an earlier test left may end meanwhile; what this one opens may not stay.
    const isOver = () => handles().every((name, _, now) => count(now, name) <= count(before, name));
    const service = await startSimulator({ port: 0, clock: 'real', retry: ['1h'] });
    const webhook = await service.attach(failing, '/hooks');
    await service.trigger('transaction.paid', {}, { count: 20 });
    const [stream] = await once(http.get(`${service.baseUrl}/_sim/stream`, { agent: false }), 'response');
    const ended = once(stream.resume(), 'close');
    const waiting = service.waitForDelivery({ webhook: webhook.id, status: 'delivered' }, { timeout: 100 });
    waiting.catch(() => {});
    await service.close();
    await ended;
    await until(isOver);
  });
});

describe('jest.useFakeTimers()', () => {
  test('cannot freeze attempts, timeouts or waits', async () => {
    const { service, webhook } = await subscribed({ timeout: 500 }, () => {});
    jest.useFakeTimers();
    const [late] = await service.trigger('transaction.paid');
    expect(late?.attempts[0]?.error?.code).toBe('TIMEOUT');
    await service.webhooks.delete(webhook.id);
    let answered = false;
    await service.attach((_request, response) => {
      answered = true;
      response.end();
    });
    await service.trigger('transaction.paid');
    const waiting = service.waitForDelivery({ status: 'failed' }, { timeout: 50 });
    await expect(waiting).rejects.toThrow(/within 50 ms/);
    expect(answered).toBe(true);
    await service.close();
  });

  test('not even when the package is loaded after it', async () => {
    jest.useFakeTimers();
    await jest.isolateModulesAsync(async () => {
      const door = require('payment-webhooks/simulator') as { startSimulator: typeof startSimulator };
      const service = await door.startSimulator({ port: 0, clock: 'real', retry: [20] });
      let calls = 0;
      await service.attach((_request, response) => {
        calls += 1;
        response.writeHead(calls === 1 ? 500 : 200).end();
      });
      await service.trigger('transaction.paid');
      expect((await service.waitForDelivery({ status: 'delivered' })).attempts).toHaveLength(2);
      await service.close();
    });
  });
});

describe('from a program', () => {
  test('attach() listens for an Express app and registers it', async () => {
    const service = await simulator();
    const seen: unknown[] = [];
    const app = express().post('/hooks', express.json(), (request, response) => {
      seen.push(request.body.event_name);
      response.json({});
    });
    const webhook = await service.attach(app, '/hooks', { events: ['transaction.*'] });
    const url = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/hooks$/);
    expect(webhook).toMatchObject({ url, events: ['transaction.*'] });
    await service.trigger('transaction.paid');
    await service.trigger('refund.succeeded');
    expect(seen).toEqual(['transaction.paid']);
    const wrong = service.attach(app, '/hooks', { events: ['no'] });
    await expect(wrong).rejects.toThrow(/Invalid event pattern "no"/);
    const server = http.createServer(app);
    await expect(service.attach(server as never)).rejects.toThrow(/^app is an object\. Pass an Express app/);
  });

  test('reset() deletes everything but the attached apps, which are closed with the simulator', async () => {
    const service = await simulator();
    const { url } = await service.attach(failing, '/hooks');
    await service.webhooks.create({ url: 'http://127.0.0.1:1/' });
    service.faults.always('drop');
    await service.trigger('transaction.paid');
    await service.reset();
    expect(service.webhooks.list()).toMatchObject([{ url }]);
    expect([service.deliveries(), service.faults.list()]).toEqual([[], []]);
    expect(await service.trigger('transaction.paid')).toMatchObject([{ status: 'retrying' }]);
    await service.close();
    await expect(fetch(url)).rejects.toThrow();
  });

  test('reset() ends the attempts in flight, and records none of them', async () => {
    const { service, received } = await subscribed({}, () => {});
    const triggering = service.trigger('transaction.paid');
    await until(() => received.length > 0);
    await service.reset();
    await triggering;
    expect(service.deliveries()).toEqual([]);
  });

  test('waitForDelivery() resolves with a delivery of the past or the future', async () => {
    const { service } = await subscribed();
    const coming = service.waitForDelivery({ event: 'a.b' });
    const [past] = await service.trigger('transaction.paid');
    expect(await service.waitForDelivery()).toEqual(past);
    const [future] = await service.trigger('a.b');
    expect(await coming).toEqual(future);
    await expect(service.waitForDelivery({ event: 'c.d' }, { timeout: 20 })).rejects.toThrow(
      /No delivery matched within 20 ms. The latest deliveries: transaction\.paid is delivered, a\.b is delivered/,
    );
    const lost = service.waitForDelivery({ status: 'lost' as never });
    await expect(lost).rejects.toThrow(/status must be one of/);
    // A timer of Node would end at once.
    const endless = service.waitForDelivery({ event: 'c.d' }, { timeout: Infinity });
    await expect(endless).rejects.toThrow(/^timeout is Infinity\. Pass milliseconds, at most 2147483647/);
  });

  test('an invalid webhook, duration or event is thrown as an error', async () => {
    const service = await simulator();
    const message = expect.stringMatching(/must be an absolute URL/);
    const creating = service.webhooks.create({ url: 'nonsense' });
    await expect(creating).rejects.toMatchObject({ name: 'ConfigurationError', message });
    await expect(service.webhooks.update('unknown', {})).rejects.toThrow(/no webhook with the id "unknown"/);
    await expect(service.webhooks.delete('unknown')).rejects.toThrow(/no webhook/);
    await expect(service.advance('soon' as never)).rejects.toThrow(/advance\(\) got "soon"/);
    await expect(service.trigger('transaction.paid', { sandbox: 'no' as never })).rejects.toThrow(
      /^The event's sandbox is invalid: expected boolean, received string\.$/,
    );
  });

  test('records are copies: changing one changes nothing', async () => {
    const { service, delivery } = await triggered();
    delivery.status = 'failed';
    delivery.attempts[0]?.request.headers.splice(0);
    delivery.attempts.splice(0);
    expect(service.deliveries()[0]?.attempts[0]?.request.headers).toHaveLength(5);
  });

  test('records have the prototypes of the program, which assert.deepStrictEqual compares', async () => {
    const [attempt] = (await triggered()).delivery.attempts;
    expect(attempt?.request.headers).toBeInstanceOf(Array);
    expect(attempt?.response?.headers).toBeInstanceOf(Array);
  });

  test('the same seed gives the same ids', async () => {
    const run = async (seed: string | number) => {
      const { id, event_id, webhook_id } = (await triggered({ seed })).delivery;
      return [id, event_id, webhook_id];
    };
    const ids = await run('demo');
    expect(await run('demo')).toEqual(ids);
    expect(await run('other')).not.toEqual(ids);
    expect(new Set(ids).size).toBe(3);
    for (const id of ids)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  test('the logger gets every attempt, and no key, body or signature', async () => {
    const { logger, text } = captureLog();
    const { service, received } = await triggered({ logger }, 500, 200);
    await service.advance('2s');
    expect(text).toEqual([expect.stringContaining('"answer":500'), expect.any(String)]);
    for (const secret of ['pri_sim', 'ada@example.com', received[0]?.headers['x-service-signature']])
      expect(text.join()).not.toContain(secret);
  });

  test('a logger that throws costs no delivery', async () => {
    const broken = () => {
      throw new Error('The disk is full.');
    };
    const { service } = await subscribed({ logger: { info: broken, warn: broken, error: broken } }, 500, 200);
    expect(await service.trigger('transaction.paid')).toMatchObject([{ status: 'retrying' }]);
    await service.advance('2s');
    expect(service.deliveries()).toMatchObject([{ status: 'delivered' }]);
  });

  test.each(['0.0.0.0', '::', '192.168.1.5', 'fd00::7', 'build-machine'])(
    'the host %s, which others can reach, is refused without the names by which they call',
    async (host) => {
      for (const allowHosts of [undefined, []]) {
        const { message } = await startError({ host, ...(allowHosts && { allowHosts }) });
        expect(message).toContain(`host is ${JSON.stringify(host)}`);
        expect(message).toContain(`allowHosts: ['simulator']`);
      }
    },
  );

  for (const [host, testHere] of [
    ['127.0.0.1', test],
    ['127.0.0.2', testOnAllOf127],
    ['localhost', test],
    ['::1', hasAddress('::1') ? test : test.skip],
  ] as const)
    testHere(`the host ${host} needs no names`, async () => void (await simulator({ host })));

  test('a host that others can reach is warned about', async () => {
    const log = captureLog();
    const options = { host: '0.0.0.0', allowHosts: ['simulator'], logger: log.logger };
    const service = await simulator(options);
    expect(log.lines).toMatchObject([{ level: 40, msg: 'the simulator can be reached from other machines' }]);
    expect(service.baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:/);
  });
});
