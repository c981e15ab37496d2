// Which requests the simulator accepts, and which targets it connects to.
import dns, { type LookupAddress } from 'node:dns';
import { networkInterfaces } from 'node:os';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import type { Simulator } from 'payment-webhooks/simulator';
import { testOnAllOf127 } from '../../setup/platform.js';
import { refusingPort } from '../../setup/ports.js';
import { attemptAt, basic, call, endpoint, post, raw, simulator } from './world.js';

afterEach(() => {
  jest.restoreAllMocks();
});

/** Has the system's resolver give these answers, one after the other. */
function resolveTo(...answers: string[][]): void {
  let calls = 0;
  type Done = (error: null, addresses: LookupAddress[]) => void;
  const lookup = (_host: string, _options: unknown, done: Done) => {
    const answer = answers[Math.min(calls, answers.length - 1)] ?? [];
    calls += 1;
    const addresses = answer.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    setImmediate(() => done(null, addresses));
  };
  jest.spyOn(dns, 'lookup').mockImplementation(lookup as never);
}

/** The status of the answer to one raw request. */
const statusOf = async (service: Simulator, ...lines: string[]) =>
  Number((await raw(service, lines)).slice(9, 12));

/** The status of the answer to a request like `POST /_sim/reset`. */
async function statusAt({ baseUrl }: Simulator, route: string, more: Parameters<typeof call>[1]) {
  const [method = '', path = ''] = route.split(' ');
  return (await call(baseUrl + path, { method, ...more })).status;
}

const WRITE = ['POST /_sim/reset HTTP/1.1', 'Content-Type: application/json'];

const readyz = (service: Simulator, host: string) =>
  statusOf(service, 'GET /_sim/readyz HTTP/1.1', `Host: ${host}`);

describe('the Host header', () => {
  test.each([
    ...['evil.example', 'evil.example:4747', 'localhost.evil.example', 'localhost:', 'localhost.', ''],
    ...['127.0.0.1.evil.example', '127.0.0.1@evil.example', '10.0.0.1', '[::2]', '0.0.0.0', '2130706433'],
  ])('%j is 403 on every route', async (host) => {
    const service = await simulator();
    const api = ['/api/v2/account/me', '/sandbox/api/v2/webhooks'];
    for (const path of ['/', '/_sim/readyz', '/_sim/stream', ...api, '/nothing'])
      expect(await statusOf(service, `GET ${path} HTTP/1.1`, `Host: ${host}`)).toBe(403);
  });

  test.each(['localhost', 'LOCALHOST:4747', '127.0.0.1', '127.1.2.3:80', '[::1]', '[::1]:4747'])(
    '%j is this machine',
    async (host) => {
      expect(await readyz(await simulator(), host)).toBe(200);
    },
  );

  describe('with allowHosts', () => {
    const names = ['simulator', 'Build_Machine.local', 'dot.example.', 'bücher.local'];
    const allowHosts = [...names, '192.168.1.5', 'fd00::7', '[fd00:0:0::8]'];

    test.each([
      ...['simulator', 'simulator:4747', 'simulator:80', 'SIMULATOR:4747', 'build_machine.local'],
      ...['dot.example.', 'dot.example.:4747', 'xn--bcher-kva.local:4747', '192.168.1.5:4747'],
      ...['[fd00::7]', '[fd00::7]:4747', '[FD00:0::0:7]:4747', '[fd00::8]:4747'],
      ...['localhost:4747', '127.0.0.1', '[::1]:4747'],
    ])('%j is answered', async (host) => {
      expect(await readyz(await simulator({ allowHosts }), host)).toBe(200);
    });

    test.each([
      ...['evil.example', 'simulator.evil.example', 'simulator@evil.example', 'evil.example@simulator'],
      ...['evil.simulator', 'xsimulator', 'simulator.', 'simulator.:4747', 'simulator%2e', 'dot.example'],
      ...['simulator:', 'simulator:port', 'simulator:123456', 'simulator:4747:80', 'bücher.local', '*', ''],
      ...['simulator, evil.example', 'simulator evil.example', 'simulator/evil.example'],
      ...['192.168.1.50', '192.168.001.005', '3232235781', '[::ffff:192.168.1.5]'],
      ...['fd00::7', '[fd00::9]', '[fd00::7', '[fd00::7%25eth0]'],
    ])('%j is 403', async (host) => {
      expect(await readyz(await simulator({ allowHosts }), host)).toBe(403);
    });

    test('the page of a listed name may write, and that of another may not', async () => {
      const service = await simulator({ allowHosts });
      const write = (host: string, origin: string) =>
        statusOf(service, ...WRITE, `Host: ${host}`, `Origin: ${origin}`, 'Sec-Fetch-Site: same-origin');
      expect(await write('simulator:4747', 'http://simulator:4747')).toBe(204);
      expect(await write('simulator:4747', 'http://localhost:4747')).toBe(403);
      expect(await write('simulator:4747', 'http://evil.example:4747')).toBe(403);
      expect(await write('evil.example:4747', 'http://evil.example:4747')).toBe(403);
    });

    test('a name that is refused is answered with what allows it', async () => {
      const service = await simulator({ allowHosts });
      const { json } = await call(`${service.baseUrl}/_sim/readyz`);
      expect(json.ready).toBe(true);
      const answer = await raw(service, ['GET /_sim/readyz HTTP/1.1', 'Host: ci-runner:4747']);
      expect(answer).toContain('--allow-host ci-runner');
      expect(await raw(service, ['GET / HTTP/1.1', 'Host: <script>'])).not.toContain('--allow-host');
    });
  });

  const outside = Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4')?.address;
  (outside ? test : test.skip)('of a listed address is answered over the network', async () => {
    const service = await simulator({ host: '0.0.0.0', allowHosts: [String(outside)] });
    const url = `http://${outside}:${new URL(service.baseUrl).port}`;
    expect((await call(`${url}/_sim/readyz`)).status).toBe(200);
    const other = await simulator({ host: '0.0.0.0', allowHosts: ['simulator'] });
    expect((await call(`http://${outside}:${new URL(other.baseUrl).port}/_sim/readyz`)).status).toBe(403);
    // What it can be called by is itself, and it must not deliver to itself.
    await expect(service.webhooks.create({ url: `${url}/_sim/events` })).rejects.toThrow(/own address/);
  });

  test('missing, or named in the request line, is refused too', async () => {
    const service = await simulator();
    expect(await statusOf(service, 'GET /_sim/readyz HTTP/1.0')).toBe(403);
    const elsewhere = 'GET http://evil.example/_sim/readyz HTTP/1.1';
    expect(await statusOf(service, elsewhere, 'Host: localhost')).toBe(403);
    const twice = ['GET /_sim/readyz HTTP/1.1', 'Host: localhost', 'Host: evil.example'];
    expect(await raw(service, twice)).toMatch(/ 4\d\d /);
  });
});

