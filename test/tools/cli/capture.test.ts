// `capture`: what is recorded, passed on and answered, and what a stranger can reach.
import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { freePort } from '../../setup/ports.js';
import { openSocket } from '../../setup/raw-socket.js';
import { until } from '../../setup/waiting.js';
import { call, endpoint, opensslHmac } from '../simulator/world.js';
import { capturing, eventBody, HOST, KEY, strange } from './capturing.js';
import { fileWith } from './files.js';
import { failed, jsonLines, runCli } from './run-cli.js';

const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex');

const signed = (body: string | Buffer, key = KEY, header = 'X-ACME-SIGNATURE') => ({
  body,
  headers: { [header]: opensslHmac(body, key) },
});

/** The recorded deliveries, newest first. */
const recorded = async (baseUrl: string) => (await call(`${baseUrl}/_sim/deliveries`)).json.data;

describe('a captured delivery', () => {
  test('reaches the app with the same bytes and headers, and its answer goes back', async () => {
    const app = await endpoint((_received, response) => {
      response.writeHead(
        202,
        [
          ['X-App', 'a'],
          ['X-App', 'b'],
          ['Set-Cookie', 's=1'],
        ].flat(),
      );
      response.end(Buffer.from([0xff, 0x00, 0x80]));
    });
    const { port, baseUrl } = await capturing(['--forward', `${app.port}/hooks`]);
    const body = Buffer.concat([Buffer.from(` ${eventBody()}\r\n`), Buffer.from([0xc3, 0x28, 0x00])]);
    const { headers } = signed(body);
    const sent = {
      ...headers,
      'Content-Type': 'application/json',
      Authorization: 'Bearer abc',
      'x-TRACE': '1',
    };
    const answer = await strange(port, { body, headers: sent });
    expect({ ...answer, headers: undefined }).toMatchObject({
      status: 202,
      body: Buffer.from([0xff, 0x00, 0x80]),
    });
    expect(answer.rawHeaders.slice(0, 6)).toEqual(['X-App', 'a', 'X-App', 'b', 'Set-Cookie', 's=1']);
    const [received] = app.received;
    expect(sha256(received?.body ?? '')).toBe(sha256(body));
    expect(received?.rawHeaders).toEqual([
      ...['Host', `localhost:${app.port}`],
      ...Object.entries(sent).flat(),
      ...['Content-Length', String(body.length), 'Connection', 'keep-alive'],
    ]);
    await until(async () => (await recorded(baseUrl))[0]?.status === 'delivered');
    const [{ attempts }] = await recorded(baseUrl);
    expect(attempts[0]).toMatchObject({ response: { status: 202 }, request: { body_sha256: sha256(body) } });
  });

  test('that arrives in chunks has a length at the app, and the query of its URL', async () => {
    const app = await endpoint(200);
    const { port } = await capturing(['--forward', app.url]);
    const { write, closed } = await openSocket(port);
    const head = `POST /hooks?tenant=7 HTTP/1.1\r\nHost: ${HOST}\r\nTransfer-Encoding: chunked\r\nConnection: close`;
    write(`${head}\r\n\r\n3\r\n{"a\r\n4\r\n":1}\r\n0\r\n\r\n`);
    expect(await closed).toMatch(/^HTTP\/1\.1 200 /);
    expect(app.received).toMatchObject([
      { path: '/hooks?tenant=7', headers: { 'content-length': '7' }, body: Buffer.from('{"a":1}') },
    ]);
    expect(app.received[0]?.headers).not.toHaveProperty('transfer-encoding');
  });

  test('is answered 502 when the app does not answer, and never 200', async () => {
    const app = await endpoint(200);
    const { port, printed } = await capturing(['--forward', app.url]);
    await app.close();
    const { status, body } = await strange(port, signed(eventBody()));
    expect({ status, body: String(body) }).toEqual({
      status: 502,
      body: '{"message":"The app did not answer."}',
    });
    await until(() => printed.stdout.includes('Nothing listens at this address.'));
  });

  test('is answered 200 without an app, and cannot be resent then', async () => {
    const { port, baseUrl, ask, printed } = await capturing();
    expect(printed.stdout).toContain('passes on to  nothing: answers 200 (start with --forward 3000/hooks)');
    expect(await strange(port, signed(eventBody()))).toMatchObject({ status: 200, body: Buffer.alloc(0) });
    await until(async () => (await recorded(baseUrl))[0]?.status === 'delivered');
    const [{ id }] = await recorded(baseUrl);
    const reason = 'There is no app to send it to. Start capture with --forward.';
    expect(await ask('deliveries', 'resend', id)).toEqual(failed(1, reason));
  });

  test('that the app rejects says where to look', async () => {
    const app = await endpoint(401);
    const { port, printed } = await capturing(['--forward', app.url]);
    expect((await strange(port, signed(eventBody()))).status).toBe(401);
    await until(() => printed.stdout.includes('Your app answered 401. Compare its key and signatureHeader'));
    expect(printed.stdout).toContain("Set signatureHeader: 'X-ACME-SIGNATURE'.");
  });

  test('is resent to the app with the same bytes and headers', async () => {
    const app = await endpoint(500, 200);
    const { port, baseUrl, ask } = await capturing(['--forward', app.url]);
    await strange(port, signed(eventBody()));
    await until(async () => (await recorded(baseUrl))[0]?.status === 'failed');
    const [{ id }] = await recorded(baseUrl);
    expect((await ask('deliveries', 'resend', id)).code).toBe(0);
    const [first, second] = app.received;
    expect({ ...second, rawHeaders: undefined }).toEqual({ ...first, rawHeaders: undefined });
    expect((await recorded(baseUrl))[0].attempts).toMatchObject([
      { trigger: 'automatic' },
      { trigger: 'manual' },
    ]);
  });

  test('that is sent again is another attempt of the event, and is compared with the one before', async () => {
    const { port, baseUrl, printed } = await capturing();
    const body = eventBody({ id: 'evt_again' });
    const changed = body.replace('12.50', '13.00');
    for (const each of [body, body, changed, JSON.stringify(JSON.parse(changed), null, 1), 'no JSON'])
      await strange(port, signed(each));
    await until(() => printed.stdout.includes('not an event'));
    const remarks = [...printed.stdout.matchAll(/sent this event again after \d s: (.*)/g)].map(
      ([, text]) => text,
    );
    expect(remarks).toEqual([
      'the same bytes.',
      'the bodies differ in payload.transaction.amount.',
      'the same JSON in other bytes.',
    ]);
    const [other, { attempts }] = await recorded(baseUrl);
    expect(attempts).toHaveLength(4);
    expect(other).toMatchObject({ event_name: 'not an event', event_id: `sha256:${sha256('no JSON')}` });
  });

  test('goes on while another attempt of the event is in progress, with its own bytes', async () => {
    const waiting: (() => void)[] = [];
    const app = await endpoint((received, response) => {
      waiting.push(() => response.end(received.body));
      if (waiting.length === 2) for (const answer of waiting) answer();
    });
    const { port } = await capturing(['--forward', app.url]);
    const bodies = ['a', 'b'].map((note) => eventBody({ id: 'evt_twice', note }));
    const answers = await Promise.all(bodies.map((body) => strange(port, signed(body))));
    expect(answers.map(({ body }) => String(body))).toEqual(bodies);
  });

  test('has the secrets of its headers masked, but for signatures, and never shows a key', async () => {
    const app = await endpoint((_received, response) => {
      response.setHeader('Set-Cookie', 'session=top-secret').end('{}');
    });
    const keys = [KEY, 'pri_live_0c55aa10de77'];
    const { port, baseUrl, ask, printed, stop } = await capturing([
      ...['--forward', app.url, '--key-file', fileWith(keys.join('\n'))],
    ]);
    const body = eventBody();
    const secrets = { Authorization: 'Basic top-secret', Cookie: 'a=top-secret', 'X-Api-Key': 'top-secret' };
    const right = opensslHmac(body, 'pri_live_0c55aa10de77');
    const shown = { 'X-Old-Signature': 'not-this-one', 'X-Signing-Token': right };
    await strange(port, { body, headers: { ...secrets, ...shown } });
    await until(async () => (await recorded(baseUrl))[0]?.status === 'delivered');
    const [{ id, attempts }] = await recorded(baseUrl);
    const headers = Object.fromEntries(attempts[0].request.headers);
    const masked = { Authorization: '(masked)', Cookie: '(masked)', 'X-Api-Key': '(masked)' };
    expect(headers).toMatchObject({ ...masked, ...shown });
    expect(app.received[0]?.headers).toMatchObject({
      authorization: 'Basic top-secret',
      cookie: 'a=top-secret',
    });
    const paths = ['readyz', 'deliveries', `deliveries/${id}/curl`, `deliveries/${id}/signature`, 'webhooks'];
    const answers = await Promise.all(
      paths.map(async (path) => (await call(`${baseUrl}/_sim/${path}`)).text),
    );
    answers.push((await ask('deliveries', 'show', id)).stdout, (await stop()).stdout, printed.stderr);
    expect(answers.join('\n')).toContain('It was made with key 2 of 2.');
    for (const secret of [...keys, 'top-secret', opensslHmac(body, KEY)])
      expect(answers.join('\n')).not.toContain(secret);
  });
});

