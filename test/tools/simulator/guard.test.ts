// Which requests the simulator accepts, and which targets it connects to.
import dns, { type LookupAddress } from 'node:dns';
import { networkInterfaces } from 'node:os';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { testOnAllOf127 } from '../../setup/platform.js';
import { refusingPort } from '../../setup/ports.js';
import { basic, call, endpoint, raw, simulator } from './world.js';

afterEach(() => {
  jest.restoreAllMocks();
});

/** Has the system's resolver give these answers, one after the other. */
function resolveTo(...answers: string[][]): void {
  let calls = 0;
  const lookup = (
    _host: string,
    _options: unknown,
    done: (error: null, addresses: LookupAddress[]) => void,
  ) => {
    const answer = answers[Math.min(calls, answers.length - 1)] ?? [];
    calls += 1;
    setImmediate(() =>
      done(
        null,
        answer.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      ),
    );
  };
  jest.spyOn(dns, 'lookup').mockImplementation(lookup as never);
}

describe('the Host header', () => {
  const paths = [
    '/',
    '/_sim/readyz',
    '/_sim/stream',
    '/api/v2/account/me',
    '/sandbox/api/v2/webhooks',
    '/nothing',
  ];

  test.each([
    'evil.example',
    'evil.example:4747',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '127.0.0.1@evil.example',
    '10.0.0.1',
    '[::2]',
    'localhost:',
    'localhost.',
    '0.0.0.0',
    '2130706433',
    '',
  ])('%j is 403 on every route', async (host) => {
    const service = await simulator();
    for (const path of paths) {
      expect(await raw(service, [`GET ${path} HTTP/1.1`, `Host: ${host}`])).toMatch(/^HTTP\/1\.1 403 /);
    }
  });

  test.each(['localhost', 'LOCALHOST:4747', '127.0.0.1', '127.1.2.3:80', '[::1]', '[::1]:4747'])(
    '%j is this machine',
    async (host) => {
      const service = await simulator();
      expect(await raw(service, ['GET /_sim/readyz HTTP/1.1', `Host: ${host}`])).toMatch(/^HTTP\/1\.1 200 /);
    },
  );

  describe('with allowHosts', () => {
    const allowHosts = [
      'simulator',
      'Build_Machine.local',
      'dot.example.',
      '192.168.1.5',
      'fd00::7',
      '[fd00:0:0::8]',
      'bücher.local',
    ];
    const answerTo = async (host: string) => {
      const service = await simulator({ allowHosts });
      const answer = await raw(service, ['GET /_sim/readyz HTTP/1.1', `Host: ${host}`]);
      return answer.slice(9, 12);
    };

    test.each([
      'simulator',
      'simulator:4747',
      'simulator:80',
      'SIMULATOR:4747',
      'build_machine.local',
      'dot.example.',
      'dot.example.:4747',
      '192.168.1.5:4747',
      '[fd00::7]',
      '[fd00::7]:4747',
      '[FD00:0::0:7]:4747',
      '[fd00::8]:4747',
      'xn--bcher-kva.local:4747',
      'localhost:4747',
      '127.0.0.1',
      '[::1]:4747',
    ])('%j is answered', async (host) => {
      expect(await answerTo(host)).toBe('200');
    });

    test.each([
      'evil.example',
      'simulator.',
      'simulator.:4747',
      'simulator.evil.example',
      'evil.simulator',
      'xsimulator',
      'simulator@evil.example',
      'evil.example@simulator',
      'simulator:4747:80',
      'simulator:',
      'simulator:port',
      'simulator:123456',
      'simulator, evil.example',
      'simulator evil.example',
      'simulator/evil.example',
      'simulator%2e',
      'dot.example',
      '192.168.1.50',
      '192.168.001.005',
      '3232235781',
      'fd00::7',
      '[fd00::9]',
      '[fd00::7',
      '[fd00::7%25eth0]',
      '[::ffff:192.168.1.5]',
      'bücher.local',
      '*',
      '',
    ])('%j is 403', async (host) => {
      expect(await answerTo(host)).toBe('403');
    });

    test('the page of a listed name may write, and that of another may not', async () => {
      const service = await simulator({ allowHosts });
      const post = (host: string, origin: string) =>
        raw(service, [
          'POST /_sim/reset HTTP/1.1',
          `Host: ${host}`,
          `Origin: ${origin}`,
          'Sec-Fetch-Site: same-origin',
          'Content-Type: application/json',
        ]);
      expect(await post('simulator:4747', 'http://simulator:4747')).toMatch(/ 204 /);
      expect(await post('simulator:4747', 'http://localhost:4747')).toMatch(/ 403 /);
      expect(await post('simulator:4747', 'http://evil.example:4747')).toMatch(/ 403 /);
      expect(await post('evil.example:4747', 'http://evil.example:4747')).toMatch(/ 403 /);
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
    expect(await raw(service, ['GET /_sim/readyz HTTP/1.0'])).toMatch(/ 403 /);
    expect(await raw(service, ['GET http://evil.example/_sim/readyz HTTP/1.1', 'Host: localhost'])).toMatch(
      / 403 /,
    );
    expect(
      await raw(service, ['GET /_sim/readyz HTTP/1.1', 'Host: localhost', 'Host: evil.example']),
    ).toMatch(/ 4\d\d /);
  });
});

describe('Origin and Sec-Fetch-Site', () => {
  const post = (url: string, headers: Record<string, string>) =>
    call(`${url}/_sim/reset`, { method: 'POST', body: {}, headers });

  test('the page’s own origin may write, and so may a program that sends none', async () => {
    const service = await simulator();
    const { host } = new URL(service.baseUrl);
    expect((await post(service.baseUrl, {})).status).toBe(204);
    const own = { Origin: `http://${host}`, 'Sec-Fetch-Site': 'same-origin' };
    expect((await post(service.baseUrl, own)).status).toBe(204);
  });

  test.each([
    'http://evil.example',
    'http://localhost:1',
    'https://127.0.0.1',
    'null',
    'http://127.0.0.1.evil.example',
  ])('the origin %j is 403, for reading as for writing', async (origin) => {
    const service = await simulator();
    expect((await post(service.baseUrl, { Origin: origin })).status).toBe(403);
    expect((await call(`${service.baseUrl}/_sim/deliveries`, { headers: { Origin: origin } })).status).toBe(
      403,
    );
    const register = { method: 'POST', body: {}, headers: { ...basic(service.privateKey), Origin: origin } };
    expect((await call(`${service.baseUrl}/api/v2/webhooks`, register)).status).toBe(403);
  });

  test('a write from another site is 403, also without an Origin', async () => {
    const service = await simulator();
    const write = (site: string) =>
      raw(service, [
        'POST /_sim/reset HTTP/1.1',
        'Host: localhost',
        'Content-Type: application/json',
        `Sec-Fetch-Site: ${site}`,
      ]);
    expect(await write('cross-site')).toMatch(/ 403 /);
    expect(await write('same-site')).toMatch(/ 403 /);
    expect(await write('same-origin')).toMatch(/ 204 /);
    expect(await write('none')).toMatch(/ 204 /);
    // A link on another page may lead here.
    expect(await raw(service, ['GET / HTTP/1.1', 'Host: localhost', 'Sec-Fetch-Site: cross-site'])).toMatch(
      / 200 /,
    );
  });

  test('there are no CORS headers, also for a preflight', async () => {
    const service = await simulator();
    const { headers } = await call(`${service.baseUrl}/_sim/readyz`);
    expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    const preflight = await raw(service, [
      'OPTIONS /_sim/events HTTP/1.1',
      'Host: localhost',
      'Origin: http://evil.example',
      'Access-Control-Request-Method: POST',
    ]);
    expect(preflight).toMatch(/ 403 /);
    expect(preflight).not.toMatch(/access-control/i);
  });
});

describe('the content type of a write', () => {
  test.each([
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'text/plain',
    'text/plain; application/json',
    'application/jsonx',
  ])('%s is 415', async (type) => {
    const service = await simulator();
    for (const [method, path] of [
      ['POST', '/_sim/events'],
      ['POST', '/_sim/webhooks'],
      ['PUT', '/_sim/webhooks/x'],
      ['POST', '/_sim/faults'],
      ['POST', '/_sim/reset'],
      ['DELETE', '/_sim/faults'],
    ]) {
      const { status } = await call(`${service.baseUrl}${path}`, {
        method: String(method),
        body: '{}',
        headers: { 'Content-Type': type },
      });
      expect([path, status]).toEqual([path, 415]);
    }
  });

  test('none at all is 415, except for a DELETE without a body', async () => {
    const service = await simulator();
    expect(await raw(service, ['POST /_sim/reset HTTP/1.1', 'Host: localhost', 'Content-Length: 0'])).toMatch(
      / 415 /,
    );
    expect(await raw(service, ['DELETE /_sim/faults HTTP/1.1', 'Host: localhost'])).toMatch(/ 204 /);
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

describe('targets: refused at registration', () => {
  test.each([
    'http://169.254.169.254/latest/meta-data/',
    'http://169.254.169.254.:80/',
    'http://2852039166/',
    'http://0xa9fea9fe/',
    'http://0xA9.0xFE.0xA9.0xFE/',
    'http://0251.0376.0251.0376/',
    'http://169.254.43518/',
    'http://169.16689662/',
    'http://①⑥⑨.254.169.254/',
    'http://[::ffff:169.254.169.254]/',
    'http://[::ffff:a9fe:a9fe]/',
    'http://[0:0:0:0:0:ffff:a9fe:a9fe]/',
    'http://[::169.254.169.254]/',
    'http://[::ffff:0:169.254.169.254]/',
    'http://[64:ff9b::a9fe:a9fe]/',
    'http://[64:ff9b:1::a9fe:a9fe]/',
    'http://[2002:a9fe:a9fe::1]/',
    'http://[2001:0:1234:5678:0:0:5601:5601]/',
    'http://[fd00:ec2::254]/',
    'http://[fd00:0ec2:0:0:0:0:0:0254]/',
    'http://[fd20:ce::254]/',
    'http://[fe80::1]/',
    'http://[fe80::a9fe:a9fe]/',
    'http://[febf::1]/',
    'http://169.254.0.1/',
    'http://100.100.100.200/',
    'http://168.63.129.16/',
    'http://192.0.0.192/',
    'http://0.0.0.0/',
    'http://0/',
    'http://[::]/',
    'http://224.0.0.1/',
    'http://255.255.255.255/',
    'http://[ff02::1]/',
  ])('%s is never allowed, not even by name', async (url) => {
    const { hostname } = new URL(url);
    const service = await simulator({
      allowTargets: [hostname, hostname.replace(/^\[|\]$/g, ''), '169.254.169.254'],
    });
    const headers = basic(service.privateKey);
    const answer = await call(`${service.baseUrl}/api/v2/webhooks`, {
      method: 'POST',
      body: { url },
      headers,
    });
    expect(answer.status).toBe(422);
    expect(answer.json.errors.url[0]).toMatch(/never connects/);
    expect(service.webhooks.list()).toEqual([]);
  });

  test.each([
    'http://127.0.0.1:3000/',
    'http://127.255.255.254/',
    'http://2130706433:3000/',
    'http://localhost:3000/',
    'http://[::1]:3000/',
    'http://[::ffff:127.0.0.1]:3000/',
    'http://10.0.0.7/',
    'http://172.16.0.1/',
    'http://172.31.255.255/',
    'https://192.168.1.20/hooks',
    'http://[fd12:3456::1]/',
  ])('%s is near, and allowed', async (url) => {
    const service = await simulator();
    expect((await service.webhooks.create({ url })).url).toBe(url);
  });

  test.each([
    'http://93.184.216.34/',
    'http://172.32.0.1/',
    'http://[2606:2800:220:1::1]/',
    'http://100.64.0.1/',
    'http://[::ffff:8.8.8.8]/',
    'http://[2002:808:808::1]/',
  ])('%s is public: refused with the flag that allows it', async (url) => {
    const service = await simulator();
    const { status, json } = await call(`${service.baseUrl}/_sim/webhooks`, {
      method: 'POST',
      body: { url },
    });
    expect(status).toBe(422);
    expect(json.errors.url[0]).toMatch(/--allow-target/);
    const allowing = await simulator({ allowTargets: [new URL(url).hostname] });
    await expect(allowing.webhooks.create({ url })).resolves.toMatchObject({ url });
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
    const webhook = await service.webhooks.create({ url: 'http://127.0.0.1:3000/' });
    await expect(service.webhooks.update(webhook.id, { url: 'http://169.254.169.254/' })).rejects.toThrow(
      /never/,
    );
    const put = await call(`${service.baseUrl}/_sim/webhooks/${webhook.id}`, {
      method: 'PUT',
      body: { url: 'http://8.8.8.8/' },
    });
    expect(put.status).toBe(422);
    expect(service.webhooks.list()[0]?.url).toBe('http://127.0.0.1:3000/');
  });

  test('refuses the simulator itself as a target', async () => {
    const service = await simulator();
    const { port } = new URL(service.baseUrl);
    for (const host of ['127.0.0.1', 'localhost', '127.0.0.2', '[::1]', '[::ffff:7f00:1]']) {
      await expect(service.webhooks.create({ url: `http://${host}:${port}/_sim/events` })).rejects.toThrow(
        /own address/,
      );
    }
  });
});

describe('targets: refused again when the connection is made', () => {
  test('a name that resolves to another address later is not connected to', async () => {
    const service = await simulator({ retry: 'off' });
    const { port, received } = await endpoint();
    resolveTo(['10.0.0.5'], ['169.254.169.254']);
    await service.webhooks.create({ url: `http://rebind.example:${port}/` });
    const [delivery] = await service.trigger('transaction.paid');
    expect(delivery?.attempts[0]).toMatchObject({ response: null, error: { code: 'TARGET_REFUSED' } });
    expect(delivery?.attempts[0]?.diagnosis).toMatch(/does not connect to this address/);
    expect(received).toEqual([]);
  });

  test('of several addresses one that is refused is enough', async () => {
    const service = await simulator({ retry: 'off' });
    const { port, received } = await endpoint();
    resolveTo(['127.0.0.1'], ['127.0.0.1', '93.184.216.34']);
    await service.webhooks.create({ url: `http://rebind.example:${port}/` });
    const [delivery] = await service.trigger('transaction.paid');
    expect(delivery?.attempts[0]?.error?.code).toBe('TARGET_REFUSED');
    expect(received).toEqual([]);
  });

  testOnAllOf127('records the errors of all addresses if all fail', async () => {
    const service = await simulator({ retry: 'off' });
    const port = await refusingPort();
    resolveTo(['127.0.0.1', '127.0.0.2']);
    await service.webhooks.create({ url: `http://shop.example:${port}/` });
    const [delivery] = await service.trigger('transaction.paid');
    const { error, diagnosis } = delivery?.attempts[0] ?? {};
    expect(error?.code).toBe('ECONNREFUSED');
    for (const host of ['127.0.0.1', '127.0.0.2'])
      expect(error?.message).toContain(`connect ECONNREFUSED ${host}:${port}`);
    expect(diagnosis).toContain('Nothing listens');
  });

  test('the addresses that were checked are the ones that are used', async () => {
    const service = await simulator({ retry: 'off' });
    const { port, received } = await endpoint();
    resolveTo(['127.0.0.1']);
    await service.webhooks.create({ url: `http://shop.example:${port}/hooks` });
    const [delivery] = await service.trigger('transaction.paid');
    expect(delivery?.status).toBe('delivered');
    expect(received[0]?.headers.host).toBe(`shop.example:${port}`);
  });

  test('refuses a name that now resolves to the simulator', async () => {
    const service = await simulator({ retry: 'off' });
    const { port } = new URL(service.baseUrl);
    resolveTo(['10.0.0.5'], ['127.0.0.1']);
    await service.webhooks.create({ url: `http://loop.example:${port}/_sim/events` });
    const [delivery] = await service.trigger('transaction.paid');
    expect(delivery?.attempts[0]?.error?.code).toBe('TARGET_REFUSED');
    expect(service.deliveries()).toHaveLength(1);
  });

  test('registers a name that does not resolve, and explains the failure', async () => {
    const service = await simulator({ retry: 'off' });
    await service.webhooks.create({ url: 'http://nowhere.invalid/' });
    const [delivery] = await service.trigger('transaction.paid');
    expect(delivery?.attempts[0]?.error?.code).toMatch(/ENOTFOUND|EAI_AGAIN/);
    expect(delivery?.attempts[0]?.diagnosis).toMatch(/does not resolve/);
  });
});