describe('Origin and Sec-Fetch-Site', () => {
  test('the page’s own origin may write, and so may a program that sends none', async () => {
    const service = await simulator();
    const own = { Origin: service.baseUrl, 'Sec-Fetch-Site': 'same-origin' };
    for (const headers of [{}, own])
      expect(await statusAt(service, 'POST /_sim/reset', { headers })).toBe(204);
  });

  test.each([
    ...['http://evil.example', 'http://127.0.0.1.evil.example', 'http://localhost:1', 'https://127.0.0.1'],
    'null',
  ])('the origin %j is 403, for reading as for writing', async (origin) => {
    const service = await simulator();
    const headers = { ...basic(service.privateKey), Origin: origin };
    const writes = ['POST /_sim/reset', 'POST /_sim/keys/rotate', 'DELETE /_sim/deliveries'];
    for (const route of ['GET /_sim/deliveries', ...writes, 'POST /api/v2/webhooks'])
      expect([route, await statusAt(service, route, { headers })]).toEqual([route, 403]);
    expect(service.privateKey).toBe('pri_sim_dev');
  });

  test('a write from another site is 403, also without an Origin', async () => {
    const service = await simulator();
    const write = (site: string) => statusOf(service, ...WRITE, 'Host: localhost', `Sec-Fetch-Site: ${site}`);
    expect(await write('cross-site')).toBe(403);
    expect(await write('same-site')).toBe(403);
    expect(await write('same-origin')).toBe(204);
    expect(await write('none')).toBe(204);
    // A link on another page may lead here.
    const link = ['GET / HTTP/1.1', 'Host: localhost', 'Sec-Fetch-Site: cross-site'];
    expect(await statusOf(service, ...link)).toBe(200);
  });

  test('there are no CORS headers, also for a preflight', async () => {
    const service = await simulator();
    const { headers } = await call(`${service.baseUrl}/_sim/readyz`);
    expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    const head = ['OPTIONS /_sim/events HTTP/1.1', 'Host: localhost', 'Origin: http://evil.example'];
    const preflight = await raw(service, [...head, 'Access-Control-Request-Method: POST']);
    expect(preflight).toMatch(/ 403 /);
    expect(preflight).not.toMatch(/access-control/i);
  });
});