describe('a stranger', () => {
  const ELSEWHERE: readonly string[] = [
    ...['/', '/index.html', '/dashboard.js', '/_sim', '/_sim/readyz', '/_sim/deliveries', '/_sim/stream'],
    ...['/_sim/openapi.json', '/_sim/wait', '/api/v2/webhooks', '/sandbox/api/v2/account/me', '/hooks/'],
    ...[
      '//hooks',
      '/hooks/..',
      '/hooks/../_sim/readyz',
      '/hooks%2f..%2f_sim',
      '/HOOKS',
      '/%68ooks',
      '/hooks;a',
    ],
  ];
  const WRITES = ['/_sim/reset', '/_sim/keys/rotate', '/_sim/events', '/_sim/webhooks', '/_sim/deliveries'];
  const PROBES = [
    ...ELSEWHERE.map((path) => ['GET', path, HOST] as const),
    ...WRITES.map((path) => ['POST', path, HOST] as const),
    ...['PUT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH'].map(
      (method) => [method, '/hooks', HOST] as const,
    ),
    ...[
      '127.0.0.1.evil.example',
      'localhost.evil.example',
      'localhost@evil.example',
      '[::2]',
      '10.0.0.1',
    ].map((host) => ['GET', '/_sim/deliveries', host] as const),
    ...['X-Forwarded-For', 'X-Forwarded-Host', 'Forwarded', 'Via', 'CF-Connecting-IP', 'X-Real-IP'].map(
      (header) => ['GET', '/_sim/deliveries', '127.0.0.1:4747', header] as const,
    ),
  ];

  test(`reaches the capture path alone: ${PROBES.length} probes`, async () => {
    expect(PROBES.length).toBeGreaterThanOrEqual(40);
    const { port, baseUrl } = await capturing();
    const headers = { 'Content-Type': 'application/json' };
    const reached: string[] = [];
    for (const [method, path, host, forwarded] of PROBES) {
      const more = forwarded ? { [forwarded]: '203.0.113.7' } : {};
      const body = method === 'POST' ? '{}' : '';
      const { status } = await strange(port, {
        method,
        path,
        body,
        headers: { ...headers, Host: host, ...more },
      });
      if (status !== 403) reached.push(`${method} ${path} as ${host}: ${status}`);
    }
    expect(reached).toEqual([]);
    expect(await recorded(baseUrl)).toEqual([]);
    expect((await strange(port, { body: '{}' })).status).toBe(200);
  });

  test('whose tunnel speaks HTTP/1.0, as nginx does, is none of this machine', async () => {
    const { port } = await capturing();
    const { write, closed } = await openSocket(port);
    write(`GET /_sim/deliveries HTTP/1.0\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
    expect(await closed).toMatch(/^HTTP\/1\.1 403 .*through a proxy or a tunnel/s);
  });

  test('does not learn which host would be let in; the page is shown at hosts that are named', async () => {
    const { port } = await capturing(['--allow-host', 'workstation']);
    const ask = (Host: string) => strange(port, { method: 'GET', path: '/_sim/readyz', headers: { Host } });
    expect(String((await ask(HOST)).body)).not.toContain('--allow-host');
    expect((await ask('workstation:4747')).status).toBe(200);
  });

  test('cannot send more than 1 MB, whether the length is declared or not', async () => {
    const { port, baseUrl } = await capturing();
    expect((await strange(port, { body: Buffer.alloc(1_000_000, 32) })).status).toBe(200);
    expect((await strange(port, { body: Buffer.alloc(1_000_001, 32) })).status).toBe(413);
    const chunked = { 'Transfer-Encoding': 'chunked' };
    expect((await strange(port, { body: Buffer.alloc(1_000_001, 32), headers: chunked })).status).toBe(413);
    expect(await recorded(baseUrl)).toHaveLength(1);
  });

  test('cannot write to the terminal, nor stop it with hostile bytes', async () => {
    const { port, printed } = await capturing();
    const controls = '\u001b[2J\u0007';
    const hostile = [
      eventBody({ id: `evt${controls}` }),
      eventBody({ event_name: `a.${controls}` }),
      ...[
        'null',
        '[]',
        '"x"',
        '{"id":{"toString":1}}',
        '['.repeat(400_000),
        `{"a":${'{"a":'.repeat(50_000)}`,
      ],
    ];
    for (const body of hostile) {
      const headers = { 'X-Bad-Signature': `\u00ff${'a'.repeat(63)}` };
      expect((await strange(port, { body, headers })).status).toBe(200);
    }
    await until(() => printed.stdout.split('attempt 1').length > hostile.length);
    expect(printed.stdout).not.toContain('\u001b');
    expect(printed.stdout).not.toContain('\u0007');
  });
});

describe('while capturing', () => {
  test('nothing is triggered, registered or rotated', async () => {
    const { baseUrl } = await capturing();
    const writes = ['events', 'webhooks', 'faults', 'keys', 'keys/rotate', 'reset'];
    for (const path of writes)
      expect((await call(`${baseUrl}/_sim/${path}`, { method: 'POST', body: {} })).status).toBe(404);
    const headers = { Authorization: `Basic ${Buffer.from('pri_sim_dev:').toString('base64')}` };
    expect((await call(`${baseUrl}/api/v2/webhooks`, { headers })).status).toBe(404);
  });
});

describe('the start of `capture`', () => {
  const env = { SERVICE_PRIVATE_KEY: KEY };
  const run = (argv: string[], more = {}) =>
    runCli(['capture', ...(argv.includes('--port') ? [] : ['--port', '0']), ...argv], {
      env: { ...env, ...more },
    });

  test('needs a key', async () => {
    expect(await runCli(['capture'])).toEqual(failed(2, 'The private key is missing.'));
  });

  test('is refused in production', async () => {
    expect(await run([], { NODE_ENV: 'production' })).toEqual(
      failed(2, 'NODE_ENV is "production", and capture'),
    );
  });

  test('refuses to pass deliveries on to another network, or to itself', async () => {
    const away = await run(['--forward', 'https://203.0.113.7/hooks']);
    expect(away).toEqual(failed(2, '203.0.113.7 is public.\n'));
    const port = String(await freePort());
    const itself = await run(['--port', port, '--forward', `${port}/hooks`]);
    expect(itself).toEqual(failed(2, "--forward is the simulator's own address."));
  });

  test('prints one JSON object a line with --json', async () => {
    const { port, baseUrl, stop } = await capturing(['--json']);
    await strange(port, signed(eventBody()));
    const lines = jsonLines(await stop());
    expect(lines).toEqual([
      { type: 'ready', page: `${baseUrl}/`, capture: `${baseUrl}/hooks`, forward: null, keys: 1 },
      expect.objectContaining({
        ...{ type: 'attempt', attempt: 1, answer: 200, again: null },
        signature: { header: 'X-ACME-SIGNATURE', form: null, key: 0, message: expect.any(String) },
      }),
    ]);
  });
});

describe('--once', () => {
  test.each([
    ['its signature was found', KEY, 0, 'X-ACME-SIGNATURE'],
    ['its signature is of another key', 'pri_live_stranger1', 1, null],
  ])('prints one delivery and exits, when %s', async (_case, key, code, header) => {
    const { port, ended } = await capturing(['--once', '--json']);
    const body = eventBody();
    expect((await strange(port, signed(body, key))).status).toBe(200);
    const run = await ended;
    expect(run.code).toBe(code);
    expect(jsonLines(run)).toEqual([
      expect.objectContaining({
        event_name: 'transaction.paid',
        attempts: [expect.objectContaining({ request: expect.objectContaining({ body }) })],
        signature: expect.objectContaining({ header }),
      }),
    ]);
  });

  test('prints it as text, with what was found last', async () => {
    const { port, ended } = await capturing(['--once']);
    await strange(port, signed(eventBody()));
    const { stdout } = await ended;
    expect(stdout).toMatch(
      /^delivery {2}[\w-]{36}\n[\s\S]*request of attempt 1\n {2}POST http[\s\S]*\n\nThe signature is in X-ACME-SIGNATURE\. /,
    );
  });
});