describe('the content type of a write', () => {
  test.each([
    ...['application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/jsonx'],
    ...['text/plain', 'text/plain; application/json'],
  ])('%s is 415', async (type) => {
    const service = await simulator();
    const headers = { 'Content-Type': type };
    const posts = ['events', 'webhooks', 'faults', 'reset'].map((name) => `POST /_sim/${name}`);
    for (const route of [...posts, 'PUT /_sim/webhooks/x', 'DELETE /_sim/faults'])
      expect([route, await statusAt(service, route, { headers, body: '{}' })]).toEqual([route, 415]);
  });

  test('none at all is 415, except for a DELETE without a body', async () => {
    const service = await simulator();
    const empty = ['POST /_sim/reset HTTP/1.1', 'Host: localhost', 'Content-Length: 0'];
    expect(await statusOf(service, ...empty)).toBe(415);
    expect(await statusOf(service, 'DELETE /_sim/faults HTTP/1.1', 'Host: localhost')).toBe(204);
  });
});

test('every answer forbids sniffing, framing, caching and foreign scripts', async () => {
  const service = await simulator();
  for (const path of ['/', '/_sim/readyz', '/nothing', '/api/v2/webhooks']) {
    const { headers } = await call(service.baseUrl + path);
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-powered-by')).toBeNull();
  }
});

// Which address is of which kind, in every form that IPv6 has for it, stands in host.test.ts.
describe('targets: refused at registration', () => {
  test.each([
    ...['http://169.254.169.254/latest/meta-data/', 'http://169.254.169.254.:80/', 'http://2852039166/'],
    ...['http://0xa9fea9fe/', 'http://0xA9.0xFE.0xA9.0xFE/', 'http://0251.0376.0251.0376/'],
    ...['http://169.254.43518/', 'http://169.16689662/', 'http://①⑥⑨.254.169.254/', 'http://0/'],
    ...['http://[::ffff:169.254.169.254]/', 'http://[fd00:0ec2:0:0:0:0:0:0254]/', 'http://100.100.100.200/'],
  ])('%s is never allowed, not even by name', async (url) => {
    const { hostname } = new URL(url);
    const allowTargets = [hostname, hostname.replace(/^\[|\]$/g, ''), '169.254.169.254'];
    const service = await simulator({ allowTargets });
    const answer = await post(`${service.baseUrl}/api/v2/webhooks`, { url }, basic(service.privateKey));
    expect(answer.status).toBe(422);
    expect(answer.json.errors.url[0]).toMatch(/never connects/);
    expect(service.webhooks.list()).toEqual([]);
  });

  test.each([
    ...['http://127.0.0.1:3000/', 'http://2130706433:3000/', 'http://localhost:3000/'],
    ...['http://[::ffff:127.0.0.1]:3000/', 'https://192.168.1.20/hooks', 'http://[fd12:3456::1]/'],
  ])('%s is local, and allowed', async (url) => {
    const service = await simulator();
    expect((await service.webhooks.create({ url })).url).toBe(url);
  });

  test.each(['http://93.184.216.34/', 'http://[2606:2800:220:1::1]/', 'http://[::ffff:8.8.8.8]/'])(
    '%s is public: refused with the flag that allows it',
    async (url) => {
      const service = await simulator();
      const { status, json } = await post(`${service.baseUrl}/_sim/webhooks`, { url });
      expect([status, json.errors.url[0]]).toEqual([422, expect.stringContaining('--allow-target')]);
      const allowing = await simulator({ allowTargets: [new URL(url).hostname] });
      await expect(allowing.webhooks.create({ url })).resolves.toMatchObject({ url });
    },
  );

  test('a public URL is reported together with the errors of the other fields', async () => {
    const service = await simulator();
    const fields = { url: 'http://93.184.216.34/', events: ['paid'] };
    const { status, json } = await post(`${service.baseUrl}/_sim/webhooks`, fields);
    expect([status, Object.keys(json.errors)]).toEqual([422, ['url', 'events']]);
  });

  test('checks every address that a name resolves to', async () => {
    const service = await simulator({ allowTargets: ['Shop.Example'] });
    const create = (url: string) => service.webhooks.create({ url });
    resolveTo(['10.0.0.5']);
    await expect(create('http://intranet.example/')).resolves.toBeDefined();
    resolveTo(['10.0.0.5', '93.184.216.34']);
    await expect(create('http://intranet.example/')).rejects.toThrow(/--allow-target intranet\.example/);
    await expect(create('http://shop.example/')).resolves.toBeDefined();
    await expect(create('http://shop.example./')).resolves.toBeDefined();
    resolveTo(['93.184.216.34', '169.254.169.254']);
    await expect(create('http://shop.example/')).rejects.toThrow(/never connects to shop\.example/);
    resolveTo(['fd00:ec2::254']);
    await expect(create('http://metadata.example/')).rejects.toThrow(/never connects/);
  });

  test('the same rules hold for a change, and in the control plane', async () => {
    const service = await simulator();
    const { id, url } = await service.webhooks.create({ url: 'http://127.0.0.1:3000/' });
    const update = service.webhooks.update(id, { url: 'http://169.254.169.254/' });
    await expect(update).rejects.toThrow(/never/);
    const change = { method: 'PUT', body: { url: 'http://8.8.8.8/' } };
    expect((await call(`${service.baseUrl}/_sim/webhooks/${id}`, change)).status).toBe(422);
    expect(service.webhooks.list()).toMatchObject([{ url }]);
  });

  test('refuses the simulator itself as a target', async () => {
    const service = await simulator();
    const { port } = new URL(service.baseUrl);
    for (const host of ['127.0.0.1', 'localhost', '127.0.0.2', '[::1]', '[::ffff:7f00:1]']) {
      const creating = service.webhooks.create({ url: `http://${host}:${port}/_sim/events` });
      await expect(creating).rejects.toThrow(/own address/);
    }
  });
});

describe('targets: refused again when the connection is made', () => {
  test.each([
    ['a name that resolves to another address later', ['10.0.0.5'], ['169.254.169.254']],
    ['a name of several addresses, one of which is refused', ['127.0.0.1'], ['127.0.0.1', '93.184.216.34']],
  ])('%s is not connected to', async (_, registered, later) => {
    const service = await simulator({ retry: 'off' });
    const { port, received } = await endpoint();
    resolveTo(registered, later);
    expect(await attemptAt(`http://rebind.example:${port}/`, { service })).toMatchObject({
      ...{ response: null, error: { code: 'TARGET_REFUSED' } },
      diagnosis: expect.stringContaining('does not connect to this address'),
    });
    expect(received).toEqual([]);
  });

  testOnAllOf127('records the errors of all addresses if all fail', async () => {
    const service = await simulator({ retry: 'off' });
    const port = await refusingPort();
    resolveTo(['127.0.0.1', '127.0.0.2']);
    const failed = await attemptAt(`http://shop.example:${port}/`, { service });
    expect(failed?.error?.code).toBe('ECONNREFUSED');
    for (const host of ['127.0.0.1', '127.0.0.2'])
      expect(failed?.error?.message).toContain(`connect ECONNREFUSED ${host}:${port}`);
    expect(failed?.diagnosis).toContain('Nothing listens');
  });

  test('the addresses that were checked are the ones that are used', async () => {
    const service = await simulator({ retry: 'off' });
    const { port, received } = await endpoint();
    resolveTo(['127.0.0.1']);
    expect(await attemptAt(`http://shop.example:${port}/hooks`, { service })).toMatchObject({
      succeeded: true,
    });
    expect(received[0]?.headers.host).toBe(`shop.example:${port}`);
  });

  test('refuses a name that now resolves to the simulator', async () => {
    const service = await simulator({ retry: 'off' });
    const { port } = new URL(service.baseUrl);
    resolveTo(['10.0.0.5'], ['127.0.0.1']);
    const failed = await attemptAt(`http://loop.example:${port}/_sim/events`, { service });
    expect(failed?.error?.code).toBe('TARGET_REFUSED');
    expect(service.deliveries()).toHaveLength(1);
  });

  test('registers a name that does not resolve, and explains the failure', async () => {
    const failed = await attemptAt('http://nowhere.invalid/');
    expect(failed?.error?.code).toMatch(/ENOTFOUND|EAI_AGAIN/);
    expect(failed?.diagnosis).toMatch(/does not resolve/);
  });
});
